/* SPDX-License-Identifier: MIT */
/*
 * Holding a recording is a flock() on its indexes: the kernel releases it when
 * the process ends, in whatever way.
 *
 * A removal takes the exclusive lock, sets its mark, and releases the lock.  A
 * reader takes the shared lock and then looks for the mark: so one of the two
 * sees the other.  The index of a live recording is locked by its writer, and
 * needs no lock of a reader: a live recording is not removed.  A reader that
 * asks again after each refresh gets the lock when the recording has ended.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "store/recording/recording_priv.h"

/* Takes a shared lock.  A removal has the exclusive lock for a moment only, so
 * try for a while (0.2 s), unless the recording is live. */
static bool
lock(int fd, bool live)
{
	enum { TRIES = 20, WAIT_US = 10000 };

	for (int i = 0; i < TRIES; i++) {
		if (!flock(fd, LOCK_SH | LOCK_NB))
			return true;
		if (live)
			return false;
		usleep(WAIT_US);
	}
	return false;
}

static int
hold_part(struct recording *rec, struct recording_part *part)
{
	bool live = rec->facts.state == RECORDING_LIVE;
	char file[LAYOUT_FILE];
	int fd;

	if (part->dir < 0 || part->held || part->hangs)
		return 0;
	fd = disk_open_at(part->dir, layout_index(file, rec->name), O_RDONLY,
			  DISK_NO_LINKS);
	if (fd < 0)
		return 0; /* there is no index, or the disk is gone */
	if (lock(fd, live)) {
		part->held = fd;
		return 0;
	}
	close(fd);
	return live ? 0 : -EBUSY;
}

static bool
is_removed(const struct recording *rec)
{
	char file[LAYOUT_FILE];

	layout_removing(file, rec->name);
	for (unsigned i = 0; i < rec->disks->n; i++) {
		if (rec->part[i].dir >= 0 && !rec->part[i].hangs &&
		    !faccessat(rec->part[i].dir, file, F_OK,
			       AT_SYMLINK_NOFOLLOW))
			return true;
	}
	return false;
}

/* True if all disks that had an index have lost it. */
static bool
is_lost(const struct recording *rec)
{
	char file[LAYOUT_FILE];
	bool lost = false;

	layout_index(file, rec->name);
	for (unsigned i = 0; i < rec->disks->n; i++) {
		const struct recording_part *part = &rec->part[i];

		if (part->dir < 0 || !part->indexed)
			continue;
		if (part->hangs)
			return false;
		if (!faccessat(part->dir, file, F_OK, AT_SYMLINK_NOFOLLOW) ||
		    errno != ENOENT)
			return false;
		lost = true;
	}
	return lost;
}

bool
recording_is_removed(const struct recording *rec)
{
	return !rec->foreign && (is_removed(rec) || is_lost(rec));
}

int
recording_hold(struct recording *rec, struct fault *fault)
{
	int err = 0;

	for (unsigned i = 0; i < rec->disks->n && !err; i++)
		err = hold_part(rec, &rec->part[i]);
	if (!err && is_removed(rec))
		err = -EIDRM;
	if (err && fault) {
		fault_set(fault, err, "busy", "cannot read recording %s",
			  rec->name);
		fault_why(fault, err == -EIDRM
				     ? "it is being removed"
				     : "it is being mended, or removed");
	}
	return err;
}

void
recording_release(struct recording *rec)
{
	for (unsigned i = 0; rec->part && i < rec->disks->n; i++) {
		if (rec->part[i].held)
			close(rec->part[i].held);
		rec->part[i].held = 0;
	}
}
