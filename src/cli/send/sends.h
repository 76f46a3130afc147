/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CLI_SEND_SENDS_H
#define SPATE_CLI_SEND_SENDS_H

#include "control/control.h"
#include "cli/show/cli.h"

/* Print transfers for people; `send` is SEND of daemon/requests/verbs.h. */

/* Prints a table of transfers. */
void sends_show(const json_t *sends, unsigned indent);

/*
 * Writes the progress of a transfer in one line; `bytes` is the size of `line`:
 *
 *   r4123  [=====>     ]  47 %  1.2 GiB  4.00 Gb/s  12s left
 *   r4123  1.2 GiB  1.02 Gb/s  2s behind
 *   r4123  1.2 GiB  connecting: correlator does not answer
 */
void sends_line(const json_t *send, char *line, size_t bytes);

/*
 * Prints the result of an ended transfer: "r4123: 1.2 GiB sent to tcp://c:2630
 * in 12s".
 */
void sends_tell(const json_t *send);

/* Returns 0, or -EIO with a fault that says what did not arrive, and why. */
int sends_check(const json_t *send, struct fault *fault);

/*
 * Shows the progress of a transfer on stderr until it has ended.  The first
 * SIGINT or SIGTERM stops the transfer, the next one ends this program; both
 * are blocked from sends_prepare() on.  *ended gets the last SEND, owned by the
 * caller.  Returns 0, or -errno with a fault.
 */
void sends_prepare(void);
int sends_follow(const struct cli *cli, struct control *control,
		 const json_t *send, json_t **ended, struct fault *fault);

#endif
