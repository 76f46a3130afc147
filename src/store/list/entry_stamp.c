/* SPDX-License-Identifier: MIT */
/*
 * A folder's modification time changes when a file comes or goes, but not when
 * a file grows.  If a recording is one file, the length of that file is part of
 * the stamp.
 */
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "store/list/entry.h"
#include "store/list/entry_stamp.h"
#include "store/recording/foreign.h"

int
stamp_dir(const struct disks *disks, unsigned disk, const char *name)
{
	if (disks->disk[disk].fd < 0)
		return -ENODEV;
	return layout_dir_open(disks->disk[disk].fd, name, DISK_LINKS);
}

bool
stamp_look(struct stamp *s, const struct disks *disks, unsigned disk,
	   const char *name, int dir)
{
	int fd = disks->disk[disk].fd;
	struct stat st;

	if (dir >= 0 ? fstat(dir, &st) < 0
		     : fd < 0 || !foreign_stat(fd, name, &st))
		return false;
	s->changed_ns = st.st_mtim.tv_sec * NS_SECOND + st.st_mtim.tv_nsec;
	s->stamp = (uint64_t)s->changed_ns + st.st_ino;
	if (S_ISREG(st.st_mode))
		s->stamp += (uint64_t)st.st_size;
	return true;
}

uint64_t
entry_stamp(const struct disks *disks, const char *name)
{
	uint64_t stamp = 0;
	struct stamp s;

	for (unsigned i = 0; i < disks->n && i < ENTRY_DISKS; i++) {
		int dir = stamp_dir(disks, i, name);

		if (stamp_look(&s, disks, i, name, dir))
			stamp += s.stamp;
		if (dir >= 0)
			close(dir);
	}
	return stamp;
}
