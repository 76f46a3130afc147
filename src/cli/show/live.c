/* SPDX-License-Identifier: MIT */
/*
 * The most important numbers come first, because a narrow terminal cuts the end
 * off.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/show/field.h"
#include "cli/show/live.h"
#include "cli/show/subs.h"

struct sum {
	double left_s; /* the longest of all; negative: no end is set */
	double elapsed_s;
	double rate;
	uint64_t packets, lost, heaps, blocks, free;
	size_t subs, silent;
};

static void
sum_make(struct sum *s, const json_t *infos)
{
	const json_t *info, *blocks;
	size_t i, n;

	*s = (struct sum){ .left_s = -1 };
	json_array_foreach(infos, i, info) {
		double left = field_real(info, "left_s");
		double elapsed = field_real(info, "elapsed_s");

		if (field_known(info, "left_s") && left > s->left_s)
			s->left_s = left;
		if (elapsed > s->elapsed_s)
			s->elapsed_s = elapsed;
		blocks = json_object_get(info, "blocks");
		s->rate += field_real(info, "rate");
		s->packets += field_number(info, "packets");
		s->lost += field_number(info, "packets_lost");
		s->heaps += field_number(info, "heaps");
		s->silent += subs_silent(info, &n);
		s->subs += n;
		s->blocks += field_number(blocks, "total");
		s->free += field_number(blocks, "free");
	}
}

/* Writes whole seconds, down to "0s". */
static const char *
span(char text[UNITS_TEXT], double seconds)
{
	if (seconds < 0.5)
		return strcpy(text, "0s");
	return units_show_span(text, (int64_t)(seconds + 0.5) * 1000000000);
}

static const char *
last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

static void
disks_add(const json_t *disks, char *line, size_t bytes, size_t at)
{
	char text[UNITS_TEXT];
	const json_t *disk;
	size_t i;

	json_array_foreach(disks, i, disk) {
		if (at >= bytes)
			return;
		units_show_bytes(text, field_number(disk, "rate"));
		at +=
		    (size_t)snprintf(line + at, bytes - at, "  %s %s/s",
				     last_part(field_text(disk, "path")), text);
	}
}

/* Adds what only some streams have: heaps, and silent substreams. */
static size_t
rest_add(const struct sum *s, char *line, size_t bytes, size_t at)
{
	if (s->heaps && at < bytes)
		at += (size_t)snprintf(line + at, bytes - at,
				       "  %" PRIu64 " heaps", s->heaps);
	if (s->subs > 1 && s->silent && at < bytes)
		at +=
		    (size_t)snprintf(line + at, bytes - at,
				     "  %zu of %zu silent", s->silent, s->subs);
	return at;
}

void
live_line(const json_t *infos, const json_t *disks, char *line, size_t bytes)
{
	char time[UNITS_TEXT], rate[UNITS_TEXT];
	struct sum s;
	size_t at;

	sum_make(&s, infos);
	if (s.left_s >= 0)
		span(time, s.left_s);
	else
		span(time, s.elapsed_s);
	at = (size_t)snprintf(
	    line, bytes, "%s %s  %s  %" PRIu64 " packets  %" PRIu64 " lost",
	    time, s.left_s >= 0 ? "left" : "so far",
	    units_show_rate(rate, s.rate), s.packets, s.lost);
	at = rest_add(&s, line, bytes, at);
	if (at < bytes)
		at += (size_t)snprintf(line + at, bytes - at,
				       "  buffers %" PRIu64 "/%" PRIu64,
				       s.blocks - s.free, s.blocks);
	disks_add(disks, line, bytes, at);
}
