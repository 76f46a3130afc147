/* SPDX-License-Identifier: MIT */
/*
 * A column without any content is left out.  Texts from a schedule file may
 * appear here, so they are cut and cleaned of control characters.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/units.h"
#include "cli/show/field.h"
#include "cli/schedule/schedule.h"
#include "cli/show/table.h"
#include "control/answer.h"

#define DAY (24 * 3600 * NS_SECOND)

/* Schedules are made of whole seconds, so ".000" is left out. */
static const char *
cell_start(char text[TABLE_CELL], const struct answer_scan *s)
{
	char time[UNITS_TEXT], *dot;

	if (!s->start)
		return "";
	units_show_time(time, s->start);
	dot = strstr(time, ".000Z");
	if (dot)
		strcpy(dot, "Z");
	snprintf(text, TABLE_CELL, "%s%s", s->data ? "@" : "", time);
	return text;
}

static bool
is_text(const char *text, const char *other)
{
	return text && !strcmp(text, other);
}

/* Writes where a scan is sent: by its action, or while it is recorded. */
static const char *
cell_to(char text[TABLE_CELL], const struct answer_scan *s)
{
	const char *to = s->to ? s->to : s->send;

	snprintf(text, TABLE_CELL, "%.330s", to ? to : "");
	return text;
}

/* Writes "2d 04h" for spans of two days and more. */
static const char *
span_words(char text[UNITS_TEXT], int64_t ns)
{
	if (ns < 2 * DAY)
		return units_show_span(text, ns);
	snprintf(text, UNITS_TEXT, "%dd %02dh", (int)(ns / DAY),
		 (int)(ns % DAY / (3600 * NS_SECOND)));
	return text;
}

static const char *
cell_next(char text[TABLE_CELL], const struct answer_scan *s)
{
	char span[UNITS_TEXT];

	if (isnan(s->next_s))
		return "";
	/* Rounded: fractions of a second do not matter here. */
	span_words(span, s->next_s < 1e9
			     ? (int64_t)(s->next_s + 0.5) * NS_SECOND
			     : INT64_MAX);
	snprintf(text, TABLE_CELL, "%s %s",
		 is_text(s->state, "running") ? "ends in" : "in", span);
	return text;
}

/* Writes the real name of the recording, if it differs, the reason, and why it
 * is not sent. */
static const char *
cell_why(char text[TABLE_CELL], const struct answer_scan *s)
{
	const char *why = s->reason && *s->reason ? s->reason : s->why;
	bool renamed = s->recording && !is_text(s->name, s->recording);
	int n;

	why = why ? why : "";
	n = snprintf(text, TABLE_CELL, "%s%.80s%s%.330s", renamed ? "as " : "",
		     renamed ? s->recording : "", renamed && *why ? "; " : "",
		     why);
	if (s->unsent && n < TABLE_CELL)
		snprintf(text + n, (size_t)(TABLE_CELL - n), "%snot sent: %s",
			 n ? "; " : "", s->unsent);
	return text;
}

static const char *
cell(char text[TABLE_CELL], const struct key *key, const json_t *scan)
{
	struct answer_scan s = answer_scan(scan);

	if (KEY_IS(key, struct answer_scan, start))
		return cell_start(text, &s);
	if (KEY_IS(key, struct answer_scan, duration_s))
		return s.duration_s > 0 ? NULL : "";
	if (KEY_IS(key, struct answer_scan, action))
		return is_text(s.action, "record") ? "" : NULL;
	if (KEY_IS(key, struct answer_scan, to))
		return cell_to(text, &s);
	if (KEY_IS(key, struct answer_scan, next_s))
		return cell_next(text, &s);
	if (KEY_IS(key, struct answer_scan, why))
		return cell_why(text, &s);
	return NULL;
}

void
schedule_show(const struct cli *cli, const json_t *scans,
	      enum schedule_columns kind)
{
	const struct table_keys t = { .keys = scan_keys,
				      .groups = kind == SCHEDULE_CHECK
						    ? ANSWER_CHECK_COLUMN
						    : KEY_COLUMN,
				      .cell = cell,
				      .sparse = true };
	const json_t *scan;
	size_t i;

	if (!cli->json)
		table_objects(&t, scans, 0);
	json_array_foreach(scans, i, scan)
		if (cli->json)
			cli_print_json(scan);
}

/* ---- lines below the table ------------------------------------------- */

void
schedule_show_others(uint64_t others)
{
	if (others)
		printf("; %" PRIu64 " of other stations", others);
	putchar('\n');
}

void
schedule_show_next(const json_t *result)
{
	const json_t *scans = json_object_get(result, "scans"), *scan;
	struct answer_scan next = { .next_s = NAN }, s;
	const json_t *files = json_object_get(result, "files"), *file;
	const char *folder = field_text(result, "folder");
	char text[TABLE_CELL];
	uint64_t others = 0;
	size_t i;

	json_array_foreach(scans, i, scan) {
		s = answer_scan(scan);
		if (!isnan(s.next_s) && !is_text(s.state, "running") &&
		    !(s.next_s >= next.next_s))
			next = s;
	}
	printf("%zu scan%s", json_array_size(scans),
	       json_array_size(scans) == 1 ? "" : "s");
	if (next.name)
		printf("; next is %s %s", next.name, cell_next(text, &next));
	if (!*folder)
		printf("; `schedule` of spate.conf names no folder");
	json_array_foreach(files, i, file)
		others += field_number(file, "others_n");
	schedule_show_others(others);
}

static void
time_print(const char *before, int64_t ns)
{
	char text[UNITS_TEXT];

	if (ns)
		printf("%s%s", before, units_show_time(text, ns));
}

static void
memory_print(const json_t *memory)
{
	char most[UNITS_TEXT], all[UNITS_TEXT];

	printf("memory  at most %s of %s",
	       units_show_bytes(most, field_number(memory, "peak")),
	       units_show_bytes(all, field_number(memory, "bytes")));
	time_print(", at ", field_time(memory, "peak_at"));
	putchar('\n');
}

static void
rate_print(const json_t *rate)
{
	char text[UNITS_TEXT];

	printf("rate    at most %s",
	       units_show_rate(text, field_real(rate, "peak")));
	if (field_known(rate, "speed"))
		printf(" of %s that the disks take",
		       units_show_rate(text, field_real(rate, "speed")));
	time_print(", at ", field_time(rate, "peak_at"));
	putchar('\n');
}

static void
sum_json(const json_t *result)
{
	json_t *sum = json_copy((json_t *)result);

	json_object_del(sum, "scans");
	cli_print_json(sum);
	json_decref(sum);
}

void
schedule_show_sum(const struct cli *cli, const json_t *result)
{
	struct answer_schedule_sum sum = answer_schedule_sum(result);
	struct answer_space disks = answer_space(sum.disks);
	char volume[UNITS_TEXT], left[UNITS_TEXT];

	if (cli->json)
		sum_json(result);
	if (cli->json || cli->quiet)
		return;
	printf("disks   %s to come, %s free",
	       units_show_bytes(volume, key_or_0(sum.volume)),
	       units_show_bytes(left, key_or_0(disks.free)));
	time_print("; full at ", sum.full_at);
	putchar('\n');
	memory_print(sum.memory);
	rate_print(sum.rate);
	if (key_or_0(sum.others))
		printf("others  %" PRIu64 " scan(s) of other stations, which "
		       "these will record\n",
		       sum.others);
	if (key_or_0(sum.unknown))
		printf("%" PRIu64 " scan(s) of streams without a `rate`: what "
		       "these will make is not counted\n",
		       sum.unknown);
}
