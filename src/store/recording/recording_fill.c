/* SPDX-License-Identifier: MIT */
/*
 * Fill for a block is made from headers that are close to it: from the end of
 * the last readable chunk before it in its run, else from the beginning of the
 * next one.  These few packets are read once per filled block, not once per
 * slot.
 *
 * A stretch behind a block that belongs to no block (recording_place.c) is
 * filled as if the block went on.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "store/recording/recording_priv.h"

enum {
	LEARN_SLOTS = 256, /* slots that are read to learn from */
	LEARN_BLOCKS = 64, /* blocks that are tried to find such a chunk */
};

/* Stands in if the format's plugin is not installed: fill is then the
 * pattern. */
static void
unknown_parse(const struct format_shape *shape, const void *prefix,
	      const void *payload, struct format_packet *packet)
{
	(void)shape;
	(void)prefix;
	(void)payload;
	*packet = (struct format_packet){ 0 };
}

static const struct format_ops unknown_format = { .parse = unknown_parse };

static int
fill_ready(struct recording *rec)
{
	const struct format_ops *format = &unknown_format;
	struct fault fault;

	if (rec->filling)
		return 0;
	if (recording_format(rec, &format, &fault))
		format = &unknown_format;
	rec->slot = malloc(rec->shape.payload);
	if (!rec->slot)
		return -ENOMEM;
	fill_init(&rec->fill, FILL_INVALID, format, &rec->shape);
	rec->filling = true;
	return 0;
}

/* A few slots of a chunk, as a block to learn from. */
struct some {
	struct block *b;
	uint64_t slot; /* number of its first slot in the chunk */
};

/* Clears the bits of packets that another recorder made up: they teach
 * nothing. */
static void
take_hole(void *arg, uint64_t at, uint64_t count)
{
	const struct some *s = arg;

	for (; count; at++, count--) {
		uint64_t i = at - s->slot;

		if (at >= s->slot && i < s->b->slots)
			s->b->present[i / 64] &= ~(UINT64_C(1) << i % 64);
	}
}

/* Learns from the slots of a block from `slot` on.  False if there were
 * none. */
static bool
learn(struct recording *rec, const struct recording_block *b, uint64_t slot)
{
	uint64_t present[LEARN_SLOTS / 64];
	struct block some = {
		.present = present,
		.slots = LEARN_SLOTS,
		.slot_bytes = rec->shape.payload,
		.run = b->record.run,
		.first = b->record.first + slot,
		.base = recording_base(rec, b->record.sub, b->record.run),
	};
	ssize_t got;

	some.data = malloc((size_t)LEARN_SLOTS * some.slot_bytes);
	if (!some.data)
		return false;
	memset(present, 0xff, sizeof present);
	if (rec->foreign)
		recording_holes(rec, b->record.number, take_hole,
				&(struct some){ &some, slot });
	got = recording_chunk_read(rec, b, some.data,
				   (size_t)LEARN_SLOTS * some.slot_bytes,
				   slot * some.slot_bytes);
	if (got > 0)
		some.used = some.filled = (uint32_t)got / some.slot_bytes;
	if (some.used)
		fill_learn(&rec->fill, &some);
	free(some.data);
	return some.used > 0;
}

static bool
learn_end(struct recording *rec, const struct recording_block *b)
{
	uint64_t slots = b->bytes / rec->shape.payload;
	uint64_t from = slots > LEARN_SLOTS ? slots - LEARN_SLOTS : 0;

	return learn(rec, b, from - from % rec->shape.parts);
}

/* Looks for a chunk of the block's run to learn from, in its file before (way
 * -1) or behind it (way 1). */
static bool
learn_near(struct recording *rec, size_t place, int way)
{
	const struct recording_block *b = recording_at(rec, place), *at;

	for (unsigned i = 0; i < LEARN_BLOCKS; i++) {
		if (place ==
		    rec->from[way < 0 ? b->record.sub : b->record.sub + 1] -
			(way > 0))
			return false;
		place += (size_t)way;
		at = recording_at(rec, place);
		if (at->record.run != b->record.run)
			return false;
		if (at->disk >= 0 && way < 0 && learn_end(rec, at))
			return true;
		if (at->disk >= 0 && way > 0 && learn(rec, at, 0))
			return true;
	}
	return false;
}

/* Learns the frames per second, which takes packets of two seconds.  Tried
 * once. */
static void
learn_fps(struct recording *rec, const struct recording_block *b)
{
	unsigned sub = b->record.sub, looks = 0;

	rec->fps_sought = true;
	for (size_t i = rec->from[sub];
	     i < rec->from[sub + 1] && looks < LEARN_BLOCKS; i++) {
		const struct recording_block *at = recording_at(rec, i);

		if (at->disk < 0 || at->record.run != b->record.run)
			continue;
		learn(rec, at, 0);
		learn_end(rec, at);
		if (rec->fill.fps)
			return;
		looks++;
	}
}

static int
fill_prepare(struct recording *rec, size_t place)
{
	const struct recording_block *b = recording_at(rec, place);
	uint32_t run = b->record.run;
	int err = fill_ready(rec);

	if (err || rec->filled == b)
		return err;
	fill_begin(&rec->fill, run, recording_base(rec, b->record.sub, run));
	/* If the block's chunk is only short, its own beginning is nearest. */
	if (!learn(rec, b, 0) && !learn_near(rec, place, -1))
		learn_near(rec, place, 1);
	if (!rec->fill.fps && rec->fill.timed && !rec->fps_sought)
		learn_fps(rec, b);
	rec->filled = b;
	return 0;
}

enum fill_kind
recording_fill_kind(const struct recording *rec)
{
	const char *text =
	    json_string_value(json_object_get(rec->head, "fill"));

	if (rec->shape.store != HEAP_NONE)
		return FILL_ZERO;
	return text && !strcmp(text, "zero") ? FILL_ZERO : FILL_INVALID;
}

int
recording_fill(struct recording *rec, size_t place, void *data, size_t bytes,
	       uint64_t at)
{
	return recording_fill_as(rec, place, recording_fill_kind(rec), data,
				 bytes, at);
}

int
recording_fill_as(struct recording *rec, size_t place, enum fill_kind kind,
		  void *data, size_t bytes, uint64_t at)
{
	const struct recording_block *b = recording_at(rec, place);
	uint32_t payload = rec->shape.payload;
	uint8_t *to = data;
	int err;

	if (kind == FILL_ZERO) {
		memset(data, 0, bytes);
		return 0;
	}
	err = fill_prepare(rec, place);
	while (bytes && !err) {
		uint64_t slot = at / payload;
		uint32_t in = (uint32_t)(at % payload);
		size_t part = payload - in < bytes ? payload - in : bytes;

		fill_model(&rec->fill, rec->slot, b->record.first + slot);
		memcpy(to, rec->slot + in, part);
		to += part;
		bytes -= part;
		at += part;
	}
	return err;
}

void
recording_fill_finish(struct recording *rec)
{
	if (rec->filling)
		fill_finish(&rec->fill);
	free(rec->slot);
	rec->slot = NULL;
	rec->filling = false;
}
