/* SPDX-License-Identifier: MIT */
/*
 * Packets that come before their slot is known wait, unchanged, in a block that
 * is borrowed for them.
 *
 * At the beginning all packets wait, until there are enough to make a run.
 * They are then sorted by heap and offset, as they were sent, so that neither
 * the first slot nor the step of time depends on the order of arrival.  Later,
 * a packet waits if it overtook the one with its heap's time, or if it does not
 * tell which bytes of the heap are stored and nothing is known to guess that
 * by.  Waiting packets are tried again whenever the time of a heap became
 * known; and a last time, when they waited for max_age or at the end, without
 * waiting any more.
 *
 * If blocks are short, or the block is full, no packet waits.  A piece that
 * waits already and comes again may be from a sender that restarted; it ends
 * the waiting.
 */
#include "flow/heaps/cubes.h"

#include <stdlib.h>
#include <string.h>

enum {
	MOST = 2 * HEAPS_AGREE, /* packets that may wait */
	SPARE = 3, /* free blocks required: one for them, two for the window */
};

struct cube_wait {
	struct receive_packet packet;
	uint64_t heap, offset;
	bool stays; /* it was tried, and waits on */
};

static bool
memory_take(struct heaps *p)
{
	struct cube_early *e = &p->cubes.early;

	if (stock_room(p->a.stock, p->a.sub) < SPARE)
		return false;
	e->b = stock_take(p->a.stock, p->a.sub);
	e->used = MOST * sizeof(struct cube_wait);
	e->since = p->now;
	return e->b;
}

static void
copy(struct heaps *p, struct cube_wait *w, const struct format_piece *piece)
{
	const struct receive_packet *k = heaps_packet(p);
	uint32_t have = k->prefix_bytes < k->bytes ? k->prefix_bytes : k->bytes;
	uint8_t *at = p->cubes.early.b->data + p->cubes.early.used;

	memcpy(at, k->prefix, have);
	memcpy(at + have, k->payload, k->bytes - have);
	*w = (struct cube_wait){ .packet = *k,
				 .heap = piece->heap,
				 .offset = piece->offset };
	w->packet.prefix = at;
	w->packet.payload = at + have;
	w->packet.prefix_bytes = have;
	w->packet.arrived = p->now_ns;
	p->cubes.early.used += k->bytes;
}

bool
cubes_wait(struct heaps *p, const struct format_piece *piece)
{
	struct cube_early *e = &p->cubes.early;
	uint64_t bytes = (uint64_t)p->a.geometry->slots * p->a.shape->payload;

	if (e->tried) {
		e->tried->stays = !e->last;
		return !e->last;
	}
	if (!e->b && !memory_take(p))
		return false;
	if (e->n == MOST || e->used > bytes ||
	    bytes - e->used < heaps_packet(p)->bytes)
		return false;
	copy(p, (struct cube_wait *)e->b->data + e->n++, piece);
	return true;
}

/* Order by heap, then by offset, then by arrival. */
static int
by_place(const void *a, const void *b)
{
	const struct cube_wait *x = a, *y = b;

	if (x->heap != y->heap)
		return x->heap < y->heap ? -1 : 1;
	if (x->offset != y->offset)
		return x->offset < y->offset ? -1 : 1;
	return x->packet.prefix < y->packet.prefix ? -1 : 1;
}

static void
try_all(struct heaps *p, bool last)
{
	struct cube_early *e = &p->cubes.early;
	struct cube_wait *wait = (struct cube_wait *)e->b->data;
	unsigned kept = 0;

	qsort(wait, e->n, sizeof *wait, by_place);
	e->last = last;
	e->news = false;
	for (unsigned i = 0; i < e->n; i++) {
		e->tried = &wait[i];
		e->tried->stays = false;
		heaps_again(p, &wait[i].packet);
		if (wait[i].stays)
			wait[kept++] = wait[i];
	}
	e->tried = NULL;
	e->n = kept;
	if (kept)
		return;
	stock_put(e->b);
	e->b = NULL;
}

void
cubes_early_try(struct heaps *p, bool last)
{
	if (p->cubes.early.b && (last || p->cubes.early.news))
		try_all(p, last);
}

static bool
is_there(const struct cube_early *e, const struct receive_packet *k,
	 const struct format_piece *piece)
{
	const struct cube_wait *wait = e->b ? (void *)e->b->data : NULL;

	for (unsigned i = 0; i < e->n; i++) {
		if (wait[i].heap == piece->heap &&
		    wait[i].offset == piece->offset &&
		    wait[i].packet.sender == k->sender)
			return true;
	}
	return false;
}

bool
cubes_begin_wait(struct heaps *p, const struct format_piece *piece)
{
	const struct cubes *c = &p->cubes;
	unsigned n = c->early.n;

	if (c->window.running || c->parked || c->early.tried)
		return false;
	if (!is_there(&c->early, heaps_packet(p), piece) &&
	    cubes_wait(p, piece)) {
		cubes_item_learn(p, piece);
		if (c->early.n >= HEAPS_AGREE)
			try_all(p, false);
		return true;
	}
	if (!n)
		return false;
	try_all(p, false);
	p->again = c->early.n < n;
	return p->again;
}
