/* SPDX-License-Identifier: MIT */
/*
 * Streams come and go at the pace of people, so the list is short and a linear
 * search costs nothing.  One extent per stock was tried first: after some
 * recordings of different lengths a third one was refused although two thirds
 * of the memory were free, in fragments.
 */
#include "flow/memory/extents.h"

#include <errno.h>
#include <stdlib.h>

/* Free bytes from `from` up to extent `to`, or to the end of the arena if that
 * is NULL. */
static uint64_t
gap(const struct extents *e, const uint8_t *from, const struct extent *to)
{
	const uint8_t *end = to ? to->data : e->data + e->bytes;

	return (uint64_t)(end - from);
}

uint64_t
extents_room(const struct extents *e, uint64_t bytes)
{
	const struct extent *at = e->list;
	const uint8_t *from = e->data;
	uint64_t room = gap(e, from, at) / bytes;

	for (; at; at = at->next) {
		from = at->data + at->bytes;
		room += gap(e, from, at->next) / bytes;
	}
	return room;
}

static int
extent_add(struct extent **at, struct stock *stock, uint8_t *data,
	   uint64_t bytes)
{
	struct extent *new = malloc(sizeof *new);

	if (!new)
		return -ENOMEM;
	*new = (struct extent){ data, bytes, stock, *at };
	*at = new;
	return 0;
}

int
extents_take(struct extents *e, struct stock *stock, unsigned n, uint64_t bytes,
	     void (*place)(struct stock *stock, unsigned i, uint8_t *at))
{
	struct extent **at = &e->list;
	uint8_t *from = e->data;
	unsigned i = 0;
	uint64_t fit;

	if (extents_room(e, bytes) < n)
		return -ENOMEM;
	while (i < n) {
		fit = gap(e, from, *at) / bytes;
		fit = fit < n - i ? fit : n - i;
		if (fit && extent_add(at, stock, from, fit * bytes) < 0) {
			extents_give(e, stock);
			return -ENOMEM;
		}
		for (; fit; fit--, from += bytes)
			place(stock, i++, from);
		if (i < n) {
			from = (*at)->data + (*at)->bytes;
			at = &(*at)->next;
		}
	}
	return 0;
}

/* Splits the extent: the bytes behind the piece become an extent of their own,
 * the bytes before it keep the old one.  An empty part gets none. */
int
extents_cut(struct extents *e, const uint8_t *piece, uint64_t bytes)
{
	struct extent **at = &e->list, *is;
	uint64_t before, behind;

	while ((*at)->data + (*at)->bytes <= piece)
		at = &(*at)->next;
	is = *at;
	before = (uint64_t)(piece - is->data);
	behind = is->bytes - before - bytes;
	if (behind && extent_add(&is->next, is->stock,
				 is->data + before + bytes, behind) < 0)
		return -ENOMEM;
	is->bytes = before;
	if (!before) {
		*at = is->next;
		free(is);
	}
	return 0;
}

void
extents_give(struct extents *e, const struct stock *stock)
{
	struct extent **at = &e->list, *gone;

	while (*at) {
		gone = *at;
		if (gone->stock != stock) {
			at = &gone->next;
			continue;
		}
		*at = gone->next;
		free(gone);
	}
}
