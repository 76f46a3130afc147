/* SPDX-License-Identifier: MIT */
/* One scan by itself: its words, its memory, and its JSON. */
#include "daemon/schedule/scan.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "store/disk/layout.h"

const struct scan_kind scan_kinds[SCAN_ACTIONS] = {
	[SCAN_RECORD] = { "record", true, false },
	[SCAN_SEND] = { "send", false, true },
	[SCAN_RELAY] = { "relay", true, true },
};

static const char *const states[SCAN_STATES] = {
	[SCAN_WAITING] = "waiting",	[SCAN_ARMED] = "armed",
	[SCAN_RUNNING] = "running",	[SCAN_DONE] = "done",
	[SCAN_FAILED] = "failed",	[SCAN_MISSED] = "missed",
	[SCAN_CANCELLED] = "cancelled", [SCAN_REFUSED] = "refused",
};

const char *
scan_action_word(enum scan_action action)
{
	return scan_kinds[action].word;
}

const char *
scan_state_word(enum scan_state state)
{
	return states[state];
}

bool
scan_action_parse(const char *word, enum scan_action *action)
{
	for (int i = 0; i < SCAN_ACTIONS; i++) {
		if (strcmp(scan_kinds[i].word, word))
			continue;
		*action = (enum scan_action)i;
		return true;
	}
	return false;
}

bool
scan_state_parse(const char *word, enum scan_state *state)
{
	for (int i = 0; i < SCAN_STATES; i++) {
		if (strcmp(states[i], word))
			continue;
		*state = (enum scan_state)i;
		return true;
	}
	return false;
}

bool
scan_is_entry(const struct scan *a, const struct scan *b)
{
	return a->action == b->action && !strcmp(a->name, b->name) &&
	       !strcmp(a->to ? a->to : "", b->to ? b->to : "");
}

bool
scan_is_ahead(const struct scan *s)
{
	return s->state <= SCAN_RUNNING;
}

bool
scan_is_candidate(const struct scan *s)
{
	return (s->state == SCAN_WAITING || s->state == SCAN_REFUSED) &&
	       !s->wrong && !s->barred;
}

struct scan *
scan_new(void)
{
	struct scan *s = calloc(1, sizeof *s);

	if (s)
		s->stop = s->end = INT64_MAX;
	return s;
}

void
scan_free(struct scan *s)
{
	if (!s)
		return;
	for (unsigned i = 0; i < s->streams; i++)
		free(s->stream[i]);
	free(s->stream);
	free(s->to);
	free(s->send);
	free(s->file);
	free(s);
}

int
scan_list_add(struct scan_list *list, struct scan *s)
{
	unsigned room = list->room ? 2 * list->room : 16;
	struct scan **scan;

	if (list->n == list->room) {
		scan = realloc(list->scan, room * sizeof(struct scan *));
		if (!scan)
			return -ENOMEM;
		list->scan = scan;
		list->room = room;
	}
	list->scan[list->n++] = s;
	return 0;
}

void
scan_list_clear(struct scan_list *list)
{
	for (unsigned i = 0; i < list->n; i++)
		scan_free(list->scan[i]);
	free(list->scan);
	*list = (struct scan_list){ 0 };
}

int
scan_stream_add(struct scan *s, const char *stream)
{
	size_t bytes = (s->streams + 1) * sizeof(char *);
	char **more = realloc(s->stream, bytes);

	if (!more)
		return -ENOMEM;
	s->stream = more;
	more[s->streams] = strdup(stream);
	if (!more[s->streams])
		return -ENOMEM;
	s->streams++;
	return 0;
}

static bool
is_good(char c)
{
	return isalnum((unsigned char)c) || (c && strchr("_+-", c));
}

bool
scan_name_mend(char good[SCAN_NAME], const char *name)
{
	const char *from = name;
	char *ds;
	size_t n = 0;

	while (*from && !isalnum((unsigned char)*from))
		from++;
	/*
	 * A name needs a letter: prefix digits alone, also if the name is cut
	 * after digits.
	 */
	if (strspn(from, "0123456789") >= strnlen(from, LAYOUT_NAME) && *from)
		n = (size_t)snprintf(good, SCAN_NAME, "scan-");
	for (; *from && n < LAYOUT_NAME; from++)
		good[n++] = is_good(*from) ? *from : '-';
	good[n] = 0;
	while ((ds = strstr(good, "_ds")))
		*ds = '-';
	return strcmp(good, name) != 0;
}

/* Returns the seconds until its start or stop; null if nothing is to come. */
static json_t *
next_json(const struct scan *s, int64_t utc)
{
	int64_t at = s->state == SCAN_RUNNING ? s->stop : s->start;

	if (!scan_is_ahead(s) || at == INT64_MAX)
		return json_null();
	return json_real((double)(at - utc) / 1e9);
}

static json_t *
time_json(int64_t ns)
{
	char text[UNITS_TEXT];

	return ns == INT64_MAX ? json_null()
			       : json_string(units_show_time_ns(text, ns));
}

/*
 * Makes JSON of a sentence, without a UTF-8 character that was cut at its end.
 */
static json_t *
text_json(const char *text)
{
	size_t bytes = strlen(text);
	json_t *json = json_stringn(text, bytes);

	while (!json && bytes)
		json = json_stringn(text, --bytes);
	return json;
}

static json_t *
streams_json(const struct scan *s)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < s->streams; i++)
		json_array_append_new(list, text_json(s->stream[i]));
	return list;
}

json_t *
scan_json(const struct scan *s, int64_t utc)
{
	json_t *span = s->stop == INT64_MAX
			   ? json_null()
			   : json_real((double)(s->stop - s->start) / 1e9);

	return json_pack(
	    "{s:i, s:s, s:s, s:o, s:o, s:o, s:b, s:o, s:f, s:f, s:i, s:s, s:o,"
	    " s:s?, s:s?, s:i, s:s?, s:s?, s:o}",
	    "id", (int)s->id, "name", s->name, "action",
	    scan_kinds[s->action].word, "streams", streams_json(s), "start",
	    time_json(s->start), "stop", time_json(s->stop), "data", s->data,
	    "duration_s", span, "backlog_s", (double)s->backlog / 1e9, "arm_s",
	    (double)s->arm / 1e9, "priority", s->priority, "state",
	    states[s->state], "why", text_json(s->why), "recording",
	    s->recording[0] ? s->recording : NULL, "file", s->file, "line",
	    (int)s->line, "to", s->to, "send", s->send, "next_s",
	    next_json(s, utc));
}
