/* SPDX-License-Identifier: MIT */
/*
 * Disks that take data and do not make them durable: LD_PRELOAD of a daemon.
 * fdatasync() does not return while there is a file $HANG_SYNC.
 */
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SHOWN __attribute__((visibility("default")))

SHOWN int
fdatasync(int fd)
{
	const struct timespec moment = { .tv_nsec = 5000000 };
	const char *path = getenv("HANG_SYNC");

	while (path && access(path, F_OK) == 0)
		nanosleep(&moment, NULL);
	return (int)syscall(SYS_fdatasync, fd);
}
