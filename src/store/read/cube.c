/* SPDX-License-Identifier: MIT */
/*
 * The blocks of a channel are in order of time within each span, so an item is
 * found by bisection.  The holes of a block are read from the metadata once and
 * kept per channel until another block is asked for: a caller that goes through
 * time, channel by channel, reads each block's holes once.
 */
#include <errno.h>
#include <stdlib.h>

#include "store/read/cube.h"
#include "store/recording/recording_priv.h"

struct cube_block {
	size_t span;
	uint64_t first; /* time of its first slot */
	const struct recording_block *block;
};

/* Holes of the block that was asked for last. */
struct cube_holes {
	const struct recording_block *block;
	struct cube_range *range;
	size_t n;
	bool unknown, broken; /* no line says what is missing; no memory */
};

struct cube {
	struct recording *rec;
	struct cube_block *block; /* channel by channel */
	size_t *from;		  /* index of each channel's first block, and
				     the end */
	struct cube_span *span;
	size_t spans;
	struct cube_holes *holes; /* by channel */
	struct cube_range *range; /* missing bytes of the item that was asked
				     for last */
};

static uint64_t
slots_of(const struct cube *cube, const struct recording_block *b)
{
	return b->bytes / cube->rec->shape.payload;
}

static int
widen(struct cube *cube, size_t span, uint64_t first, uint64_t last)
{
	struct cube_span *grown = cube->span;

	if (span == cube->spans) {
		grown = realloc(grown, (span + 1) * sizeof *grown);
		if (!grown)
			return -ENOMEM;
		cube->span = grown;
		grown[cube->spans++] = (struct cube_span){ first, last };
	}
	if (first < grown[span].first)
		grown[span].first = first;
	if (last > grown[span].last)
		grown[span].last = last;
	return 0;
}

/* Appends the blocks of a channel at index *n. */
static int
add_channel(struct cube *cube, unsigned channel, size_t *n)
{
	const struct recording *rec = cube->rec;
	uint64_t next = 0;
	size_t span = 0;
	int err = 0;

	cube->from[channel] = *n;
	for (size_t i = rec->from[channel]; i < rec->from[channel + 1]; i++) {
		const struct recording_block *b = recording_at(rec, i);
		uint64_t slots = slots_of(cube, b);
		uint64_t first = b->record.first +
				 recording_base(rec, channel, b->record.run);

		if (b->record.kind != INDEX_BLOCK || !slots ||
		    first > UINT64_MAX - slots)
			continue;
		if (*n > cube->from[channel] &&
		    (first < next || first - next > CUBE_LEAP))
			span++;
		next = first + slots;
		err = widen(cube, span, first, next - 1);
		if (err)
			break;
		cube->block[(*n)++] = (struct cube_block){ span, first, b };
	}
	return err;
}

int
cube_open(struct cube **cube, struct recording *rec)
{
	struct cube *c;
	size_t n = 0;
	int err = 0;

	if (rec->shape.store != HEAP_CUBE)
		return -ENOTSUP;
	c = calloc(1, sizeof *c);
	if (!c)
		return -ENOMEM;
	c->rec = rec;
	c->block = calloc(rec->blocks + 1, sizeof *c->block);
	c->from = calloc(rec->facts.subs + 1, sizeof *c->from);
	c->holes = calloc(rec->facts.subs, sizeof *c->holes);
	if (!c->block || !c->from || !c->holes)
		err = -ENOMEM;
	for (unsigned i = 0; i < rec->facts.subs && !err; i++)
		err = add_channel(c, i, &n);
	if (err) {
		cube_close(c);
		return err;
	}
	c->from[rec->facts.subs] = n;
	*cube = c;
	return 0;
}

void
cube_close(struct cube *cube)
{
	for (unsigned i = 0; cube->holes && i < cube->rec->facts.subs; i++)
		free(cube->holes[i].range);
	free(cube->holes);
	free(cube->range);
	free(cube->span);
	free(cube->from);
	free(cube->block);
	free(cube);
}

const struct cube_span *
cube_spans(const struct cube *cube, size_t *n)
{
	*n = cube->spans;
	return cube->span;
}

/* Returns the last block of a channel in a span that begins at or before
 * `time`; NULL if there is none. */
static const struct cube_block *
find(const struct cube *cube, size_t span, unsigned channel, uint64_t time)
{
	size_t low = cube->from[channel], high = cube->from[channel + 1];
	const struct cube_block *b;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		b = &cube->block[middle];
		if (b->span < span || (b->span == span && b->first <= time))
			low = middle + 1;
		else
			high = middle;
	}
	if (low == cube->from[channel])
		return NULL;
	b = &cube->block[low - 1];
	return b->span == span ? b : NULL;
}

bool
cube_any(const struct cube *cube, size_t span, uint64_t first, uint64_t last)
{
	for (unsigned i = 0; i < cube->rec->facts.subs; i++) {
		const struct cube_block *b = find(cube, span, i, last);

		if (b && b->first + slots_of(cube, b->block) > first)
			return true;
	}
	return false;
}

/* The array doubles when its length is a power of two. */
static int
add_range(struct cube_range **range, size_t *n, struct cube_range one)
{
	struct cube_range *grown = *range;

	if (!(*n & (*n - 1)))
		grown = realloc(grown, (2 * *n + 1) * sizeof *grown);
	if (!grown)
		return -ENOMEM;
	*range = grown;
	grown[(*n)++] = one;
	return 0;
}

static void
take_hole(void *arg, uint64_t at, uint64_t bytes)
{
	struct cube_holes *h = arg;

	if (bytes &&
	    add_range(&h->range, &h->n, (struct cube_range){ at, bytes }))
		h->broken = true;
}

/* Loads the holes of a block. */
static int
take_holes(struct cube *cube, struct cube_holes *h,
	   const struct recording_block *b)
{
	int err;

	if (h->block == b)
		return 0;
	free(h->range);
	*h = (struct cube_holes){ .block = b };
	err = recording_holes(cube->rec, b->record.number, take_hole, h);
	if (err == -ENODATA)
		h->unknown = true;
	else if (err || h->broken)
		h->block = NULL;
	return err == -ENODATA ? 0 : h->broken ? -ENOMEM : err;
}

/* Sets `item->missing` to the holes in bytes [from, to) of a block. */
static int
cut(struct cube *cube, const struct cube_holes *h, uint64_t from, uint64_t to,
    struct cube_item *item)
{
	uint64_t lost = 0;
	int err = 0;

	item->n = 0;
	for (size_t i = 0; i < h->n && !err; i++) {
		uint64_t at = h->range[i].at, end;

		if (__builtin_add_overflow(at, h->range[i].bytes, &end) ||
		    end > to)
			end = to;
		if (at < from)
			at = from;
		if (at >= end)
			continue;
		lost += end - at;
		err = add_range(&cube->range, &item->n,
				(struct cube_range){ at - from, end - at });
	}
	item->missing = cube->range;
	if (lost >= to - from)
		item->state = CUBE_ABSENT;
	else
		item->state = lost ? CUBE_PART : CUBE_WHOLE;
	return err;
}

int
cube_find(struct cube *cube, size_t span, unsigned channel, uint64_t time,
	  struct cube_item *item)
{
	uint64_t payload = cube->rec->shape.payload, from;
	const struct cube_block *b = find(cube, span, channel, time);
	struct cube_holes *h = &cube->holes[channel];
	int err;

	*item = (struct cube_item){ .state = CUBE_ABSENT };
	if (!b || time - b->first >= slots_of(cube, b->block))
		return 0;
	from = (time - b->first) * payload;
	item->offset = b->block->offset + from;
	item->state = CUBE_WHOLE;
	err = take_holes(cube, h, b->block);
	if (err)
		return err;
	if (h->unknown)
		item->state = CUBE_UNKNOWN;
	else
		err = cut(cube, h, from, from + payload, item);
	return err;
}
