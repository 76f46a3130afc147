/* SPDX-License-Identifier: MIT */
#ifndef SPATE_SEND_TCP_BYTES_H
#define SPATE_SEND_TCP_BYTES_H

#include <stdbool.h>
#include <stdint.h>

#include "contract/send.h"
#include "line.h"
#include "zerocopy.h"

/*
 * Sends the bytes of runs over one connection, and nothing else: no frames, no
 * headers.  After a broken connection nobody can say which bytes the peer has.
 *
 * A load is the bytes that the line is given at a time.  The memory of a load
 * may be reused when all of it is sent, or, if it was sent without a copy, when
 * the kernel says that it is done with it.
 */
enum { BYTES_LOAD = 1 << 20 };

struct bytes {
	struct line line;
	uint64_t taken;	  /* packets */
	uint64_t packets; /* packets of these in the present load */
	uint64_t load;	  /* bytes in the present load */
	uint64_t given;	  /* bytes of all loads */
	/*
	 * memory for what is copied: heads, small pieces, and after detach all
	 * that is not sent yet
	 */
	uint8_t *stage;
	uint32_t staged, room;
	bool detached;
	struct zerocopy zerocopy;
	bool as_it_lies; /* the present load goes without a copy */
	/*
	 * memory was wanted back that the kernel still had: the connection was
	 * dropped
	 */
	bool torn;
	bool shut; /* the connection was shut down for sending */
	/* steady ns: when the peer's kernel had everything; 0: not yet */
	int64_t ended;
};

/*
 * Makes the sender; `packet`: bytes of the longest packet.  Returns 0 or
 * -ENOMEM.
 */
int bytes_make(struct bytes *b, const struct line_args *args, uint32_t packet);
void bytes_free(struct bytes *b);

/*
 * Closes the connection.  If the kernel still has memory of it without a copy,
 * the connection is reset, because that memory will get other contents.
 */
void bytes_drop(struct bytes *b, int err, bool reset);

/*
 * Sends, on a line that is up: takes packets while the socket has room, *taken
 * says how many.  Returns 0 or -errno.
 */
int bytes_send(struct bytes *b, const struct send_run *run, unsigned n,
	       uint64_t *taken);

/*
 * Reads and ignores what the peer says.  Returns 0, -ENODATA: the peer has
 * closed, or -errno.
 */
int bytes_hear(struct bytes *b);

/*
 * Shuts the connection down behind the last byte.  Returns 0: the peer has
 * everything and has closed, or its kernel has everything and the peer has not
 * closed for ten seconds; -EAGAIN: not yet; else -errno.
 */
int bytes_finish(struct bytes *b, int64_t now);

/*
 * Copies what is not sent yet, because the memory of packets is wanted back.
 * If the kernel has some of it without a copy, the connection is closed.
 */
void bytes_detach(struct bytes *b);

/* Returns how many of the first packets need their memory no more. */
static inline uint64_t
bytes_release(const struct bytes *b)
{
	if (b->zerocopy.loads)
		return b->zerocopy.load[b->zerocopy.first].taken;
	return b->taken - (b->detached ? 0 : b->packets);
}

#endif
