/* SPDX-License-Identifier: MIT */
#ifndef SPATE_SEND_TCP_ZEROCOPY_H
#define SPATE_SEND_TCP_ZEROCOPY_H

#include <stdbool.h>
#include <stdint.h>

/*
 * What the kernel sends from where it lies (MSG_ZEROCOPY), and is not done
 * with: it numbers the calls that asked for it, and says later, on the queue of
 * errors, which of them it needs no more.
 *
 * Where it had to copy after all, as over loopback and to a network card that
 * cannot gather, that only costs (over loopback 0.21 CPU s/GB of the sender,
 * where copying takes 0.12): then it is not asked any more.  What it saves
 * where it works shows `scripts/bench zerocopy` with a network card.
 */
enum zerocopy_mode { ZEROCOPY_NEVER, ZEROCOPY_AUTO, ZEROCOPY_ALWAYS };
enum { ZEROCOPY_LOADS = 16 };

struct zerocopy {
	enum zerocopy_mode mode;
	bool on;	/* the socket can, and it has not copied */
	uint32_t calls; /* that asked for it */
	uint32_t done;	/* of those, the first that it needs no more */
	uint32_t count; /* of those, all that it needs no more */
	struct {
		uint32_t calls; /* up to its last one */
		uint64_t taken; /* packets that were taken before it */
	} load[ZEROCOPY_LOADS];
	unsigned first, loads;
};

/* Of a connection that is up. */
void zerocopy_begin(struct zerocopy *z, int fd);

/* May the next load be sent so? */
static inline bool
zerocopy_may(const struct zerocopy *z)
{
	return z->on && z->loads < ZEROCOPY_LOADS;
}

/* A load was sent, with calls up to z->calls; `taken` packets came before. */
void zerocopy_load(struct zerocopy *z, uint64_t taken);

/* Hears what the kernel says. */
void zerocopy_look(struct zerocopy *z, int fd);

/* The connection is no more, and what it had was thrown away. */
void zerocopy_end(struct zerocopy *z);

#endif
