/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CLI_SHOW_AWAIT_H
#define SPATE_CLI_SHOW_AWAIT_H

#include "control/control.h"
#include "cli/show/cli.h"

/*
 * To await a scan of the schedule is to show how long it has to wait until it
 * has begun.  An interrupt cancels it.
 */
struct await {
	const struct cli *cli;
	struct control *control;

	/* Filled when it has begun; `started` is the caller's. */
	char recording[80];
	json_t *started; /* [{id, name, stream}...] of its recordings */

	/* Its own. */
	bool terminal;
	int64_t next_ns; /* of plain lines */
};

/* After follow_prepare().  0 or -errno with a fault: it will not begin. */
int await_run(struct await *a, const json_t *scan, struct fault *fault);

#endif
