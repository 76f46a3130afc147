/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CLI_SCHEDULE_SCHEDULE_SHOW_H
#define SPATE_CLI_SCHEDULE_SCHEDULE_SHOW_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "cli/show/cli.h"

/*
 * Scans as a table for people, on stdout, or with --json as an object per
 * line.  SCAN and CHECK are as daemon/requests/verbs.h lists them; what an object does
 * not have stays empty, and a column that no scan has anything for is left
 * out.
 */
enum schedule_columns {
	SCHEDULE_STATE, /* what became of each, and when it comes */
	SCHEDULE_CHECK, /* what each wants, and whether that is there */
};

void schedule_show(const struct cli *cli, const json_t *scans,
		   enum schedule_columns columns);

/* A line below: of a schedule-ls, how many there are and what is next. */
void schedule_show_next(const json_t *result);

/* Lines below, with --json the last object: of a schedule-check, the whole
 * schedule against disks and memory. */
void schedule_show_sum(const struct cli *cli, const json_t *result);

#endif
