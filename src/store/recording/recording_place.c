/* SPDX-License-Identifier: MIT */
/*
 * Blocks are numbered in one order that all substreams share; a file has the
 * blocks of one substream:
 *
 *   infer    what was in the numbers that no disk has (absent), if there is
 *            only one substream
 *   sort     numbers by substream
 *   add up   the offsets of each file
 *
 * An absent stretch between two blocks of a run is as long as the sequences
 * say; at the end of a run that is unknown, and full blocks are assumed.
 *
 * In a recording of several substreams, a stretch that is missing from a file
 * has no number, and so no block: it is the difference between the end of a
 * block and the offset of the next.
 *
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
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/record/heap_chunk.h"
#include "store/recording/loss.h"
#include "store/recording/recording_priv.h"
#include "store/disk/file.h"

/* ---- files ------------------------------------------------------------- */

/* Number of substreams: as configured, or more if records say so. */
static unsigned
count_subs(const struct recording *rec)
{
	json_t *subs = json_object_get(rec->head, "subs");
	json_int_t n = json_integer_value(subs);

	if (n < 1 || n > RECORDING_SUBS)
		n = 1;
	for (size_t i = 0; i < rec->blocks; i++) {
		if (rec->block[i].record.sub >= n)
			n = rec->block[i].record.sub + 1;
	}
	return (unsigned)n;
}

/* The sequence behind the last slot of a block. */
static uint64_t
end_sequence(const struct recording *rec, const struct recording_block *b)
{
	return b->record.first + b->bytes / rec->shape.payload;
}

/* Bytes of a row's chunk that can be read: up to its last whole packet. */
static uint64_t
row_bytes(const struct recording *rec, const struct recording_block *b)
{
	int64_t there = recording_chunk_bytes(rec, b);
	const struct format_ops *format;
	struct fault fault;
	struct heap_chunk row = { 0 };
	int fd;

	if (there < (int64_t)b->record.bytes &&
	    recording_protects(rec, b->record.number))
		return b->record.bytes;
	if (there < 0)
		return 0;
	if ((uint64_t)there >= b->record.bytes)
		return b->record.bytes;
	if (recording_format(rec, &format, &fault))
		return 0;
	fd = recording_chunk_open(rec, b);
	if (fd < 0)
		return 0;
	if (heap_chunk_read(format, fd, (uint64_t)there, &row))
		row.bytes = 0;
	file_close(fd);
	return row.bytes;
}

static void
measure(const struct recording *rec, struct recording_block *b)
{
	uint64_t gap = (uint64_t)b->record.missing * rec->shape.payload;

	if (b->record.kind == RECORDING_ABSENT ||
	    b->record.kind == RECORDING_UNUSED)
		b->bytes = 0;
	else if (b->record.kind == INDEX_GAP)
		b->bytes = rec->shape.store == HEAP_ROW ? 0 : gap;
	else if (rec->shape.store != HEAP_ROW || rec->by_index ||
		 (b->remembered && b->bytes == RECORDING_UNSEEN))
		b->bytes = b->record.bytes;
	else if (b->bytes == RECORDING_UNSEEN)
		b->bytes = row_bytes(rec, b);
}

/* How many slots the absent numbers from .. to-1 held. */
static uint64_t
absent_slots(const struct recording *rec, size_t from, size_t to, uint32_t run,
	     uint64_t first)
{
	const struct index_record *next = &rec->block[to].record;

	if (to < rec->blocks && next->kind != RECORDING_UNUSED &&
	    next->run == run && next->first >= first)
		return next->first - first;
	return (uint64_t)(to - from) * rec->slots;
}

/* The block before position i, skipping unused numbers; NULL if there is
 * none. */
static const struct recording_block *
block_before(const struct recording *rec, size_t i)
{
	while (i && rec->block[i - 1].record.kind == RECORDING_UNUSED)
		i--;
	return i ? &rec->block[i - 1] : NULL;
}

static void
infer_stretch(struct recording *rec, size_t from, size_t to)
{
	const struct recording_block *last = block_before(rec, from);
	uint32_t run = last ? last->record.run : 0;
	uint64_t first = last ? end_sequence(rec, last) : 0;
	uint64_t left = absent_slots(rec, from, to, run, first);

	for (size_t i = from; i < to; i++) {
		struct recording_block *b = &rec->block[i];
		struct index_record *r = &b->record;
		uint64_t slots = left < rec->slots ? left : rec->slots;

		if (i + 1 == to)
			slots = left;
		r->run = run;
		r->first = first;
		r->missing = slots < UINT32_MAX ? (uint32_t)slots : UINT32_MAX;
		b->bytes = slots * rec->shape.payload;
		first += slots;
		left -= slots;
	}
}

static void
infer(struct recording *rec)
{
	size_t from, to;

	for (from = 0; from < rec->blocks; from = to + 1) {
		for (to = from; to < rec->blocks; to++) {
			if (rec->block[to].record.kind != RECORDING_ABSENT)
				break;
		}
		if (to > from)
			infer_stretch(rec, from, to);
	}
}

/* True if the block is in a file.  An absent block has a known position only
 * among the slots of a single substream. */
static bool
is_placed(const struct recording *rec, const struct recording_block *b)
{
	if (b->record.kind == RECORDING_UNUSED)
		return false;
	return b->record.kind != RECORDING_ABSENT ||
	       (rec->facts.subs == 1 && rec->shape.store != HEAP_ROW);
}

/* Sorts the numbers by substream: counts them, then puts them where the counts
 * say. */
static void
sort(struct recording *rec)
{
	size_t *from = rec->from, at = 0;

	memset(from, 0, ((size_t)rec->facts.subs + 1) * sizeof *from);
	for (size_t i = 0; i < rec->blocks; i++) {
		if (is_placed(rec, &rec->block[i]))
			from[rec->block[i].record.sub]++;
	}
	for (unsigned i = 0; i <= rec->facts.subs; i++) {
		size_t n = from[i];

		from[i] = at;
		at += n;
	}
	for (size_t i = 0; i < rec->blocks; i++) {
		if (is_placed(rec, &rec->block[i]))
			rec->order[from[rec->block[i].record.sub]++] =
			    (uint32_t)i;
	}
	/* Each entry is now where the next substream begins. */
	memmove(from + 1, from, rec->facts.subs * sizeof *from);
	from[0] = 0;
}

/* Bytes between a block and the next one of its file. */
static uint64_t
between(const struct recording *rec, const struct recording_block *b,
	const struct recording_block *next)
{
	uint64_t end = end_sequence(rec, b), bytes;

	if (rec->facts.subs == 1 || rec->shape.store == HEAP_ROW ||
	    next->record.run != b->record.run || next->record.first <= end)
		return 0;
	if (__builtin_mul_overflow(next->record.first - end,
				   (uint64_t)rec->shape.payload, &bytes))
		return 0;
	return bytes;
}

static int
add_up(struct recording *rec, unsigned sub)
{
	struct recording_sub *s = &rec->sub[sub];
	uint64_t offset = 0;

	*s = (struct recording_sub){ 0 };
	for (size_t i = rec->from[sub]; i < rec->from[sub + 1]; i++) {
		struct recording_block *b = recording_at(rec, i);

		if (i > rec->from[sub])
			offset += between(rec, recording_at(rec, i - 1), b);
		b->offset = offset;
		if (__builtin_add_overflow(offset, b->bytes, &offset) ||
		    offset > INT64_MAX)
			return -EBADMSG;
		s->chunks +=
		    b->record.kind == INDEX_BLOCK && recording_gives(rec, b);
		s->gaps += b->record.kind == INDEX_GAP;
	}
	s->bytes = offset;
	return 0;
}

static int
make_room(struct recording *rec)
{
	struct recording_sub *sub;
	uint32_t *order;
	size_t *from;

	order = realloc(rec->order, (rec->blocks + 1) * sizeof *order);
	if (order)
		rec->order = order;
	from = realloc(rec->from, (rec->facts.subs + 1) * sizeof *from);
	if (from)
		rec->from = from;
	sub = realloc(rec->sub, rec->facts.subs * sizeof *sub);
	if (sub)
		rec->sub = sub;
	return order && from && sub ? 0 : -ENOMEM;
}

static void
sum_files(struct recording *rec)
{
	struct recording_facts *f = &rec->facts;

	f->bytes = f->left_out = 0;
	f->chunks = f->gaps = f->absent = f->computed = 0;
	f->protected = f->weakened = 0;
	for (unsigned i = 0; i < f->subs; i++) {
		f->bytes += rec->sub[i].bytes;
		f->chunks += rec->sub[i].chunks;
		f->gaps += rec->sub[i].gaps;
	}
	for (size_t i = 0; i < rec->blocks; i++) {
		const struct recording_block *b = &rec->block[i];
		bool gives = recording_gives(rec, b);
		unsigned margin;

		f->absent += b->record.kind == RECORDING_ABSENT || !gives;
		f->computed += b->computed && gives;
		if (b->record.kind != INDEX_BLOCK)
			continue;
		margin = recording_margin(rec, b->record.number);
		f->protected += f->parity && margin >= f->parity;
		f->weakened += margin && margin < f->parity;
		f->left_out += b->record.bytes - b->bytes;
	}
}

/* ---- runs and losses --------------------------------------------------- */

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
struct run_sums {
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
take_record(const struct recording *rec, struct run_sums *s,
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
fill_run(struct recording *rec, struct recording_run *run,
	 const struct run_sums *s)
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
	struct run_sums run_sums = { 0 };

	*run = (struct recording_run){ .run = begin->run, .sub = begin->sub };
	run->base = recording_base(rec, run->sub, run->run);
	for (size_t i = from; i < to; i++) {
		const struct recording_block *b = recording_at(rec, i);

		if (b->record.kind != RECORDING_ABSENT &&
		    recording_gives(rec, b))
			take_record(rec, &run_sums, &b->record);
	}
	if (run_sums.first)
		fill_run(rec, run, &run_sums);
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
recording_sub_end(const struct recording *rec, unsigned sub)
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
	uint64_t lost =
	    loss_count(recording_sub_end(rec, sub), s->packets, s->missing);

	if (s->runs)
		run[s->runs - 1].missing += lost - s->missing;
	s->missing = lost;
}

/* Sums up the runs of a substream. */
static void
sum_runs(struct recording *rec, unsigned sub, struct recording_run *run)
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

static int
count_losses(struct recording *rec)
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
		sum_runs(rec, i, f->runs ? rec->run + at : NULL);
	f->run = rec->run;
	if (rec->shape.store == HEAP_ROW)
		row_ends(rec);
	drops_settle(rec);
	return 0;
}

int
recording_place(struct recording *rec)
{
	int err;

	rec->facts.subs = count_subs(rec);
	err = make_room(rec);
	if (err)
		return err;
	for (size_t i = 0; i < rec->blocks; i++)
		measure(rec, &rec->block[i]);
	if (rec->facts.subs == 1 && rec->shape.store != HEAP_ROW)
		infer(rec);
	sort(rec);
	for (unsigned i = 0; i < rec->facts.subs && !err; i++)
		err = add_up(rec, i);
	rec->facts.sub = rec->sub;
	sum_files(rec);
	return err ? err : count_losses(rec);
}
