/* SPDX-License-Identifier: MIT */
#ifndef SPATE_SEND_TCP_BYTES_H
#define SPATE_SEND_TCP_BYTES_H

#include <stdbool.h>
#include <stdint.h>

#include "contract/send.h"
#include "channel/line.h"

/*
 * Keeps account of memory that the kernel sends from where it lies
 * (MSG_ZEROCOPY).  The kernel numbers the calls that asked for it, and later
 * reports on the socket's error queue which calls are done.
 *
 * Where the kernel has to copy after all, as over loopback and to a network
 * card without gather, it only costs: over loopback the sender takes 0.21 CPU
 * s/GB, with copying 0.12.  Mode AUTO then stops asking for it.  `scripts/bench
 * zerocopy` measures the gain with a network card.
 */
enum zerocopy_mode { ZEROCOPY_NEVER, ZEROCOPY_AUTO, ZEROCOPY_ALWAYS };
enum { ZEROCOPY_LOADS = 16 };

struct zerocopy {
	enum zerocopy_mode mode;
	bool on;	/* the socket can do it, and has not copied */
	uint32_t calls; /* calls that asked for it */
	uint32_t done;	/* all calls before this number are done */
	uint32_t count; /* how many calls are done */
	struct {
		uint32_t calls; /* number behind its last call */
		uint64_t taken; /* packets that were taken before it */
	} load[ZEROCOPY_LOADS];
	unsigned first, loads;
};

/* Begins with a connection that was just opened. */
void zerocopy_begin(struct zerocopy *z, int fd);

/* Tells whether the next load may be sent without a copy. */
static inline bool
zerocopy_may(const struct zerocopy *z)
{
	return z->on && z->loads < ZEROCOPY_LOADS;
}

/*
 * Notes that a load was sent, with calls up to z->calls; `taken` packets were
 * taken before it.
 */
void zerocopy_load(struct zerocopy *z, uint64_t taken);

/* Reads which calls the kernel has done. */
void zerocopy_look(struct zerocopy *z, int fd);

/* Forgets everything: the connection was closed, and its data thrown away. */
void zerocopy_end(struct zerocopy *z);

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
