/* SPDX-License-Identifier: MIT */
/* Looks what there is to remove, whether that is allowed, and removes it. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "store/disk/layout.h"
#include "store/list/entry.h"
#include "store/record/meta.h"
#include "store/foreign/foreign.h"
#include "store/repair/removal.h"
#include "store/disk/file.h"

/* Kinds of files, in the order in which they are deleted. */
enum removal_kind {
	REMOVAL_INDEX,
	REMOVAL_DATA, /* chunks, checksums */
	REMOVAL_META, /* metadata, and marks other than that of the removal */
	REMOVAL_EXTRA,
	REMOVAL_OTHER, /* a folder, for example: never deleted */
	REMOVAL_MARK,
};

enum { LOCKS = 3 };

struct removal_part {
	int dir;	      /* descriptor of its folder; -1: not on this
				 disk */
	char at[LAYOUT_FILE]; /* name of that folder */
	enum layout layout;   /* MARK6 if the folder has Mark6's form of the
				 name */
	bool marked;	      /* by this removal */
	int lock[LOCKS];      /* descriptors of its index, a new index and its
				 metadata, locked; 0: none */
};

struct removal {
	const struct disks *disks;
	char name[LAYOUT_FILE];
	struct removal_part *part; /* one per disk */
	struct removal_facts facts;
	json_t *away;		 /* paths */
	struct layout_plan plan; /* from its metadata, if that can be read */
	char extra[64];		 /* name of one file that is not ours */
	uint64_t gone;		 /* bytes freed so far */
};

/* ---- locks --------------------------------------------------------------- */

/*
 * A writer holds an exclusive lock on the index; readers hold shared ones, on
 * the metadata where the recording had no end when they opened it.  So a shared
 * lock that succeeds shows that nobody writes, and an exclusive one that nobody
 * reads.
 */

/* Tries for 100 ms: programs that list recordings hold the lock briefly. */
static bool
lock(int fd, int how)
{
	enum { TRIES = 20, WAIT_US = 5000 };

	for (int i = 0; i < TRIES; i++) {
		if (!file_lock(fd, how | LOCK_NB))
			return true;
		usleep(WAIT_US);
	}
	return false;
}

/* True if this error of a look at a file leaves open whether it is there: a
 * disk that did not answer says neither that nobody writes, nor that nothing is
 * protected. */
static bool
is_unknown(int err)
{
	return err < 0 && err != -ENOENT && err != -ELOOP && err != -ENOTDIR;
}

static int
cannot_look(const struct removal *r, unsigned disk, int err,
	    struct fault *fault)
{
	fault_set(fault, err, "io", "cannot look at %s on %s", r->name,
		  r->disks->disk[disk].path);
	fault_why(fault, "%s", disk_why(err));
	return err;
}

/* Puts the locked descriptor into *held if `keep` is set.  0 or -errno. */
static int
lock_file(struct removal *r, int dir, const char *file, bool keep, int *held)
{
	int fd = disk_open_at(dir, file, O_RDONLY, DISK_NO_LINKS);

	if (fd < 0)
		return is_unknown(fd) ? fd : 0;
	if (!lock(fd, LOCK_SH)) {
		r->facts.live = true;
	} else if (!lock(fd, LOCK_EX)) {
		r->facts.read = true;
	} else if (keep) {
		*held = fd;
		return 0;
	}
	file_close(fd);
	return 0;
}

/* Tries to lock indexes and metadata, and sets facts.live or facts.read if
 * another process holds a lock.  `keep`: the locks are held until
 * unlock_all().  0, or -errno with a fault. */
static int
lock_all(struct removal *r, bool keep, struct fault *fault)
{
	static const char *(*const locked[LOCKS])(char *, const char *) = {
		layout_index, layout_index_new, layout_meta
	};
	char file[LAYOUT_FILE];

	r->facts.live = r->facts.read = false;
	for (unsigned i = 0; i < LOCKS * r->disks->n; i++) {
		struct removal_part *p = &r->part[i / LOCKS];
		int err = 0;

		if (p->dir >= 0)
			err = lock_file(r, p->dir,
					locked[i % LOCKS](file, r->name), keep,
					&p->lock[i % LOCKS]);
		if (err)
			return cannot_look(r, i / LOCKS, err, fault);
	}
	return 0;
}

static void
unlock_all(struct removal *r)
{
	for (unsigned i = 0; i < LOCKS * r->disks->n; i++) {
		int *fd = &r->part[i / LOCKS].lock[i % LOCKS];

		if (*fd)
			file_close(*fd);
		*fd = 0;
	}
}

/* ---- looking ------------------------------------------------------------- */

enum { BLOCK = 512 /* bytes of one unit of st_blocks */ };

/* True if this is the file that blocks share in some layouts. */
static bool
is_data(const struct removal *r, const char *file)
{
	char known[LAYOUT_FILE];

	if (!strcmp(file, layout_data(known, r->name, LAYOUT_MARK6, "")))
		return true;
	return r->plan.layout == LAYOUT_SINGLE &&
	       !strcmp(file, layout_data(known, r->name, LAYOUT_SINGLE,
					 r->plan.extension));
}

static enum removal_kind
kind_of_name(const struct removal *r, const char *file)
{
	static const char *(*const meta[])(char *, const char *) = {
		layout_meta, layout_protect, layout_index_new,
		layout_cfg,  layout_quality,
	};
	char known[LAYOUT_FILE];
	uint64_t number;

	if (!strcmp(file, layout_index(known, r->name)))
		return REMOVAL_INDEX;
	if (!strcmp(file, layout_removing(known, r->name)))
		return REMOVAL_MARK;
	if (layout_chunk_number(file, r->name, &number) ||
	    !strcmp(file, r->name) || /* VLBI-streamer's single file */
	    layout_is_aside(file, r->name) || is_data(r, file) ||
	    layout_is_parity(file, r->name) ||
	    !strcmp(file, layout_sums(known, r->name)))
		return REMOVAL_DATA;
	for (size_t i = 0; i < sizeof meta / sizeof *meta; i++) {
		if (!strcmp(file, meta[i](known, r->name)))
			return REMOVAL_META;
	}
	return REMOVAL_EXTRA;
}

static enum removal_kind
kind_of_file(const struct removal *r, int dir, const char *file)
{
	struct stat st;

	if (file_stat_at(dir, file, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	    S_ISDIR(st.st_mode))
		return REMOVAL_OTHER;
	return S_ISREG(st.st_mode) ? kind_of_name(r, file) : REMOVAL_EXTRA;
}

static int
each_in(int dir, int (*act)(void *arg, int dir, const char *file), void *arg)
{
	const struct dirent *entry;
	struct file_list *list;
	int err = file_list_at(&list, dir);

	if (err)
		return err;
	while (!err && (entry = file_list_next(list))) {
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
			err = act(arg, dir, entry->d_name);
	}
	file_list_close(list);
	return err;
}

/* Calls act() for each file of the recording on a disk, named relative to its
 * folder.  Stops at and returns the first result that is not 0. */
static int
each_file(const struct removal *r, unsigned disk,
	  int (*act)(void *arg, int dir, const char *file), void *arg)
{
	const struct removal_part *part = &r->part[disk];
	char data[LAYOUT_FILE];
	int err = each_in(part->dir, act, arg);

	if (err || part->layout != LAYOUT_MARK6)
		return err;
	layout_data(data, r->name, LAYOUT_MARK6, "");
	if (file_access_at(part->dir, data, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
		return is_unknown(-errno) ? -errno : 0;
	return act(arg, part->dir, data);
}

/* Returns the bytes freed by deleting a file: none if it has other names. */
static uint64_t
frees(int dir, const char *file)
{
	struct stat st;

	if (file_stat_at(dir, file, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	    st.st_nlink != 1)
		return 0;
	return (uint64_t)st.st_blocks * BLOCK;
}

static int
count_file(void *arg, int dir, const char *file)
{
	struct removal *r = arg;
	struct removal_facts *f = &r->facts;
	enum removal_kind kind = kind_of_file(r, dir, file);
	char known[LAYOUT_FILE];

	f->protected |= !strcmp(file, layout_protect(known, r->name));
	if (kind == REMOVAL_OTHER || kind == REMOVAL_EXTRA)
		snprintf(r->extra, sizeof r->extra, "%.60s", file);
	f->others += kind == REMOVAL_OTHER;
	f->extras += kind == REMOVAL_EXTRA;
	f->begun |= kind == REMOVAL_MARK;
	if (kind == REMOVAL_OTHER)
		return 0;
	f->files++;
	f->bytes += frees(dir, file);
	return 0;
}

/* Opens the recording's folder on a disk, under either form of its name. */
static int
open_part(struct removal *r, unsigned i)
{
	static const enum layout looks[] = { LAYOUT_VBS, LAYOUT_MARK6 };
	struct removal_part *part = &r->part[i];
	int disk = r->disks->disk[i].fd, err = 0;

	for (unsigned k = 0; k < 2 && disk >= 0 && part->dir < 0; k++) {
		layout_dir(part->at, r->name, looks[k]);
		part->dir = disk_open_at(disk, part->at, O_RDONLY | O_DIRECTORY,
					 DISK_NO_LINKS);
		part->layout = looks[k];
		/* -ENOTDIR: with Mark6, the recording's own name is a file. */
		if (part->dir < 0 && part->dir != -ENOENT &&
		    part->dir != -ENOTDIR)
			err = part->dir;
	}
	return part->dir >= 0 ? 0 : err;
}

static bool
is_there(const struct disks *disks, const char *path)
{
	for (unsigned i = 0; i < disks->n; i++) {
		if (disk_path_same(disks->disk[i].path, path))
			return disks->disk[i].fd >= 0;
	}
	return false;
}

/* Takes the disks and the layout from the first line of the metadata. */
static void
take_head(struct removal *r, const json_t *head)
{
	const json_t *path;
	size_t i;

	if (layout_plan_make(&r->plan, r->name, head))
		r->plan = (struct layout_plan){ 0 };
	json_array_foreach(json_object_get(head, "disks"), i, path) {
		if (json_is_string(path) &&
		    !is_there(r->disks, json_string_value(path)))
			json_array_append_new(
			    r->away, json_string(json_string_value(path)));
	}
}

/* Reads the first line of a disk's metadata.  0, with NULL where there is none;
 * or -errno. */
static int
head_of(const struct removal *r, unsigned disk, json_t **head)
{
	char file[LAYOUT_FILE];
	int fd;

	*head = NULL;
	if (r->part[disk].dir < 0)
		return 0;
	fd = disk_open_at(r->part[disk].dir, layout_meta(file, r->name),
			  O_RDONLY, DISK_NO_LINKS);
	if (fd < 0)
		return is_unknown(fd) ? fd : 0;
	*head = entry_head(fd);
	file_close(fd);
	return 0;
}

/* Refuses to remove two recordings at once that two recorders made. */
static int
two(const struct removal *r, unsigned one, unsigned other, struct fault *fault)
{
	fault_set(fault, -EEXIST, "exists", "two recordings are called %s",
		  r->name);
	fault_why(fault, "one is on %s, the other on %s",
		  r->disks->disk[one].path, r->disks->disk[other].path);
	fault_hint(fault,
		   "'--disks' says which one to remove: spate rm %s "
		   "--disks %s",
		   r->name, r->disks->disk[other].path);
	return -EEXIST;
}

/* Reads the metadata of the first disk that has it.  0; -EEXIST: another disk
 * has that of another recording; or another -errno, if it cannot be known. */
static int
read_head(struct removal *r, struct fault *fault)
{
	json_t *head = NULL, *named = NULL, *here;
	unsigned first = 0;
	int err = 0;

	for (unsigned i = 0; i < r->disks->n && !err; i++) {
		err = head_of(r, i, &here);
		if (err) {
			cannot_look(r, i, err, fault);
			break;
		}
		if (here && !head)
			head = json_incref(here);
		if (meta_differs(named, here))
			err = two(r, first, i, fault);
		if (!named && json_object_get(here, "uid")) {
			named = json_incref(here);
			first = i;
		}
		json_decref(here);
	}
	if (head)
		take_head(r, head);
	json_decref(named);
	json_decref(head);
	return err;
}

static int
look(struct removal *r, struct fault *fault)
{
	int err = 0;

	for (unsigned i = 0; i < r->disks->n && !err; i++) {
		err = open_part(r, i);
		if (err)
			return cannot_look(r, i, err, fault);
	}
	err = read_head(r, fault);
	if (err)
		return err;
	for (unsigned i = 0; i < r->disks->n; i++) {
		if (r->part[i].dir < 0)
			continue;
		err = each_file(r, i, count_file, r);
		if (err)
			return cannot_look(r, i, err, fault);
		r->facts.disks++;
	}
	return 0;
}

static bool
is_foreign(const struct removal *r)
{
	for (unsigned i = 0; i < r->disks->n; i++) {
		if (r->disks->disk[i].fd >= 0 &&
		    foreign_on(r->disks->disk[i].fd, r->name))
			return true;
	}
	return false;
}

/* Refuses what is no recording: a folder whose name ours cannot have is another
 * program's recording, or none. */
static int
check_there(const struct removal *r, struct fault *fault)
{
	bool foreign = is_foreign(r);

	if (r->facts.disks &&
	    (layout_folder_good(r->name) || foreign || r->facts.begun))
		return 0;
	fault_set(fault, -ENOENT, "not-found", "no recording %s", r->name);
	if (foreign) {
		fault_set(fault, -ENOTSUP, "refused", "%s is not removed",
			  r->name);
		fault_why(fault,
			  "it consists of Mark6 files, one on each disk, "
			  "which spate did not write");
		fault_hint(fault, "remove these files by hand");
		return -ENOTSUP;
	}
	fault_why(fault, r->facts.disks
			     ? "the folder of that name holds no recording"
			     : "no disk has a folder of that name");
	fault_hint(fault, "spate ls shows the recordings there are");
	return -ENOENT;
}

int
removal_open(struct removal **removal, const struct disks *disks,
	     const char *name, struct fault *fault)
{
	struct removal *r;
	int err;

	r = layout_folder_good(name) || foreign_name_good(name)
		? calloc(1, sizeof *r)
		: NULL;
	if (!r)
		return fault_set(fault, -ENOENT, "not-found",
				 "no recording %.80s", name);
	strcpy(r->name, name);
	r->disks = disks;
	r->away = json_array();
	r->part = calloc(disks->n + 1, sizeof *r->part);
	for (unsigned i = 0; r->part && i < disks->n; i++)
		r->part[i].dir = -1;
	err = r->part && r->away ? look(r, fault) : fault_no_memory(fault);
	if (!err)
		err = check_there(r, fault);
	if (!err)
		err = lock_all(r, false, fault);
	if (err) {
		removal_close(r);
		return err;
	}
	*removal = r;
	return 0;
}

void
removal_close(struct removal *r)
{
	if (r->part)
		unlock_all(r);
	for (unsigned i = 0; r->part && i < r->disks->n; i++) {
		if (r->part[i].dir >= 0)
			file_close(r->part[i].dir);
	}
	json_decref(r->away);
	free(r->part);
	free(r);
}

const struct removal_facts *
removal_facts(const struct removal *r)
{
	return &r->facts;
}

/* ---- is it allowed? ------------------------------------------------------ */

static int
refuse(const struct removal *r, struct fault *fault, int err, const char *why)
{
	fault_set(fault, err, "busy", "%s is not removed", r->name);
	fault_why(fault, "%s", why);
	return err;
}

int
removal_allowed(const struct removal *r, bool force, struct fault *fault)
{
	const struct removal_facts *f = &r->facts;
	char why[160];
	int err = 0;

	if (f->protected) {
		err = refuse(r, fault, -EPERM, "it is protected");
		fault_hint(fault, "spate protect --off %s", r->name);
	} else if (f->live) {
		err = refuse(r, fault, -EBUSY, "it is being recorded");
		fault_hint(fault, "spate stop %s ends that", r->name);
	} else if (f->read && !force) {
		err = refuse(r, fault, -EBUSY, "it is being read");
		fault_hint(fault, "wait for that, or use --force");
	} else if (f->others || (f->extras && !force)) {
		snprintf(
		    why, sizeof why,
		    "%s in its folder is none of its files, nor are %" PRIu64
		    " others",
		    r->extra, f->others + f->extras - 1);
		err = refuse(r, fault, -EPERM, why);
		fault_hint(fault, "%s",
			   f->others ? "move that away"
				     : "move that away, or use --force");
	}
	return err;
}

json_t *
removal_json(const struct removal *r)
{
	const struct removal_facts *f = &r->facts;
	json_t *list = json_array();

	for (unsigned i = 0; i < r->disks->n; i++) {
		if (r->part[i].dir >= 0)
			json_array_append_new(
			    list, json_string(r->disks->disk[i].path));
	}
	return json_pack("{s:s, s:I, s:I, s:I, s:b, s:b, s:b, s:b, s:o, s:O}",
			 "name", r->name, "files", (json_int_t)f->files,
			 "bytes", (json_int_t)f->bytes, "extras",
			 (json_int_t)(f->extras + f->others), "protected",
			 (int)f->protected, "live", (int)f->live, "read",
			 (int)f->read, "begun", (int)f->begun, "disks", list,
			 "away", r->away);
}

/* ---- removing ------------------------------------------------------------ */

/*
 * Why this order.  To us, a folder is a recording if it has no mark; to a
 * program that does not know the mark, if it has an index.  Marks and indexes
 * are settled on all disks before the first data is deleted, so there is no
 * moment in which data is missing and the rest still looks like a recording.
 * If it is stopped
 *
 *   while marking       all data is there; it says "removing".  A user who
 *                       changes his mind removes the marks by hand
 *   while indexes go    a disk without a mark has no index either; the others
 *                       have theirs, and the mark
 *   later               the mark goes last, after the rest is durably gone;
 *                       then an empty folder is left at most
 *
 * One disk may lose its mark while others still have theirs, and data: the
 * marks there say what they are, and the disk without one has nothing.
 *
 * Deleting a file of terabytes keeps a file system busy for seconds, in which a
 * recording's writes wait: so it is truncated in steps of 1 GiB first.  Not if
 * the file has another name elsewhere, whose data would be lost.
 */

#define CUT_BYTES (INT64_C(1) << 30)

struct deletion {
	struct removal *r;
	const struct removal_pace *pace;
	enum removal_kind kind; /* kind being deleted now */
	bool force;
};

static bool
is_stopped(const struct removal_pace *pace)
{
	return pace && pace->stop && atomic_load(pace->stop);
}

/* Sleeps `rest` times as long as the work since `began` took. */
static void
rest(const struct removal_pace *pace, int64_t began)
{
	int64_t ns = pace ? (clock_steady() - began) * pace->rest : 0;
	const struct timespec pause = { ns / 1000000000, ns % 1000000000 };

	if (ns > 0)
		nanosleep(&pause, NULL);
}

static int
shorten(const struct deletion *s, int dir, const char *file)
{
	int fd = disk_open_at(dir, file, O_WRONLY, DISK_NO_LINKS);
	struct stat st;
	int err = 0;

	if (fd == -EMLINK)
		return 0;
	if (fd < 0 || file_stat(fd, &st) < 0)
		err = fd < 0 ? fd : -errno;
	while (!err && st.st_size > CUT_BYTES) {
		int64_t began = clock_steady();

		st.st_size -= CUT_BYTES;
		if (is_stopped(s->pace))
			err = -ECANCELED;
		else if (file_cut(fd, st.st_size) < 0)
			err = -errno;
		rest(s->pace, began);
	}
	if (fd >= 0)
		file_close(fd);
	return err;
}

static int
sweep_file(void *arg, int dir, const char *file)
{
	struct deletion *s = arg;
	struct removal *r = s->r;
	int64_t began = clock_steady();
	struct stat st;
	int err = 0;

	if (kind_of_file(r, dir, file) != s->kind)
		return 0;
	if (is_stopped(s->pace))
		return -ECANCELED;
	if (file_stat_at(dir, file, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (S_ISREG(st.st_mode) && st.st_size > CUT_BYTES)
		err = shorten(s, dir, file);
	if (err)
		return err;
	if (file_remove_at(dir, file, 0) < 0 && errno != ENOENT)
		return -errno;
	r->gone += st.st_nlink == 1 ? (uint64_t)st.st_blocks * 512 : 0;
	if (s->pace && s->pace->say)
		s->pace->say(s->pace->arg, r->gone, r->facts.bytes);
	rest(s->pace, began);
	return 0;
}

/* Deletes the files of one kind on a disk, durably. */
static int
sweep(struct deletion *s, unsigned disk, enum removal_kind kind)
{
	int dir = s->r->part[disk].dir, err;

	s->kind = kind;
	err = each_file(s->r, disk, sweep_file, s);
	if (!err && file_sync(dir) < 0)
		err = -errno;
	return err;
}

static int
mark(struct removal *r, unsigned disk)
{
	int dir = r->part[disk].dir, fd, err = 0;
	char file[LAYOUT_FILE];

	fd = disk_open_at(dir, layout_removing(file, r->name),
			  O_CREAT | O_EXCL | O_WRONLY, DISK_NO_LINKS);
	if (fd < 0)
		return fd == -EEXIST ? 0 : fd;
	r->part[disk].marked = true;
	if (file_sync(fd) < 0 || file_sync(dir) < 0)
		err = -errno;
	file_close(fd);
	return err;
}

static void
unmark(struct removal *r)
{
	char file[LAYOUT_FILE];

	for (unsigned i = 0; i < r->disks->n; i++) {
		if (!r->part[i].marked)
			continue;
		file_remove_at(r->part[i].dir, layout_removing(file, r->name),
			       0);
		file_sync(r->part[i].dir);
	}
}

static int
mark_all(struct removal *r, struct fault *fault)
{
	for (unsigned i = 0; i < r->disks->n; i++) {
		int err = r->part[i].dir < 0 ? 0 : mark(r, i);

		if (!err)
			continue;
		unmark(r);
		fault_set(fault, err, "io", "%s is not removed", r->name);
		fault_why(fault, "nothing can be changed on %s: %s",
			  r->disks->disk[i].path, strerror(-err));
		return err;
	}
	return 0;
}

/* Deletes what is left on a disk after its index. */
static int
clear_disk(struct deletion *s, unsigned i)
{
	struct removal *r = s->r;
	int err = sweep(s, i, REMOVAL_DATA);

	if (!err && s->force)
		err = sweep(s, i, REMOVAL_EXTRA);
	if (!err)
		err = sweep(s, i, REMOVAL_META);
	if (!err)
		err = sweep(s, i, REMOVAL_MARK);
	if (err)
		return err;
	if (file_remove_at(r->disks->disk[i].fd, r->part[i].at, AT_REMOVEDIR) <
		0 &&
	    errno != ENOENT)
		return -errno;
	return file_sync(r->disks->disk[i].fd) < 0 ? -errno : 0;
}

/* Runs act() on all disks, even if one fails.  Returns the first error. */
static int
on_each(struct deletion *s, int (*act)(struct deletion *s, unsigned disk),
	struct fault *fault)
{
	struct removal *r = s->r;
	int first = 0;

	for (unsigned i = 0; i < r->disks->n; i++) {
		int err = r->part[i].dir < 0 ? 0 : act(s, i);

		if (!err || first)
			continue;
		first = err;
		fault_set(fault, err, "io", "cannot remove all of %s", r->name);
		fault_why(fault, "%s: %s", r->disks->disk[i].path,
			  strerror(-err));
		fault_hint(fault, "spate rm %s goes on with it", r->name);
	}
	return first;
}

static int
clear_index(struct deletion *s, unsigned disk)
{
	return sweep(s, disk, REMOVAL_INDEX);
}

int
removal_run(struct removal *r, bool force, const struct removal_pace *pace,
	    struct fault *fault)
{
	struct deletion s = { .r = r, .pace = pace, .force = force };
	int err;

	err = lock_all(r, true, fault);
	if (!err)
		err = removal_allowed(r, force, fault);
	if (!err)
		err = mark_all(r, fault);
	unlock_all(r);
	if (err)
		return err;
	err = on_each(&s, clear_index, fault);
	return err ? err : on_each(&s, clear_disk, fault);
}
