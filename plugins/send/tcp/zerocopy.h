/* SPDX-License-Identifier: MIT */
#ifndef SPATE_SEND_TCP_ZEROCOPY_H
#define SPATE_SEND_TCP_ZEROCOPY_H

#include <stdbool.h>
#include <stdint.h>

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

#endif
