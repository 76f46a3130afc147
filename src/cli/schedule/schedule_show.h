/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CLI_SCHEDULE_SCHEDULE_SHOW_H
#define SPATE_CLI_SCHEDULE_SCHEDULE_SHOW_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "cli/show/cli.h"

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
