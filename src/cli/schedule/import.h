/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CLI_SCHEDULE_IMPORT_H
#define SPATE_CLI_SCHEDULE_IMPORT_H

#include "cli/schedule/schedule.h"

/* spate schedule import: the scans of another program's schedule file become
 * a file of the schedule folder.  CLI_. */
int cli_import(const struct cli *cli, const struct schedule_args *args,
	       const char *path);

#endif
