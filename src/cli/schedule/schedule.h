/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CLI_SCHEDULE_SCHEDULE_H
#define SPATE_CLI_SCHEDULE_SCHEDULE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "cli/show/cli.h"

/* Declarations that `spate schedule` and its subcommands share. */
struct schedule_args {
	bool all;	/* ls: also scans that are over */
	bool dry;	/* add, import: only show what would happen */
	bool replace;	/* add, import: replace a file of the same name */
	const char *as; /* add, import: name of the file in the folder */

	/* Options of import. */
	const char *station, *streams, *send;
	uint64_t priority;
};

/*
 * Reads a schedule file (schedule_add.c); refuses one that is too long or no
 * text.  The caller frees *text.  Returns 0, or -errno with a fault.
 */
int schedule_read(const char *path, char **text, struct fault *fault);

/*
 * Has the daemon add a text under a file name, and prints the scans.  Returns
 * CLI_...
 */
int schedule_send(const struct cli *cli, const struct schedule_args *args,
		  const char *file, const char *text);

/* The subcommands; each returns CLI_... */
int schedule_add(const struct cli *cli, const struct schedule_args *args,
		 char **path);
int schedule_rm(const struct cli *cli, char **which);
int schedule_check(const struct cli *cli, char **path);

#endif
