/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CLI_DISKS_DISKS_H
#define SPATE_CLI_DISKS_DISKS_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/show/cli.h"

/* What `spate disks` and its orders share. */
struct disks_args {
	bool force;
	uint64_t size;	    /* of what test writes to each */
	const char *writer; /* NULL: the first that works */
};

/* disks_order.c: all of the operands; CLI_. */
int disks_add(const struct cli *cli, const struct disks_args *args,
	      char **path);
int disks_drop(const struct cli *cli, char **path);

/* disks_test.c: these, or all; CLI_FAILED also where one fails. */
int disks_test(const struct cli *cli, const struct disks_args *args,
	       char **path);

#endif
