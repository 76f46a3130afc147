/* SPDX-License-Identifier: MIT */
/* A queue of blocks whose two ends stop at different times: the receiver may
 * stop while a peer still has to get the waiting blocks, and the peer may be
 * gone while receivers still put.  The end that is left frees the blocks. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "flow/source/source_relay_priv.h"
#include "store/record/fill.h"

static void
poke(struct source_relay *r)
{
	while (eventfd_write(r->fd, 1) < 0 && errno == EINTR)
		;
}

static void
fills_finish(struct source_relay *r)
{
	for (unsigned i = 0; r->fill && i < r->a.subs; i++)
		fill_finish(&r->fill[i]);
	free(r->fill);
}

static void
relay_free(struct source_relay *r)
{
	fills_finish(r);
	free(r->offset);
	if (r->fd >= 0)
		close(r->fd);
	pthread_mutex_destroy(&r->lock);
	free(r);
}

void
source_relay_let_go(struct source_relay *r)
{
	if (atomic_fetch_sub_explicit(&r->holders, 1, memory_order_acq_rel) ==
	    1)
		relay_free(r);
}

/* ---- the feeding end -------------------------------------------------- */

/* Copies the shape with the first block, or at the end, like output.c.  Caller
 * holds the lock. */
static void
shape_copy(struct source_relay *r)
{
	const struct format_shape *from = r->a.shape;

	if (!r->learning)
		return;
	r->learning = false;
	r->shape = *from;
	if (!from->threads || from->threads_n > OUTPUT_THREADS)
		return;
	memcpy(r->thread, from->threads, from->threads_n * sizeof *r->thread);
	r->shape.threads = r->thread;
}

void
source_relay_go_home(struct block *b)
{
	if (b->state != BLOCK_SEALED)
		block_seal(b);
	block_drop(b);
}

/* Numbers a block and queues it; caller holds the lock. */
static void
put(struct source_relay *r, struct block *b)
{
	shape_copy(r);
	if (b->gap)
		r->next_number++;
	b->number = r->next_number++;
	b->next = NULL;
	*r->last = b;
	r->last = &b->next;
	r->facts.waits++;
	r->facts.blocks++;
}

void
source_relay_put(struct source_relay *r, struct block *b)
{
	bool closed;

	b->session = r;
	pthread_mutex_lock(&r->lock);
	closed = r->closed;
	if (closed)
		r->facts.unsent += b->filled;
	else
		put(r, b);
	pthread_mutex_unlock(&r->lock);
	if (closed)
		source_relay_go_home(b);
	else
		poke(r);
}

void
source_relay_end(struct source_relay *r)
{
	pthread_mutex_lock(&r->lock);
	shape_copy(r);
	r->ended = true;
	pthread_mutex_unlock(&r->lock);
	poke(r);
}

uint64_t
source_relay_lost(struct source_relay *r)
{
	if (r->a.dropped && !r->dropped)
		r->lost = r->a.dropped(r->a.arg);
	return r->lost + r->facts.unsent;
}

void
source_relay_drop(struct source_relay *r)
{
	pthread_mutex_lock(&r->lock);
	source_relay_lost(r);
	shape_copy(r);
	r->ended = r->dropped = true;
	pthread_mutex_unlock(&r->lock);
	poke(r);
	source_relay_let_go(r);
}

void
source_relay_facts(struct source_relay *r, struct source_relay_facts *f)
{
	pthread_mutex_lock(&r->lock);
	*f = r->facts;
	pthread_mutex_unlock(&r->lock);
}

struct source *
source_relay_source(struct source_relay *r)
{
	return &r->head;
}

int
source_relay_make(struct source_relay **relay,
		  const struct source_relay_args *args)
{
	struct source_relay *r = calloc(1, sizeof *r);

	if (!r)
		return -ENOMEM;
	r->head.ops = &source_relay_ops;
	r->a = *args;
	r->a.subs = args->subs ? args->subs : 1;
	r->learning = true;
	r->last = &r->first;
	atomic_init(&r->holders, 2);
	pthread_mutex_init(&r->lock, NULL);
	r->offset = calloc(r->a.subs, sizeof *r->offset);
	r->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (!r->offset || r->fd < 0) {
		relay_free(r);
		return -ENOMEM;
	}
	*relay = r;
	return 0;
}
