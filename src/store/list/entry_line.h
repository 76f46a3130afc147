/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_LIST_ENTRY_LINE_H
#define SPATE_STORE_LIST_ENTRY_LINE_H

#include <jansson.h>

#include "store/list/entry.h"

/* Parse the first line of an open metadata file, and its last line if that is
 * the end line.  A new reference; NULL if the line is missing or torn. */
json_t *entry_head(int fd);
json_t *entry_tail(int fd);

#endif
