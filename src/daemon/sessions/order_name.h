/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_SESSIONS_ORDER_NAME_H
#define SPATE_DAEMON_SESSIONS_ORDER_NAME_H

#include "daemon/sessions/order.h"

/* Names of what an order records.  The event loop's thread. */

/* Of its stream i, before that is split: <name>, or <name>_ds<stream>. */
void order_base_name(const struct order *o, unsigned i,
		     char name[SESSION_NAME]);

/*
 * Is its name good, and free for all of its streams and their parts?  With
 * ORDER_RENAME it becomes one that is.  0 or -errno with a fault.
 */
int order_name(struct order *o, struct daemon *d, struct fault *fault);

/* The first disk that has something of this name; NULL: none does. */
const char *order_name_disk(struct daemon *d, const char *name);

#endif
