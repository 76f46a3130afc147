/* SPDX-License-Identifier: MIT */
/*
 * Changes made by hand: an entry added by command, a file put into the folder,
 * an entry or a file removed.
 *
 * A cancelled entry stays in its file, which belongs to the user who wrote it,
 * and is remembered as cancelled.
 */
#include "base/clock.h"
#include "daemon/schedule/schedule_priv.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "daemon/schedule/scan_read.h"
#include "store/disk/disk.h"
#include "store/disk/file.h"

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
	fault_set(fault, -EBUSY, "busy", "cannot take %s into the schedule",
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
		return fault_set(fault, -ENOMEM, "no-memory", "out of memory");
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
		err = scan_read(list, text->file, text->text, fault);
	for (unsigned i = 0; !err && i < list->n; i++) {
		struct scan *scan = list->scan[i];

		scan->arm_at = scan->start - scan->arm - scan->backlog;
		schedule_bar(s, scan);
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
		  "the schedule has nothing '%.80s' that is to come", which);
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
		    files, json_pack("{s:s, s:s?, s:i}", "file", f->name,
				     "error", f->error[0] ? f->error : NULL,
				     "scans_n", (int)scans_of(s, f->name)));
	}
	return json_pack("{s:s?, s:o, s:o}", "folder", s->folder, "scans",
			 scans, "files", files);
}
