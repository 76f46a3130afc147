/* SPDX-License-Identifier: MIT */
/*
 * A heap that cannot be of the current run is late, a duplicate or garbage; or
 * it is the first of the next run, because its sender was restarted or its
 * counter jumped.  A heap by itself does not tell, but what follows does.  So
 * such heaps are parked: they are laid in a block of their own, the
 * candidate's, as they will be stored, until one of these shows:
 *
 *   a run   RUN_AGREE pieces came, or a complete heap of HEAPS_WHOLE pieces;
 *           the block becomes the first one of the next run
 *   none    a piece came that has its place in the current run
 *
 * Nothing has to be moved or sent again in either case.  Pieces of a candidate
 * that is none are counted as what they were when they came: `duplicate`,
 * `late` or `out_of_window`.
 *
 * A burst of late pieces agrees with itself as well as a restarted counter
 * does, but then the run goes on.  So behind the head of a run up to
 * RUN_BEHIND pieces are needed, and a complete heap is not enough.
 *
 * At the end, and when a candidate is max_age old, it is a run if one of its
 * heaps is complete, since nothing contradicted it.
 *
 * So a restart costs nothing, unless it is so short that the counter is back at
 * its old value before that: then those pieces are lost, RUN_AGREE - 1 at
 * most.  Late pieces beside a healthy stream cost it nothing but a block for
 * the time of a few packets, and only a block that others do not need; without
 * one they are dropped at once.
 *
 * The kinds, rows.c and cubes.c, decide which heaps agree with a candidate, and
 * what its block becomes in the next run.
 */
#include "flow/heaps/heaps_priv.h"

bool
heap_candidate_begin(struct heaps *p, uint32_t sender, uint64_t behind)
{
	p->candidate = (struct heap_candidate){
		.b = block_pool_take(p->a.pool, p->a.sub),
		.sender = sender,
		.need =
		    run_behind(behind * p->guess.pieces, RUN_AGREE, RUN_BEHIND),
		.since = p->now,
	};
	return p->candidate.b;
}

void
heap_candidate_piece(struct heaps *p, const struct heap *h, uint32_t bytes)
{
	struct heap_candidate *c = &p->candidate;

	c->pieces++;
	c->drop[h->why]++;
	c->bytes += bytes;
}

void
heap_candidate_finish(struct heaps *p, const struct heap *h, bool complete)
{
	struct heap_candidate *c = &p->candidate;

	c->heaps++;
	c->incomplete += !complete;
	c->whole |= complete && h->pieces > 1;
	c->sure |= complete && h->pieces >= HEAPS_WHOLE;
}

void
heap_candidate_withdraw(struct heaps *p, const struct heap *h)
{
	struct heap_candidate *c = &p->candidate;

	c->pieces -= h->pieces;
	c->drop[h->why] -= h->pieces;
	c->bytes -= h->bytes;
}

bool
heap_candidate_sure(const struct heaps *p)
{
	const struct heap_candidate *c = &p->candidate;

	return c->pieces >= c->need || (c->sure && c->need == RUN_AGREE);
}

void
heap_candidate_drop(struct heaps *p)
{
	struct heap_candidate *c = &p->candidate;

	for (struct heap *h = p->live; h < p->live + HEAPS_LIVE; h++) {
		if (h->live && h->parked)
			heaps_remove(p, h);
	}
	for (int i = 0; i < DROP_KINDS; i++)
		p->base.counts.drop[i] += c->drop[i];
	heaps_unused(p, c->b);
	c->b = NULL;
}

void
heap_candidate_take(struct heaps *p)
{
	struct heap_candidate *c = &p->candidate;

	for (struct heap *h = p->live; h < p->live + HEAPS_LIVE; h++) {
		if (!h->live || !h->parked)
			continue;
		h->parked = h->held = false;
		if (!p->newest || p->newest->order < h->order)
			p->newest = h;
	}
	p->base.counts.placed += c->pieces;
	p->base.counts.bytes += c->bytes;
	p->base.counts.heaps += c->heaps;
	p->base.counts.heaps_incomplete += c->incomplete;
	c->b = NULL;
}
