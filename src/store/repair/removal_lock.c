/* SPDX-License-Identifier: MIT */
/*
 * A writer holds an exclusive lock on the index; readers hold shared ones.  So
 * a shared lock that succeeds shows that nobody writes, and an exclusive one
 * that nobody reads.
 */
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "store/repair/removal_priv.h"

/* Tries for 100 ms: programs that list recordings hold the lock briefly. */
static bool
lock(int fd, int how)
{
	enum { TRIES = 20, WAIT_US = 5000 };

	for (int i = 0; i < TRIES; i++) {
		if (!flock(fd, how | LOCK_NB))
			return true;
		usleep(WAIT_US);
	}
	return false;
}

/* Returns the locked descriptor if `keep` is set; else 0. */
static int
lock_file(struct removal *r, int dir, const char *index, bool keep)
{
	int fd = disk_open_at(dir, index, O_RDONLY, DISK_NO_LINKS);

	if (fd < 0)
		return 0;
	if (!lock(fd, LOCK_SH))
		r->facts.live = true;
	else if (!lock(fd, LOCK_EX))
		r->facts.read = true;
	else if (keep)
		return fd;
	close(fd);
	return 0;
}

void
removal_lock(struct removal *r, bool keep)
{
	char file[LAYOUT_FILE];

	r->facts.live = r->facts.read = false;
	for (unsigned i = 0; i < r->disks->n; i++) {
		struct removal_part *p = &r->part[i];

		if (p->dir < 0)
			continue;
		layout_index(file, r->name);
		p->lock[0] = lock_file(r, p->dir, file, keep);
		layout_index_new(file, r->name);
		p->lock[1] = lock_file(r, p->dir, file, keep);
	}
}

void
removal_unlock(struct removal *r)
{
	for (unsigned i = 0; i < 2 * r->disks->n; i++) {
		int *fd = &r->part[i / 2].lock[i % 2];

		if (*fd)
			close(*fd);
		*fd = 0;
	}
}
