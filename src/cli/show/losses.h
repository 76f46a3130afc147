/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CLI_SHOW_LOSSES_H
#define SPATE_CLI_SHOW_LOSSES_H

#include <jansson.h>

#include "cli/show/table.h"

/*
 * Losses are packets that died before spate could count them: in the network
 * card, or in the kernel (daemon/disks/kernel.h), or in the buffer of one of our
 * sockets.  They are shown beside the counts, never in them.
 */

/* Rows of two cells: one for each card that lost, each socket, and for all
 * of UDP; nothing where nothing was lost. */
void losses_rows(struct table *t, const json_t *info);

/* The same of a running recording, in lines.  On stdout. */
void losses_lines(const json_t *info, unsigned indent);

#endif
