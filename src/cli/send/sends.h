/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CLI_SEND_SENDS_H
#define SPATE_CLI_SEND_SENDS_H

#include "control/control.h"
#include "cli/show/cli.h"

/*
 * Transfers, as people read them; `send` is SEND of daemon/requests/verbs.h.
 */

/* The table of several. */
void sends_show(const json_t *sends, unsigned indent);

/* A line each with --json, else the table. */
void sends_print(const struct cli *cli, const json_t *sends);

/*
 * How one goes, in one line of at most `bytes` - 1 letters:
 *
 *   r4123  [=====>     ]  47 %  1.2 GiB  4.00 Gb/s  12s left
 *   r4123  1.2 GiB  1.02 Gb/s  2s behind
 *   r4123  1.2 GiB  connecting: correlator does not answer
 */
void sends_line(const json_t *send, char *line, size_t bytes);

/* Has it ended? */
bool sends_ended(const json_t *send);

/* Of one that has ended: "r4123: 1.2 GiB sent to tcp://c:2630 in 12s". */
void sends_tell(const json_t *send);

/* 0; -EIO with a fault that says what did not arrive, and why. */
int sends_check(const json_t *send, struct fault *fault);

/*
 * Shows how it goes, on stderr, until it has ended; an interrupt stops it, the
 * next one ends this program.  *ended: its last SEND, the caller's.  0 or
 * -errno with a fault.  Signals are blocked from sends_prepare() on.
 */
void sends_prepare(void);
int sends_follow(const struct cli *cli, struct control *control,
		 const json_t *send, json_t **ended, struct fault *fault);

#endif
