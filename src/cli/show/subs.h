/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CLI_SHOW_SUBS_H
#define SPATE_CLI_SHOW_SUBS_H

#include <jansson.h>
#include <stdbool.h>

#include "cli/show/table.h"

/*
 * What an INFO says of substreams and runs.  One substream with one run is
 * the rule, and nothing is said of that.
 */

/* How many there are, how many of them are silent or began anew: rows of two
 * cells. */
void subs_rows(struct table *t, const json_t *info);

/* A table of them, the worst first, and only those unless `all`; and one of
 * runs.  On stdout. */
void subs_show(const json_t *info, bool all);

/* A line that names those of a running recording that bring nothing, by
 * their ports; none where there are none.  On stdout. */
void subs_silent_line(const json_t *info, unsigned indent);

/* How many of them have no packet, of how many. */
size_t subs_silent(const json_t *info, size_t *n);

#endif
