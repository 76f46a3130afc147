/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_SESSIONS_ORDER_NAME_H
#define SPATE_DAEMON_SESSIONS_ORDER_NAME_H

#include "daemon/sessions/order.h"

/* Names of the recordings of an order.  The event loop's thread. */

/* Writes the name of the recording of stream `i`, without the part of a split
 * stream: <name>, or <name>_ds<stream> with several streams. */
void order_base_name(const struct order *o, unsigned i,
		     char name[SESSION_NAME]);

/*
 * Checks that the name is valid, and free for all streams and their parts.
 * With ORDER_RENAME a taken name is changed to a free one.  Returns 0, or
 * -errno with a fault.
 */
int order_name(struct order *o, struct recorder *r, struct fault *fault);

/* Returns the path of the first disk that has anything of this name, or
 * NULL. */
const char *order_name_disk(struct recorder *r, const char *name);

#endif
