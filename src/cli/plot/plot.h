/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CLI_PLOT_PLOT_H
#define SPATE_CLI_PLOT_PLOT_H

#include <jansson.h>

#include "base/fault.h"

/*
 * A plot is a page about one recording: what came when and what was lost, and
 * for each channel its spectrum, its levels and its phase cal.
 */
struct plot {
	/* INFO_KEYS of the recording, with `loss_map` (loss.h) */
	const json_t *info;
	/* QUALITY_KEYS of each channel; empty: its samples are not known, and
	 * `why` says why */
	const json_t *lines;
	const char *why;
	/* the same of each interval, with `time`, as the quality file has them;
	 * may be empty */
	const json_t *history;
};

/* Draws the page into a file, whose name ends with .svg or .png.  0, or -errno
 * with a fault. */
int plot_write(const struct plot *plot, const char *file, struct fault *fault);

/*
 * Heights on the page, in points: tests measure there, and pictures of a night
 * can be laid side by side.  A point is two pixels of a .png.
 */
enum {
	PLOT_WIDTH = 1000,
	PLOT_LEFT = 60, /* of the strips over time */
	PLOT_RIGHT = 980,
	PLOT_RATE = 100, /* upper edge of the bars of the rate */
	PLOT_BARS = 80,	 /* their height */
	PLOT_LOSS = 200, /* upper edge of the bars of lost packets */
};

#endif
