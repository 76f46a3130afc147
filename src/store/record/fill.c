/* SPDX-License-Identifier: MIT */
/*
 * The header of a missing frame is made from the header of another frame of its
 * thread, some cycles away: `frame` moves by the number of cycles, and carries
 * into the second every fps frames.  A filled slot serves as the neighbour of
 * the next one, so a hole costs one header per slot however long it is.
 *
 * Headers are looked for in this order: earlier in the block, later in the
 * block, remembered from the blocks before (a whole thread may be gone),
 * another thread's.  A header of another thread names the wrong thread unless
 * the shape lists the threads, but it has the right length and time and is
 * marked invalid: a reader steps over such a frame, but not over the bare
 * pattern.
 *
 * Making headers from the format's model() alone was rejected: the station, the
 * sample format and the epoch are the sender's choice and in no shape.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "store/record/fill_priv.h"

enum { NONE = UINT32_MAX };

static int64_t
floor_div(int64_t a, int64_t b)
{
	return a / b - (a % b < 0);
}

void
fill_init(struct fill *fill, enum fill_kind kind,
	  const struct format_ops *format, const struct format_shape *shape)
{
	*fill = (struct fill){
		.format = format,
		.shape = shape,
		.kind = kind,
		.fps = shape->fps,
		.cycle = shape->threads_n <= FILL_CYCLE ? shape->threads_n : 0,
	};
	fill_begin(fill, NONE, 0);
}

void
fill_finish(struct fill *fill)
{
	free(fill->model);
	free(fill->model_sequence);
	*fill = (struct fill){ 0 };
}

bool
fill_parse(const struct fill *f, const uint8_t *payload,
	   struct format_packet *p)
{
	*p = (struct format_packet){ 0 };
	f->format->parse(f->shape, NULL, payload, p);
	return p->has & FORMAT_READABLE;
}

bool
fill_near(const struct fill *fill, const uint8_t *payload)
{
	struct format_packet p;

	return fill->shape->header && fill_parse(fill, payload, &p);
}

static void
pattern(uint8_t *payload, uint32_t bytes)
{
	uint32_t word = htole32(FILL_PATTERN), i;

	for (i = 0; i + sizeof word <= bytes; i += sizeof word)
		memcpy(payload + i, &word, sizeof word);
	memcpy(payload + i, &word, bytes - i);
}

/* Index of a thread in the shape's list; threads_n if it is not listed. */
static uint32_t
thread_place(const struct format_shape *shape, uint32_t thread)
{
	uint32_t i = 0;

	while (i < shape->threads_n && shape->threads[i] != thread)
		i++;
	return i;
}

/* Turns p into the packet `frames` frames later in the stream (earlier if
 * negative). */
static void
step(const struct fill *f, struct format_packet *p, int64_t frames)
{
	uint32_t cycle = fill_cycle(f), place;
	int64_t number;

	if (frames % cycle && f->shape->threads) {
		place = thread_place(f->shape, p->thread);
		if (place < f->shape->threads_n) {
			frames += place;
			p->thread =
			    f->shape->threads[(frames % cycle + cycle) % cycle];
		}
	}
	number = p->frame + floor_div(frames, cycle);
	if (f->fps) {
		p->second += floor_div(number, f->fps);
		number -= floor_div(number, f->fps) * f->fps;
	}
	if (number < 0)
		/* in an earlier second, and fps is unknown: no time */
		p->has &= ~(uint32_t)FORMAT_TIME;
	p->frame = (uint32_t)number;
}

void
fill_slot(const struct fill *fill, uint8_t *payload, uint64_t sequence,
	  const uint8_t *near, uint64_t near_sequence)
{
	const struct format_shape *shape = fill->shape;
	struct format_shape timed = *shape;
	struct format_packet p = { 0 };

	if (fill->kind == FILL_ZERO) {
		memset(payload, 0, shape->payload);
		return;
	}
	pattern(payload, shape->payload);
	if (!near || sequence % shape->parts || !fill_parse(fill, near, &p)) {
		format_counter_write(shape, fill->base + sequence, NULL,
				     payload);
		return;
	}
	memcpy(payload, near, shape->header);
	step(fill, &p,
	     (int64_t)(sequence / shape->parts) -
		 (int64_t)(near_sequence / shape->parts));
	p.has &= FORMAT_READABLE | FORMAT_TIME;
	p.has |= FORMAT_SEQUENCE;
	p.sequence = fill->base + sequence;
	timed.fps = fill->fps;
	fill->format->stamp(&timed, &p, NULL, payload);
}

/* The remembered header of the thread that `sequence` belongs to, else that of
 * any thread; NULL if there is none. */
static const uint8_t *
model_near(const struct fill *f, uint64_t sequence, uint64_t *near_sequence)
{
	uint32_t cycle = fill_cycle(f);
	uint64_t place = sequence / f->shape->parts % cycle;

	for (uint32_t i = 0; i < cycle; i++, place = (place + 1) % cycle) {
		if (!fill_has_model(f, place))
			continue;
		*near_sequence = f->model_sequence[place];
		return f->model + place * f->shape->header;
	}
	return NULL;
}

void
fill_model(const struct fill *fill, uint8_t *payload, uint64_t sequence)
{
	uint64_t near_sequence = 0;
	const uint8_t *near = model_near(fill, sequence, &near_sequence);

	fill_slot(fill, payload, sequence, near, near_sequence);
}

/* State of one pass over a block: where the last header of each thread was. */
struct walk {
	const struct fill *fill;
	const struct block *b;
	/* slot of the last header, by place in the cycle; NONE */
	uint32_t last[FILL_CYCLE];
};

static uint32_t
place_of(const struct walk *w, uint32_t slot)
{
	return (uint32_t)((w->b->first + slot) / w->fill->shape->parts %
			  fill_cycle(w->fill));
}

/* The first slot with a good header among `slot`, `slot` + `stride`, ...; or
 * NONE. */
static uint32_t
ahead(const struct walk *w, uint32_t slot, uint32_t stride)
{
	struct format_packet p;

	for (; slot < w->b->used; slot += stride) {
		if (fill_good_at(w->fill, w->b, slot, &p))
			return slot;
	}
	return NONE;
}

/* A slot with a good header of any thread; or NONE. */
static uint32_t
any_slot(const struct walk *w, uint32_t slot)
{
	uint32_t parts = w->fill->shape->parts;

	for (uint32_t i = 0; i < fill_cycle(w->fill); i++) {
		uint32_t last = w->last[i];

		if (last != NONE && fill_near(w->fill, block_slot(w->b, last)))
			return last;
	}
	return ahead(w, slot % parts, parts);
}

/* The header to step for a missing slot; NULL if no header is known at all.
 * *sequence: the sequence of the slot that has it. */
static const uint8_t *
near_slot(struct walk *w, uint32_t slot, uint64_t *sequence)
{
	const struct fill *f = w->fill;
	uint32_t place = place_of(w, slot), near = w->last[place];

	if (near == NONE || !fill_near(f, block_slot(w->b, near)))
		near = ahead(w, slot, fill_cycle(f) * f->shape->parts);
	if (near == NONE && !fill_has_model(f, place))
		near = any_slot(w, slot);
	if (near == NONE)
		return model_near(f, w->b->first + slot, sequence);
	*sequence = w->b->first + near;
	return block_slot(w->b, near);
}

static void
fill_missing(struct walk *w, uint32_t slot)
{
	const struct format_shape *shape = w->fill->shape;
	uint64_t sequence = w->b->first + slot, near_sequence = 0;
	const uint8_t *near = NULL;

	if (shape->header && w->fill->kind == FILL_INVALID &&
	    sequence % shape->parts == 0)
		near = near_slot(w, slot, &near_sequence);
	fill_slot(w->fill, block_slot(w->b, slot), sequence, near,
		  near_sequence);
}

void
fill_block(struct fill *fill, struct block *b)
{
	struct walk w = { .fill = fill, .b = b };

	fill_learn(fill, b);
	if (b->filled == b->used)
		return;
	memset(w.last, 0xff, sizeof w.last);
	for (uint32_t slot = 0; slot < b->used; slot++) {
		if (!block_has(b, slot))
			fill_missing(&w, slot);
		if ((b->first + slot) % fill->shape->parts == 0)
			w.last[place_of(&w, slot)] = slot;
	}
}
