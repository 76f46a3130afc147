/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_LIST_ENTRY_LINE_H
#define SPATE_STORE_LIST_ENTRY_LINE_H

#include <jansson.h>

#include "store/list/entry.h"

/* What an entry reads of an open file of metadata: its first line, and its
 * last where that tells the end.  NULL where it is not there, or not whole. */
json_t *entry_head(int fd);
json_t *entry_tail(int fd);

#endif
