/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_COPY_COPY_OUT_H
#define SPATE_FLOW_COPY_COPY_OUT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fault.h"
#include "flow/send/sender.h"
#include "flow/source/source.h"
#include "store/disk/disk.h"

/*
 * A copy that goes out is the thread of one transfer of a whole recording to
 * another spate, whose inbox takes it (wire/copy.h).  It reads the
 * recording's index itself, and gets the bytes of blocks from a source.
 *
 * States, facts and orders are those of a sender (sender.h): `packets` counts
 * the packets of blocks, `unreadable` those of blocks that are left out,
 * `total` all bytes that the recording has, `bytes` those that were sent.
 * CONNECTING is also the state when the connection broke, and while the peer
 * looks what it has; WAITING: for more of a recording that grows, or for room
 * at the peer.
 *
 * The event loop makes all calls; none of them waits, except copy_out_free for a
 * thread that is about to end.
 */
struct copy_out_args {
	const char *name; /* name of the recording; copied */
	const char *to;	  /* URL of the inbox, tcp://host[:port]; copied */
	const char *as;	  /* name that the copy gets there; NULL: the same */
	/* Disks that have the recording; they outlive the copy. */
	const struct disks *disks;
	/* Gives its blocks; taken over, also on an error.  Used: seek_number,
	 * next, put, wanted and close. */
	struct source *source;
	/* Bits per second; or SEND_RATE_FREE or SEND_RATE_DATA. */
	uint64_t rate;
	unsigned connections; /* at most 16; 0: one */
	/* Copies a recording that grows to its end; false: such a recording is
	 * refused. */
	bool follow;
	const uint8_t *secret; /* copied; or NULL */
	uint32_t secret_bytes;
	/* Ns that the peer may be away, or full; 0: a minute. */
	int64_t patience;
	/* Called once when the copy has ended, unless copy_out_free came before;
	 * on its thread. */
	void (*changed)(void *arg);
	void *arg;
};

struct copy_out;

/* Starts the thread.  0, or -errno with a fault. */
int copy_out_start(struct copy_out **copy, const struct copy_out_args *args,
		   struct fault *fault);
void copy_out_rate(struct copy_out *c, uint64_t rate);
void copy_out_pause(struct copy_out *c, bool pause);
void copy_out_stop(struct copy_out *c);
void copy_out_facts(struct copy_out *c, struct sender_facts *facts);
/* True if the thread is about to end, or was told to stop and hangs in a call
 * that waits for a disk or a name server. */
bool copy_out_ended(struct copy_out *c);
/* Frees a copy that has ended.  False: its thread hangs in such a call; it frees
 * itself when that returns, and what it was given has to stay. */
bool copy_out_free(struct copy_out *c);

#endif
