/* SPDX-License-Identifier: MIT */
/*
 * Fill for plain bytes: what the recording's file has in place of missing data.
 * The source reads it from the file if it can; else headers are derived from
 * those that were seen, as the recorder does it.
 *
 * One piece of memory holds the fill.  A plugin may still have a part of it,
 * so the next piece is made only when all packets of the last one were
 * released.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "flow/send/cut_priv.h"

static void
make(struct cut *c, uint64_t slots)
{
	for (uint64_t i = 0; i < slots; i++)
		fill_model(&c->s->fill, c->fill + i * c->slot_bytes,
			   c->first + c->pos + i);
}

int
cut_fill(struct cut *c, uint64_t released)
{
	const struct source_ops *ops = c->p.source ? c->p.source->ops : NULL;
	uint64_t slots = CUT_FILL / c->slot_bytes, left = c->hi - c->pos, bytes;

	slots = slots ? slots : 1;
	if (!c->fill)
		c->fill = malloc(slots * c->slot_bytes);
	if (!c->fill)
		return -ENOMEM;
	if (released < c->fill_until)
		return -EAGAIN;
	slots = left < slots ? left : slots;
	bytes = slots * c->slot_bytes;
	if (c->zero_fill)
		memset(c->fill, 0, bytes);
	else if (!ops || !ops->fill ||
		 ops->fill(c->p.source, &c->p, c->pos * c->slot_bytes, bytes,
			   c->fill))
		make(c, slots);
	c->data = c->fill;
	c->in = c->pos;
	c->out = c->pos + slots;
	return 0;
}
