/* SPDX-License-Identifier: MIT */
#ifndef SPATE_RECEIVE_TCP_TOLD_H
#define SPATE_RECEIVE_TCP_TOLD_H

#include <stdint.h>

/*
 * Remembers which packets of a transfer were handed to the core: all below
 * `low` (or they will never come), and ranges above it.  A sender that lost a
 * connection sends again from `low` on, and no packet is handed over twice.
 *
 * Positions are those of transfer.h; those of one transfer are less than 2^63
 * apart.
 */
enum { TOLD_RANGES = 256 };

struct told_range {
	uint64_t from, to; /* `to` is behind the last position */
};

struct told {
	uint64_t low;
	unsigned n;
	/* sorted, disjoint, above low */
	struct told_range range[TOLD_RANGES];
};

/* Forgets everything and begins at `low`. */
void told_clear(struct told *t, uint64_t low);

/*
 * For n packets from `at` on: told_already() returns how many of the first were
 * handed over; if the first was not, told_not_yet() returns how many of the
 * first were not.
 */
unsigned told_already(const struct told *t, uint64_t at, unsigned n);
unsigned told_not_yet(const struct told *t, uint64_t at, unsigned n);

/*
 * Adds n packets.  If there are more ranges than can be kept, the lowest is
 * forgotten; its packets may then be handed over twice, and the core counts
 * them as duplicates.
 */
void told_add(struct told *t, uint64_t at, unsigned n);

/*
 * Raises `low`: no packet below it is awaited any more.  A smaller value is
 * ignored.
 */
void told_rise(struct told *t, uint64_t low);

#endif
