/* SPDX-License-Identifier: MIT */
/*
 * The idle class is used, not the lowest priority of "best effort":
 * mq-deadline, the scheduler of disks on most machines, knows only classes, and
 * serves the idle class after at most 10 s even if writes never end; and bfq
 * would give the lowest "best effort" priority a fifth of the disk.
 *
 * The kernel shows for every block device, partitions too, how many reads and
 * writes are in flight.  Reading that file takes some microseconds, so callers
 * do it once per chunk.  The daemon is not asked, since another program may be
 * the one that writes.  A file system without a block device (tmpfs, NFS) shows
 * nothing, and is read as usual.
 */
#include <fcntl.h>
#include <linux/ioprio.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/ease.h"

void
ease_process(void)
{
	syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0,
		IOPRIO_PRIO_VALUE(IOPRIO_CLASS_IDLE, 0));
}

void
ease_end(void)
{
	syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0,
		IOPRIO_PRIO_VALUE(IOPRIO_CLASS_NONE, 0));
}

static bool
is_writing(const char *sys, dev_t device)
{
	unsigned reads, writes = 0;
	char path[256];
	FILE *file;

	snprintf(path, sizeof path, "%s/%u:%u/inflight", sys, major(device),
		 minor(device));
	file = fopen(path, "re");
	if (!file)
		return false;
	if (fscanf(file, "%u %u", &reads, &writes) != 2)
		writes = 0;
	fclose(file);
	return writes > 0;
}

bool
ease_file_by(const char *sys, int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && is_writing(sys, st.st_dev) &&
	       posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM) == 0;
}

bool
ease_file(int fd)
{
	return ease_file_by("/sys/dev/block", fd);
}
