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
 *
 * Learning is arithmetic on a few headers at the two ends of a block: how many
 * threads take turns, how many frames each sends per second, and a header of
 * each.  So it costs little even where nothing is ever missing.  Asking the
 * format was rejected: it sees one packet and has no state.  The configuration
 * knows better where it says anything, but mostly it does not.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "store/record/fill.h"

enum { NONE = UINT32_MAX };

/* Frames in a turn of all threads; 1 while the number of threads is unknown. */
static uint32_t
cycle_of(const struct fill *f)
{
	return f->cycle ? f->cycle : 1;
}

/* True if a header is remembered for this place in the cycle. */
static bool
has_model(const struct fill *f, uint64_t place)
{
	return place < f->models && f->model_sequence[place] != FILL_NONE;
}

/* Parses the header of a stored payload into p.  False if it is not a readable
 * header. */
static bool
parse(const struct fill *f, const uint8_t *payload, struct format_packet *p)
{
	*p = (struct format_packet){ 0 };
	f->format->parse(f->shape, NULL, payload, p);
	return p->has & FORMAT_READABLE;
}

bool
fill_good_at(const struct fill *fill, const struct block *b, uint32_t slot,
	     struct format_packet *p)
{
	return block_has(b, slot) && parse(fill, block_slot(b, slot), p);
}

/* True if fill_slot() can step the header of this payload. */
static bool
fill_near(const struct fill *fill, const uint8_t *payload)
{
	struct format_packet p;

	return fill->shape->header && parse(fill, payload, &p);
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

static void
models_forget(struct fill *f)
{
	for (uint32_t i = 0; i < f->models; i++)
		f->model_sequence[i] = FILL_NONE;
}

void
fill_begin(struct fill *fill, uint32_t run, uint64_t base)
{
	fill->run = run;
	fill->base = base;
	fill->settled = fill->cycle && fill->cycle == fill->shape->threads_n;
	fill->timed = false;
	models_forget(fill);
}

/* ---- learning ---------------------------------------------------------- */

/*
 * Number of frames in a block, and in *lead the slots before its first whole
 * one.  Outside of tests a block begins with part 0 of a frame, so *lead is 0.
 */
static uint32_t
frames_in(const struct fill *f, const struct block *b, uint32_t *lead)
{
	uint32_t parts = f->shape->parts;

	*lead = (uint32_t)((parts - b->first % parts) % parts);
	return b->used > *lead ? (b->used - *lead + parts - 1) / parts : 0;
}

/* Makes room for a header of each thread.  False without memory: then headers
 * of earlier blocks cannot help, nothing worse. */
static bool
models_make(struct fill *f)
{
	uint32_t n = cycle_of(f);

	if (f->models == n)
		return true;
	free(f->model);
	free(f->model_sequence);
	f->models = n;
	f->model = malloc((size_t)n * f->shape->header);
	f->model_sequence = malloc(n * sizeof *f->model_sequence);
	if (!f->model || !f->model_sequence)
		f->models = 0;
	models_forget(f);
	return f->models;
}

/*
 * True if `cycle` explains the threads of `n` frames: each place of the cycle
 * always has the same thread, no two places have the same one, and at least one
 * place was seen twice.  A frame with a negative thread is unknown.
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

		threads[i] = fill_good_at(f, b, slot, &p)
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

/* Computes fps from this frame and the remembered one (f->second, f->frame),
 * two frames of one thread in different seconds. */
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
	/* The sender paused in between, or one of the times is wrong: start
	 * over from this frame. */
	f->timed_frame = number;
	f->second = p->second;
	f->frame = p->frame;
}

static bool
timed_at(const struct fill *f, const struct block *b, uint32_t slot,
	 struct format_packet *p)
{
	return fill_good_at(f, b, slot, p) && p->has & FORMAT_TIME;
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

/* Remembers the last good header of each thread, from the block's last four
 * cycles. */
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
		    !fill_good_at(f, b, slot, &p))
			continue;
		memcpy(f->model + place * header, block_slot(b, slot), header);
		*kept = sequence;
	}
}

void
fill_learn(struct fill *fill, const struct block *b)
{
	if (fill->run != b->run)
		fill_begin(fill, b->run, b->base);
	if (fill->kind != FILL_INVALID || !fill->shape->header)
		return;
	if (!fill->fps)
		fill->fps = b->fps;
	if (!fill->settled)
		learn_cycle(fill, b);
	if (!fill->fps && fill->settled)
		learn_fps(fill, b);
	if (fill->settled && models_make(fill))
		keep_models(fill, b);
}

/* ---- one slot ---------------------------------------------------------- */

static int64_t
floor_div(int64_t a, int64_t b)
{
	return a / b - (a % b < 0);
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
		/* in an earlier second, and fps is unknown: no time */
		p->has &= ~(uint32_t)FORMAT_TIME;
	p->frame = (uint32_t)number;
}

/*
 * Writes the fill of slot `sequence` (relative to the run) into `payload`.
 * `near` is the payload of a good packet whose header is stepped, and
 * near_sequence its sequence; NULL: write the pattern alone.
 */
static void
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
	timed.fps = fill->fps;
	fill->format->stamp(&timed, &p, NULL, payload);
}

/* The remembered header of the thread that `sequence` belongs to, else that of
 * any thread; NULL if there is none. */
static const uint8_t *
model_near(const struct fill *f, uint64_t sequence, uint64_t *near_sequence)
{
	uint32_t cycle = cycle_of(f);
	uint64_t place = sequence / f->shape->parts % cycle;

	for (uint32_t i = 0; i < cycle; i++, place = (place + 1) % cycle) {
		if (!has_model(f, place))
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

/* ---- a block ----------------------------------------------------------- */

/* State of one pass over a block: where the last header of each thread was. */
struct fill_pass {
	const struct fill *fill;
	const struct block *b;
	/* slot of the last header, by place in the cycle; NONE */
	uint32_t last[FILL_CYCLE];
};

static uint32_t
place_of(const struct fill_pass *w, uint32_t slot)
{
	return (uint32_t)((w->b->first + slot) / w->fill->shape->parts %
			  cycle_of(w->fill));
}

/* The first slot with a good header among `slot`, `slot` + `stride`, ...; or
 * NONE. */
static uint32_t
ahead(const struct fill_pass *w, uint32_t slot, uint32_t stride)
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
any_slot(const struct fill_pass *w, uint32_t slot)
{
	uint32_t parts = w->fill->shape->parts;

	for (uint32_t i = 0; i < cycle_of(w->fill); i++) {
		uint32_t last = w->last[i];

		if (last != NONE && fill_near(w->fill, block_slot(w->b, last)))
			return last;
	}
	return ahead(w, slot % parts, parts);
}

/* The header to step for a missing slot; NULL if no header is known at all.
 * *sequence: the sequence of the slot that has it. */
static const uint8_t *
near_slot(struct fill_pass *w, uint32_t slot, uint64_t *sequence)
{
	const struct fill *f = w->fill;
	uint32_t place = place_of(w, slot), near = w->last[place];

	if (near == NONE || !fill_near(f, block_slot(w->b, near)))
		near = ahead(w, slot, cycle_of(f) * f->shape->parts);
	if (near == NONE && !has_model(f, place))
		near = any_slot(w, slot);
	if (near == NONE)
		return model_near(f, w->b->first + slot, sequence);
	*sequence = w->b->first + near;
	return block_slot(w->b, near);
}

static void
fill_missing(struct fill_pass *w, uint32_t slot)
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
	struct fill_pass w = { .fill = fill, .b = b };

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
