/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_TRANSFERS_TRANSFER_ORDER_H
#define SPATE_DAEMON_TRANSFERS_TRANSFER_ORDER_H

#include "daemon/transfers/transfer.h"

/*
 * Reads what `send` and `relay` ask for (verbs.h), as far as it can be seen
 * without looking at anything else; `relay` is set before.  What is left out
 * is as the setup has it.  0; or -errno with a fault, and `o` has nothing to
 * be freed.
 */
int transfer_order_read(struct transfer_order *o, const json_t *request,
			const struct setup_send *send, struct fault *fault);

/* All that is not asked for. */
void transfer_order_init(struct transfer_order *o,
			 const struct setup_send *send);

/* Frees what it has. */
void transfer_order_clear(struct transfer_order *o);

#endif
