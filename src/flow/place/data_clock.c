/* SPDX-License-Identifier: MIT */
/*
 * Cost.  The receiver's loop asks once for each batch whether its
 * source still has packets to look at (intake.c), and else does nothing for the
 * clock.  Ten times a second a source is granted some, so that about a thousand
 * packets of each second are looked at, whatever the rate is: parsed here, some
 * 20 ns each, just before they are placed, which needs the same bytes, and in
 * batches with the kernel's stamps, 0.1 us each.  That is 0.1 ms in a second.
 *
 * Accuracy.  A stamp of the kernel is taken when the driver hands the
 * packet on, after the card has held back its interrupt (some 50 us), and later
 * where a processor is busy.  The least of a second's packets of a sender on the
 * same machine is 0.07 to 0.16 ms (docs/design/signal.md), and varies by less,
 * so that a step of half a millisecond is found.  Where packets have no stamps,
 * the time at which they are read stands in, up to 2 ms later.
 *
 * Threads.  Packets of all threads are in the same batches, with the same
 * lateness, so the least of each can be compared with that of the others.  A
 * sender may spread its threads over the time of a frame, so that only what is
 * farther from the middle of all is apart; and what is apart does not count for
 * the stream.
 *
 * Steps are told from lateness and from drift by their shape: after a step all
 * windows are at one distance from the line.  A clock that begins to drift goes
 * away from it, and what is late comes back.
 */
#include "flow/place/data_clock.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "contract/log.h"

#define STEP	  (NS_MS / 2) /* least step, of packets that are stamped */
#define STEP_READ (5 * NS_MS) /* and of others */
#define APART	  (NS_MS / 5) /* at least */
#define TEN	  (10 * NS_SECOND)

enum {
	AGREE = 3,	/* windows that tell a step, or a thread apart */
	FITS = 10,	/* windows that tell a drift */
	FEW = 3,	/* windows from which a line goes on */
	PACKETS = 4,	/* of a thread, of which one came in time */
	DEVIATIONS = 6, /* farther from the line than noise */
};

/* ---- a window ---------------------------------------------------------- */

void
data_clock_clear(struct data_clock_window *w)
{
	w->threads = w->at = 0;
	w->stamped = true;
	w->carded = false;
}

/* Finds a thread, or adds it; NULL: there are too many.  Threads mostly take
 * turns, so the next one is tried first. */
static struct data_clock_thread *
thread_find(struct data_clock_window *w, uint32_t sub, uint32_t thread,
	    uint32_t station)
{
	for (unsigned i = 1; i <= w->threads; i++) {
		unsigned at = (w->at + i) % w->threads;
		struct data_clock_thread *t = &w->thread[at];

		if (t->thread == thread && t->sub == sub &&
		    t->station == station) {
			w->at = at;
			return t;
		}
	}
	if (w->threads == DATA_CLOCK_THREADS)
		return NULL;
	w->at = w->threads++;
	w->thread[w->at] = (struct data_clock_thread){ .sub = sub,
						       .thread = thread,
						       .station = station,
						       .behind = INT64_MAX };
	return &w->thread[w->at];
}

static void
thread_take(struct data_clock_thread *t, uint32_t packets, int64_t behind,
	    int64_t arrived)
{
	t->packets += packets;
	if (behind >= t->behind)
		return;
	t->behind = behind;
	t->arrived = arrived;
}

void
data_clock_packet(struct data_clock_window *w, uint32_t sub,
		  const struct format_packet *p, int64_t data_ns,
		  int64_t arrived, const char *sender)
{
	struct data_clock_thread *t =
	    thread_find(w, sub, p->thread, p->station);

	if (!t)
		return;
	thread_take(t, 1, arrived - data_ns, arrived);
	if (*sender && strcmp(t->sender, sender) != 0)
		snprintf(t->sender, sizeof t->sender, "%s", sender);
}

void
data_clock_merge(struct data_clock_window *w,
		 const struct data_clock_window *from)
{
	w->number += from->number;
	if (!from->threads)
		return;
	w->fps = from->fps;
	w->offset = from->offset;
	w->stamped &= from->stamped;
	w->carded |= from->carded;
	for (unsigned i = 0; i < from->threads; i++) {
		const struct data_clock_thread *f = &from->thread[i];
		struct data_clock_thread *t =
		    thread_find(w, f->sub, f->thread, f->station);

		if (!t)
			continue;
		thread_take(t, f->packets, f->behind, f->arrived);
		if (f->sender[0])
			memcpy(t->sender, f->sender, sizeof t->sender);
	}
}

/* ---- a fit ------------------------------------------------------------- */

static void
fit_add(struct data_clock_fit *f, double x, double y)
{
	f->n++;
	f->x += x;
	f->y += y;
	f->xx += x * x;
	f->xy += x * y;
	f->yy += y * y;
}

/* Returns the line's slope; *at: its y at x = 0; *sd: how far points lie from
 * it, a standard deviation; *error: that of the slope. */
static double
fit_slope(const struct data_clock_fit *f, double *at, double *sd, double *error)
{
	double xx = f->xx - f->x * f->x / f->n;
	double xy = f->xy - f->x * f->y / f->n;
	double yy = f->yy - f->y * f->y / f->n;
	double slope = xx > 0 ? xy / xx : 0;
	double rest = yy - slope * xy;

	*at = (f->y - slope * f->x) / f->n;
	*sd = f->n > 2 && rest > 0 ? sqrt(rest / (f->n - 2)) : 0;
	*error = xx > 0 ? *sd / sqrt(xx) : 0;
	return slope;
}

/* ---- the line ---------------------------------------------------------- */

/* Point number n of the line, from the newest, 0. */
static const struct data_clock_point *
point(const struct data_clock *c, uint64_t n)
{
	return &c->point[(c->points - 1 - n) % DATA_CLOCK_POINTS];
}

static uint64_t
kept(const struct data_clock *c)
{
	return c->points < DATA_CLOCK_POINTS ? c->points : DATA_CLOCK_POINTS;
}

/* The fit of the points, from the newest one. */
static struct data_clock_fit
line_fit(const struct data_clock *c)
{
	const struct data_clock_point *last = point(c, 0), *p;
	struct data_clock_fit f = { 0 };

	for (uint64_t i = 0; i < kept(c); i++) {
		p = point(c, i);
		fit_add(&f, (double)(p->arrived - last->arrived) / 1e9,
			(double)(p->behind - last->behind) / 1e9);
	}
	return f;
}

/* How far a window lies behind the line, which has points; and how far it may.
 * The line goes on as it went, if it is known how. */
static int64_t
beside(const struct data_clock *c, const struct data_clock_point *p,
       int64_t *most)
{
	const struct data_clock_point *last = point(c, 0);
	struct data_clock_fit f = line_fit(c);
	double at, sd, error;
	double slope = fit_slope(&f, &at, &sd, &error);
	double x = (double)(p->arrived - last->arrived) / 1e9;
	int64_t noise = (int64_t)(DEVIATIONS * (sd + error * x) * 1e9);

	*most = c->stamped ? STEP : STEP_READ;
	if (noise > *most)
		*most = noise;
	if (f.n < FEW)
		at = slope = 0;
	return p->behind - last->behind - (int64_t)((at + slope * x) * 1e9);
}

static void
point_add(struct data_clock *c, const struct data_clock_point *p)
{
	c->point[c->points++ % DATA_CLOCK_POINTS] = *p;
}

/* Takes what lay beside the line into it, without the step before that. */
static void
outs_take(struct data_clock *c, unsigned from, int64_t step)
{
	for (unsigned i = from; i < c->outs; i++) {
		c->out[i].behind -= step;
		point_add(c, &c->out[i]);
	}
	c->outs = 0;
}

static int
by_size(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* True if the last three beside the line are at one distance from it, *by. */
static bool
outs_agree(const struct data_clock *c, int64_t *by)
{
	const struct data_clock_point *p;
	int64_t off[AGREE], most, within;

	if (c->outs < AGREE)
		return false;
	p = &c->out[c->outs - AGREE];
	for (unsigned i = 0; i < AGREE; i++)
		off[i] = beside(c, &p[i], &most);
	qsort(off, AGREE, sizeof *off, by_size);
	*by = off[AGREE / 2];
	within = llabs(*by) / 4;
	if (within < most / 2)
		within = most / 2;
	return off[AGREE - 1] - off[0] <= within;
}

/* Judges the windows beside the line, the last of which was just added. */
static void
outs_judge(struct data_clock *c)
{
	int64_t by;

	if (outs_agree(c, &by)) {
		c->steps++;
		c->step_ns = by;
		c->stepped += by;
		outs_take(c, c->outs - AGREE, by);
	} else if (c->outs == DATA_CLOCK_OUT) {
		c->points = 0;
		outs_take(c, 0, 0);
	}
}

/* ---- threads ----------------------------------------------------------- */

static int
by_behind(const void *a, const void *b)
{
	const struct data_clock_thread *const *x = a, *const *y = b;

	return by_size(&(*x)->behind, &(*y)->behind);
}

/* Notes the thread that is farthest from `middle`, if it is apart. */
static void
apart_note(struct data_clock *c, const struct data_clock_thread *t, int64_t ns)
{
	struct data_clock_apart *a = &c->apart;
	bool same = a->windows && t && a->thread == t->thread &&
		    a->sub == t->sub && a->station == t->station;

	if (!t) {
		a->windows = 0;
		return;
	}
	*a = (struct data_clock_apart){ t->sub, t->thread, t->station, ns,
					same ? a->windows + 1 : 1 };
}

/* Returns the least of the threads that are together; notes which is not. */
static const struct data_clock_thread *
threads_least(struct data_clock *c, const struct data_clock_window *w)
{
	int64_t most = w->fps ? NS_SECOND / w->fps * 9 / 10 : 0, off, far = 0;
	const struct data_clock_thread *sorted[DATA_CLOCK_THREADS], *middle;
	const struct data_clock_thread *least = NULL, *apart = NULL;

	for (unsigned i = 0; i < w->threads; i++)
		sorted[i] = &w->thread[i];
	qsort(sorted, w->threads, sizeof *sorted, by_behind);
	middle = sorted[(w->threads - 1) / 2];
	if (most < (w->stamped ? APART : STEP_READ))
		most = w->stamped ? APART : STEP_READ;
	for (unsigned i = 0; i < w->threads; i++) {
		off = sorted[i]->behind - middle->behind;
		if (llabs(off) <= most && !least)
			least = sorted[i];
		if (llabs(off) <= most || llabs(off) <= llabs(far) ||
		    sorted[i]->packets < PACKETS)
			continue;
		apart = sorted[i];
		far = off;
	}
	apart_note(c, apart, far);
	return least;
}

/* ---- what others call -------------------------------------------------- */

/* Takes a change of our own clock for what it is. */
static void
own_look(struct data_clock *c, int64_t offset)
{
	int64_t by = offset - c->offset;

	if (c->known && llabs(by) > STEP)
		c->stepped += by;
	c->known = true;
	c->offset = offset;
}

void
data_clock_add(struct data_clock *c, const struct data_clock_window *w)
{
	const struct data_clock_thread *t = threads_least(c, w);
	struct data_clock_point p = { .arrived = t->arrived - w->offset };
	int64_t off = 0, most = 0, was;

	own_look(c, w->offset);
	p.behind = t->behind - c->stepped;
	c->stamped = w->stamped;
	c->carded = w->carded;
	if (c->points)
		off = beside(c, &p, &most);
	if (llabs(off) <= most) {
		c->outs = 0;
		point_add(c, &p);
		return;
	}
	if (c->outs) {
		was = beside(c, &c->out[c->outs - 1], &most);
		if ((was < 0) != (off < 0))
			c->outs = 0;
	}
	c->out[c->outs++] = p;
	outs_judge(c);
}

bool
data_clock_behind(const struct data_clock *c, int64_t *behind_ns)
{
	const struct data_clock_point *last, *p;
	double slope = 0, error;
	int64_t off, least = INT64_MAX;

	if (!c->points)
		return false;
	data_clock_drift(c, &slope, &error);
	last = point(c, 0);
	for (uint64_t i = 0; i < kept(c); i++) {
		p = point(c, i);
		if (last->arrived - p->arrived > TEN)
			break;
		off = p->behind +
		      (int64_t)(slope * (double)(last->arrived - p->arrived));
		if (off < least)
			least = off;
	}
	*behind_ns = least + c->stepped;
	return true;
}

bool
data_clock_drift(const struct data_clock *c, double *drift, double *error)
{
	struct data_clock_fit f;
	double at, sd;

	if (kept(c) < FITS)
		return false;
	f = line_fit(c);
	*drift = fit_slope(&f, &at, &sd, error);
	return true;
}

double
data_clock_spread(const struct data_clock *c)
{
	struct data_clock_fit f;
	double at, sd, error;

	if (kept(c) < FITS)
		return NAN;
	f = line_fit(c);
	fit_slope(&f, &at, &sd, &error);
	return sd;
}

const struct data_clock_apart *
data_clock_apart(const struct data_clock *c)
{
	return c->apart.windows >= AGREE ? &c->apart : NULL;
}
