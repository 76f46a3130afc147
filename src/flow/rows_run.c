/* SPDX-License-Identifier: MIT */
/*
 * When a run of heaps begins, and what becomes of pieces that come too late.
 *
 * A heap is known to have been there by its count and its sender, and so is
 * one of a sender that was started again: its counts begin anew, where they
 * were not long ago.  (Longer ago is no matter: what is forgotten is taken as
 * new, and goes on in the run there is.)  Such heaps are laid in a block of
 * their own, the candidate's, until it shows what they are:
 *
 *   another run    when HEAPS_AGREE pieces, or a whole heap of HEAPS_WHOLE,
 *                  came without a piece of the same sender where the run is;
 *                  then the block is the first of the next run
 *   late           at the first such piece: those that were there already are
 *                  `duplicate`, of heaps that were incomplete `late`
 *
 * So a restart costs nothing, but where it is so short that the counter comes
 * to where it was within fewer pieces than that: then those, at most
 * HEAPS_AGREE - 1.  Late packets beside a healthy stream cost the stream
 * nothing but a block for the time of a few packets, which is only taken
 * where others have no need of it; without one they are dropped at once.
 *
 * The control heap that begins a stream is evidence enough, unless it came
 * from the same sender within max_age: then it is a duplicate.  That which
 * ends a stream says nothing: pieces may yet come that it overtook.
 */
#include "flow/rows.h"

static void
late_drop(struct heaps *p, enum recent_answer known)
{
	heaps_drop(p, known == RECENT_COMPLETE ? DROP_DUPLICATE : DROP_LATE);
}

static void
candidate_begin(struct heaps *p, uint32_t sender)
{
	struct rows_candidate *c = &p->rows.candidate;
	struct block *b = stock_take(p->a.stock, p->a.sub);

	if (!b)
		return;
	*c = (struct rows_candidate){ .bay = rows_bay_new(p, b),
				      .sender = sender,
				      .since = p->now };
}

struct bay *
rows_echo(struct heaps *p, const struct receive_packet *k,
	  const struct bay_want *want, enum recent_answer known)
{
	struct rows_candidate *c = &p->rows.candidate;

	if (!c->bay)
		candidate_begin(p, k->sender);
	if (c->bay && c->sender == k->sender) {
		rows_endless_cut(p, c->bay);
		if (bay_fits(c->bay, want))
			return c->bay;
	}
	late_drop(p, known);
	return NULL;
}

void
rows_echo_taken(struct heaps *p, const struct heap *h, uint32_t bytes)
{
	struct rows_candidate *c = &p->rows.candidate;

	c->pieces++;
	c->late += h->known == RECENT_INCOMPLETE;
	c->bytes += bytes;
}

void
rows_echo_finish(struct heaps *p, const struct heap *h, bool complete)
{
	struct rows_candidate *c = &p->rows.candidate;

	if (!complete)
		return;
	c->whole |= h->pieces > 1;
	c->sure |= h->pieces >= HEAPS_WHOLE;
}

void
rows_echo_dissolve(struct heaps *p)
{
	struct rows_candidate *c = &p->rows.candidate;

	for (struct heap *h = p->live; h < p->live + HEAPS_LIVE; h++) {
		if (h->live && h->parked)
			heaps_remove(p, h);
	}
	p->base.counts.drop[DROP_LATE] += c->late;
	p->base.counts.drop[DROP_DUPLICATE] += c->pieces - c->late;
	rows_unused(p, c->bay->b);
	c->bay->b = NULL;
	c->bay = NULL;
}

/* ---- a run begins ---------------------------------------------------- */

static void
run_begin(struct heaps *p)
{
	rows_close_all(p);
	recent_forget(&p->recent);
	p->rows.steps = (struct steps){ .far = p->rows.steps.far };
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

/* Heaps of the candidate that are finished already. */
static void
finished_take(struct heaps *p, const struct block *b, uint32_t sender)
{
	const struct note *n = notes_at(b, notes_head(b)->first);

	for (; n; n = notes_at(b, n->next)) {
		bool complete = note_complete(n);

		steps_see(&p->rows.steps, n->heap, sender);
		if (!n->pieces)
			continue;
		p->base.counts.heaps++;
		p->base.counts.heaps_incomplete += !complete;
		recent_add(&p->recent, n->heap, sender, complete);
	}
}

static void
live_take(struct heaps *p)
{
	for (struct heap *h = p->live; h < p->live + HEAPS_LIVE; h++) {
		if (!h->live || !h->parked)
			continue;
		h->parked = false;
		if (!p->newest || p->newest->order < h->order)
			p->newest = h;
	}
}

static void
candidate_win(struct heaps *p)
{
	struct rows_candidate *c = &p->rows.candidate;

	run_begin(p);
	finished_take(p, c->bay->b, c->sender);
	live_take(p);
	p->base.counts.placed += c->pieces;
	p->base.counts.bytes += c->bytes;
	p->rows.open[0] = c->bay;
	p->rows.opens = 1;
	c->bay = NULL;
}

void
rows_echo_judge(struct heaps *p)
{
	const struct rows_candidate *c = &p->rows.candidate;

	if (c->pieces >= HEAPS_AGREE || c->sure)
		candidate_win(p);
}

void
rows_echo_settle(struct heaps *p, int64_t since)
{
	struct rows_candidate *c = &p->rows.candidate;

	if (!c->bay || c->since > since)
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

	if (recent_find(&p->recent, piece->heap, sender) == RECENT_NOT) {
		r->start = piece->heap;
		r->start_sender = sender;
		r->started = p->now;
	} else if (same && p->now - r->started >= p->a.max_age) {
		if (r->candidate.bay)
			rows_echo_dissolve(p);
		run_begin(p);
		r->started = p->now;
	}
}
