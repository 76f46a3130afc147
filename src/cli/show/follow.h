/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CLI_SHOW_FOLLOW_H
#define SPATE_CLI_SHOW_FOLLOW_H

#include "control/control.h"
#include "cli/show/cli.h"

/*
 * To follow recordings is to show how they go until all of them have ended.
 * An interrupt stops them; the next one ends this program.
 */
struct follow {
	const struct cli *cli;
	struct control *control;
	const char *name;      /* as it was typed: of all of them */
	const json_t *started; /* [{id, name, stream}...] */

	/* Its own. */
	bool terminal, stopping;
	int64_t next_ns; /* of plain lines */
};

/* Blocks the signals that follow_run() takes: before recording starts. */
void follow_prepare(void);

/* With the fields down to `started` set.  *ended: the last INFO of each, the
 * caller's.  0 or -errno. */
int follow_run(struct follow *f, json_t **ended, struct fault *fault);

#endif
