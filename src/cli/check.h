/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CLI_CHECK_H
#define SPATE_CLI_CHECK_H

#include <jansson.h>

#include "store/list/glance.h"

/*
 * Makes JSON of a quick check, and prints that for people.
 *
 *   {name, state, why, stream, format, start, end, bytes, packets,
 *    packets_lost, packets_missed (those, and drops that were wanted), drops,
 *    loss, rate, rate_expected, substreams, substreams_looked,
 *    substreams_silent, seconds:[{second:"first", from, to, packets,
 *    packets_lost, looked, unreadable, misplaced, backwards, invalid,
 *    heaps_incomplete, threads:[], stations:[], offset_s}], max_loss, ok,
 *    wrong:[], remarks:[]}
 *
 * Unknown values are null.
 */
json_t *check_json(const struct recording *rec, const struct glance *g);

void check_show(const json_t *line);

#endif
