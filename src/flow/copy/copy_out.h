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
 * A copy that goes out is a sender (sender.h) that sends a whole recording to
 * another spate, whose inbox takes it (wire/copy.h).  It reads the recording's
 * index itself, and gets the bytes of blocks from a source.
 *
 * In its facts, `packets` counts the packets of blocks, `unreadable` those of
 * blocks that are left out, `total` all bytes that the recording has, `bytes`
 * those that were sent.  CONNECTING is also the state when the connection broke,
 * and while the peer looks what it has; WAITING: for more of a recording that
 * grows, or for room at the peer.
 */
struct copy_out_args {
	const char *name; /* name of the recording; copied */
	/* URL of the inbox, tcp:// or ucx://host[:port]; copied */
	const char *to;
	const char *as; /* name that the copy gets there; NULL: the same */
	/* Disks that have the recording; copied.  NULL: those of `list`. */
	const struct disks *disks;
	/* Disks that come while it is copied; shared.  NULL: none do. */
	struct disk_list *list;
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
	/* As in sender_args. */
	void (*changed)(void *arg);
	void *arg;
};

/* Starts the thread.  0, or -errno with a fault. */
int copy_out_start(struct sender **copy, const struct copy_out_args *args,
		   struct fault *fault);

#endif
