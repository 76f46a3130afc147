/* SPDX-License-Identifier: MIT */
/* Cuts blocks of rows, whose heaps have any length.  As packets they are made
 * by cut_heaps, and positions count packets.  As plain bytes they are cut into
 * pieces of CUT_PIECE, for the pacer's sake only. */
#include "flow/send/cut_priv.h"

void
cut_rows_begin(struct cut *c)
{
	struct cut_number *b = &c->s->built;

	*b = c->s->took;
	if (!b->known || b->run != c->p.record.run)
		*b = (struct cut_number){ .known = true,
					  .run = c->p.record.run };
	if (!c->heaps)
		return;
	/* The block is cut from its first packet on; packets that were taken
	 * before are made again and skipped. */
	b->count -= c->mark.number == c->p.record.number ? c->pos : 0;
	b->next = 0;
	cut_heaps_begin(c->heaps, &c->p);
}

static void
bytes(struct cut *c)
{
	uint64_t left = c->hi - c->pos;
	uint32_t piece = left < CUT_PIECE ? (uint32_t)left : CUT_PIECE;

	if (!left)
		return;
	c->run[0] = (struct send_run){ .data = c->p.data + c->pos,
				       .data_bytes = piece,
				       .data_stride = piece,
				       .packets = (uint32_t)(left / piece),
				       .run = c->p.record.run,
				       .first = c->s->built.count,
				       .time_ns = c->time };
	c->run_pos[0] = c->pos;
	c->run_step[0] = piece;
	c->runs = 1;
	c->s->built.count += c->run[0].packets;
	c->pos += (uint64_t)piece * c->run[0].packets;
}

/* Completes runs that cut_heaps made, and drops packets before `pos`. */
static void
describe(struct cut *c, unsigned n)
{
	struct cut_number *b = &c->s->built;

	for (unsigned i = 0; i < n; i++) {
		struct send_run *r = &c->run[c->runs];
		uint64_t end, pass;

		*r = c->run[i];
		end = b->next + r->packets;
		pass = end < c->pos ? r->packets
				    : (c->pos > b->next ? c->pos - b->next : 0);
		r->sub = c->choice->sub < 0 ? c->p.record.sub : 0;
		r->run = c->p.record.run;
		r->first = b->count + b->next + pass;
		r->time_ns = c->time;
		r->data += pass * r->data_stride;
		if (r->head)
			r->head += pass * r->head_stride;
		c->run_pos[c->runs] = b->next + pass;
		c->run_step[c->runs] = 1;
		b->next = end;
		r->packets -= (uint32_t)pass;
		c->runs += r->packets > 0;
	}
}

void
cut_rows(struct cut *c)
{
	unsigned n;

	if (!c->heaps) {
		bytes(c);
		return;
	}
	do {
		n = cut_heaps_next(c->heaps, c->run, SEND_RUNS);
		describe(c, n);
	} while (n && !c->runs);
	if (n)
		return;
	if (cut_heaps_bad(c->heaps) > c->bad)
		c->counts.unreadable++;
	c->bad = cut_heaps_bad(c->heaps);
}
