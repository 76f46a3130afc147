/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CLI_WATCH_WATCH_H
#define SPATE_CLI_WATCH_WATCH_H

#include "cli/show/cli.h"

/*
 * Shows what spated does, anew each second, on the whole terminal until `q` or a
 * signal; with --json a line each second, until a signal or the reader's end.
 * spated must answer at first, and may end and come back later.  CLI_...
 */
int watch_run(const struct cli *cli);

#endif
