/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CLI_DISKS_DISKS_TEST_H
#define SPATE_CLI_DISKS_DISKS_TEST_H

#include <stdbool.h>
#include <sys/types.h>

#include "cli/disks/disk_try.h"

/* A disk, and what became of its test. */
struct tested {
	char *path;
	dev_t device; /* 0: not known */
	const char *writer;
	struct try_result alone, together; /* together: 0 where it was alone */
	char error[160];		   /* "": none */
	bool slow;  /* alone, it is much slower than half of the others */
	int shares; /* the file system, with this one before it; or -1 */
};

/* Sets `slow` and `shares` of all. */
void tested_judge(struct tested *disk, unsigned n);

/* A table and its sum, or a line of JSON each. */
void tested_show(const struct tested *disk, unsigned n, bool json);

#endif
