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
 * another spate, whose inbox takes it (wire/wire_copy.h).  It looks at the
 * recording's index itself, and has the bytes of blocks from a source.
 *
 * States, facts and what may be ordered are those of a sender (sender.h):
 * `packets` count blocks' packets, `unreadable` those of blocks that are left
 * out, `total` all bytes that the recording has, `bytes` those that were sent.
 * CONNECTING: also when the connection broke, and while the peer looks what it
 * has; WAITING: for more of a recording that grows, or for room at the peer.
 */
struct copy_out_args {
	const char *name; /* of the recording; copied */
	const char *to;	  /* tcp://host[:port]; copied */
	const char *as;	  /* the name that it gets there; NULL: its own */
	const struct disks *disks; /* where the recording is; outlive it */
	struct source *source;	   /* of its blocks; taken over, also on an
				      error; only its seek_number, next, put,
				      wanted and close are used */
	uint64_t rate;		   /* bits per second; or SEND_RATE_ */
	unsigned connections;	   /* 0: 1; at most 16 */
	bool follow;		   /* of one that grows: to its end; else it is
				      refused */
	const uint8_t *secret;	   /* copied; or NULL */
	uint32_t secret_bytes;
	int64_t patience; /* ns that the peer may be away, or full; 0: a
			     minute */
	void (*changed)(void *arg); /* as sender_args has it */
	void *arg;
};

struct copy_out;

/* Starts the thread.  0 or -errno with a fault. */
int copy_out_start(struct copy_out **copy, const struct copy_out_args *args,
		   struct fault *fault);
void copy_out_rate(struct copy_out *c, uint64_t rate);
void copy_out_pause(struct copy_out *c, bool pause);
void copy_out_stop(struct copy_out *c);
void copy_out_facts(struct copy_out *c, struct sender_facts *facts);
bool copy_out_ended(struct copy_out *c);
/* As sender_free. */
bool copy_out_free(struct copy_out *c);

#endif
