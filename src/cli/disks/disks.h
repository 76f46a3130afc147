/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CLI_DISKS_DISKS_H
#define SPATE_CLI_DISKS_DISKS_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/show/cli.h"

/* Declarations that `spate disks` and its subcommands share. */
struct disks_args {
	bool force, rebuild;
	uint64_t size;	    /* bytes that test writes to each disk */
	const char *writer; /* NULL: the first plugin that works */
};

/*
 * Tests the disks named in `path`, or all (disks_test.c).  Returns CLI_FAILED
 * if one of them fails.
 */
int disks_test(const struct cli *cli, const struct disks_args *args,
	       char **path);

#endif
