/* SPDX-License-Identifier: MIT */
/*
 * Lost packets are counted from the records: slots without a packet between the
 * first and the last packet of a run.  Blocks of heaps say how many packets are
 * missing.  A gap of cubes says only how many heaps are missing; each is taken
 * to have as many packets as those of the block behind it.
 *
 * The end line knows more than the records (loss.h).  What it says beyond them
 * is added to the newest run of its substream, as the daemon does.
 *
 * Drops are in the end line.  Some dropped packets come back after it was
 * written: when a disk answers again, or `spate recover` finds them.
 */
#include <errno.h>
#include <stdlib.h>

#include "store/recording/loss.h"
#include "store/recording/recording_priv.h"

/* Holes at the very ends of a run are not between two packets, so not lost. */
struct edge {
	uint32_t slots;
	uint64_t leading, trailing;
};

static void
see_hole(void *arg, uint64_t slot, uint64_t count)
{
	struct edge *e = arg;

	if (!slot)
		e->leading = count;
	if (slot + count == e->slots)
		e->trailing = count;
}

static struct edge
edge_of(struct recording *rec, const struct index_record *r)
{
	struct edge e = { .slots = r->present + r->missing };

	/* a hole that another recorder filled was lost, also at the ends */
	if (rec->shape.store != HEAP_NONE || rec->foreign)
		return e;
	recording_holes(rec, r->number, see_hole, &e);
	if (e.leading + e.trailing > r->missing)
		e.leading = e.trailing = 0; /* the metadata is wrong */
	return e;
}

/* Sums over the records of one run. */
struct span {
	/* first and last block with data */
	const struct index_record *first, *last;
	uint64_t ahead; /* slots of gaps behind `last` so far */
	uint64_t packets, missing;
};

/* Packets that a gap of `gap` slots lacks, as the block behind it tells; the
 * daemon computes it in the same way. */
uint64_t
recording_gap(const struct recording *rec, uint64_t gap,
	      const struct index_record *r)
{
	uint64_t slots = r->bytes / rec->shape.payload;

	if (rec->shape.store != HEAP_CUBE || !slots)
		return gap;
	return gap * ((uint64_t)r->present + r->missing) / slots;
}

static void
take_record(const struct recording *rec, struct span *s,
	    const struct index_record *r)
{
	if (r->kind == INDEX_GAP) {
		s->ahead += s->first ? r->missing : 0;
		return;
	}
	if (!s->first)
		s->first = r;
	s->last = r;
	s->packets += r->present;
	s->missing += r->missing + recording_gap(rec, s->ahead, r);
	s->ahead = 0;
}

static void
fill_run(struct recording *rec, struct recording_run *run, const struct span *s)
{
	uint64_t leading = edge_of(rec, s->first).leading;
	uint64_t trailing = edge_of(rec, s->last).trailing;
	uint64_t slots = s->last->bytes / rec->shape.payload;

	run->packets = s->packets;
	run->missing = s->missing - leading - trailing;
	run->first = s->first->first + leading;
	run->last = s->last->first;
	if (rec->shape.store != HEAP_ROW && slots)
		run->last += slots - 1 - trailing;
	run->first_ns = s->first->first_ns;
	run->last_ns = s->last->last_ns;
}

/* Counts one run: the blocks at from .. to-1 of the order. */
static void
count_run(struct recording *rec, struct recording_run *run, size_t from,
	  size_t to)
{
	const struct index_record *begin = &recording_at(rec, from)->record;
	struct span span = { 0 };

	*run = (struct recording_run){ .run = begin->run, .sub = begin->sub };
	run->base = recording_base(rec, run->sub, run->run);
	for (size_t i = from; i < to; i++) {
		const struct index_record *r = &recording_at(rec, i)->record;

		if (r->kind != RECORDING_ABSENT)
			take_record(rec, &span, r);
	}
	if (span.first)
		fill_run(rec, run, &span);
}

/* Adds a run.  The array doubles: it is full whenever the number is a power of
 * two. */
static struct recording_run *
add_run(struct recording *rec)
{
	struct recording_run *grown = rec->run;
	unsigned n = rec->facts.runs;

	if (!(n & (n - 1)))
		grown = realloc(grown, (2 * (size_t)n + 1) * sizeof *grown);
	if (!grown)
		return NULL;
	rec->run = grown;
	rec->facts.runs++;
	return &rec->run[n];
}

static int
count_sub(struct recording *rec, unsigned sub)
{
	size_t end = rec->from[sub + 1], to;
	struct recording_run *run;

	for (size_t from = rec->from[sub]; from < end; from = to) {
		uint32_t number = recording_at(rec, from)->record.run;

		for (to = from + 1; to < end; to++) {
			if (recording_at(rec, to)->record.run != number)
				break;
		}
		run = add_run(rec);
		if (!run)
			return -ENOMEM;
		count_run(rec, run, from, to);
		rec->sub[sub].runs++;
	}
	return 0;
}

/* The end line of the only substream is that of the recording; also because old
 * recordings have no `subs`. */
const json_t *
recording_said(const struct recording *rec, unsigned sub)
{
	const json_t *end = json_object_get(rec->tail, "end");

	if (rec->facts.subs == 1)
		return end;
	return json_array_get(json_object_get(end, "subs"), sub);
}

static void
correct(struct recording *rec, unsigned sub, struct recording_run *run)
{
	struct recording_sub *s = &rec->sub[sub];
	uint64_t told =
	    loss_told(recording_said(rec, sub), s->packets, s->missing);

	if (s->runs)
		run[s->runs - 1].missing += told - s->missing;
	s->missing = told;
}

/* Sums up the runs of a substream. */
static void
sum(struct recording *rec, unsigned sub, struct recording_run *run)
{
	struct recording_sub *s = &rec->sub[sub];

	s->run = run;
	for (unsigned i = 0; i < s->runs; i++) {
		s->packets += run[i].packets;
		s->missing += run[i].missing;
		if (!s->first_ns)
			s->first_ns = run[i].first_ns;
		if (run[i].last_ns)
			s->last_ns = run[i].last_ns;
	}
	correct(rec, sub, run);
	rec->facts.packets += s->packets;
	rec->facts.missing += s->missing;
}

/* Sets the ends of runs of rows.  A row's record tells the count of its first
 * heap; the count of the last heap is in the end line only. */
static void
row_ends(struct recording *rec)
{
	const json_t *end = json_object_get(rec->tail, "end"), *was;
	size_t i;

	json_array_foreach(json_object_get(end, "runs"), i, was) {
		json_int_t of = json_integer_value(json_object_get(was, "sub"));
		json_int_t n = json_integer_value(json_object_get(was, "run"));
		json_t *last = json_object_get(was, "last");
		struct recording_sub *sub;
		unsigned k = 0;

		if (of < 0 || of >= rec->facts.subs || !json_is_integer(last))
			continue;
		sub = &rec->sub[of];
		while (k < sub->runs && sub->run[k].run != (uint64_t)n)
			k++;
		if (k < sub->runs)
			rec->run[sub->run + k - rec->run].last =
			    (uint64_t)json_integer_value(last);
	}
}

/* Takes up to n away from a number in the end line; returns how much. */
static json_int_t
take_back(json_t *from, const char *key, json_int_t n)
{
	json_t *number = json_object_get(from, key);
	json_int_t is = json_integer_value(number);

	if (n > is)
		n = is > 0 ? is : 0;
	json_integer_set(number, is - n);
	return n;
}

/* Corrects the end line: packets that the indexes have beyond those it counted
 * were dropped as unwritten then, and are back now.  So datagrams = packets +
 * drops stays true. */
static void
drops_settle(const struct recording *rec)
{
	json_t *end = json_object_get(rec->tail, "end");
	json_t *packets = json_object_get(end, "packets");
	json_int_t is = json_integer_value(packets), back;

	if (!json_is_integer(packets) || is < 0 ||
	    rec->facts.packets <= (uint64_t)is)
		return;
	back = take_back(json_object_get(end, "drops"), "unwritten",
			 (json_int_t)rec->facts.packets - is);
	take_back(end, "packets_at_risk", back);
	take_back(end, "packets_lost", back);
	json_integer_set(packets, is + back);
}

int
recording_count(struct recording *rec)
{
	struct recording_facts *f = &rec->facts;
	unsigned at = 0;
	int err = 0;

	f->packets = f->missing = f->runs = 0;
	for (unsigned i = 0; i < f->subs && !err; i++)
		err = count_sub(rec, i);
	if (err)
		return err;
	for (unsigned i = 0; i < f->subs; at += rec->sub[i++].runs)
		sum(rec, i, f->runs ? rec->run + at : NULL);
	f->run = rec->run;
	if (rec->shape.store == HEAP_ROW)
		row_ends(rec);
	drops_settle(rec);
	return 0;
}
