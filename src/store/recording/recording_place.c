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
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/recording/recording_priv.h"
#include "store/record/row.h"

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
	struct row row = { 0 };
	int fd;

	if (there < 0)
		return 0;
	if ((uint64_t)there >= b->record.bytes)
		return b->record.bytes;
	if (recording_format(rec, &format, &fault))
		return 0;
	fd = recording_chunk_open(rec, b);
	if (fd < 0)
		return 0;
	if (row_look(format, fd, (uint64_t)there, &row))
		row.bytes = 0;
	close(fd);
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
		s->chunks += b->record.kind == INDEX_BLOCK;
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
sum(struct recording *rec)
{
	struct recording_facts *f = &rec->facts;

	f->bytes = f->left_out = 0;
	f->chunks = f->gaps = f->absent = 0;
	for (unsigned i = 0; i < f->subs; i++) {
		f->bytes += rec->sub[i].bytes;
		f->chunks += rec->sub[i].chunks;
		f->gaps += rec->sub[i].gaps;
	}
	for (size_t i = 0; i < rec->blocks; i++) {
		const struct recording_block *b = &rec->block[i];

		f->absent += b->record.kind == RECORDING_ABSENT;
		if (b->record.kind == INDEX_BLOCK)
			f->left_out += b->record.bytes - b->bytes;
	}
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
	sum(rec);
	return err;
}
