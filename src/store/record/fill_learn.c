/* SPDX-License-Identifier: MIT */
/*
 * What fill learns from packets: how many threads take turns, how many
 * frames each sends in a second, and what a header of each looks like.
 *
 * All of it is arithmetic on a few headers of a block, at its two ends, so
 * it costs little even where nothing is ever missing.  Asking the format was
 * rejected: it sees one packet and has no state.  The configuration knows
 * better where it says anything; most do not.
 */
#include <stdlib.h>
#include <string.h>

#include "store/record/fill_priv.h"

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

static void
models_forget(struct fill *f)
{
	for (uint32_t i = 0; i < f->models; i++)
		f->model_sequence[i] = FILL_NONE;
}

/* Room for a model of each thread; false without memory: then those of other
 * blocks are not there to help, and that is all. */
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

/* Two frames of one thread in different seconds give the frames in one. */
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
	/* The sender hiccuped in between, or one of them lies. */
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

/* Remembers a header of each thread, from the end of the block. */
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
