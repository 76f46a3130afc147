/* SPDX-License-Identifier: MIT */
#include "given.h"

#include <errno.h>
#include <stdlib.h>

void
given_free(struct given *g)
{
	free(g->part);
	*g = (struct given){ 0 };
}

static int
part_add(struct given *g, struct given_part part)
{
	uint32_t room = g->room ? 2 * g->room : 16;
	struct given_part *more;

	if (g->n == g->room) {
		more = realloc(g->part, room * sizeof *more);
		if (!more)
			return -ENOMEM;
		g->part = more;
		g->room = room;
	}
	g->part[g->n++] = part;
	return 0;
}

int
given_add(struct given *g, const struct send_run *run, uint32_t i, uint32_t n)
{
	struct given_part *last = g->n ? &g->part[g->n - 1] : NULL;
	struct given_part next = { .byte = g->bytes,
				   .first = run->first + i,
				   .run = run->run,
				   .size = run->head_bytes + run->data_bytes };
	int err = 0;

	if (!n)
		return 0;
	if (!last || last->run != next.run || last->size != next.size ||
	    last->first + (next.byte - last->byte) / last->size != next.first)
		err = part_add(g, next);
	if (!err)
		g->bytes += (uint64_t)n * next.size;
	return err;
}

static uint32_t
part_find(const struct given *g, uint64_t byte)
{
	uint32_t low = 0, high = g->n;

	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;

		if (g->part[middle].byte <= byte)
			low = middle;
		else
			high = middle;
	}
	return low;
}

uint32_t
given_find(const struct given *g, uint64_t byte, uint32_t *run, uint64_t *first)
{
	const struct given_part *p;

	*run = 0;
	*first = 0;
	if (!g->n)
		return 0;
	p = &g->part[part_find(g, byte)];
	*run = p->run;
	*first = p->first + (byte - p->byte) / p->size;
	return (uint32_t)((byte - p->byte) % p->size);
}

void
given_cut(struct given *g, uint64_t byte)
{
	const struct given_part *p;
	uint32_t i = part_find(g, byte);

	if (!g->n || byte >= g->bytes)
		return;
	p = &g->part[i];
	g->bytes = byte - (byte - p->byte) % p->size;
	g->n = g->bytes == p->byte ? i : i + 1;
}
