/* SPDX-License-Identifier: MIT */
/*
 * The range that grew last is tried first: if two pieces changed places, or two
 * parts of a heap come in turns, it is still mostly the right one.  Else a
 * binary search finds the range, and a memmove makes room.
 */
#include "flow/heaps/ranges.h"

#include <string.h>

/* Index of the first range that ends at `from` or behind it. */
static uint32_t
search(const struct ranges *r, uint32_t from)
{
	uint32_t low = 0, high = r->n;

	while (low < high) {
		uint32_t mid = (low + high) / 2;

		if (r->at[mid].to < from)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static uint32_t
find(const struct ranges *r, uint32_t from)
{
	if (r->n && r->at[r->last].to == from)
		return r->last;
	return search(r, from);
}

/* True if the headers of n ranges fit into the holes that remain. */
static bool
fits(const struct ranges *r, uint32_t n, uint32_t from, uint32_t to)
{
	uint64_t whole = r->length, end = ranges_end(r);

	if (n <= 1)
		return true;
	if (!whole)
		whole = to > end ? to : end;
	return n <= r->most && (uint64_t)(n - 1) * r->header <=
				   whole - r->bytes - (to - from) + r->beside;
}

static void
make_room(struct ranges *r, uint32_t i)
{
	memmove(r->at + i + 1, r->at + i, (r->n - i) * sizeof *r->at);
	r->n++;
}

static void
close_up(struct ranges *r, uint32_t i)
{
	r->n--;
	memmove(r->at + i, r->at + i + 1, (r->n - i) * sizeof *r->at);
}

/* Position of new bytes: `before`: range i ends where they begin; else they go
 * before range i.  `behind`: they end where the next range begins. */
struct hole {
	uint32_t i;
	bool before, behind;
};

static enum ranges_answer
hole_find(const struct ranges *r, uint32_t from, uint32_t to, struct hole *hole)
{
	uint32_t i = find(r, from), next;

	hole->i = i;
	hole->before = i < r->n && r->at[i].to == from;
	next = i + hole->before;
	if (next < r->n && r->at[next].from < to)
		return RANGES_DUPLICATE;
	hole->behind = next < r->n && r->at[next].from == to;
	if (!fits(r, r->n + 1 - hole->before - hole->behind, from, to))
		return RANGES_FULL;
	return RANGES_NEW;
}

enum ranges_answer
ranges_seek(const struct ranges *r, uint32_t from, uint32_t to)
{
	struct hole hole;

	return hole_find(r, from, to, &hole);
}

enum ranges_answer
ranges_insert(struct ranges *r, uint32_t from, uint32_t to)
{
	struct hole hole;
	enum ranges_answer answer = hole_find(r, from, to, &hole);
	uint32_t i = hole.i;

	if (answer != RANGES_NEW)
		return answer;
	if (hole.before && hole.behind) {
		r->at[i].to = r->at[i + 1].to;
		close_up(r, i + 1);
	} else if (hole.before) {
		r->at[i].to = to;
	} else if (hole.behind) {
		r->at[i].from = from;
	} else {
		make_room(r, i);
		r->at[i] = (struct range){ from, to };
	}
	r->last = i;
	r->bytes += to - from;
	return RANGES_NEW;
}

uint64_t
ranges_missing(const struct ranges *r, uint32_t piece)
{
	uint64_t at = 0, n = 0;

	if (!piece)
		piece = UINT32_MAX; /* one per hole */
	for (uint32_t i = 0; i < r->n; i++) {
		n += (r->at[i].from - at + piece - 1) / piece;
		at = r->at[i].to;
	}
	if (r->length > at)
		n += (r->length - at + piece - 1) / piece;
	return n;
}
