/* SPDX-License-Identifier: MIT */
/* The states of a copy that comes in.  The threads of its connections wait for
 * the event loop; the event loop never waits for them, but is woken, acts on
 * the state and goes on. */
#include "flow/copy/copy_in.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#include "base/clock.h"

int
copy_in_make(struct copy_in **copy, const struct copy_in_host *host,
	     const char *name, const char *from)
{
	struct copy_in *c = calloc(1, sizeof *c);

	if (!c)
		return -ENOMEM;
	c->host = host;
	strncpy(c->name, name, sizeof c->name - 1);
	strncpy(c->from, from, sizeof c->from - 1);
	c->start_ns = clock_now();
	c->idle = clock_steady();
	pthread_mutex_init(&c->lock, NULL);
	pthread_cond_init(&c->moved, NULL);
	*copy = c;
	return 0;
}

static void
here_free(struct copy_in_disks *h)
{
	for (unsigned i = 0; h && i < h->disks.n; i++)
		disk_close(&h->disk[i]);
	free(h);
}

/* Blocks that writers still hold keep the pool's memory until they are
 * dropped. */
void
copy_in_free(struct copy_in *c)
{
	if (c->ledger) {
		ledger_forget(c->ledger);
		ledger_drop(c->ledger);
	}
	if (c->output)
		output_drop(c->output);
	if (c->stock)
		stock_return(c->stock);
	here_free(c->here);
	json_decref(c->head);
	json_decref(c->told_head);
	free(c->threads);
	pthread_cond_destroy(&c->moved);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

enum copy_in_state
copy_in_is(struct copy_in *c)
{
	enum copy_in_state state;

	pthread_mutex_lock(&c->lock);
	state = c->state;
	pthread_mutex_unlock(&c->lock);
	return state;
}

void
copy_in_move(struct copy_in *c, enum copy_in_state state)
{
	pthread_mutex_lock(&c->lock);
	if (c->state < COPY_IN_CLOSED)
		c->state = state;
	pthread_cond_broadcast(&c->moved);
	pthread_mutex_unlock(&c->lock);
	c->host->wake(c->host->arg);
}

void
copy_in_fail(struct copy_in *c, const struct fault *fault)
{
	pthread_mutex_lock(&c->lock);
	if (c->state < COPY_IN_CLOSED) {
		c->state = COPY_IN_FAILED;
		c->fault = *fault;
	}
	pthread_cond_broadcast(&c->moved);
	pthread_mutex_unlock(&c->lock);
	c->host->wake(c->host->arg);
}

void
copy_in_cut(struct copy_in *c)
{
	pthread_mutex_lock(&c->lock);
	c->stopping = true;
	for (unsigned i = 0; i < COPY_IN_LINKS; i++) {
		if (c->link[i])
			eventfd_write(c->link[i]->link.stop, 1);
	}
	pthread_cond_broadcast(&c->moved);
	pthread_mutex_unlock(&c->lock);
}
