/* SPDX-License-Identifier: MIT */
#ifndef SPATE_RECEIVE_TCP_TOLD_H
#define SPATE_RECEIVE_TCP_TOLD_H

#include <stdint.h>

/*
 * What of a transfer was told to the core: everything below `low` (or it will
 * never come), and stretches above it.  A sender that has lost a connection
 * sends again from `low` on, and no packet is told twice.
 *
 * Positions are as in transfer.h; those of one transfer are less than 2^63
 * apart.
 */
enum { TOLD_RANGES = 256 };

struct told_range {
	uint64_t from, to;
};

struct told {
	uint64_t low;
	unsigned n;
	/* In order, apart from each other, above low. */
	struct told_range range[TOLD_RANGES];
};

void told_clear(struct told *t, uint64_t low);

/* Of n packets from `at` on, how many of the first were told already; and
 * where the first was not, how many of the first were not. */
unsigned told_already(const struct told *t, uint64_t at, unsigned n);
unsigned told_not_yet(const struct told *t, uint64_t at, unsigned n);

/* They are now.  Where there are more stretches than can be kept some are
 * forgotten: then a packet may be told twice, and the core counts it. */
void told_add(struct told *t, uint64_t at, unsigned n);

/* Nothing below `low` is awaited any more.  It never falls. */
void told_rise(struct told *t, uint64_t low);

#endif
