/* SPDX-License-Identifier: MIT */
/*
 * The set is a ring of bits from the floor on.  It is as long as the numbers lie
 * apart that are not settled yet: blocks in memory, and chunks that wait for a
 * sync of their disk.  A disk that hangs holds the floor back for a few seconds.
 *
 * Lost numbers are kept for good, a bit for each number from 0 on, once there
 * was a loss: a million blocks take 128 KiB.
 */
#include "flow/output/durable_set.h"

#include <stdlib.h>
#include <string.h>

enum { ROOM = 1024, ROOM_MOST = 1 << 26, LOST_MOST = 1 << 30 };

void
durable_set_init(struct durable_set *s, uint64_t floor)
{
	*s = (struct durable_set){ .floor = floor };
}

void
durable_set_finish(struct durable_set *s)
{
	free(s->bits);
	free(s->lost);
}

static bool
has(const struct durable_set *s, uint64_t number)
{
	uint64_t at = number & (s->room - 1);

	return number >= s->floor && number - s->floor < s->room &&
	       s->bits[at / 64] >> at % 64 & 1;
}

static void
flip(struct durable_set *s, uint64_t number)
{
	uint64_t at = number & (s->room - 1);

	s->bits[at / 64] ^= 1ull << at % 64;
}

static bool
grow(struct durable_set *s, uint64_t least)
{
	struct durable_set more = { .floor = s->floor, .room = ROOM };

	while (more.room < least && more.room < ROOM_MOST)
		more.room *= 2;
	if (more.room >= least)
		more.bits = calloc(more.room / 64, sizeof *more.bits);
	if (!more.bits)
		return false;
	for (uint64_t n = 0; s->bits && n < s->room; n++) {
		if (has(s, s->floor + n))
			flip(&more, s->floor + n);
	}
	free(s->bits);
	s->bits = more.bits;
	s->room = more.room;
	return true;
}

void
durable_set_add(struct durable_set *s, uint64_t number)
{
	uint64_t least = number - s->floor + 1;

	if (number < s->floor || has(s, number))
		return;
	if (least > s->room && !grow(s, least))
		return;
	flip(s, number);
	while (has(s, s->floor)) {
		flip(s, s->floor);
		s->floor++;
	}
}

static bool
lost_grow(struct durable_set *s, uint64_t least)
{
	uint64_t room = s->lost_room ? s->lost_room : ROOM;
	uint64_t *more = NULL;

	while (room < least && room < LOST_MOST)
		room *= 2;
	if (room >= least)
		more = realloc(s->lost, room / 8);
	if (!more)
		return false;
	memset(more + s->lost_room / 64, 0, (room - s->lost_room) / 8);
	s->lost = more;
	s->lost_room = room;
	return true;
}

void
durable_set_lose(struct durable_set *s, uint64_t number)
{
	durable_set_add(s, number);
	if (number >= s->lost_room && !lost_grow(s, number + 1))
		return;
	s->lost[number / 64] |= 1ull << number % 64;
}

bool
durable_set_is_lost(const struct durable_set *s, uint64_t number)
{
	return number < s->lost_room && s->lost[number / 64] >> number % 64 & 1;
}

uint64_t
durable_set_next(const struct durable_set *s, uint64_t from, bool lost)
{
	while (from < s->lost_room) {
		uint64_t word = s->lost[from / 64];

		word = (lost ? word : ~word) >> from % 64;
		if (word)
			return from + (unsigned)__builtin_ctzll(word);
		from = (from | 63) + 1;
	}
	return lost ? UINT64_MAX : from;
}

uint64_t
durable_set_end(const struct durable_set *s, uint64_t from)
{
	if (from < s->floor)
		from = s->floor;
	while (has(s, from))
		from++;
	return from;
}
