/* SPDX-License-Identifier: MIT */
/*
 * The state file holds all that the schedule knows, as one JSON object: scans
 * as they were last read, so that a file that is damaged while the daemon is
 * down keeps its last good version, and what became of each.
 *
 * The file may be a little behind: a scan that is `armed` there may have begun,
 * and is then found to be late, with a recording that can be continued.
 */
#include "daemon/schedule/schedule_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "store/disk/disk.h"

#define FILE_NAME "schedule.json"

/* ---- writing --------------------------------------------------------- */

static json_t *
scan_pack(const struct scan *scan)
{
	json_t *streams = json_array();

	for (unsigned i = 0; i < scan->streams; i++)
		json_array_append_new(streams, json_string(scan->stream[i]));
	return json_pack(
	    "{s:i, s:s, s:s, s:o, s:I, s:I, s:b, s:I, s:I, s:i, s:s*, s:s*, "
	    "s:s*, s:s*, s:i, s:s, s:o*, s:s, s:b, s:b, s:b, s:b, s:i}",
	    "id", (int)scan->id, "name", scan->name, "action",
	    scan_action_word(scan->action), "streams", streams, "start",
	    (json_int_t)scan->start, "stop", (json_int_t)scan->stop, "data",
	    scan->data, "backlog", (json_int_t)scan->backlog, "arm",
	    (json_int_t)scan->arm, "priority", scan->priority, "to", scan->to,
	    "send", scan->send, "unsent", scan->unsent, "file", scan->file,
	    "line", (int)scan->line, "state", scan_state_word(scan->state),
	    "why", json_string(scan->why), "recording", scan->recording, "gone",
	    scan->gone, "taken", scan->taken, "wrong", scan->wrong, "any_time",
	    scan->any_time, "tries", (int)scan->tries);
}

/* A text buffer that grows. */
struct growing {
	char *text;
	size_t used, room;
};

static bool
room_make(struct growing *g, size_t bytes)
{
	size_t room = 2 * (g->used + bytes);
	char *text;

	if (g->used + bytes <= g->room)
		return true;
	text = realloc(g->text, room);
	if (!text)
		return false;
	g->text = text;
	g->room = room;
	return true;
}

static bool
text_add(struct growing *g, const char *text)
{
	size_t bytes = strlen(text);

	if (!room_make(g, bytes + 1))
		return false;
	memcpy(g->text + g->used, text, bytes + 1);
	g->used += bytes;
	return true;
}

static bool
scan_write(struct growing *g, const struct scan *scan)
{
	json_t *json = scan_pack(scan);
	size_t bytes = json ? json_dumpb(json, NULL, 0, 0) : 0;
	bool good = bytes && room_make(g, bytes + 1);

	if (good)
		json_dumpb(json, g->text + g->used, bytes, 0);
	json_decref(json);
	g->used += good ? bytes : 0;
	return good;
}

/*
 * Each scan is converted and freed by itself: as one JSON tree, 60,000 scans
 * took four times as long, most of it for freeing the tree.
 */
static char *
state_text(const struct schedule *s)
{
	struct growing g = { 0 };
	char head[80];
	bool good;

	snprintf(head, sizeof head,
		 "{\"version\": 1, \"last_id\": %u, \"scans\": [", s->last_id);
	good = text_add(&g, head);
	for (unsigned i = 0; i < s->scans.n && good; i++)
		good = text_add(&g, i ? ",\n" : "\n") &&
		       scan_write(&g, s->scans.scan[i]);
	good = good && text_add(&g, "\n]}");
	if (good)
		return g.text;
	free(g.text);
	return NULL;
}

void
schedule_state_write(struct schedule *s)
{
	if (s->state_file)
		state_file_write(s->state_file, state_text(s));
	s->dirty = false;
}

/* ---- reading --------------------------------------------------------- */

static char *
text_of(const json_t *from, const char *key)
{
	const char *text = json_string_value(json_object_get(from, key));

	return text ? strdup(text) : NULL;
}

static int64_t
number_of(const json_t *from, const char *key)
{
	return json_integer_value(json_object_get(from, key));
}

static bool
flag_of(const json_t *from, const char *key)
{
	return json_is_true(json_object_get(from, key));
}

static void
word_copy(const json_t *from, const char *key, char *to, size_t bytes)
{
	const char *text = json_string_value(json_object_get(from, key));

	snprintf(to, bytes, "%s", text ? text : "");
}

static void
scan_fill(struct scan *scan, const json_t *from)
{
	scan->id = (unsigned)number_of(from, "id");
	scan->start = number_of(from, "start");
	scan->stop = number_of(from, "stop");
	scan->data = flag_of(from, "data");
	scan->backlog = number_of(from, "backlog");
	scan->arm = number_of(from, "arm");
	scan->priority = (int)number_of(from, "priority");
	scan->line = (unsigned)number_of(from, "line");
	scan->tries = (unsigned)number_of(from, "tries");
	scan->gone = flag_of(from, "gone");
	scan->taken = flag_of(from, "taken");
	scan->wrong = flag_of(from, "wrong");
	scan->any_time = flag_of(from, "any_time");
	scan->to = text_of(from, "to");
	scan->send = text_of(from, "send");
	scan->unsent = text_of(from, "unsent");
	scan->file = text_of(from, "file");
	word_copy(from, "name", scan->name, sizeof scan->name);
	word_copy(from, "why", scan->why, sizeof scan->why);
	word_copy(from, "recording", scan->recording, sizeof scan->recording);
}

/* Checks a scan's numbers: a file edited by hand may contain any. */
static bool
is_sane(const struct scan *scan)
{
	const int64_t year = 365 * 86400 * NS_SECOND;

	return scan->id && scan->name[0] && scan->start >= 0 &&
	       scan->stop > scan->start && scan->arm >= 0 &&
	       scan->arm <= year && scan->backlog >= 0 && scan->backlog <= year;
}

/*
 * Makes an armed or running scan of the last daemon WAITING.  It resumes its
 * recording if it was running, or if it was armed and its start has passed:
 * then it may have begun after the file was written.
 */
static void
scan_wake(struct scan *scan, int64_t utc)
{
	bool began = scan->state == SCAN_RUNNING || scan->start <= utc;

	if (scan->state != SCAN_ARMED && scan->state != SCAN_RUNNING)
		return;
	scan->resume = began && scan->recording[0];
	scan->state = SCAN_WAITING;
	scan->why[0] = '\0';
}

static struct scan *
scan_unpack(const json_t *from, int64_t utc)
{
	const char *action = json_string_value(json_object_get(from, "action"));
	const char *state = json_string_value(json_object_get(from, "state"));
	struct scan *scan = scan_new();
	const json_t *stream;
	size_t i;

	if (!scan)
		return NULL;
	scan_fill(scan, from);
	json_array_foreach(json_object_get(from, "streams"), i, stream) {
		if (json_is_string(stream) && i < SCAN_STREAMS)
			scan_stream_add(scan, json_string_value(stream));
	}
	if (!action || !scan_action_parse(action, &scan->action) || !state ||
	    !scan_state_parse(state, &scan->state) || !is_sane(scan)) {
		scan_free(scan);
		return NULL;
	}
	scan_wake(scan, utc);
	return scan;
}

static int
by_id(const void *a, const void *b)
{
	const struct scan *x = *(struct scan *const *)a;
	const struct scan *y = *(struct scan *const *)b;

	return (x->id > y->id) - (x->id < y->id);
}

/* Drops scans with duplicate IDs, which a file edited by hand may contain. */
static void
twice_drop(struct schedule *s)
{
	struct scan **scan = s->scans.scan;

	if (s->scans.n)
		qsort(scan, s->scans.n, sizeof *scan, by_id);
	for (unsigned i = 1; i < s->scans.n; i++) {
		scan[i]->dropped = scan[i]->id == scan[i - 1]->id;
		s->dropped |= scan[i]->dropped;
	}
	schedule_dropped(s);
}

static void
state_take(struct schedule *s, const json_t *all, int64_t utc)
{
	const json_t *one;
	size_t i;

	s->last_id = (unsigned)number_of(all, "last_id");
	json_array_foreach(json_object_get(all, "scans"), i, one) {
		struct scan *scan = scan_unpack(one, utc);
		struct schedule_file *f = NULL;

		if (!scan || !schedule_enter(s, scan)) {
			scan_free(scan);
			continue;
		}
		if (scan->id > s->last_id)
			s->last_id = scan->id;
		if (scan->file && !scan->gone)
			f = schedule_file_add(s, scan->file);
		if (f)
			f->read = true;
	}
	twice_drop(s);
}

/* Renames an unreadable state file, so that it can be inspected. */
static void
put_aside(const struct schedule *s, const char *why)
{
	char kept[100] = "it is " FILE_NAME ".bad now";
	char path[PATH_MAX], aside[PATH_MAX];

	snprintf(path, sizeof path, "%s/" FILE_NAME, s->state);
	snprintf(aside, sizeof aside, "%s/" FILE_NAME ".bad", s->state);
	if (rename(path, aside) < 0)
		snprintf(kept, sizeof kept, "nor can it be renamed (%s)",
			 strerror(errno));
	log_line(LEVEL_ERROR, NULL,
		 "%s cannot be read (%s); %s, and the schedule begins anew",
		 path, why, kept);
}

/* Opens the state file, which is nothing but a file: a pipe of its name would
 * never be read to its end.  Returns a descriptor or -errno. */
static int
state_open(const struct schedule *s)
{
	int dir = open(s->state, O_DIRECTORY | O_CLOEXEC), fd;

	if (dir < 0)
		return -errno;
	fd = disk_open_at(dir, FILE_NAME, O_RDONLY, DISK_NO_LINKS);
	close(dir);
	return fd;
}

int
schedule_state_read(struct schedule *s, int64_t utc)
{
	json_error_t error;
	json_t *all = NULL;
	int err, fd;

	if (!s->state)
		return 0;
	err = state_file_start(&s->state_file, s->state, FILE_NAME);
	if (err)
		return err;
	fd = state_open(s);
	if (fd == -ENOENT || fd == -ENOTDIR)
		return 0;
	if (fd >= 0) {
		all = json_loadfd(fd, 0, &error);
		close(fd);
	}
	if (all)
		state_take(s, all, utc);
	else
		put_aside(s, fd < 0 ? disk_why(fd) : error.text);
	json_decref(all);
	return 0;
}
