/* SPDX-License-Identifier: MIT */
/*
 * The folder is read when inotify reports that a file was closed, moved or
 * removed there, and every ten seconds, since inotify does not see what other
 * machines do in a folder on NFS.  A folder whose server may be away is tested
 * by another thread (the `answers` hook) before anything here touches it.
 *
 * Half a file may parse well, with the scans that are written so far.  So a
 * file that is being written is left alone until it is closed; and a file that
 * inotify said nothing about until it has not changed for two seconds.  A file
 * that disappears may be about to be brought back by an editor: it counts as
 * removed after a second.
 */
#include "base/clock.h"
#include "daemon/schedule/schedule_priv.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/conf.h"
#include "base/log.h"
#include "daemon/schedule/scan_read.h"

#define LOOK	(10 * NS_SECOND)
#define SETTLED (2 * NS_SECOND)
#define SOON	(NS_SECOND / 4)
#define WATCHED                                                                \
	(IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE |            \
	 IN_MODIFY | IN_CREATE | IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF)

/* ---- files ----------------------------------------------------------- */

struct schedule_file *
schedule_file_find(const struct schedule *s, const char *name)
{
	for (unsigned i = 0; i < s->files; i++) {
		if (!strcmp(s->file[i].name, name))
			return &s->file[i];
	}
	return NULL;
}

struct schedule_file *
schedule_file_add(struct schedule *s, const char *name)
{
	size_t bytes = (s->files + 1) * sizeof *s->file;
	struct schedule_file *f = schedule_file_find(s, name);

	if (f)
		return f;
	f = realloc(s->file, bytes);
	if (!f)
		return NULL;
	s->file = f;
	f = &f[s->files];
	*f = (struct schedule_file){ .name = strdup(name) };
	if (!f->name)
		return NULL;
	s->files++;
	return f;
}

void
schedule_file_drop(struct schedule *s, const char *name)
{
	struct schedule_file *f = schedule_file_find(s, name);

	if (!f)
		return;
	free(f->name);
	*f = s->file[--s->files];
}

/*
 * Tells whether the file is a schedule, and not what editors and file transfers
 * leave beside it: .x.conf.swp, x.conf~, #x.conf#, x.conf.tmp.
 */
static bool
is_ours(const char *name)
{
	size_t n = strlen(name);
	json_t *text = json_string(name);

	json_decref(text);
	return text && n > 5 && !strcmp(name + n - 5, ".conf") &&
	       name[0] != '.' && name[0] != '#';
}

/* ---- reading --------------------------------------------------------- */

static void
file_fault(struct schedule *s, struct schedule_file *f,
	   const struct fault *fault)
{
	char line[sizeof *fault];

	fault_line(fault, line, sizeof line);
	if (strncmp(f->error, line, sizeof f->error - 1))
		log_line(LEVEL_ERROR, NULL, "%s%s", line,
			 f->read ? "; its last good version goes on" : "");
	snprintf(f->error, sizeof f->error, "%.*s", SCHEDULE_FAULT - 1, line);
	s->dirty = true;
}

static void
file_read(struct schedule *s, struct schedule_file *f, struct schedule_now now)
{
	char path[PATH_MAX], name[NAME_MAX + 1];
	struct scan_list list = { 0 };
	struct fault fault = { 0 };
	char *text;
	int err;

	snprintf(path, sizeof path, "%s/%s", s->folder, f->name);
	snprintf(name, sizeof name, "%s", f->name);
	err = conf_text(&text, path, &fault);
	if (!err) {
		err = scan_read(&list, name, text, &fault);
		free(text);
	}
	if (err) {
		file_fault(s, f, &fault);
		/*
		 * Read it again even if size and times stay: permissions may
		 * change.
		 */
		if (err != -EINVAL)
			f->inode = 0;
		return;
	}
	if (f->error[0])
		log_line(LEVEL_INFO, NULL, "%s is good again", name);
	f->error[0] = '\0';
	f->read = true;
	log_line(LEVEL_INFO, NULL, "%s: %u scans", name, list.n);
	schedule_merge(s, name, &list, now);
}

/*
 * Reads a file if it changed.  Returns the ns until it may be read; 0: it was
 * read, or need not be.
 */
static int64_t
file_look(struct schedule *s, struct schedule_file *f, const struct stat *st,
	  struct schedule_now now, bool all)
{
	int64_t age =
	    now.utc - (st->st_mtim.tv_sec * NS_SECOND + st->st_mtim.tv_nsec);

	if (!all && f->modified && now.steady - f->modified < LOOK)
		return LOOK;
	if (!f->told && !all && st->st_ino == f->inode &&
	    st->st_size == f->bytes &&
	    !memcmp(&st->st_mtim, &f->mtime, sizeof f->mtime))
		return 0;
	if (!f->told && !all && age >= 0 && age < SETTLED)
		return SETTLED - age;
	f->told = false;
	f->modified = 0;
	f->inode = st->st_ino;
	f->bytes = st->st_size;
	f->mtime = st->st_mtim;
	file_read(s, f, now);
	return 0;
}

/* ---- the folder ------------------------------------------------------ */

static void
see(struct schedule *s, DIR *dir)
{
	const struct dirent *e;

	while ((e = readdir(dir))) {
		struct schedule_file *f;
		struct stat st;

		if (!is_ours(e->d_name) ||
		    fstatat(dirfd(dir), e->d_name, &st, 0) < 0 ||
		    !S_ISREG(st.st_mode))
			continue;
		f = schedule_file_add(s, e->d_name);
		if (!f)
			continue;
		f->seen = true;
		f->missing = 0;
	}
}

/* Drops a file that is missing for long enough; returns the ns until then. */
static int64_t
file_miss(struct schedule *s, struct schedule_file *f, struct schedule_now now,
	  bool all)
{
	char name[NAME_MAX + 1];

	if (!f->missing)
		f->missing = now.steady;
	if (!all && now.steady - f->missing < NS_SECOND)
		return NS_SECOND - (now.steady - f->missing);
	snprintf(name, sizeof name, "%s", f->name);
	schedule_file_drop(s, name);
	schedule_lose(s, name, now.utc);
	return 0;
}

static int64_t
files_look(struct schedule *s, int dir, struct schedule_now now, bool all)
{
	int64_t wait = LOOK;

	for (unsigned i = s->files; i--;) {
		struct schedule_file *f = &s->file[i];
		struct stat st;
		int64_t w;

		if (f->seen && fstatat(dir, f->name, &st, 0) == 0)
			w = file_look(s, f, &st, now, all);
		else
			w = 0;
		if (w && w < wait)
			wait = w;
	}
	/*
	 * Missing files come last, because an existing file may have taken over
	 * their scans.
	 */
	for (unsigned i = s->files; i--;) {
		int64_t w = 0;

		if (!s->file[i].seen)
			w = file_miss(s, &s->file[i], now, all);
		if (w && w < wait)
			wait = w;
	}
	return wait < SOON ? SOON : wait;
}

static void
watch(struct schedule *s)
{
	if (s->watch < 0 && s->inotify >= 0)
		s->watch = inotify_add_watch(s->inotify, s->folder,
					     WATCHED | IN_ONLYDIR);
}

/*
 * Reports it once.  A folder that is missing, or whose server is away, removes
 * no scans.
 */
static void
cannot_read(struct schedule *s, int err)
{
	if (!s->no_folder)
		log_line(LEVEL_ERROR, NULL,
			 "cannot read the schedule's folder %s: %s; it is "
			 "tried again",
			 s->folder, strerror(err));
	s->no_folder = true;
}

int
schedule_folder_answers(const struct schedule *s)
{
	const struct schedule_hooks *h = &s->hooks;

	return !h->answers || h->answers(h->arg, s->folder) ? 0 : -ETIMEDOUT;
}

void
schedule_folder_look(struct schedule *s, struct schedule_now now, bool all)
{
	DIR *dir;

	s->look_at = now.steady + LOOK;
	if (schedule_folder_answers(s)) {
		cannot_read(s, ETIMEDOUT);
		return;
	}
	watch(s);
	dir = opendir(s->folder);
	if (!dir) {
		cannot_read(s, errno);
		return;
	}
	if (s->no_folder)
		log_line(LEVEL_INFO, NULL, "the schedule's folder %s is there",
			 s->folder);
	s->no_folder = false;
	for (unsigned i = 0; i < s->files; i++)
		s->file[i].seen = false;
	see(s, dir);
	s->look_at = now.steady + files_look(s, dirfd(dir), now, all);
	if (s->next > s->look_at)
		s->next = s->look_at;
	closedir(dir);
}

/* ---- inotify --------------------------------------------------------- */

static void
event_take(struct schedule *s, const struct inotify_event *e, int64_t steady)
{
	struct schedule_file *f;

	if (e->mask & (IN_DELETE_SELF | IN_MOVE_SELF | IN_IGNORED)) {
		if (s->watch >= 0 && !(e->mask & IN_IGNORED))
			inotify_rm_watch(s->inotify, s->watch);
		s->watch = -1;
	}
	if (!e->len || !is_ours(e->name))
		return;
	f = e->mask & (IN_MODIFY | IN_CLOSE_WRITE | IN_MOVED_TO)
		? schedule_file_add(s, e->name)
		: NULL;
	if (!f)
		return;
	f->told = !(e->mask & IN_MODIFY);
	f->modified = f->told ? 0 : steady;
}

/* Handles all queued events; false if there were none. */
static bool
events_take(struct schedule *s, int64_t steady)
{
	char buffer[16384]
	    __attribute__((aligned(__alignof__(struct inotify_event))));
	bool any = false;
	ssize_t got;

	while ((got = read(s->inotify, buffer, sizeof buffer)) > 0) {
		const struct inotify_event *e;

		for (char *at = buffer; at < buffer + got;
		     at += sizeof *e + e->len) {
			e = (const struct inotify_event *)(void *)at;
			event_take(s, e, steady);
		}
		any = true;
	}
	return any;
}

bool
schedule_hear(struct schedule *s, struct schedule_now now)
{
	return s->inotify >= 0 && events_take(s, now.steady);
}

void
schedule_look(struct schedule *s, struct schedule_now now)
{
	if (!schedule_hear(s, now))
		return;
	schedule_folder_look(s, now, false);
	schedule_step(s, now);
}

/*
 * Removes the scans of all files: the configuration names no folder any more.
 */
static void
files_forget(struct schedule *s, int64_t utc)
{
	char name[NAME_MAX + 1];

	while (s->files) {
		snprintf(name, sizeof name, "%s", s->file[0].name);
		schedule_file_drop(s, name);
		schedule_lose(s, name, utc);
	}
}

int
schedule_folder_open(struct schedule *s, struct schedule_now now)
{
	if (!s->folder) {
		s->look_at = INT64_MAX;
		files_forget(s, now.utc);
		return 0;
	}
	s->inotify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (s->inotify < 0)
		log_line(LEVEL_WARN, NULL,
			 "no inotify (%s): the schedule's folder is looked at "
			 "every 10 s",
			 strerror(errno));
	schedule_folder_look(s, now, true);
	return 0;
}

void
schedule_folder_close(struct schedule *s)
{
	if (s->inotify >= 0)
		close(s->inotify);
	for (unsigned i = 0; i < s->files; i++)
		free(s->file[i].name);
	free(s->file);
}
