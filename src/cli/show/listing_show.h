/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CLI_SHOW_LISTING_SHOW_H
#define SPATE_CLI_SHOW_LISTING_SHOW_H

#include "cli/show/listing.h"

/* Prints the entries as a table on stdout; nothing if there are none. */
void listing_table(const struct listing *l, bool more);

/*
 * Prints one line: number and size of all, free space, and time until the disks
 * are full.
 */
void listing_total(const struct listing *l);

#endif
