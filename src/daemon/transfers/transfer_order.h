/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_TRANSFERS_TRANSFER_ORDER_H
#define SPATE_DAEMON_TRANSFERS_TRANSFER_ORDER_H

#include "daemon/transfers/transfer.h"

/*
 * Reads the arguments of `send` or `relay` (verbs.h), as far as they can be
 * checked by themselves; the caller sets o->relay before.  Missing keys get the
 * configuration's values.  0; or -errno with a fault, and `o` holds nothing to
 * free.
 */
int transfer_order_read(struct transfer_order *o, const json_t *request,
			const struct setup_send *send, struct fault *fault);

/* Sets all members to what an empty request means. */
void transfer_order_init(struct transfer_order *o,
			 const struct setup_send *send);

/* Frees the members, not `o`. */
void transfer_order_clear(struct transfer_order *o);

#endif
