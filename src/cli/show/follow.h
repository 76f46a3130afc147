/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CLI_SHOW_FOLLOW_H
#define SPATE_CLI_SHOW_FOLLOW_H

#include <jansson.h>
#include <stddef.h>

#include "cli/show/cli.h"
#include "control/control.h"

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

/*
 * Writes the progress of recordings in one line:
 *
 *   8s left  1.00 Gb/s  31250 packets  0 lost  buffers 3/12  disk0 31.2 MiB/s
 *
 * infos and disks are arrays of INFO and DISK (daemon/requests/verbs.h);
 * several recordings are added up.  `bytes` is the size of `line`.
 */
void live_line(const json_t *infos, const json_t *disks, char *line,
	       size_t bytes);

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
