/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CLI_DISKS_DISKS_TEST_H
#define SPATE_CLI_DISKS_DISKS_TEST_H

#include <stdbool.h>
#include <sys/types.h>

#include "cli/disks/disk_try.h"

/* A disk and the result of its test. */
struct tested {
	char *path;
	dev_t device; /* 0: unknown */
	const char *writer;
	/* together: 0 if it was measured alone only */
	struct try_result alone, together;
	char error[160]; /* "": none */
	bool slow;	 /* alone, it is much slower than the median of all */
	/* index of an earlier disk on the same file system; -1: none */
	int shares;
};

/* Sets `slow` and `shares` of all disks. */
void tested_judge(struct tested *disk, unsigned n);

/* Prints a table and its sum, or a JSON line for each disk. */
void tested_show(const struct tested *disk, unsigned n, bool json);

#endif
