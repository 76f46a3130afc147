/* SPDX-License-Identifier: MIT */
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
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "store/repair/removal_priv.h"

#define CUT_BYTES (INT64_C(1) << 30)

struct sweep {
	struct removal *r;
	const struct removal_pace *pace;
	enum removal_kind kind; /* kind being deleted now */
	bool force;
};

/* ---- pace ---------------------------------------------------------------- */

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
shorten(const struct sweep *s, int dir, const char *file)
{
	int fd = disk_open_at(dir, file, O_WRONLY, DISK_NO_LINKS);
	struct stat st;
	int err = 0;

	if (fd == -EMLINK)
		return 0;
	if (fd < 0 || fstat(fd, &st) < 0)
		err = fd < 0 ? fd : -errno;
	while (!err && st.st_size > CUT_BYTES) {
		int64_t began = clock_steady();

		st.st_size -= CUT_BYTES;
		if (is_stopped(s->pace))
			err = -ECANCELED;
		else if (ftruncate(fd, st.st_size) < 0)
			err = -errno;
		rest(s->pace, began);
	}
	if (fd >= 0)
		close(fd);
	return err;
}

static int
sweep_file(void *arg, int dir, const char *file)
{
	struct sweep *s = arg;
	struct removal *r = s->r;
	int64_t began = clock_steady();
	struct stat st;
	int err = 0;

	if (removal_kind(r, dir, file) != s->kind)
		return 0;
	if (is_stopped(s->pace))
		return -ECANCELED;
	if (fstatat(dir, file, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (S_ISREG(st.st_mode) && st.st_size > CUT_BYTES)
		err = shorten(s, dir, file);
	if (err)
		return err;
	if (unlinkat(dir, file, 0) < 0 && errno != ENOENT)
		return -errno;
	r->gone += st.st_nlink == 1 ? (uint64_t)st.st_blocks * 512 : 0;
	if (s->pace && s->pace->say)
		s->pace->say(s->pace->arg, r->gone, r->facts.bytes);
	rest(s->pace, began);
	return 0;
}

/* Deletes the files of one kind on a disk, durably. */
static int
sweep(struct sweep *s, unsigned disk, enum removal_kind kind)
{
	int dir = s->r->part[disk].dir, err;

	s->kind = kind;
	err = removal_each(s->r, disk, sweep_file, s);
	if (!err && fsync(dir) < 0)
		err = -errno;
	return err;
}

/* ---- marks --------------------------------------------------------------- */

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
	if (fsync(fd) < 0 || fsync(dir) < 0)
		err = -errno;
	close(fd);
	return err;
}

static void
unmark(struct removal *r)
{
	char file[LAYOUT_FILE];

	for (unsigned i = 0; i < r->disks->n; i++) {
		if (!r->part[i].marked)
			continue;
		unlinkat(r->part[i].dir, layout_removing(file, r->name), 0);
		fsync(r->part[i].dir);
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

/* ---------------------------------------------------------------------- */

/* Deletes what is left on a disk after its index. */
static int
clear_disk(struct sweep *s, unsigned i)
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
	if (unlinkat(r->disks->disk[i].fd, r->part[i].at, AT_REMOVEDIR) < 0 &&
	    errno != ENOENT)
		return -errno;
	return fsync(r->disks->disk[i].fd) < 0 ? -errno : 0;
}

/* Runs act() on all disks, even if one fails.  Returns the first error. */
static int
on_each(struct sweep *s, int (*act)(struct sweep *s, unsigned disk),
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
clear_index(struct sweep *s, unsigned disk)
{
	return sweep(s, disk, REMOVAL_INDEX);
}

int
removal_run(struct removal *r, bool force, const struct removal_pace *pace,
	    struct fault *fault)
{
	struct sweep s = { .r = r, .pace = pace, .force = force };
	int err;

	removal_lock(r, true);
	err = removal_allowed(r, force, fault);
	if (!err)
		err = mark_all(r, fault);
	removal_unlock(r);
	if (err)
		return err;
	err = on_each(&s, clear_index, fault);
	return err ? err : on_each(&s, clear_disk, fault);
}
