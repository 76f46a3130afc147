/* SPDX-License-Identifier: MIT */
/*
 * Answers clients that wait for transfers, when the last of theirs has ended,
 * with what became of each.  If a client has gone, the answer is dropped.
 */
#include "daemon/transfers/transfer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void
waiter_free(struct transfer_waiter *w)
{
	json_decref(w->sends);
	free(w->id);
	free(w);
}

int
transfer_wait(struct transfers *all, struct server_ticket ticket,
	      const unsigned *id, unsigned n)
{
	struct transfer_waiter *w = calloc(1, sizeof *w);

	if (!w)
		return -ENOMEM;
	*w = (struct transfer_waiter){ .ticket = ticket,
				       .id = calloc(n, sizeof *id),
				       .n = n,
				       .left = n,
				       .sends = json_array() };
	if (!w->id || !w->sends) {
		waiter_free(w);
		return -ENOMEM;
	}
	memcpy(w->id, id, n * sizeof *id);
	w->next = all->waiters;
	all->waiters = w;
	return 0;
}

/* Records the end of a transfer; true when the waiter was answered. */
static bool
waiter_tell(struct transfers *all, struct transfer_waiter *w,
	    struct transfer *t)
{
	for (unsigned i = 0; i < w->n; i++) {
		if (w->id[i] != t->id)
			continue;
		w->id[i] = 0;
		w->left--;
		json_array_append_new(w->sends, transfer_json(all, t));
	}
	if (w->left)
		return false;
	server_answer(
	    all->r->server, w->ticket,
	    json_pack("{s:[], s:O}", "recordings", "sends", w->sends));
	return true;
}

void
transfer_waiters_tell(struct transfers *all, struct transfer *t)
{
	struct transfer_waiter **at = &all->waiters, *w;

	while ((w = *at)) {
		if (!waiter_tell(all, w, t)) {
			at = &w->next;
			continue;
		}
		*at = w->next;
		waiter_free(w);
	}
}

void
transfer_waiters_clear(struct transfers *all)
{
	struct transfer_waiter *w;

	while ((w = all->waiters)) {
		all->waiters = w->next;
		waiter_free(w);
	}
}
