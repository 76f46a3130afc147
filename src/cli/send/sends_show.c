/* SPDX-License-Identifier: MIT */
/*
 * Values that are 0, not given, or the same for all are left out, such as
 * priorities, or reasons where all is well.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/units.h"
#include "base/text.h"
#include "cli/show/field.h"
#include "cli/send/sends.h"
#include "cli/show/table.h"

enum { CELL = 400, BAR_LEAST = 8, BAR_MOST = 40 };

static const char *
seconds_show(char text[UNITS_TEXT], double seconds)
{
	if (seconds < 1)
		return strcpy(text, "1s");
	if (seconds > 1e8)
		return strcpy(text, "years");
	return units_show_span(text, (int64_t)(seconds + 0.5) * NS_SECOND);
}

/* Writes "12s left", "2s behind" or "". */
static const char *
time_show(char text[CELL], const json_t *send)
{
	double behind = field_real(send, "behind_s");
	char span[UNITS_TEXT];

	*text = '\0';
	if (field_known(send, "left_s"))
		snprintf(text, CELL, "%s left",
			 seconds_show(span, field_real(send, "left_s")));
	else if (field_known(send, "behind_s"))
		snprintf(text, CELL, "%s%s",
			 behind < 1 ? "" : seconds_show(span, behind),
			 behind < 1 ? "live" : " behind");
	return text;
}

static const char *
bytes_show(char text[CELL], const json_t *send)
{
	uint64_t there = field_number(send, "there");
	uint64_t total = field_number(send, "total");
	char part[UNITS_TEXT];
	size_t at;

	at = (size_t)snprintf(
	    text, CELL, "%s",
	    units_show_bytes(part, field_number(send, "bytes")));
	if (field_known(send, "total"))
		at += (size_t)snprintf(
		    text + at, CELL - at, " of %s",
		    units_show_bytes(part, total > there ? total - there : 0));
	if (there)
		snprintf(text + at, CELL - at, ", %s there",
			 units_show_bytes(part, there));
	return text;
}

/* ---- a table --------------------------------------------------------- */

static const char *
text_of(char text[CELL], const json_t *send, const char *key)
{
	snprintf(text, CELL, "%.330s", field_text(send, key));
	return text_clean(text);
}

static const char *
asked_show(char text[CELL], const json_t *send)
{
	const json_t *asked = json_object_get(send, "asked_rate");

	if (!json_is_integer(asked))
		return text_of(text, send, "asked_rate");
	return units_show_rate(text, json_number_value(asked));
}

static void
row(struct table *t, const json_t *send)
{
	char text[CELL];

	table_cell(t, "%" PRIu64, field_number(send, "id"));
	table_cell(t, "%s", text_of(text, send, "name"));
	table_cell(t, "%s", text_of(text, send, "kind"));
	table_cell(t, "%s", text_of(text, send, "to"));
	table_cell(t, "%s", text_of(text, send, "state"));
	table_cell(t, "%s", bytes_show(text, send));
	table_cell(t, "%s", units_show_rate(text, field_real(send, "rate")));
	table_cell(t, "%s", asked_show(text, send));
	table_cell(t, "%s", time_show(text, send));
	table_cell(t, "%s", text_of(text, send, "why"));
}

void
sends_show(const json_t *sends, unsigned indent)
{
	static const struct table_column columns[] = {
		{ "id", true },	  { "name", false },  { "kind", false },
		{ "to", false },  { "state", false }, { "sent", true },
		{ "rate", true }, { "asked", true },  { "time", true },
		{ "", false },
	};
	struct table *t = table_open(columns, 10);
	const json_t *send;
	size_t i;

	json_array_foreach(sends, i, send)
		row(t, send);
	table_print(t, indent, stdout);
	table_close(t);
}

void
sends_print(const struct cli *cli, const json_t *sends)
{
	const json_t *send;
	size_t i;

	if (!cli->json) {
		if (json_array_size(sends))
			sends_show(sends, 0);
		return;
	}
	json_array_foreach(sends, i, send)
		cli_print_json(send);
}

/* ---- a line ---------------------------------------------------------- */

/* Writes "[=====>   ]", n characters wide. */
static void
bar(char *to, size_t n, double filled)
{
	size_t full = (size_t)((double)(n - 2) * filled);

	memset(to, ' ', n);
	to[0] = '[';
	memset(to + 1, '=', full);
	if (full < n - 2)
		to[1 + full] = '>';
	to[n - 1] = ']';
	to[n] = '\0';
}

/* Returns the share that is sent; negative: the total is unknown or grows. */
static double
share_of(const json_t *send)
{
	double total = field_real(send, "total"),
	       done = field_real(send, "bytes") + field_real(send, "there");

	if (!field_known(send, "total") || field_known(send, "behind_s") ||
	    total < 1)
		return -1;
	return done >= total ? 1 : done / total;
}

static bool
is_moving(const json_t *send)
{
	const char *state = field_text(send, "state");

	return !strcmp(state, "sending") || !strcmp(state, "waiting") ||
	       !strcmp(state, "finishing");
}

/* Writes the words behind the bar. */
static void
words(const json_t *send, char text[CELL])
{
	char part[CELL], state[CELL], why[CELL];
	double share = share_of(send);
	size_t at = 0;

	if (share >= 0)
		at = (size_t)snprintf(text, CELL, "%3d %%  ",
				      (int)(100 * share));
	at += (size_t)snprintf(
	    text + at, CELL - at, "%s",
	    units_show_bytes(part, field_number(send, "bytes")));
	if (is_moving(send)) {
		at += (size_t)snprintf(
		    text + at, CELL - at, "  %s",
		    units_show_rate(part, field_real(send, "rate")));
		if (*time_show(part, send))
			snprintf(text + at, CELL - at, "  %.60s", part);
		return;
	}
	text_of(state, send, "state");
	text_of(why, send, "why");
	snprintf(text + at, CELL - at, "  %.20s%s%.200s", state,
		 *why ? ": " : "", why);
}

void
sends_line(const json_t *send, char *line, size_t bytes)
{
	char text[CELL], name[CELL], drawing[BAR_MOST + 1] = "";
	double share = share_of(send);
	size_t used;

	words(send, text);
	text_of(name, send, "name");
	used = strlen(name) + strlen(text) + 5;
	if (share >= 0 && bytes >= used + BAR_LEAST)
		bar(drawing, bytes - used < BAR_MOST ? bytes - used : BAR_MOST,
		    share);
	snprintf(line, bytes, "%s  %s%s%s", name, drawing, *drawing ? "  " : "",
		 text);
}

/* ---- the end --------------------------------------------------------- */

bool
sends_ended(const json_t *send)
{
	const char *state = field_text(send, "state");

	return !strcmp(state, "done") || !strcmp(state, "stopped") ||
	       !strcmp(state, "failed");
}

/* Tells whether the receiver had everything before. */
static bool
was_there(const json_t *send)
{
	return !strcmp(field_text(send, "state"), "done") &&
	       !field_number(send, "bytes") && field_number(send, "total");
}

void
sends_tell(const json_t *send)
{
	int64_t started = field_time(send, "started");
	int64_t took = field_time(send, "ended") - started;
	char name[CELL], to[CELL], bytes[UNITS_TEXT], span[UNITS_TEXT];
	char rate[UNITS_TEXT];

	if (was_there(send)) {
		printf("%s: all of it was at %s already\n",
		       text_of(name, send, "name"), text_of(to, send, "to"));
		return;
	}
	printf("%s: %s sent to %s", text_of(name, send, "name"),
	       units_show_bytes(bytes, field_number(send, "bytes")),
	       text_of(to, send, "to"));
	if (started && took > 0)
		printf(" in %s, %s", units_show_span(span, took),
		       units_show_rate(rate, field_real(send, "bytes") * 8e9 /
						 (double)took));
	if (field_number(send, "there"))
		printf("; %s were there already",
		       units_show_bytes(bytes, field_number(send, "there")));
	if (field_number(send, "missing"))
		printf("; %" PRIu64 " packets of it were never received",
		       field_number(send, "missing"));
	putchar('\n');
}

/*
 * Writes "12 unreadable, 3 lost"; returns its length.  Packets that were never
 * received are not counted.
 */
static size_t
not_sent(const json_t *send, char text[CELL])
{
	static const char *const key[][2] = {
		{ "unreadable", "unreadable" },
		{ "dropped", "dropped because it was too slow" },
		{ "lost", "lost on the way" },
		{ "refused", "refused" },
	};
	size_t at = 0;

	*text = '\0';
	for (size_t i = 0; i < sizeof key / sizeof *key && at < CELL; i++) {
		uint64_t n = field_number(send, key[i][0]);

		if (n)
			at += (size_t)snprintf(text + at, CELL - at,
					       "%s%" PRIu64 " packets %s",
					       at ? ", " : "", n, key[i][1]);
	}
	return at;
}

int
sends_check(const json_t *send, struct fault *fault)
{
	const char *state = field_text(send, "state");
	char name[CELL], to[CELL], why[CELL], lost[CELL];
	bool done = !strcmp(state, "done");

	if (!not_sent(send, lost) && done)
		return 0;
	text_of(name, send, "name");
	text_of(to, send, "to");
	text_of(why, send, "why");
	fault_set(fault, -EIO, strcmp(state, "stopped") ? "io" : "cancelled",
		  "%.160s was not sent whole to %.120s", name, to);
	fault_why(fault, "%.160s%s%.150s", *why || done ? why : state,
		  *why && *lost ? "; " : "", lost);
	return -EIO;
}
