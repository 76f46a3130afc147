/* SPDX-License-Identifier: MIT */
#ifndef SPATE_TESTS_HANG_FS_H
#define SPATE_TESTS_HANG_FS_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fuse.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * A file system that shows a folder, read-only, and that can be made to hang,
 * and its reads to fail, as those of a disk do.  A child answers the kernel at
 * /dev/fuse.  It needs root; hang_fs_mount() says whether it can be.
 */
enum {
	HANG_FS_NODES = 512,
	HANG_FS_HELD = 64,
	HANG_FS_REQUEST = 1024,
	HANG_FS_BUFFER = 1 << 20
};

struct hang_fs_told {	  /* shared with the child */
	atomic_bool hang; /* nothing is answered as long as this is set */
	/* the end of a file is not answered, either: as on a file server */
	atomic_bool hang_close;
	/* Reads of any of these bytes of a file get EIO. */
	_Atomic uint64_t fail_from, fail_to;
	atomic_uint held; /* that wait for an answer */
};

struct hang_fs {
	const char *from, *at;
	struct hang_fs_told *told;
	int fd;
	pid_t child;
	char *node[HANG_FS_NODES]; /* paths below `from`; 1 is the root */
	unsigned nodes;
	_Alignas(8) char held[HANG_FS_HELD][HANG_FS_REQUEST];
	_Alignas(8) char in[HANG_FS_BUFFER + 4096], out[HANG_FS_BUFFER];
};

/* 0; or -errno, where there can be none. */
int hang_fs_mount(struct hang_fs *h, const char *from, const char *at);

/* What still waits for an answer gets an error. */
void hang_fs_unmount(struct hang_fs *h);

/* Can there be one here? */
bool hang_fs_can(struct hang_fs *h);

#endif
