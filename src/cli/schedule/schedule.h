/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CLI_SCHEDULE_SCHEDULE_H
#define SPATE_CLI_SCHEDULE_SCHEDULE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "cli/show/cli.h"

/* What `spate schedule` and its orders share. */
struct schedule_args {
	bool all;	/* ls: also what is over */
	bool dry;	/* add, import: only say what would be */
	bool replace;	/* add, import: a file that is there already */
	const char *as; /* add, import: the file's name in the folder */

	/* import */
	const char *station, *streams, *send;
	uint64_t priority;
};

/* schedule_add.c: what a file says; a text that is too long, or no text, is
 * refused.  Caller frees.  0 or -errno with a fault. */
int schedule_read(const char *path, char **text, struct fault *fault);

/* Has the daemon add a text under this name, and prints what became of it.
 * CLI_. */
int schedule_send(const struct cli *cli, const struct schedule_args *args,
		  const char *file, const char *text);

/* Each returns CLI_. */
int schedule_add(const struct cli *cli, const struct schedule_args *args,
		 char **path);
int schedule_rm(const struct cli *cli, char **which);
int schedule_check(const struct cli *cli, char **path);

#endif
