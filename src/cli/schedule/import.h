/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CLI_SCHEDULE_IMPORT_H
#define SPATE_CLI_SCHEDULE_IMPORT_H

#include "cli/schedule/schedule.h"

/*
 * Imports the scans of another program's schedule file into the schedule
 * folder.  Returns CLI_...
 */
int cli_import(const struct cli *cli, const struct schedule_args *args,
	       const char *path);

#endif
