/* SPDX-License-Identifier: MIT */
/*
 * The header of a missing frame is that of another frame of its thread, some
 * cycles away: `frame` moves by the number of cycles, and carries into the
 * second every fps frames.  A slot that was filled serves as the neighbour
 * of the next, so a hole costs one header per slot however long it is.
 *
 * Headers are looked for in this order: earlier in the block, later in the
 * block, what is remembered of the blocks before (a whole thread may be
 * gone), another thread's.  The last names the wrong thread, unless the
 * shape lists the threads, but it is of the right length and time and marked
 * invalid: a reader steps over it, and it would not over the bare pattern.
 *
 * Making headers from the format's model() alone was rejected: the station,
 * the sample format and the epoch are the sender's, and are in no shape.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "store/fill.h"

enum { NONE = UINT32_MAX };

static uint32_t
cycle_of(const struct fill *f)
{
	return f->cycle ? f->cycle : 1;
}

static int64_t
floor_div(int64_t a, int64_t b)
{
	return a / b - (a % b < 0);
}

int
fill_init(struct fill *fill, enum fill_kind kind,
	  const struct format_ops *format, const struct format_shape *shape)
{
	*fill = (struct fill){
		.format = format,
		.shape = shape,
		.kind = kind,
		.fps = shape->fps,
		.cycle = shape->threads_n <= FILL_CYCLE ? shape->threads_n : 0,
		.run = NONE,
	};
	fill->model = malloc((size_t)FILL_CYCLE * (shape->header + 1));
	fill->model_sequence =
	    malloc(FILL_CYCLE * sizeof *fill->model_sequence);
	if (fill->model && fill->model_sequence)
		return 0;
	fill_finish(fill);
	return -ENOMEM;
}

void
fill_finish(struct fill *fill)
{
	free(fill->model);
	free(fill->model_sequence);
	*fill = (struct fill){ 0 };
}

static bool
parse(const struct fill *f, const uint8_t *payload, struct format_packet *p)
{
	*p = (struct format_packet){ 0 };
	f->format->parse(f->shape, NULL, payload, p);
	return p->has & FORMAT_READABLE;
}

bool
fill_near(const struct fill *fill, const uint8_t *payload)
{
	struct format_packet p;

	return fill->shape->header && parse(fill, payload, &p);
}

/*
 * Frames of a block are counted from its first whole one; a block begins on
 * a part 0 in all but test cases.
 */
static uint32_t
frames_in(const struct fill *f, const struct block *b, uint32_t *lead)
{
	uint32_t parts = f->shape->parts;

	*lead = (uint32_t)((parts - b->first % parts) % parts);
	return b->used > *lead ? (b->used - *lead + parts - 1) / parts : 0;
}

static bool
good_at(const struct fill *f, const struct block *b, uint32_t slot,
	struct format_packet *p)
{
	return block_has(b, slot) && parse(f, block_slot(b, slot), p);
}

static void
begin_run(struct fill *f, const struct block *b)
{
	f->run = b->run;
	f->settled = f->shape->threads_n > 0;
	f->timed = false;
	for (unsigned i = 0; i < FILL_CYCLE; i++)
		f->model_sequence[i] = FILL_NONE;
}

/*
 * Is the same thread, and no other place's, at each place of this cycle, and
 * was at least one place seen twice?
 */
static bool
cycle_fits(const int32_t *threads, uint32_t n, uint32_t cycle)
{
	uint64_t taken[FILL_CYCLE / 64] = { 0 };
	int32_t at[FILL_CYCLE];
	bool twice = false;

	memset(at, -1, cycle * sizeof *at);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t t = (uint32_t)threads[i] % FILL_CYCLE;
		uint64_t bit = UINT64_C(1) << t % 64;
		uint32_t place = i % cycle;

		if (threads[i] < 0)
			continue;
		if (at[place] >= 0 && at[place] != threads[i])
			return false;
		if (at[place] < 0 && taken[t / 64] & bit)
			return false;
		twice |= at[place] == threads[i];
		at[place] = threads[i];
		taken[t / 64] |= bit;
	}
	return twice;
}

static void
learn_cycle(struct fill *f, const struct block *b)
{
	enum { LOOK = 2 * FILL_CYCLE };
	int32_t threads[LOOK];
	struct format_packet p;
	uint32_t lead, n = frames_in(f, b, &lead);

	if (n > LOOK)
		n = LOOK;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t slot = lead + i * f->shape->parts;

		threads[i] = good_at(f, b, slot, &p)
				 ? (int32_t)(p.thread & INT32_MAX)
				 : -1;
	}
	for (uint32_t cycle = 1; cycle <= FILL_CYCLE && cycle < n; cycle++) {
		if (!cycle_fits(threads, n, cycle))
			continue;
		f->settled = true;
		f->cycle = cycle;
		return;
	}
}

/* Two frames of one thread in different seconds give the frames in one. */
static void
learn_fps_from(struct fill *f, uint64_t number, const struct format_packet *p)
{
	int64_t cycles, seconds, frames;
	uint32_t above = p->frame > f->frame ? p->frame : f->frame;

	seconds = p->second - f->second;
	cycles = (int64_t)(number - f->timed_frame) / cycle_of(f);
	frames = cycles + f->frame - p->frame;
	if (frames % seconds == 0 && frames / seconds > above &&
	    frames / seconds <= UINT32_MAX) {
		f->fps = (uint32_t)(frames / seconds);
		return;
	}
	/* The sender hiccuped in between, or one of them lies. */
	f->timed_frame = number;
	f->second = p->second;
	f->frame = p->frame;
}

static bool
timed_at(const struct fill *f, const struct block *b, uint32_t slot,
	 struct format_packet *p)
{
	return good_at(f, b, slot, p) && p->has & FORMAT_TIME;
}

static void
learn_fps(struct fill *f, const struct block *b)
{
	uint32_t lead, n = frames_in(f, b, &lead), parts = f->shape->parts;
	uint64_t first = (b->first + lead) / parts;
	struct format_packet p;

	for (uint32_t i = 0; i < n && !f->timed; i++) {
		if (!timed_at(f, b, lead + i * parts, &p))
			continue;
		f->timed = true;
		f->timed_frame = first + i;
		f->second = p.second;
		f->frame = p.frame;
	}
	for (uint32_t i = n; i-- > 0 && f->timed;) {
		if ((int64_t)(first + i - f->timed_frame) % cycle_of(f) ||
		    !timed_at(f, b, lead + i * parts, &p))
			continue;
		if (p.second != f->second)
			learn_fps_from(f, first + i, &p);
		break;
	}
}

/* Remembers a header of each thread, from the end of the block. */
static void
keep_models(struct fill *f, const struct block *b)
{
	uint32_t lead, n = frames_in(f, b, &lead), parts = f->shape->parts;
	uint32_t header = f->shape->header, cycle = cycle_of(f);
	struct format_packet p;

	for (uint32_t i = n; i-- > 0 && i + 4 * cycle >= n;) {
		uint32_t slot = lead + i * parts;
		uint64_t sequence = b->first + slot;
		uint64_t place = sequence / parts % cycle;
		uint64_t *kept = &f->model_sequence[place];

		if ((*kept != FILL_NONE && *kept >= sequence) ||
		    !good_at(f, b, slot, &p))
			continue;
		memcpy(f->model + place * header, block_slot(b, slot), header);
		*kept = sequence;
	}
}

void
fill_learn(struct fill *fill, const struct block *b)
{
	if (fill->run != b->run)
		begin_run(fill, b);
	fill->base = b->base;
	if (fill->kind != FILL_INVALID || !fill->shape->header)
		return;
	if (!fill->settled)
		learn_cycle(fill, b);
	if (!fill->fps && fill->settled)
		learn_fps(fill, b);
	if (fill->settled)
		keep_models(fill, b);
}

static void
pattern(uint8_t *payload, uint32_t bytes)
{
	uint32_t word = htole32(FILL_PATTERN), i;

	for (i = 0; i + sizeof word <= bytes; i += sizeof word)
		memcpy(payload + i, &word, sizeof word);
	memcpy(payload + i, &word, bytes - i);
}

/* Where in the list of threads is this one?  threads_n: nowhere. */
static uint32_t
thread_place(const struct format_shape *shape, uint32_t thread)
{
	uint32_t i = 0;

	while (i < shape->threads_n && shape->threads[i] != thread)
		i++;
	return i;
}

/* Makes p the packet that is `frames` behind it in the stream. */
static void
step(const struct fill *f, struct format_packet *p, int64_t frames)
{
	uint32_t cycle = cycle_of(f), place;
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
		p->has &= ~(uint32_t)FORMAT_TIME; /* nobody knows */
	p->frame = (uint32_t)number;
}

void
fill_slot(const struct fill *fill, uint8_t *payload, uint64_t sequence,
	  const uint8_t *near, uint64_t near_sequence)
{
	const struct format_shape *shape = fill->shape;
	struct format_packet p = { 0 };

	if (fill->kind == FILL_ZERO) {
		memset(payload, 0, shape->payload);
		return;
	}
	pattern(payload, shape->payload);
	if (!near || sequence % shape->parts || !parse(fill, near, &p)) {
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
	fill->format->stamp(shape, &p, NULL, payload);
}

/* One pass over a block: where each thread's last header was. */
struct walk {
	const struct fill *fill;
	const struct block *b;
	uint32_t last[FILL_CYCLE]; /* slot, by place in the cycle */
};

static uint32_t
place_of(const struct walk *w, uint32_t slot)
{
	return (uint32_t)((w->b->first + slot) / w->fill->shape->parts %
			  cycle_of(w->fill));
}

/* The next good header from `slot` on in steps of `stride`, or NONE. */
static uint32_t
ahead(const struct walk *w, uint32_t slot, uint32_t stride)
{
	struct format_packet p;

	for (; slot < w->b->used; slot += stride) {
		if (good_at(w->fill, w->b, slot, &p))
			return slot;
	}
	return NONE;
}

/* Any good header, of whatever thread. */
static uint32_t
any_slot(const struct walk *w, uint32_t slot)
{
	uint32_t parts = w->fill->shape->parts;

	for (uint32_t i = 0; i < cycle_of(w->fill); i++) {
		uint32_t last = w->last[i];

		if (last != NONE && fill_near(w->fill, block_slot(w->b, last)))
			return last;
	}
	return ahead(w, slot % parts, parts);
}

/* The header to step for the missing slot; NULL when there is none. */
static const uint8_t *
near_slot(struct walk *w, uint32_t slot, uint64_t *sequence)
{
	const struct fill *f = w->fill;
	uint32_t place = place_of(w, slot), near = w->last[place];

	if (near == NONE || !fill_near(f, block_slot(w->b, near)))
		near = ahead(w, slot, cycle_of(f) * f->shape->parts);
	if (near == NONE && f->settled &&
	    f->model_sequence[place] != FILL_NONE) {
		*sequence = f->model_sequence[place];
		return f->model + place * f->shape->header;
	}
	if (near == NONE)
		near = any_slot(w, slot);
	if (near == NONE)
		return NULL;
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
