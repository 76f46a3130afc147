/* SPDX-License-Identifier: MIT */
/*
 * Losses are found run by run, in the way they are counted (recording_place.c):
 * holes in blocks, gaps between blocks, and blocks that no disk has.  Each is a
 * stretch of slots, and stretches that touch are joined: what a dead cable cost
 * is reported as one loss and not as a hole, three gaps and a hole.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "store/recording/loss.h"
#include "store/recording/recording_priv.h"

enum { LINES_MOST = 256 }; /* most blocks whose lines of holes are read */

/* ---- how many -------------------------------------------------------- */

static uint64_t
number_of(const json_t *object, const char *key)
{
	json_int_t n = json_integer_value(json_object_get(object, key));

	return n > 0 ? (uint64_t)n : 0;
}

uint64_t
loss_count(const json_t *end, uint64_t packets, uint64_t counted)
{
	uint64_t lost = number_of(end, "packets_lost");
	uint64_t then = number_of(end, "packets");
	uint64_t found = packets > then ? packets - then : 0;

	if (!json_is_integer(json_object_get(end, "packets")))
		return counted;
	lost = lost > found ? lost - found : 0;
	return lost > counted ? lost : counted;
}

static bool
is_among(const char *const *list, const char *word)
{
	while (*list && strcmp(*list, word) != 0)
		list++;
	return *list;
}

bool
loss_is_wanted(const char *drop)
{
	static const char *const unwanted[] = { "foreign",   "before_start",
						"duplicate", "unsplit",
						"unstored",  NULL };

	return !is_among(unwanted, drop);
}

/* Drops that have a sequence number in a run are part of `lost`, as far as
 * their run is known: the larger of the two counts. */
uint64_t
loss_missed(const json_t *drops, uint64_t lost)
{
	static const char *const numbered[] = { "late", "no_buffer",
						"unwritten", "untimed", NULL };
	uint64_t in_runs = 0, others = 0;
	const char *reason;
	json_t *count;

	json_object_foreach((json_t *)drops, reason, count) {
		if (is_among(numbered, reason))
			in_runs += number_of(drops, reason);
		else if (loss_is_wanted(reason))
			others += number_of(drops, reason);
	}
	return (lost > in_runs ? lost : in_runs) + others;
}

/* ---- when ------------------------------------------------------------ */

/* A stretch that grows while the next one touches it. */
struct growing_stretch {
	struct loss_stretch s;
	uint64_t end; /* first slot behind it */
};

/* State of the search. */
struct find {
	struct recording *rec;
	struct loss_map *map;
	/* lost packets from which on a block's holes are read */
	uint32_t least;
	unsigned left; /* blocks whose holes may still be read */
	struct growing_stretch growing;
	/* packets of this substream in stretches so far */
	uint64_t found, absent;
	/* First and last block with data of the current run. */
	const struct recording_block *first, *last;
	/* The block whose holes are being read. */
	const struct recording_block *b;
	uint64_t slots;
};

/* ---- columns --------------------------------------------------------- */

/* Times are as in an index: their difference may not fit in 64 bits. */
static double
from_to(int64_t from, int64_t to)
{
	return (double)((__int128_t)to - from);
}

static int64_t
between(int64_t from, int64_t to, double part)
{
	return (int64_t)(from + (__int128_t)(part * from_to(from, to)));
}

static unsigned
column_of(const struct loss_map *map, int64_t ns)
{
	double part =
	    from_to(map->from_ns, ns) / (from_to(map->from_ns, map->to_ns) + 1);

	if (part <= 0)
		return 0;
	return part < 1 ? (unsigned)(part * LOSS_COLUMNS) : LOSS_COLUMNS - 1;
}

/* The part of a stretch of time that is over when column `i` ends. */
static double
part_over(const struct loss_map *map, unsigned i, int64_t from, int64_t to)
{
	int64_t end =
	    between(map->from_ns, map->to_ns, (double)(i + 1) / LOSS_COLUMNS);
	double part = to > from ? from_to(from, end) / from_to(from, to) : 1;

	return part < 0 ? 0 : part > 1 ? 1 : part;
}

/* Distributes n over the columns from one time to another, to each as much as it
 * has of that time; `at` is the offset of the counter within a column. */
static void
spread(struct loss_map *map, size_t at, uint64_t n, int64_t from, int64_t to)
{
	unsigned a = column_of(map, from), z = column_of(map, to);
	uint64_t done = 0;

	for (unsigned i = a; i < z; i++) {
		uint64_t sum =
		    (uint64_t)((double)n * part_over(map, i, from, to));
		uint64_t part = sum > done ? sum - done : 0;

		*(uint64_t *)((char *)&map->column[i] + at) += part;
		done += part;
	}
	if (z < a)
		z = a;
	*(uint64_t *)((char *)&map->column[z] + at) += n - done;
}

#define SPREAD(map, count, n, from, to)                                        \
	spread(map, offsetof(struct loss_column, count), n, from, to)

/* ---- stretches ------------------------------------------------------- */

/* Ends the growing stretch, and puts it into its place among the worst. */
static void
stretch_end(struct find *f)
{
	struct loss_map *map = f->map;
	const struct loss_stretch *s = &f->growing.s;
	unsigned at = map->worsts;

	while (at && map->worst[at - 1].lost < s->lost)
		at--;
	if (s->lost && at < LOSS_WORST) {
		if (map->worsts < LOSS_WORST)
			map->worsts++;
		memmove(&map->worst[at + 1], &map->worst[at],
			(map->worsts - at - 1) * sizeof *map->worst);
		map->worst[at] = *s;
	}
	f->growing.s.lost = 0;
}

/* Adds a stretch: slots from .. to of the run, with s->lost packets. */
static void
stretch_add(struct find *f, uint64_t from, uint64_t to,
	    const struct loss_stretch *s)
{
	struct growing_stretch *g = &f->growing;

	if (!s->lost)
		return;
	if (s->absent) {
		SPREAD(f->map, absent, s->lost, s->from_ns, s->to_ns);
		f->absent += s->lost;
	} else {
		SPREAD(f->map, lost, s->lost, s->from_ns, s->to_ns);
		f->found += s->lost;
	}
	if (g->s.lost && g->end == from && g->s.absent == s->absent) {
		g->s.lost += s->lost;
		g->s.to_ns = s->to_ns;
	} else {
		stretch_end(f);
		g->s = *s;
	}
	g->end = to;
}

/* ---- blocks ---------------------------------------------------------- */

static int64_t
slot_time(const struct find *f, uint64_t slot)
{
	const struct index_record *r = &f->b->record;
	double part = f->slots ? (double)slot / (double)f->slots : 0;

	return between(r->first_ns, r->last_ns, part);
}

/* Adds a hole.  Slots before a run's first packet or behind its last are not
 * lost; but what another recorder filled was lost wherever it is. */
static void
take_hole(void *arg, uint64_t at, uint64_t count)
{
	struct find *f = arg;
	const struct index_record *r = &f->b->record;
	struct loss_stretch s = { slot_time(f, at), slot_time(f, at + count),
				  count, r->sub, false };

	if (!f->rec->foreign && ((f->b == f->first && !at) ||
				 (f->b == f->last && at + count >= f->slots)))
		return;
	stretch_add(f, r->first + at, r->first + at + count, &s);
}

/* Adds the loss of a block whose holes are not known or were not read, spread
 * evenly over the block. */
static void
take_evenly(struct find *f)
{
	const struct index_record *r = &f->b->record;
	struct loss_stretch s = { r->first_ns, r->last_ns, r->missing, r->sub,
				  false };

	stretch_add(f, r->first, r->first, &s);
}

static void
take_block(struct find *f, const struct recording_block *b)
{
	const struct index_record *r = &b->record;
	bool edge = b == f->first || b == f->last;

	SPREAD(f->map, packets, r->present, r->first_ns, r->last_ns);
	if (!r->missing)
		return;
	f->b = b;
	f->slots = r->bytes / f->rec->shape.payload;
	if (f->rec->shape.store != HEAP_NONE ||
	    (!edge && (r->missing < f->least || !f->left))) {
		take_evenly(f);
		return;
	}
	f->left -= f->left > 0;
	if (recording_holes(f->rec, r->number, take_hole, f))
		take_evenly(f);
}

/* Adds a gap or an absent block between two blocks of a run. */
static void
take_between(struct find *f, const struct recording_block *b,
	     const struct recording_block *before,
	     const struct recording_block *behind)
{
	const struct index_record *r = &b->record;
	struct loss_stretch s = {
		before->record.last_ns, behind->record.first_ns,
		recording_gap(f->rec, r->missing, &behind->record),
		before->record.sub, r->kind == RECORDING_ABSENT
	};

	stretch_add(f, r->first, r->first + r->missing, &s);
}

/* ---- runs ------------------------------------------------------------ */

static bool
has_data(const struct recording *rec, size_t place)
{
	return recording_at(rec, place)->record.kind == INDEX_BLOCK;
}

/* Adds the losses of one run: the blocks at positions from .. to-1 of the
 * order. */
static void
find_run(struct find *f, size_t from, size_t to)
{
	const struct recording *rec = f->rec;
	const struct recording_block *before;
	size_t behind;

	while (from < to && !has_data(rec, from))
		from++;
	while (to > from && !has_data(rec, to - 1))
		to--;
	if (from == to)
		return;
	f->first = before = recording_at(rec, from);
	f->last = recording_at(rec, to - 1);
	behind = from;
	for (size_t i = from; i < to; i++) {
		if (has_data(rec, i)) {
			before = recording_at(rec, i);
			take_block(f, before);
			continue;
		}
		while (behind < i || !has_data(rec, behind))
			behind++;
		take_between(f, recording_at(rec, i), before,
			     recording_at(rec, behind));
	}
	stretch_end(f);
}

/* Adds the losses that no index shows, at the end of the data.  Blocks that are
 * on no disk are reported as absent, whether they were written or lost. */
static void
find_rest(struct find *f, unsigned sub)
{
	const struct recording_facts *facts = &f->rec->facts;
	const struct recording_sub *s = &facts->sub[sub];
	uint64_t then = number_of(recording_sub_end(f->rec, sub), "packets");
	uint64_t away = then > s->packets ? then - s->packets : 0;
	uint64_t found = f->found;
	struct loss_stretch rest = { .from_ns = s->last_ns,
				     .to_ns = s->last_ns,
				     .sub = (uint16_t)sub };

	found += f->absent > away ? f->absent - away : 0;
	if (s->missing <= found)
		return;
	rest.lost = s->missing - found;
	if (facts->end_ns > rest.to_ns)
		rest.to_ns = facts->end_ns;
	stretch_add(f, UINT64_MAX, UINT64_MAX, &rest);
	stretch_end(f);
}

static void
find_sub(struct find *f, unsigned sub)
{
	const struct recording *rec = f->rec;
	size_t end = rec->from[sub + 1], to;

	f->found = f->absent = 0;
	for (size_t from = rec->from[sub]; from < end; from = to) {
		uint32_t run = recording_at(rec, from)->record.run;

		for (to = from + 1; to < end; to++)
			if (recording_at(rec, to)->record.run != run)
				break;
		find_run(f, from, to);
	}
	find_rest(f, sub);
}

/* ---- the whole ------------------------------------------------------- */

static int
descending(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x > y ? -1 : x < y;
}

/* Finds how much a block must have lost to be among the LINES_MOST worst. */
static int
find_least(struct find *f)
{
	const struct recording *rec = f->rec;
	uint32_t *lost = malloc((rec->blocks + 1) * sizeof *lost);
	size_t n = 0;

	if (!lost)
		return -ENOMEM;
	for (size_t i = 0; i < rec->blocks; i++)
		if (rec->block[i].record.kind == INDEX_BLOCK &&
		    rec->block[i].record.missing)
			lost[n++] = rec->block[i].record.missing;
	qsort(lost, n, sizeof *lost, descending);
	f->least = n > LINES_MOST ? lost[LINES_MOST - 1] : 0;
	f->left = LINES_MOST;
	free(lost);
	return 0;
}

static void
find_times(const struct recording *rec, struct loss_map *map)
{
	for (size_t i = 0; i < rec->blocks; i++) {
		const struct index_record *r = &rec->block[i].record;

		if (r->kind != INDEX_BLOCK)
			continue;
		if (!map->to_ns || r->first_ns < map->from_ns)
			map->from_ns = r->first_ns;
		if (!map->to_ns || r->last_ns > map->to_ns)
			map->to_ns = r->last_ns;
	}
}

int
loss_find(struct recording *rec, struct loss_map *map)
{
	struct find f = { .rec = rec, .map = map };
	int err = find_least(&f);

	*map = (struct loss_map){ 0 };
	if (err)
		return err;
	find_times(rec, map);
	for (unsigned i = 0; i < rec->facts.subs; i++)
		find_sub(&f, i);
	return 0;
}

/* ---- as JSON ---------------------------------------------------------- */

static json_t *
time_json(int64_t ns)
{
	char text[UNITS_TEXT];

	return json_string(units_show_time_ns(text, ns));
}

static json_t *
columns_json(const struct loss_map *map)
{
	/* One part if all packets have the same time, as those of VDIF whose
	 * frames per second are not known: all are in the first column. */
	unsigned n = map->from_ns == map->to_ns ? 1 : LOSS_COLUMNS;
	json_t *list = json_array();

	for (unsigned i = 0; map->to_ns && i < n; i++) {
		const struct loss_column *c = &map->column[i];
		int64_t from = between(map->from_ns, map->to_ns, (double)i / n);
		int64_t to = between(map->from_ns, map->to_ns, (i + 1.) / n);

		json_array_append_new(
		    list, json_pack("{s:o s:o s:I s:I s:I}", "from",
				    time_json(from), "to", time_json(to),
				    "packets", (json_int_t)c->packets,
				    "packets_lost", (json_int_t)c->lost,
				    "packets_absent", (json_int_t)c->absent));
	}
	return list;
}

static json_t *
worst_json(const struct loss_map *map)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < map->worsts; i++) {
		const struct loss_stretch *s = &map->worst[i];

		json_array_append_new(
		    list,
		    json_pack("{s:o s:o s:I s:i s:b}", "from",
			      time_json(s->from_ns), "to", time_json(s->to_ns),
			      "packets_lost", (json_int_t)s->lost, "sub",
			      (int)s->sub, "absent", s->absent));
	}
	return list;
}

int
loss_add_json(struct recording *rec, json_t *info)
{
	struct loss_map *map = malloc(sizeof *map);
	int err = map ? loss_find(rec, map) : -ENOMEM;

	if (!err && (json_object_set_new(info, "loss_map", columns_json(map)) ||
		     json_object_set_new(info, "loss_worst", worst_json(map))))
		err = -ENOMEM;
	free(map);
	return err;
}
