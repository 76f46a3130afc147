/* SPDX-License-Identifier: MIT */
/*
 * A cut looks at one parcel at a time through a window of runs:
 *
 *   parcel   |====taken====|==window==|.............|     slots of a block
 *            0           mark        pos            hi
 *
 * The window is made anew when all of it was taken.  Packets that a plugin did
 * not take stay in it, so that no prefix is made twice while a peer is slow.
 * Only if the parcel goes away in the middle is the window dropped, and begun
 * again behind `mark` when its block comes back.
 *
 * Missing packets are counted when a parcel begins, but only behind `told`: a
 * block that comes twice would be counted twice.
 */
#include <errno.h>
#include <stdlib.h>

#include "flow/send/cut_priv.h"

/* ---- counting -------------------------------------------------------- */

/* Slots of a stretch whose packets would be sent if they were there. */
static uint64_t
wanted_of(const struct cut *c, uint64_t slot, uint64_t n)
{
	return c->threads ? cut_thread_count(c, c->first + slot, n) : n;
}

static void
count_absent(struct cut *c, uint64_t n)
{
	const struct index_record *r = &c->p.record;
	uint64_t of = (uint64_t)r->present + r->missing, present = n;

	switch (c->p.err) {
	case -ENODATA: c->counts.missing += n; break;
	case -ENOBUFS: c->counts.dropped += n; break;
	default:
		if (of)
			present = n * r->present / of;
		c->counts.unreadable += present;
		c->counts.missing += n - present;
	}
}

static void
count_slots(struct cut *c)
{
	uint32_t slot = (uint32_t)c->lo, to;

	if (c->told.number == c->p.record.number && c->told.pos > c->skip &&
	    c->told.pos - c->skip > slot)
		slot = (uint32_t)(c->told.pos - c->skip);
	if (c->p.err && slot < c->hi)
		count_absent(c, wanted_of(c, slot, c->hi - slot));
	for (; !c->p.err && slot < c->hi; slot = to) {
		to = cut_alike(c, slot, (uint32_t)c->hi);
		if (!cut_has(c, slot))
			c->counts.missing += wanted_of(c, slot, to - slot);
	}
}

static void
count_row(struct cut *c)
{
	const struct index_record *r = &c->p.record;

	if (c->told.number == r->number && c->told.pos)
		return;
	c->counts.missing += r->missing;
	switch (c->p.err) {
	case 0: break;
	case -ENODATA: c->counts.missing += r->present; break;
	case -ENOBUFS: c->counts.dropped += r->present; break;
	default: c->counts.unreadable += r->present;
	}
}

static void
count(struct cut *c)
{
	struct cut_mark to = { c->p.record.number,
			       c->rows ? 1 : c->skip + c->hi };

	if (c->hi <= c->lo || to.number < c->told.number)
		return;
	if (c->rows)
		count_row(c);
	else
		count_slots(c);
	if (to.number > c->told.number || to.pos > c->told.pos)
		c->told = to;
}

/* ---- a parcel -------------------------------------------------------- */

bool
cut_bits(struct cut *c, uint32_t words)
{
	uint64_t *more;

	if (words <= c->bits_words)
		return true;
	more = realloc(c->bits, words * sizeof *more);
	if (!more)
		return false;
	c->bits = more;
	c->bits_words = words;
	return true;
}

/* Shifts the block's bits so that bit 0 is the parcel's first slot.  Without
 * memory for that all slots count as present: fill marks itself as invalid. */
static void
bits_take(struct cut *c)
{
	const uint64_t *bits = c->p.present + c->skip / 64;
	uint32_t words = (c->slots + 63) / 64, shift = c->skip % 64;

	c->has = shift ? NULL : bits;
	if (!shift || !cut_bits(c, words))
		return;
	for (uint32_t i = 0; i < words; i++) {
		c->bits[i] = bits[i] >> shift;
		if (i * 64 + 64 - shift < c->slots)
			c->bits[i] |= bits[i + 1] << (64 - shift);
	}
	c->has = c->bits;
}

static void
slots_begin(struct cut *c)
{
	const struct parcel *p = &c->p;

	c->skip = (uint32_t)(p->at / c->slot_bytes);
	c->slots = (uint32_t)(p->bytes / c->slot_bytes);
	if (p->err == -ENODATA && !p->bytes)
		c->slots = p->record.missing;
	c->first = p->record.first + c->skip;
	c->has = NULL;
	if (p->present)
		bits_take(c);
	c->data = p->err ? NULL : p->data;
	c->in = 0;
	c->out = p->err ? 0 : c->slots;
}

/* Sets the numbering of threads to the parcel's first slot, continuing behind
 * what was taken. */
static void
number_begin(struct cut *c)
{
	struct cut_number *b = &c->s->built;
	uint64_t next = c->first + c->pos;

	*b = c->s->took;
	if (!b->known || b->run != c->p.record.run || next < b->next)
		*b = (struct cut_number){ .known = true,
					  .run = c->p.record.run,
					  .next = next };
	b->count += cut_thread_count(c, b->next, next - b->next);
	b->next = next;
}

static void
pass_over(struct cut *c)
{
	uint64_t mark = c->mark.pos;

	c->pos = c->lo;
	if (c->p.record.number < c->mark.number)
		c->pos = c->hi;
	if (c->p.record.number != c->mark.number || mark <= c->skip)
		return;
	if (mark - c->skip > c->pos)
		c->pos = mark - c->skip;
}

void
cut_begin(struct cut *c, const struct parcel *p)
{
	int sub = c->choice->sub;

	c->p = *p;
	c->runs = c->run_at = 0;
	c->done = true;
	if (p->record.sub >= c->subs || (sub >= 0 && p->record.sub != sub))
		return;
	c->s = &c->sub[p->record.sub];
	c->skip = c->slots = 0;
	c->first = 0;
	if (!c->rows)
		slots_begin(c);
	cut_clock(c);
	c->s->past = !cut_range(c);
	c->past = c->s->past ? c->past + 1 : 0;
	if (!c->rows && !c->s->past)
		cut_learn(c);
	count(c);
	pass_over(c);
	c->done = c->pos >= c->hi || (p->err && (!c->plain || c->rows));
	if (c->rows && !c->done)
		cut_rows_begin(c);
	else if (c->threads && !c->done)
		number_begin(c);
}

bool
cut_ended(const struct cut *c)
{
	int sub = c->choice->sub;

	/* A substream without packets has no parcel beyond the range either; so
	 * many parcels in a row that are beyond it decide instead. */
	if (c->past > 64 + 4 * c->subs)
		return true;
	for (unsigned i = 0; i < c->subs; i++)
		if (!c->sub[i].past && (sub < 0 || (unsigned)sub == i))
			return false;
	return true;
}

/* ---- the window ------------------------------------------------------ */

/* Ends the parcel: all of it was taken. */
static void
parcel_end(struct cut *c)
{
	c->done = true;
	c->mark = (struct cut_mark){ c->p.record.number, c->skip + c->hi };
	if (!c->rows)
		c->s->took = c->s->built;
}

static int
window_make(struct cut *c, uint64_t released)
{
	int err = 0;

	c->run_at = c->runs = c->heads_n = 0;
	if (c->rows) {
		cut_rows(c);
	} else if (c->pos < c->hi) {
		if (c->pos >= c->out)
			err = cut_fill(c, released);
		if (!err)
			cut_slots(c);
	}
	if (!err && !c->runs && (c->rows || c->pos >= c->hi))
		parcel_end(c);
	return err;
}

int
cut_look(struct cut *c, uint64_t released, const struct send_run **run,
	 unsigned *n)
{
	int err = 0;

	while (!err && c->run_at == c->runs && !c->done)
		err = window_make(c, released);
	*run = c->run + c->run_at;
	*n = c->runs - c->run_at;
	return err;
}

/* Takes n packets of run i of the window, and shortens that run. */
static void
run_took(struct cut *c, unsigned i, uint32_t n)
{
	struct send_run *r = &c->run[i];
	uint64_t last = c->run_pos[i] + (uint64_t)(n - 1) * c->run_step[i];
	bool bytes = c->rows && c->plain;

	c->taken += n;
	c->mark.number = c->p.record.number;
	c->mark.pos = c->skip + last + (bytes ? r->data_bytes : 1);
	if (c->threads || c->rows)
		c->s->took = (struct cut_number){ .known = true,
						  .run = r->run,
						  .next = c->first + last + 1,
						  .count = r->first + n };
	if (c->fill && c->data == c->fill)
		c->fill_until = c->taken;
	c->run_pos[i] += (uint64_t)n * c->run_step[i];
	r->packets -= n;
	r->first += n;
	r->data += (uint64_t)n * r->data_stride;
	if (r->head)
		r->head += (uint64_t)n * r->head_stride;
	if (r->time_ns)
		r->time_ns += (int64_t)n * r->every;
}

void
cut_took(struct cut *c, uint64_t packets)
{
	while (packets) {
		uint32_t of = c->run[c->run_at].packets;
		uint32_t n = packets < of ? (uint32_t)packets : of;

		run_took(c, c->run_at, n);
		c->run_at += n == of;
		packets -= n;
	}
}

void
cut_back(struct cut *c, uint32_t run, uint64_t first, uint32_t *seek_run,
	 uint64_t *seek_first)
{
	c->back = !c->rows;
	c->back_run = run;
	c->back_first = first;
	c->mark = (struct cut_mark){ 0 };
	c->runs = c->run_at = 0;
	c->done = true;
	for (unsigned i = 0; i < c->subs; i++) {
		c->sub[i].took.known = false;
		c->sub[i].past = false;
	}
	c->past = 0;
	/* The new numbers of threads are found by counting from the run's
	 * beginning. */
	*seek_run = run;
	*seek_first = c->threads ? 0 : first;
}

void
cut_counts(const struct cut *c, struct cut_counts *counts)
{
	*counts = c->counts;
}
