/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CLI_SHOW_FOLLOW_H
#define SPATE_CLI_SHOW_FOLLOW_H

#include "control/control.h"
#include "cli/show/cli.h"

/*
 * Shows the progress of recordings until all have ended.  The first SIGINT or
 * SIGTERM stops the recordings, the next one ends this program.
 */
struct follow {
	const struct cli *cli;
	struct control *control;
	const char *name;      /* as typed: common name of all of them */
	const json_t *started; /* [{id, name, stream}...] */

	/* Used by follow_run() alone. */
	bool terminal, stopping;
	/* steady ns of the next line when stdout is no terminal */
	int64_t next_ns;
};

/*
 * Blocks the signals that follow_run() waits for; called before recording
 * starts.
 */
void follow_prepare(void);

/*
 * Runs; the fields down to `started` must be set.  *ended gets the last INFO of
 * each recording, owned by the caller.  Returns 0 or -errno with a fault.
 */
int follow_run(struct follow *f, json_t **ended, struct fault *fault);

#endif
