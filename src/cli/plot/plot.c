/* SPDX-License-Identifier: MIT */
/*
 * The page, from above: what recording it is; a strip of bars over its time of
 * what came, and one of what was lost; its channels as small multiples, all with
 * the same axes; their tones; how levels went while it was recorded; what is
 * wrong, in words.
 *
 * Nothing is computed here that `spate info` does not print: the page shows the
 * same objects.
 */
#include "cli/plot/plot.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "cli/plot/canvas.h"
#include "cli/show/field.h"
#include "cli/show/show.h"
#include "signal/finding.h"
#include "store/recording/loss.h"

enum {
	TEXT = 10, /* points */
	SMALL = 8,
	TITLE = 18,
	EDGE = 20,    /* of the page */
	BETWEEN = 36, /* two sections */
	MOST = 64,    /* channels that are shown */
	WORDS = 12,   /* findings that are written out */
	PANEL = 110,  /* height of a channel's spectrum */
	LEVELS = 14,  /* height of its levels */
	ROW = PANEL + LEVELS + 46,
	HISTORY = 90,
	NARROW = 120, /* a panel with room for few words */
};

struct sheet {
	const struct plot *plot;
	struct canvas *c;
	double y; /* the next section begins here */
};

/* A frame with axes: what is drawn in it has these bounds. */
struct axes {
	struct canvas_point at; /* upper left corner */
	double width, height;
	double x0, x1, y0, y1;
};

static struct canvas_point
place(const struct axes *a, double x, double y)
{
	double in = y < a->y0 ? a->y0 : y > a->y1 ? a->y1 : y;

	return (struct canvas_point){
		a->at.x + (x - a->x0) / (a->x1 - a->x0) * a->width,
		a->at.y + (a->y1 - in) / (a->y1 - a->y0) * a->height
	};
}

static void
axes_draw(struct sheet *p, const struct axes *a)
{
	const struct canvas_point frame[] = {
		{ a->at.x, a->at.y },
		{ a->at.x, a->at.y + a->height },
		{ a->at.x + a->width, a->at.y + a->height },
	};

	canvas_curve(p->c, frame, 3, 0.7, INK_GREY);
}

/* A tick of the left axis with its text, and a pale line through the frame. */
static void
tick(struct sheet *p, const struct axes *a, double y, const char *text)
{
	const struct canvas_point from = place(a, a->x0, y),
				  to = place(a, a->x1, y);
	const struct canvas_point line[] = { from, to };

	canvas_curve(p->c, line, 2, 0.5, INK_PALE);
	canvas_text(p->c, (struct canvas_point){ from.x - 4, from.y + 3 },
		    SMALL, ALIGN_RIGHT, INK_BLACK, text);
}

static void
heading(struct sheet *p, const char *text)
{
	canvas_text(p->c, (struct canvas_point){ EDGE, p->y }, TEXT + 2,
		    ALIGN_LEFT, INK_BLACK, text);
	p->y += 12;
}

/* ---- what it is ------------------------------------------------------------ */

static void
title(struct sheet *p)
{
	const json_t *info = p->plot->info;
	uint64_t lost = field_number(info, "packets_lost");
	uint64_t packets = field_number(info, "packets");
	int64_t from = field_time(info, "start"), to = field_time(info, "end");
	char line[512], start[UNITS_TEXT], span[UNITS_TEXT], size[UNITS_TEXT];
	char share[SHOW_PERCENT], drops[SHOW_DROPS];

	canvas_text(p->c, (struct canvas_point){ EDGE, 32 }, TITLE, ALIGN_LEFT,
		    INK_BLACK, field_text(info, "name"));
	canvas_text(
	    p->c, (struct canvas_point){ PLOT_RIGHT, 32 }, TEXT, ALIGN_RIGHT,
	    strcmp(field_text(info, "state"), "complete") ? INK_RED : INK_GREY,
	    field_text(info, "state"));
	units_show_time(start, from);
	units_show_span(span, to - from);
	units_show_bytes(size, field_number(info, "bytes"));
	snprintf(line, sizeof line, "stream %s, %s; from %s, %s; %s",
		 field_text(info, "stream"), field_text(info, "format"), start,
		 span, size);
	canvas_text(p->c, (struct canvas_point){ EDGE, 50 }, TEXT, ALIGN_LEFT,
		    INK_BLACK, line);
	show_drops(drops, json_object_get(info, "drops"), loss_is_wanted);
	snprintf(line, sizeof line,
		 "lost %" PRIu64 " of %" PRIu64 " packets, %s%s%s%s", lost,
		 packets + lost, show_percent(share, lost, packets + lost),
		 *drops ? "; of these dropped here: " : "", drops,
		 field_number(info, "absent") ? "; blocks are on disks that "
						"are not here"
					      : "");
	canvas_text_within(p->c, (struct canvas_point){ EDGE, 65 }, TEXT,
			   PLOT_WIDTH - 2 * EDGE, lost ? INK_RED : INK_BLACK,
			   line);
}

/* ---- over time ------------------------------------------------------------- */

/* Writes the times below a strip: the day and time of the first second, then
 * seconds. */
static void
times_show(struct sheet *p, const struct axes *a, const json_t *map)
{
	const json_t *last = json_array_get(map, json_array_size(map) - 1);
	int64_t from = field_time(json_array_get(map, 0), "from");
	int64_t to = field_time(last, "to");
	double y = a->at.y + a->height + 11;
	char text[UNITS_TEXT];

	canvas_text(p->c, (struct canvas_point){ a->at.x, y }, SMALL,
		    ALIGN_LEFT, INK_BLACK, units_show_time(text, from));
	canvas_text(p->c, (struct canvas_point){ a->at.x + a->width, y }, SMALL,
		    ALIGN_RIGHT, INK_BLACK, units_show_time(text, to));
}

/* One bar for each part of the time, with a white line between two. */
static void
bar(struct sheet *p, const struct axes *a, size_t i, double value, enum ink ink)
{
	struct canvas_point at = place(a, (double)i, value);
	double width = a->width / a->x1;

	canvas_box(p->c, at, width - 1, a->at.y + a->height - at.y, ink);
}

static double
seconds_of(const json_t *column)
{
	return (double)(field_time(column, "to") - field_time(column, "from")) /
	       1e9;
}

static int
by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/*
 * The highest value, but at most twice that of the middle one: before the
 * frames per second are known, all packets of a second have its time, so that
 * the first bar may have those of its neighbours.
 */
static double
highest(const double *value, size_t n)
{
	double *sorted = calloc(n + 1, sizeof *sorted), most = 1, middle;

	if (!sorted)
		return most;
	memcpy(sorted, value, n * sizeof *sorted);
	qsort(sorted, n, sizeof *sorted, by_size);
	most = sorted[n - 1];
	middle = 2 * sorted[n / 2];
	free(sorted);
	if (middle > 0 && most > middle)
		most = middle;
	return most > 0 ? most : 1;
}

static void
rate_draw(struct sheet *p, const json_t *map)
{
	double payload = (double)field_number(p->plot->info, "payload");
	size_t i, n = json_array_size(map);
	double *rate = calloc(n + 1, sizeof *rate);
	struct axes a = { .at = { PLOT_LEFT, PLOT_RATE },
			  .width = PLOT_RIGHT - PLOT_LEFT,
			  .height = PLOT_BARS,
			  .x1 = (double)n };
	const json_t *column;
	char text[UNITS_TEXT];

	if (!rate)
		return;
	json_array_foreach(map, i, column) {
		double s = seconds_of(column);

		if (s > 0)
			rate[i] = (double)field_number(column, "packets") *
				  payload * 8 / s;
	}
	a.y1 = highest(rate, n);
	canvas_text(p->c, (struct canvas_point){ EDGE, PLOT_RATE - 8 }, TEXT,
		    ALIGN_LEFT, INK_BLACK, "recorded, bits per second");
	axes_draw(p, &a);
	tick(p, &a, a.y1, units_show_rate(text, a.y1));
	tick(p, &a, 0, "0");
	for (i = 0; i < n; i++)
		bar(p, &a, i, rate[i], INK_BLUE);
	free(rate);
}

/* The share of packets that a part lost; what lies on a disk that is not here
 * is grey. */
static void
loss_draw(struct sheet *p, const json_t *map)
{
	struct axes a = { .at = { PLOT_LEFT, PLOT_LOSS },
			  .width = PLOT_RIGHT - PLOT_LEFT,
			  .height = PLOT_BARS,
			  .x1 = (double)json_array_size(map) };
	const json_t *column;
	double *share, most = 0;
	char text[32];
	size_t i;

	share = calloc(json_array_size(map) + 1, sizeof *share);
	if (!share)
		return;
	json_array_foreach(map, i, column) {
		double lost = (double)field_number(column, "packets_lost");
		double all = lost + (double)field_number(column, "packets") +
			     (double)field_number(column, "packets_absent");

		share[i] = all > 0 ? 100 * lost / all : 0;
		most = share[i] > most ? share[i] : most;
	}
	a.y1 = most > 0 ? most : 1;
	canvas_text(p->c, (struct canvas_point){ EDGE, PLOT_LOSS - 8 }, TEXT,
		    ALIGN_LEFT, INK_BLACK,
		    most > 0 ? "lost, % of the packets" : "lost: nothing");
	axes_draw(p, &a);
	snprintf(text, sizeof text, "%.3g %%", a.y1);
	tick(p, &a, a.y1, text);
	tick(p, &a, 0, "0");
	json_array_foreach(map, i, column) {
		if (field_number(column, "packets_absent"))
			bar(p, &a, i, a.y1, INK_PALE);
		if (share[i] > 0)
			bar(p, &a, i, share[i], INK_RED);
	}
	times_show(p, &a, map);
	free(share);
}

static void
strips(struct sheet *p)
{
	const json_t *map = json_object_get(p->plot->info, "loss_map");

	p->y = PLOT_LOSS + PLOT_BARS + BETWEEN;
	if (json_array_size(map)) {
		rate_draw(p, map);
		loss_draw(p, map);
		return;
	}
	canvas_text(p->c, (struct canvas_point){ EDGE, PLOT_RATE }, TEXT,
		    ALIGN_LEFT, INK_GREY,
		    "no packet is on the disks that are here");
	p->y = PLOT_RATE + BETWEEN;
}

/* ---- channels -------------------------------------------------------------- */

static size_t
channels(const struct plot *plot)
{
	size_t n = json_array_size(plot->lines);

	return n < MOST ? n : MOST;
}

/* Panels side by side: few are wide. */
static unsigned
abreast(size_t n)
{
	return n <= 4 ? (unsigned)n : n <= 16 ? 4 : 8;
}

static unsigned
rows(size_t n)
{
	return n ? (unsigned)((n + abreast(n) - 1) / abreast(n)) : 0;
}

/* The frame of the i-th of n panels. */
static struct axes
panel(const struct sheet *p, size_t i, size_t n, double height)
{
	double each = (PLOT_RIGHT - PLOT_LEFT + 30.) / abreast(n);

	return (struct axes){
		.at = { PLOT_LEFT + (double)(i % abreast(n)) * each,
			p->y + 14 + (double)(i / abreast(n)) * ROW },
		.width = each - 34,
		.height = height,
	};
}

static void
panel_name(struct sheet *p, const struct axes *a, const json_t *line)
{
	bool wrong = json_array_size(json_object_get(line, "findings"));
	bool narrow = a->width < NARROW;
	char text[96];

	snprintf(text, sizeof text,
		 narrow ? "%" PRIu64 "/%" PRIu64 "%s%s"
			: "thread %" PRIu64 ", channel %" PRIu64 "%s%s",
		 field_number(line, "thread"), field_number(line, "channel"),
		 wrong ? ": " : "",
		 wrong ? json_string_value(json_array_get(
			     json_object_get(line, "findings"), 0))
		       : "");
	canvas_text_within(p->c, (struct canvas_point){ a->at.x, a->at.y - 4 },
			   SMALL, a->width, wrong ? INK_RED : INK_BLACK, text);
}

/* Power over the band in dB over the mean. */
static void
spectrum_draw(struct sheet *p, struct axes *a, const json_t *line)
{
	const json_t *spectrum = json_object_get(line, "spectrum");
	size_t n = json_array_size(spectrum);
	double rate = field_real(line, "sample_rate");
	struct canvas_point *curve = calloc(n + 1, sizeof *curve);
	bool complex = json_is_true(json_object_get(line, "complex"));
	double y = a->at.y + a->height + 9;
	char text[32];

	if (!curve)
		return;
	a->x1 = n ? (double)n : 1;
	a->y0 = -20;
	a->y1 = 15;
	axes_draw(p, a);
	tick(p, a, 10, "10");
	tick(p, a, 0, "0");
	tick(p, a, -10, "-10");
	for (size_t i = 0; i < n; i++) {
		double power = json_number_value(json_array_get(spectrum, i));

		curve[i] = place(a, (double)i + 0.5,
				 power > 0 ? 10 * log10(power) : a->y0);
	}
	if (n)
		canvas_curve(p->c, curve, n, 1,
			     json_array_size(json_object_get(line, "findings"))
				 ? INK_RED
				 : INK_BLUE);
	canvas_text(p->c, (struct canvas_point){ a->at.x, y }, SMALL - 1,
		    ALIGN_LEFT, INK_GREY, "0");
	if (rate > 0)
		snprintf(text, sizeof text, "%.4g MHz",
			 rate / (complex ? 1e6 : 2e6));
	else
		snprintf(text, sizeof text, "band");
	canvas_text(p->c, (struct canvas_point){ a->at.x + a->width, y },
		    SMALL - 1, ALIGN_RIGHT, INK_GREY, text);
	free(curve);
}

/* The shares of the states side by side, from the lowest; of complex samples
 * those of the real part.  The marks below are those of noise at the best level
 * of 2 bits. */
static void
levels_draw(struct sheet *p, const struct axes *a, const json_t *line)
{
	static const double best[] = { 0.1635, 0.5, 0.8365 };
	static const enum ink inks[] = { INK_BLUE, INK_ORANGE };
	const json_t *states = json_object_get(line, "states"), *count;
	double sum = 0, at = 0, top = a->at.y + a->height + 14;
	char text[64];
	size_t i;

	if (json_is_array(json_array_get(states, 0)))
		states = json_array_get(states, 0);
	json_array_foreach(states, i, count)
		sum += json_number_value(count);
	json_array_foreach(states, i, count) {
		double share = sum > 0 ? json_number_value(count) / sum : 0;

		canvas_box(
		    p->c, (struct canvas_point){ a->at.x + at * a->width, top },
		    share * a->width, LEVELS, inks[i % 2]);
		at += share;
	}
	for (i = 0; i < 3 && json_array_size(states) == 4; i++) {
		double x = a->at.x + best[i] * a->width;
		const struct canvas_point mark[] = { { x, top + LEVELS },
						     { x, top + LEVELS + 4 } };

		canvas_curve(p->c, mark, 2, 1, INK_BLACK);
	}
	snprintf(text, sizeof text, "rms %.2f, mean %+.3f",
		 field_real(line, "rms"), field_real(line, "dc"));
	canvas_text_within(p->c,
			   (struct canvas_point){ a->at.x, top + LEVELS + 12 },
			   SMALL - 1, a->width, INK_BLACK, text);
}

static void
channels_draw(struct sheet *p)
{
	const json_t *lines = p->plot->lines, *line;
	size_t n = channels(p->plot), i;
	char text[160];

	if (!n) {
		canvas_text_within(p->c, (struct canvas_point){ EDGE, p->y },
				   TEXT, PLOT_WIDTH - 2 * EDGE, INK_GREY,
				   p->plot->why);
		p->y += BETWEEN;
		return;
	}
	snprintf(text, sizeof text,
		 "Power over the band, dB over the mean; below it the share of "
		 "each state, from the lowest%s",
		 n > 16 ? "; thread/channel" : "");
	if (json_array_size(lines) > n)
		snprintf(text, sizeof text,
			 "The first %zu of %zu channels, thread/channel: power "
			 "over the band, dB "
			 "over the mean; share of each state",
			 n, json_array_size(lines));
	heading(p, text);
	json_array_foreach(lines, i, line) {
		struct axes a = panel(p, i, n, PANEL);

		if (i == n)
			break;
		panel_name(p, &a, line);
		spectrum_draw(p, &a, line);
		levels_draw(p, &a, line);
	}
	p->y += rows(n) * ROW + BETWEEN / 2.;
}

/* ---- tones ----------------------------------------------------------------- */

static size_t
with_tones(const struct plot *plot)
{
	const json_t *line;
	size_t i, n = 0;

	json_array_foreach(plot->lines, i, line)
		n += json_array_size(json_object_get(line, "tones")) > 0;
	return n < MOST ? n : MOST;
}

static void
tones_draw_one(struct sheet *p, struct axes *a, const json_t *line)
{
	const json_t *tones = json_object_get(line, "tones"), *tone;
	size_t i, n = json_array_size(tones);
	char text[64];

	a->x0 = field_real(json_array_get(tones, 0), "hz");
	a->x1 = field_real(json_array_get(tones, n - 1), "hz");
	if (a->x1 <= a->x0)
		a->x1 = a->x0 + 1;
	a->y0 = -180;
	a->y1 = 180;
	axes_draw(p, a);
	tick(p, a, 180, "180");
	tick(p, a, 0, "0");
	tick(p, a, -180, "-180");
	json_array_foreach(tones, i, tone)
		canvas_dot(
		    p->c,
		    place(a, field_real(tone, "hz"), field_real(tone, "phase")),
		    2.2,
		    json_is_true(json_object_get(tone, "there")) ? INK_BLUE
								 : INK_RED);
	snprintf(text, sizeof text, "%.4g MHz", a->x0 / 1e6);
	canvas_text(p->c,
		    (struct canvas_point){ a->at.x, a->at.y + a->height + 9 },
		    SMALL - 1, ALIGN_LEFT, INK_GREY, text);
	snprintf(text, sizeof text, "%.4g MHz", a->x1 / 1e6);
	canvas_text(p->c,
		    (struct canvas_point){ a->at.x + a->width,
					   a->at.y + a->height + 9 },
		    SMALL - 1, ALIGN_RIGHT, INK_GREY, text);
	if (field_known(line, "delay_ns"))
		snprintf(text, sizeof text, "delay %.3f ns",
			 field_real(line, "delay_ns"));
	else
		snprintf(text, sizeof text, "no delay");
	canvas_text_within(
	    p->c, (struct canvas_point){ a->at.x, a->at.y + a->height + 20 },
	    SMALL - 1, a->width, INK_BLACK, text);
}

static void
tones_draw(struct sheet *p)
{
	size_t n = with_tones(p->plot), at = 0, i;
	const json_t *line;

	if (!n)
		return;
	heading(p, "Phase of the phase-cal tones over the band, degrees; one "
		   "that is not there is red");
	json_array_foreach(p->plot->lines, i, line) {
		struct axes a;

		if (at == n || !json_array_size(json_object_get(line, "tones")))
			continue;
		a = panel(p, at++, n, PANEL);
		panel_name(p, &a, line);
		tones_draw_one(p, &a, line);
	}
	p->y += rows(n) * ROW + BETWEEN / 2.;
}

/* ---- while it was recorded ------------------------------------------------- */

static bool
is_same(const json_t *a, const json_t *b)
{
	return field_number(a, "sub") == field_number(b, "sub") &&
	       field_number(a, "thread") == field_number(b, "thread") &&
	       field_number(a, "channel") == field_number(b, "channel");
}

/* How many intervals there are: the lines of the first channel. */
static size_t
intervals(const struct plot *plot)
{
	const json_t *first = json_array_get(plot->history, 0), *line;
	size_t i, n = 0;

	json_array_foreach(plot->history, i, line)
		n += is_same(first, line);
	return n;
}

static void
bounds_take(struct axes *a, const json_t *history)
{
	const json_t *line;
	size_t i;

	json_array_foreach(history, i, line) {
		double t = (double)field_time(line, "time") / 1e9;
		double rms = field_real(line, "rms");

		if (!i || t < a->x0)
			a->x0 = t;
		if (!i || t > a->x1)
			a->x1 = t;
		a->y1 = rms > a->y1 ? rms : a->y1;
	}
	if (a->x1 <= a->x0)
		a->x1 = a->x0 + 1;
	a->y1 = a->y1 > 0 ? a->y1 * 1.05 : 1;
}

/* The curve of the channel whose first line is `first`. */
static void
history_curve(struct sheet *p, const struct axes *a, const json_t *first,
	      enum ink ink)
{
	const json_t *line;
	size_t i, n = 0;
	struct canvas_point *curve =
	    calloc(json_array_size(p->plot->history) + 1, sizeof *curve);

	if (!curve)
		return;
	json_array_foreach(p->plot->history, i, line) {
		if (is_same(first, line))
			curve[n++] =
			    place(a, (double)field_time(line, "time") / 1e9,
				  field_real(line, "rms"));
	}
	canvas_curve(p->c, curve, n, 1, ink);
	free(curve);
}

static void
history_draw(struct sheet *p)
{
	static const enum ink inks[] = { INK_BLUE, INK_ORANGE, INK_GREEN,
					 INK_BLACK };
	const json_t *history = p->plot->history, *line;
	size_t i, seen = 0;
	struct axes a = { .width = PLOT_RIGHT - PLOT_LEFT, .height = HISTORY };
	char text[UNITS_TEXT];

	if (intervals(p->plot) < 2)
		return;
	heading(p, "Level of each channel while it was recorded, rms in "
		   "levels");
	a.at = (struct canvas_point){ PLOT_LEFT, p->y };
	bounds_take(&a, history);
	axes_draw(p, &a);
	snprintf(text, sizeof text, "%.2f", a.y1);
	tick(p, &a, a.y1, text);
	tick(p, &a, 0, "0");
	json_array_foreach(history, i, line) {
		/* The first interval has a line for each channel. */
		if (seen == MOST ||
		    (i && is_same(json_array_get(history, 0), line)))
			break;
		history_curve(p, &a, line, inks[seen++ % 4]);
	}
	canvas_text(p->c,
		    (struct canvas_point){ a.at.x, a.at.y + a.height + 11 },
		    SMALL, ALIGN_LEFT, INK_BLACK,
		    units_show_time(text, (int64_t)(a.x0 * 1e9)));
	canvas_text(
	    p->c,
	    (struct canvas_point){ a.at.x + a.width, a.at.y + a.height + 11 },
	    SMALL, ALIGN_RIGHT, INK_BLACK,
	    units_show_time(text, (int64_t)(a.x1 * 1e9)));
	p->y += HISTORY + BETWEEN;
}

/* ---- in words -------------------------------------------------------------- */

static size_t
findings(const struct plot *plot)
{
	const json_t *line;
	size_t i, n = 0;

	json_array_foreach(plot->lines, i, line)
		n += json_array_size(json_object_get(line, "findings"));
	return n;
}

/* Writes the findings of a channel, until WORDS of all are written. */
static void
words_draw(struct sheet *p, const json_t *line, unsigned *written)
{
	const json_t *list = json_object_get(line, "findings"), *name;
	char text[320];
	size_t i;

	json_array_foreach(list, i, name) {
		if (*written == WORDS)
			return;
		snprintf(text, sizeof text,
			 "thread %" PRIu64 ", channel %" PRIu64 ": %s",
			 field_number(line, "thread"),
			 field_number(line, "channel"),
			 finding_sentence(finding_of(json_string_value(name))));
		canvas_text_within(p->c, (struct canvas_point){ EDGE, p->y },
				   TEXT, PLOT_WIDTH - 2 * EDGE, INK_RED, text);
		p->y += TEXT + 4;
		++*written;
	}
}

static void
words(struct sheet *p)
{
	size_t i, n = findings(p->plot);
	unsigned written = 0;
	const json_t *line;
	char text[64];

	json_array_foreach(p->plot->lines, i, line)
		words_draw(p, line, &written);
	if (n > written) {
		snprintf(text, sizeof text, "and %zu more", n - written);
		canvas_text(p->c, (struct canvas_point){ EDGE, p->y }, TEXT,
			    ALIGN_LEFT, INK_RED, text);
		p->y += TEXT + 4;
	}
	if (!n && json_array_size(p->plot->lines)) {
		canvas_text(p->c, (struct canvas_point){ EDGE, p->y }, TEXT,
			    ALIGN_LEFT, INK_BLACK,
			    "The signal of every channel is good.");
		p->y += TEXT + 4;
	}
}

/* ---- the page -------------------------------------------------------------- */

static void
draw(struct sheet *p)
{
	title(p);
	strips(p);
	channels_draw(p);
	tones_draw(p);
	history_draw(p);
	words(p);
}

/* The height of all that draw() draws. */
static double
height_of(const struct plot *plot)
{
	size_t n = channels(plot), tones = with_tones(plot);
	size_t said = findings(plot);
	double height = PLOT_LOSS + PLOT_BARS + BETWEEN + EDGE;

	height += n ? 12 + rows(n) * ROW + BETWEEN / 2. : BETWEEN;
	if (tones)
		height += 12 + rows(tones) * ROW + BETWEEN / 2.;
	if (intervals(plot) >= 2)
		height += 12 + HISTORY + BETWEEN;
	said = said > WORDS ? WORDS + 1 : said ? said : 1;
	return height + (double)said * (TEXT + 4);
}

int
plot_write(const struct plot *plot, const char *file, struct fault *fault)
{
	struct sheet p = { .plot = plot };
	int err = canvas_open(&p.c, file, PLOT_WIDTH, height_of(plot), fault);

	if (err)
		return err;
	draw(&p);
	return canvas_close(p.c, fault);
}
