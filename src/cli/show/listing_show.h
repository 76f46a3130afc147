/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CLI_SHOW_LISTING_SHOW_H
#define SPATE_CLI_SHOW_LISTING_SHOW_H

#include "cli/show/listing.h"

/* Its entries as a table on stdout; nothing where there are none. */
void listing_table(const struct listing *l, bool more);

/* A line: how many, how large, how much is free, and for how long. */
void listing_total(const struct listing *l);

#endif
