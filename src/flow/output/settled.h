/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_OUTPUT_SETTLED_H
#define SPATE_FLOW_OUTPUT_SETTLED_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Which numbers of a recording are settled: durable, or lost for good.  They
 * become so nearly in order, so all but a few lie below a floor.
 *
 *   ...########|.##.#......
 *              ^ floor: the first that is not
 */
struct settled {
	uint64_t floor;
	uint64_t *bits; /* of floor to floor + room, at number % room */
	uint64_t room;	/* a power of two; 0: none yet */

	uint64_t *lost; /* a bit for each number below lost_room: those */
	uint64_t lost_room;
};

void settled_init(struct settled *s, uint64_t floor);
void settled_finish(struct settled *s);

/* Without memory it is forgotten, and the floor stays below it. */
void settled_add(struct settled *s, uint64_t number);

/* The same of one that is lost, and does not lie anywhere. */
void settled_lose(struct settled *s, uint64_t number);
bool settled_is_lost(const struct settled *s, uint64_t number);

/* The next number, from this one on, that is lost, or (false) is not;
 * UINT64_MAX: none is lost. */
uint64_t settled_next(const struct settled *s, uint64_t from, bool lost);

/* One behind the last of those in a row from this number on; itself, where it
 * is not settled. */
uint64_t settled_end(const struct settled *s, uint64_t from);

#endif
