/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CLI_SHOW_LOSSES_H
#define SPATE_CLI_SHOW_LOSSES_H

#include <jansson.h>

#include "cli/show/table.h"

/*
 * Losses before spate could count a packet: in the network card, in the kernel
 * (daemon/health/kernel.h), or in the buffer of a spate socket.  They are shown
 * beside the counts of a recording, never added to them.
 */

/*
 * Adds rows of two cells to a table: one for each card with losses, one for UDP
 * of all programs, one for each socket; none if there were no losses.
 */
void losses_rows(struct table *t, const json_t *info);

/* Prints the same as lines on stdout, for a running recording. */
void losses_lines(const json_t *info, unsigned indent);

/*
 * Prints when packets of a recording were lost, in at most eight lines: a bar
 * over its length and the worst parts.  Prints nothing if none were lost.
 */
void loss_show(const json_t *info);

#endif
