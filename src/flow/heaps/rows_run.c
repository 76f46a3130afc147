/* SPDX-License-Identifier: MIT */
/*
 * Decides when a run of rows begins.
 *
 * A heap that comes again is recognized by its count and its sender, among
 * those that were finished last.  So are heaps of a sender that was restarted,
 * if its counter begins anew at counts that were used recently; counts used
 * long ago are forgotten, and taken as new heaps of the current run.  A
 * candidate (heap_candidate.c) is made of heaps that come again, of one sender.
 * Only a piece of the same sender for the current run contradicts it, and it is
 * a run, too, when its block is full and HEAPS_AGREE pieces came.
 *
 * The control heap that begins a stream is evidence enough for a new run,
 * unless the same one came from the same sender within max_age: then it is a
 * duplicate.  The control heap that ends a stream decides nothing: it may have
 * overtaken pieces.
 */
#include "flow/heaps/rows.h"

/* ---- a run begins ---------------------------------------------------- */

static void
run_begin(struct heaps *p)
{
	rows_close_all(p);
	rows_outside(p);
	finished_forget(&p->finished);
	p->rows.counter = (struct heap_counter){ .far = p->rows.counter.far };
	p->run++;
	p->base.counts.runs++;
}

static bool
note_complete(const struct note *n)
{
	if (n->ranges > 1)
		return false;
	return !n->length ||
	       (n->ranges && n->range[0].to - n->range[0].from == n->length);
}

/* Remembers the heaps of the candidate. */
static void
finished_take(struct heaps *p, const struct block *b, uint32_t sender)
{
	const struct note *n = notes_at(b, notes_head(b)->first);

	for (; n; n = notes_at(b, n->next)) {
		heap_counter_see(&p->rows.counter, n->heap, sender);
		if (n->pieces)
			finished_add(&p->finished, n->heap, sender,
				     note_complete(n));
	}
}

static void
candidate_win(struct heaps *p)
{
	struct rows *r = &p->rows;

	run_begin(p);
	finished_take(p, p->candidate.b, p->candidate.sender);
	heap_candidate_take(p);
	r->open[0] = r->parked;
	r->opens = 1;
}

/* ---- echoes ---------------------------------------------------------- */

struct row_block *
rows_echo(struct heaps *p, const struct receive_packet *k,
	  const struct row_block_want *want, enum finished_answer known)
{
	struct heap_candidate *c = &p->candidate;
	struct rows *r = &p->rows;

	if (!c->b && heap_candidate_begin(p, k->sender, p->finished.n))
		r->parked = rows_block_new(p, c->b);
	if (c->b && c->sender == k->sender) {
		rows_endless_cut(p, r->parked);
		if (row_block_fits(r->parked, want))
			return r->parked;
		/* The candidate's block is full, and nothing contradicted
		 * it. */
		if (c->pieces >= HEAPS_AGREE) {
			candidate_win(p);
			p->again = true;
			return NULL;
		}
	}
	heaps_drop(p, known == FINISHED_COMPLETE ? DROP_DUPLICATE : DROP_LATE);
	return NULL;
}

void
rows_echo_dissolve(struct heaps *p)
{
	p->rows.parked->b = NULL;
	heap_candidate_drop(p);
}

void
rows_echo_judge(struct heaps *p)
{
	if (heap_candidate_sure(p))
		candidate_win(p);
}

void
rows_echo_settle(struct heaps *p, int64_t since)
{
	if (!heap_candidate_due(p, since))
		return;
	if (p->candidate.whole)
		candidate_win(p);
	else
		rows_echo_dissolve(p);
}

void
rows_start(struct heaps *p, const struct format_piece *piece, uint32_t sender)
{
	struct rows *r = &p->rows;
	bool same = r->start == piece->heap && r->start_sender == sender;

	if (finished_find(&p->finished, piece->heap, sender) == FINISHED_NOT) {
		r->start = piece->heap;
		r->start_sender = sender;
		r->started = p->now;
	} else if (same && p->now - r->started >= p->a.max_age) {
		if (p->candidate.b)
			rows_echo_dissolve(p);
		run_begin(p);
		r->started = p->now;
	}
}
