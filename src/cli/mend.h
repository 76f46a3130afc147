/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CLI_MEND_H
#define SPATE_CLI_MEND_H

#include "cli/show/cli.h"

/*
 * Scrubs or rebuilds a recording (NULL: all that have ended), as if the disk
 * `without` (NULL: none) were away.  Returns the exit code.
 */
int mend_run(const struct cli *cli, bool rebuilds, bool dry_run,
	     const char *name, const char *without);

#endif
