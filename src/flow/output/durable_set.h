/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_OUTPUT_DURABLE_SET_H
#define SPATE_FLOW_OUTPUT_DURABLE_SET_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The set of a recording's numbers that are settled: durable, or lost for good.
 * Numbers become settled nearly in order, so all but a few lie below a floor.
 *
 *   ...########|.##.#......
 *              ^ floor: the first number that is not settled
 *
 * The owner's lock protects it (output::tapping).
 */
struct durable_set {
	uint64_t floor;
	/* For numbers floor to floor + room, at number % room. */
	uint64_t *bits;
	uint64_t room; /* a power of two; 0: bits is NULL */

	uint64_t *lost; /* a bit for each number below lost_room: set if lost */
	uint64_t lost_room;
};

void durable_set_init(struct durable_set *s, uint64_t floor);
void durable_set_finish(struct durable_set *s);

/* Adds a number that is settled.  Without memory for it the number is
 * forgotten, and the floor stays below it for good. */
void durable_set_add(struct durable_set *s, uint64_t number);

/* Adds a number that is settled because it is lost: it is on no disk. */
void durable_set_lose(struct durable_set *s, uint64_t number);
bool durable_set_is_lost(const struct durable_set *s, uint64_t number);

/* Returns the first number from `from` on that is lost, or with lost false,
 * that is not lost.  UINT64_MAX: none is lost. */
uint64_t durable_set_next(const struct durable_set *s, uint64_t from,
			  bool lost);

/* Returns one more than the last of the consecutive settled numbers that start
 * at `from`; `from` itself, or the floor if that is higher, where that one is
 * not settled. */
uint64_t durable_set_end(const struct durable_set *s, uint64_t from);

#endif
