/* SPDX-License-Identifier: MIT */
/*
 * The schedule is one list of scans, sorted by start.  It is gone through only
 * when something is due, and then as a whole: a thousand entries take a few
 * microseconds, and an idle daemon should wake up rarely.  `next` says when
 * something is due.
 *
 * Scans that ended or were removed stay in the list for a day: people ask for
 * them on Monday, and an entry that an editor removed and brought back is
 * recognised by them.
 */
#include "base/clock.h"
#include "daemon/schedule/schedule_priv.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

#define LONG_ENOUGH (60 * NS_SECOND)
#define PAUSE_MOST  (10 * NS_SECOND)

/* ---- the list -------------------------------------------------------- */

static int
by_start(const void *a, const void *b)
{
	const struct scan *s = *(struct scan *const *)a;
	const struct scan *t = *(struct scan *const *)b;

	if (s->start != t->start)
		return s->start < t->start ? -1 : 1;
	return s->id < t->id ? -1 : s->id > t->id;
}

void
schedule_sort(struct schedule *s)
{
	if (!s->sorted && s->scans.n)
		qsort(s->scans.scan, s->scans.n, sizeof *s->scans.scan,
		      by_start);
	s->sorted = true;
}

/*
 * Adds a scan, which the list then owns, and numbers it.  NULL without memory,
 * and the caller still owns it.
 */
struct scan *
schedule_enter(struct schedule *s, struct scan *scan)
{
	if (scan_list_add(&s->scans, scan) < 0)
		return NULL;
	if (!scan->id)
		scan->id = ++s->last_id;
	s->sorted = false;
	s->changed = s->dirty = true;
	return scan;
}

const struct scan_list *
schedule_scans(const struct schedule *s)
{
	return &s->scans;
}

struct scan *
schedule_find(const struct schedule *s, unsigned id)
{
	for (unsigned i = 0; id && i < s->scans.n; i++) {
		if (s->scans.scan[i]->id == id)
			return s->scans.scan[i];
	}
	return NULL;
}

const char *
schedule_folder(const struct schedule *s)
{
	return s->folder;
}

/* ---- states ---------------------------------------------------------- */

/*
 * A scan that waits because it could not begin may be losing data now: a
 * warning.
 */
static enum log_level
level_of(const struct scan *scan)
{
	switch (scan->state) {
	case SCAN_WAITING: return scan->tries ? LEVEL_WARN : LEVEL_INFO;
	case SCAN_FAILED:
	case SCAN_MISSED:
	case SCAN_REFUSED: return LEVEL_WARN;
	default: return LEVEL_INFO;
	}
}

/*
 * Tells whether a scan in this state is worth only a number in the log when
 * many change at once.
 */
static bool
is_counted(const struct scan *scan)
{
	switch (scan->state) {
	case SCAN_WAITING: return !scan->tries;
	case SCAN_MISSED:
	case SCAN_REFUSED:
	case SCAN_CANCELLED: return true;
	default: return false;
	}
}

/*
 * Tells whether the scan's session logs this change itself, with its stream and
 * packets.
 */
static bool
is_said(const struct scan *scan)
{
	return !scan->why[0] &&
	       (scan->state == SCAN_ARMED || scan->state == SCAN_RUNNING ||
		scan->state == SCAN_DONE);
}

void
schedule_tell(struct schedule *s, const struct scan *scan)
{
	if (is_said(scan) || (s->many && is_counted(scan) &&
			      s->told[scan->state]++ >= SCHEDULE_TOLD))
		return;
	log_line(level_of(scan), scan->name, "%s%s%s",
		 scan_state_word(scan->state), scan->why[0] ? ": " : "",
		 scan->why);
}

bool
schedule_many_begin(struct schedule *s)
{
	if (s->many)
		return false;
	s->many = true;
	memset(s->told, 0, sizeof s->told);
	return true;
}

void
schedule_many_end(struct schedule *s, bool begun)
{
	if (!begun)
		return;
	s->many = false;
	for (unsigned i = 0; i < SCAN_STATES; i++) {
		if (s->told[i] > SCHEDULE_TOLD)
			log_line(level_of(&(struct scan){ .state = i }), NULL,
				 "%u more scans are %s%s",
				 s->told[i] - SCHEDULE_TOLD, scan_state_word(i),
				 i == SCAN_REFUSED
				     ? "; 'spate schedule ls' says why"
				     : "");
	}
}

void
schedule_set(struct schedule *s, struct scan *scan, enum scan_state state,
	     const char *why, ...)
{
	char text[SCAN_WHY];
	va_list args;

	va_start(args, why);
	vsnprintf(text, sizeof text, why, args);
	va_end(args);
	if (scan->state == state && !strcmp(scan->why, text))
		return;
	scan->state = state;
	memcpy(scan->why, text, sizeof text);
	schedule_tell(s, scan);
	s->dirty = true;
}

void
schedule_halt(struct schedule *s, struct scan *scan, const char *why)
{
	if (scan->state == SCAN_ARMED || scan->state == SCAN_RUNNING)
		s->hooks.stop(s->hooks.arg, scan, why);
}

void
schedule_began(struct schedule *s, unsigned id, struct schedule_now now)
{
	struct scan *scan = schedule_find(s, id);

	if (!scan || scan->state != SCAN_ARMED)
		return;
	scan->resume = false;
	scan->begun = now.steady;
	if (scan->action == SCAN_RECORD && strcmp(scan->recording, scan->name))
		schedule_set(s, scan, SCAN_RUNNING, "the recording is %s",
			     scan->recording);
	else
		schedule_set(s, scan, SCAN_RUNNING, "%s", "");
	s->next = 0;
}

/* Lets waiting scans try to arm at once: memory or a stream has become free. */
static void
try_again(struct schedule *s, int64_t steady)
{
	for (unsigned i = 0; i < s->scans.n; i++) {
		struct scan *scan = s->scans.scan[i];

		if (scan->state == SCAN_WAITING && scan->again > steady)
			scan->again = steady;
	}
}

/*
 * Returns the pause before a failed recording is started again.  It doubles
 * while attempts fail soon, since each makes folders and log lines.
 */
static int64_t
pause_of(struct scan *scan, int64_t steady)
{
	if (steady - scan->begun > LONG_ENOUGH)
		scan->pause = 0;
	scan->pause = scan->pause ? 2 * scan->pause : NS_SECOND;
	if (scan->pause > PAUSE_MOST)
		scan->pause = PAUSE_MOST;
	return scan->pause;
}

/*
 * Tells whether a failed scan is not tried again: a transfer without an end has
 * used up the patience that was asked for.
 */
static bool
is_given_up(const struct scan *scan)
{
	return scan->action == SCAN_SEND && scan->end == INT64_MAX;
}

void
schedule_ended(struct schedule *s, unsigned id, bool failed, const char *why,
	       struct schedule_now now)
{
	struct scan *scan = schedule_find(s, id);
	bool ran = scan && scan->state == SCAN_RUNNING;

	if (!scan || (!ran && scan->state != SCAN_ARMED))
		return;
	s->next = 0;
	if (!failed)
		try_again(s, now.steady);
	if (failed && now.steady < scan->end && !scan->gone &&
	    !is_given_up(scan)) {
		scan->resume = ran;
		scan->tries++;
		scan->again = now.steady + pause_of(scan, now.steady);
		schedule_set(s, scan, SCAN_WAITING, "%s; is tried again", why);
	} else if (failed) {
		schedule_set(s, scan, SCAN_FAILED, "%s", why);
	} else if (!ran && scan->data && !strcmp(why, "time")) {
		schedule_set(s, scan, SCAN_MISSED,
			     "the clock of the data is past its end");
	} else if (!ran) {
		schedule_set(s, scan, SCAN_CANCELLED, "before it began");
	} else {
		schedule_set(s, scan, SCAN_DONE, "%s",
			     strcmp(why, "time") ? why : "");
	}
}

/* ---- opening --------------------------------------------------------- */

static int
texts_copy(struct schedule *s, const struct schedule_args *args)
{
	s->folder = args->folder ? strdup(args->folder) : NULL;
	s->state = args->state ? strdup(args->state) : NULL;
	return !s->folder == !args->folder && !s->state == !args->state
		   ? 0
		   : -ENOMEM;
}

int
schedule_open(struct schedule **schedule, const struct schedule_args *args,
	      struct schedule_now now, struct fault *fault)
{
	struct schedule *s = calloc(1, sizeof *s);
	int err = s ? texts_copy(s, args) : -ENOMEM;

	if (err)
		goto fail;
	s->hooks = *args->hooks;
	s->inotify = s->watch = -1;
	s->offset = now.utc - now.steady;
	s->changed = true;
	err = schedule_state_read(s, now.utc);
	if (!err)
		err = schedule_folder_open(s, now);
	if (err)
		goto fail;
	schedule_sort(s);
	*schedule = s;
	return 0;
fail:
	schedule_close(s);
	fault_set(fault, err, err == -ENOMEM ? "no-memory" : "io",
		  "cannot open the schedule");
	fault_why(fault, "%s", strerror(-err));
	return err;
}

void
schedule_close(struct schedule *s)
{
	if (!s)
		return;
	if (s->dirty)
		schedule_state_write(s);
	scribe_stop(s->scribe);
	schedule_folder_close(s);
	scan_list_clear(&s->scans);
	free(s->folder);
	free(s->state);
	free(s);
}

int
schedule_fd(const struct schedule *s)
{
	return s->inotify;
}

int64_t
schedule_next(const struct schedule *s)
{
	return s->next;
}

void
schedule_changed(struct schedule *s)
{
	s->changed = true;
	s->next = 0;
}
