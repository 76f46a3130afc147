/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CLI_SCHEDULE_SCHEDULE_H
#define SPATE_CLI_SCHEDULE_SCHEDULE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "cli/show/cli.h"

/* Declarations that `spate schedule` and its subcommands share. */
struct schedule_options {
	bool all;	/* ls: also scans that are over */
	bool dry;	/* add, import: only show what would happen */
	bool replace;	/* add, import: replace a file of the same name */
	const char *as; /* add, import: name of the file in the folder */

	/* Options of import. */
	const char *station, *streams, *send;
	uint64_t priority;
};

/*
 * Has the daemon add a text under a file name, and prints the scans.  Returns
 * CLI_...
 */
int schedule_send(const struct cli *cli, const struct schedule_options *args,
		  const char *file, const char *text);

/*
 * Makes the request "schedule-check": without a file (NULL) of the schedule as
 * it is, with one as it would be.  NULL with a fault if the file cannot be read.
 */
json_t *schedule_check_request(const char *path, struct fault *fault);

/*
 * Imports the scans of another program's schedule file into the schedule
 * folder.  Returns CLI_...
 */
int cli_import(const struct cli *cli, const struct schedule_options *args,
	       const char *path);

/*
 * Prints scans as a table on stdout, or with --json as one object per line.
 * SCAN and CHECK are objects as daemon/requests/verbs.h lists them.  Missing
 * values stay empty, and a column without any value is left out.
 */
enum schedule_columns {
	SCHEDULE_STATE, /* the state of each scan, and when it comes */
	SCHEDULE_CHECK, /* needs of each scan, and whether they are met */
};

void schedule_show(const struct cli *cli, const json_t *scans,
		   enum schedule_columns columns);

/* Prints the end of a line: how many scans are other stations', if any are. */
void schedule_show_others(uint64_t others);

/*
 * Prints a line below the table of schedule-ls: how many scans there are and
 * which is next.
 */
void schedule_show_next(const json_t *result);

/*
 * Prints lines below the table of schedule-check, or the last object with
 * --json: the whole schedule compared with disks and memory.
 */
void schedule_show_sum(const struct cli *cli, const json_t *result);

#endif
