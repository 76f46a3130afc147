/* SPDX-License-Identifier: MIT */
/*
 * Decides when a run of heaps begins, and handles pieces that come too late.
 *
 * A heap that comes again is recognized by its count and its sender.  So are
 * heaps of a sender that was restarted, if its counter begins anew at counts
 * that were used recently.  (Counts used long ago do not matter: they are
 * forgotten, and taken as new heaps of the current run.)  Such heaps are laid
 * in a block of their own, the candidate's, until it shows what they are:
 *
 *   another run    if HEAPS_BEHIND pieces, or as many as fit in the block, came
 *                  without a piece of the same sender for the current run; then
 *                  the block is the first one of the next run
 *   late           at the first such piece: pieces of heaps that were complete
 *                  count as `duplicate`, of incomplete heaps as `late`
 *
 * So a restart costs nothing, unless it is so short that the counter is back at
 * its old value within fewer pieces than that: then those are lost, at most
 * HEAPS_AGREE - 1.  Late packets beside a healthy stream cost it nothing but a
 * block for the time of a few packets, and only a block that others do not
 * need; without one they are dropped at once.
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

/* Counts the heaps of the candidate that are finished already. */
static void
finished_take(struct heaps *p, const struct block *b, uint32_t sender)
{
	const struct note *n = notes_at(b, notes_head(b)->first);

	for (; n; n = notes_at(b, n->next)) {
		bool complete = note_complete(n);

		heap_counter_see(&p->rows.counter, n->heap, sender);
		if (!n->pieces)
			continue;
		p->base.counts.heaps++;
		p->base.counts.heaps_incomplete += !complete;
		finished_add(&p->finished, n->heap, sender, complete);
	}
}

static void
candidate_win(struct heaps *p)
{
	struct rows *r = &p->rows;

	run_begin(p);
	finished_take(p, r->parked->b, r->candidate.sender);
	heaps_parked_take(p, &r->candidate);
	r->open[0] = r->parked;
	r->opens = 1;
	r->parked = NULL;
}

/* ---- echoes ---------------------------------------------------------- */

static void
candidate_begin(struct heaps *p, uint32_t sender)
{
	struct block *b = block_pool_take(p->a.pool, p->a.sub);

	if (!b)
		return;
	p->rows.parked = rows_block_new(p, b);
	p->rows.candidate = (struct heaps_candidate){ .sender = sender,
						      .since = p->now,
						      .need = candidate_behind(
							  p, p->finished.n) };
}

struct row_block *
rows_echo(struct heaps *p, const struct receive_packet *k,
	  const struct row_block_want *want, enum finished_answer known)
{
	struct rows *r = &p->rows;

	if (!r->parked)
		candidate_begin(p, k->sender);
	if (r->parked && r->candidate.sender == k->sender) {
		rows_endless_cut(p, r->parked);
		if (row_block_fits(r->parked, want))
			return r->parked;
		/* The candidate's block is full, and nothing contradicted
		 * it. */
		if (r->candidate.pieces >= HEAPS_AGREE) {
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
	struct rows *r = &p->rows;

	heaps_parked_drop(p, &r->candidate);
	rows_unused(p, r->parked->b);
	r->parked->b = NULL;
	r->parked = NULL;
}

void
rows_echo_judge(struct heaps *p)
{
	if (candidate_sure(&p->rows.candidate))
		candidate_win(p);
}

void
rows_echo_settle(struct heaps *p, int64_t since)
{
	const struct heaps_candidate *c = &p->rows.candidate;

	if (!p->rows.parked || c->since > since)
		return;
	if (c->whole)
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
		if (r->parked)
			rows_echo_dissolve(p);
		run_begin(p);
		r->started = p->now;
	}
}
