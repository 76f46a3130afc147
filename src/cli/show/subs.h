/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CLI_SHOW_SUBS_H
#define SPATE_CLI_SHOW_SUBS_H

#include <jansson.h>
#include <stdbool.h>

#include "cli/show/table.h"

/*
 * Print what an INFO says of substreams and runs.  One substream with one run
 * is the usual case, and nothing is printed then.
 */

/*
 * Adds rows of two cells to a table: how many substreams there are, how many
 * are silent, how many began another run.
 */
void subs_rows(struct table *t, const json_t *info);

/*
 * Prints a table of substreams on stdout, sorted by loss and only the worst,
 * unless `all`; and one of runs.
 */
void subs_show(const json_t *info, bool all);

/*
 * Prints a line that names the silent substreams of a running recording by
 * their ports; nothing if there are none.
 */
void subs_silent_line(const json_t *info, unsigned indent);

/* Returns the number of silent substreams; *n gets the number of all. */
size_t subs_silent(const json_t *info, size_t *n);

#endif
