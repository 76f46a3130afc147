/* SPDX-License-Identifier: MIT */
/*
 * Learning for fill: how many threads take turns, how many frames each sends
 * per second, and a header of each.
 *
 * All of this is arithmetic on a few headers at the two ends of a block, so it
 * costs little even where nothing is ever missing.  Asking the format was
 * rejected: it sees one packet and has no state.  The configuration knows
 * better where it says anything, but mostly it does not.
 */
#include <stdlib.h>
#include <string.h>

#include "store/record/fill_priv.h"

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

static void
models_forget(struct fill *f)
{
	for (uint32_t i = 0; i < f->models; i++)
		f->model_sequence[i] = FILL_NONE;
}

/* Makes room for a header of each thread.  False without memory: then headers
 * of earlier blocks cannot help, nothing worse. */
static bool
models_make(struct fill *f)
{
	uint32_t n = fill_cycle(f);

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

void
fill_begin(struct fill *fill, uint32_t run, uint64_t base)
{
	fill->run = run;
	fill->base = base;
	fill->settled = fill->cycle && fill->cycle == fill->shape->threads_n;
	fill->timed = false;
	models_forget(fill);
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
	cycles = (int64_t)(number - f->timed_frame) / fill_cycle(f);
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
		if ((int64_t)(first + i - f->timed_frame) % fill_cycle(f) ||
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
	uint32_t header = f->shape->header, cycle = fill_cycle(f);
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
