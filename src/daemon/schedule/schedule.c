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
 *
 * Changes made by hand: an entry added by command, a file put into the folder,
 * an entry or a file removed.
 *
 * A cancelled entry stays in its file, which belongs to the user who wrote it,
 * and is remembered as cancelled.
 */
#include "daemon/schedule/schedule_priv.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "daemon/schedule/scan.h"
#include "store/disk/disk.h"
#include "store/disk/file.h"

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

void
schedule_unsent(struct schedule *s, unsigned id, const char *why)
{
	struct scan *scan = schedule_find(s, id);

	if (!scan)
		return;
	free(scan->unsent);
	scan->unsent = strdup(why);
	s->dirty = true;
}

/* ---- opening --------------------------------------------------------- */

static int
texts_copy(struct schedule *s, const struct schedule_args *args)
{
	s->folder = args->folder ? strdup(args->folder) : NULL;
	s->state = args->state ? strdup(args->state) : NULL;
	s->station = args->station ? strdup(args->station) : NULL;
	return !s->folder == !args->folder && !s->state == !args->state &&
		       !s->station == !args->station
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
	state_file_stop(s->state_file);
	schedule_folder_close(s);
	scan_list_clear(&s->scans);
	free(s->folder);
	free(s->state);
	free(s->station);
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

/* ---- by hand --------------------------------------------------------- */

/* ---- an entry by command -------------------------------------------- */

static void
forget(struct schedule *s, struct scan *scan)
{
	unsigned i = 0;

	while (s->scans.scan[i] != scan)
		i++;
	memmove(&s->scans.scan[i], &s->scans.scan[i + 1],
		(s->scans.n - i - 1) * sizeof *s->scans.scan);
	s->scans.n--;
}

static int
refused(struct schedule *s, struct scan *scan, struct fault *fault)
{
	fault_set(fault, -EBUSY, "busy", "cannot add %s to the schedule",
		  scan->name);
	fault_why(fault, "%.300s", scan->why);
	forget(s, scan);
	return -EBUSY;
}

int
schedule_add(struct schedule *s, struct scan *scan, struct schedule_now now,
	     struct fault *fault)
{
	if (!scan->data && scan->stop <= now.utc)
		return fault_set(fault, -EINVAL, "usage",
				 "that is over already");
	if (scan->stop <= scan->start)
		return fault_set(fault, -EINVAL, "usage",
				 "that would be over before it begins");
	scan->any_time = scan->data && scan->stop <= now.utc;
	if (!schedule_enter(s, scan))
		return fault_no_memory(fault);
	schedule_vet(s, now.utc);
	if (scan->state == SCAN_REFUSED)
		return refused(s, scan, fault);
	s->next = 0;
	schedule_step(s, now);
	return (int)scan->id;
}

/* ---- a file ---------------------------------------------------------- */

static int
name_check(const char *file, struct fault *fault)
{
	size_t n = file ? strlen(file) : 0;

	if (n > 5 && n < NAME_MAX - 8 && !strcmp(file + n - 5, ".conf") &&
	    isalnum((unsigned char)file[0]) && !strchr(file, '/') &&
	    !strpbrk(file, "\n\r\t"))
		return 0;
	fault_set(fault, -EINVAL, "bad-name",
		  "'%.80s' is no name for a schedule file", file ? file : "");
	fault_hint(fault, "it begins with a letter or a digit and ends in "
			  ".conf");
	return -EINVAL;
}

int
schedule_check_text(const struct schedule *s, const struct schedule_text *text,
		    struct scan_list *list, struct fault *fault)
{
	int err = name_check(text->file, fault);

	if (!err)
		err =
		    scan_read(list, text->file, text->text, s->station, fault);
	for (unsigned i = 0; !err && i < list->n; i++) {
		struct scan *scan = list->scan[i];

		scan->arm_at = scan->start - scan->arm - scan->backlog;
		schedule_bar(s, scan);
		schedule_send_check(s, scan);
	}
	return err;
}

static int
folder_fault(const struct schedule *s, const char *file, int err,
	     struct fault *fault)
{
	fault_set(fault, err, err == -EEXIST ? "exists" : "io",
		  "cannot put %s into %s", file, s->folder);
	fault_why(fault, "%s",
		  err == -EEXIST ? "it is there already" : disk_why(err));
	if (err == -EEXIST)
		fault_hint(fault, "--replace puts it in its place");
	if (err == -EACCES || err == -EROFS)
		fault_hint(fault, "the daemon's user has to be able to write "
				  "there");
	return err;
}

static int
no_folder(struct fault *fault)
{
	fault_set(fault, -ENOTSUP, "conf",
		  "the schedule of this spated has no folder");
	fault_hint(fault, "schedule = \"/etc/spate/schedule.d\"; in the "
			  "configuration gives it one; 'spate record NAME "
			  "--at TIME' works without");
	return -ENOTSUP;
}

/*
 * Writes under a hidden name, makes it durable, and renames: a reader of the
 * folder never sees half a file.
 */
static int
put_file(int dir, const struct schedule_text *text)
{
	char new[NAME_MAX + 1];
	int fd, err = 0;

	snprintf(new, sizeof new, ".%.*s.new", NAME_MAX - 8, text->file);
	fd =
	    disk_open_at(dir, new, O_WRONLY | O_CREAT | O_TRUNC, DISK_NO_LINKS);
	if (fd < 0)
		return fd;
	err = write_whole(fd, text->text, strlen(text->text), 0);
	if (!err && fsync(fd) < 0)
		err = -errno;
	close(fd);
	if (!err && !text->replace &&
	    faccessat(dir, text->file, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		err = -EEXIST;
	if (!err && renameat(dir, new, dir, text->file) < 0)
		err = -errno;
	if (err)
		unlinkat(dir, new, 0);
	else
		fsync(dir);
	return err;
}

int
schedule_add_text(struct schedule *s, const struct schedule_text *text,
		  struct schedule_now now, struct fault *fault)
{
	struct schedule_file *f;
	struct scan_list list;
	int err, dir;

	if (!s->folder)
		return no_folder(fault);
	err = schedule_check_text(s, text, &list, fault);
	if (err)
		return err;
	scan_list_clear(&list);
	err = schedule_folder_answers(s);
	dir = err ? err : open(s->folder, O_DIRECTORY | O_CLOEXEC);
	if (!err)
		err = dir < 0 ? -errno : put_file(dir, text);
	if (dir >= 0)
		close(dir);
	if (err)
		return folder_fault(s, text->file, err, fault);
	schedule_hear(s, now); /* consume the events of our own write, so
				* that the file is read once */
	f = schedule_file_add(s, text->file);
	if (f)
		f->told = true;
	schedule_folder_look(s, now, false);
	schedule_due(s, now);
	return 0;
}

/* ---- taking out ------------------------------------------------------ */

static bool
is_meant(const struct scan *scan, const char *which)
{
	char *end;
	unsigned long id = strtoul(which, &end, 10);

	if (*which && !*end)
		return scan->id == id;
	return !strcmp(scan->name, which) ||
	       (scan_is_ahead(scan) && !strcmp(scan->recording, which));
}

static void
cancel(struct schedule *s, struct scan *scan)
{
	schedule_halt(s, scan, "taken out of the schedule");
	schedule_set(s, scan, SCAN_CANCELLED, "taken out of the schedule");
	s->changed = true;
	s->next = 0;
}

static int
remove_file(struct schedule *s, const char *file, json_t *removed,
	    struct schedule_now now, struct fault *fault)
{
	char path[PATH_MAX];
	int err = 0;

	snprintf(path, sizeof path, "%s/%s", s->folder, file);
	if (schedule_folder_answers(s))
		err = ETIMEDOUT;
	else if (unlink(path) < 0 && errno != ENOENT)
		err = errno;
	if (err) {
		fault_set(fault, -err, "io", "cannot remove %s", path);
		fault_why(fault, "%s", strerror(err));
		return -EIO;
	}
	for (unsigned i = s->scans.n; i--;) {
		struct scan *scan = s->scans.scan[i];

		if (!scan->file || scan->gone || strcmp(scan->file, file) ||
		    schedule_inherit(s, scan, now.utc))
			continue;
		if (scan_is_ahead(scan) || scan->state == SCAN_REFUSED) {
			cancel(s, scan);
			scan->taken = true;
		}
		scan->gone = true;
		json_array_insert_new(removed, 0, scan_json(scan, now.utc));
	}
	schedule_dropped(s);
	schedule_file_drop(s, file);
	return 0;
}

static int
none(struct fault *fault, const char *which)
{
	fault_set(fault, -ENOENT, "not-found",
		  "the schedule has no scan or file '%.80s' that is to come",
		  which);
	fault_hint(fault, "'spate schedule ls' shows what it has");
	return -ENOENT;
}

int
schedule_remove(struct schedule *s, const char *which, json_t **removed,
		struct schedule_now now, struct fault *fault)
{
	bool many = schedule_many_begin(s);
	int err = 0;

	*removed = json_array();
	if (schedule_file_find(s, which)) {
		err = remove_file(s, which, *removed, now, fault);
	} else {
		for (unsigned i = 0; i < s->scans.n; i++) {
			struct scan *scan = s->scans.scan[i];

			if (!is_meant(scan, which) ||
			    (!scan_is_ahead(scan) &&
			     scan->state != SCAN_REFUSED))
				continue;
			cancel(s, scan);
			json_array_append_new(*removed,
					      scan_json(scan, now.utc));
		}
		if (!json_array_size(*removed))
			err = none(fault, which);
	}
	schedule_many_end(s, many);
	if (err)
		json_decref(*removed);
	else
		schedule_step(s, now);
	return err;
}

/* ---- as JSON --------------------------------------------------------- */

static bool
is_shown(const struct scan *scan, bool all, int64_t utc)
{
	int64_t end = scan->stop == INT64_MAX ? scan->start : scan->stop;

	if (all || scan_is_ahead(scan))
		return true;
	if (scan->state == SCAN_CANCELLED || scan->gone)
		return false;
	return scan->wrong || utc - end < 86400 * NS_SECOND;
}

static unsigned
scans_of(const struct schedule *s, const char *file)
{
	unsigned n = 0;

	for (unsigned i = 0; i < s->scans.n; i++) {
		const struct scan *scan = s->scans.scan[i];

		n += scan->file && !scan->gone && !strcmp(scan->file, file);
	}
	return n;
}

unsigned
schedule_others(const struct schedule *s, const char *except)
{
	unsigned n = 0;

	for (unsigned i = 0; i < s->files; i++) {
		if (!except || strcmp(s->file[i].name, except))
			n += s->file[i].others;
	}
	return n;
}

json_t *
schedule_json(const struct schedule *s, bool all, int64_t utc)
{
	json_t *scans = json_array(), *files = json_array();

	for (unsigned i = 0; i < s->scans.n; i++) {
		if (is_shown(s->scans.scan[i], all, utc))
			json_array_append_new(scans,
					      scan_json(s->scans.scan[i], utc));
	}
	for (unsigned i = 0; i < s->files; i++) {
		const struct schedule_file *f = &s->file[i];

		json_array_append_new(
		    files, json_pack("{s:s, s:s?, s:i, s:i}", "file", f->name,
				     "error", f->error[0] ? f->error : NULL,
				     "scans_n", (int)scans_of(s, f->name),
				     "others_n", (int)f->others));
	}
	return json_pack("{s:s?, s:o, s:o}", "folder", s->folder, "scans",
			 scans, "files", files);
}
