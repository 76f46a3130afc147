/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CLI_SHOW_AWAIT_H
#define SPATE_CLI_SHOW_AWAIT_H

#include "control/control.h"
#include "cli/show/cli.h"

/*
 * Waits until a scan of the schedule has begun, and shows how long that will
 * take.  SIGINT or SIGTERM cancels the scan.
 */
struct await {
	const struct cli *cli;
	struct control *control;

	/* Filled when the scan has begun; the caller drops `started`. */
	char recording[80];
	json_t *started; /* [{id, name, stream}...] of the scan's recordings */

	/* Used by await_run() alone. */
	bool terminal;
	/* steady ns of the next line when stdout is no terminal */
	int64_t next_ns;
};

/*
 * Runs; follow_prepare() must have been called.  Returns 0, or -errno with a
 * fault: the scan will not begin.
 */
int await_run(struct await *a, const json_t *scan, struct fault *fault);

#endif
