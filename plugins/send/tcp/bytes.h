/* SPDX-License-Identifier: MIT */
#ifndef SPATE_SEND_TCP_BYTES_H
#define SPATE_SEND_TCP_BYTES_H

#include <stdbool.h>
#include <stdint.h>

#include "contract/send.h"
#include "line.h"
#include "zerocopy.h"

/*
 * The bytes of runs in one connection, and nothing else: what they are is the
 * peer's to know.  When it breaks in the middle nobody can say where to go on.
 *
 * A load is what the line has at a time: its memory is free when all of it is
 * gone; and where it went without a copy, when the kernel says so.
 */
enum { BYTES_LOAD = 1 << 20 };

struct bytes {
	struct line line;
	uint64_t taken;	  /* packets */
	uint64_t packets; /* of those, that are on their way */
	uint64_t load;	  /* bytes of the load, as far as it was given */
	uint64_t given;	  /* bytes of all loads */
	uint8_t *stage;	  /* what is copied: heads, small pieces, at the end
			     all that is not gone */
	uint32_t staged, room;
	bool detached;
	struct zerocopy zerocopy;
	bool as_it_lies; /* the load goes without a copy */
	bool torn; /* memory was wanted back that the kernel had: nothing more
		      can be sent */
	bool shut; /* nothing more is sent */
	int64_t ended; /* steady ns, when the peer's kernel had all */
};

/* `packet`: bytes of the longest one. */
int bytes_make(struct bytes *b, const struct line_args *args, uint32_t packet);
void bytes_free(struct bytes *b);

/* Ends the connection; what the kernel has of it without a copy is thrown
 * away, because that memory will be another's. */
void bytes_drop(struct bytes *b, int err, bool reset);

/* Of a line that is up: takes packets while it has room.  0 or -errno. */
int bytes_send(struct bytes *b, const struct send_run *run, unsigned n,
	       uint64_t *taken);

/* What the peer says is of no interest; 0, -ENODATA: it has closed, -errno. */
int bytes_hear(struct bytes *b);

/* Shuts the connection down behind the last byte.  0: the peer has all, and
 * has closed, or its kernel has it, and nothing more came for ten seconds;
 * -EAGAIN, -errno. */
int bytes_finish(struct bytes *b, int64_t now);

void bytes_detach(struct bytes *b);

static inline uint64_t
bytes_release(const struct bytes *b)
{
	if (b->zerocopy.loads)
		return b->zerocopy.load[b->zerocopy.first].taken;
	return b->taken - (b->detached ? 0 : b->packets);
}

#endif
