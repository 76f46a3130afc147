/* SPDX-License-Identifier: MIT */
/*
 * The recording always wins: what a transfer has of a recording's memory, it
 * has because nobody needs it just now.
 *
 *   receiver   stock_take: a block that is wanted and few are left
 *                 |                                  +-> shelf_revoke
 *   writer     output_seal --> shelf_offer ----> [ shelf: at most a quarter ]
 *                 |                                  ^ tap_take, tap_put
 *              writes it, drops it                   sender's thread
 *
 * Who owns what.  A sealed block is never written again, and has a hold for
 * each who reads it: the writer that has it (two, of one that was given away
 * from a disk that hangs), and the shelf.  Taps and what they give away have
 * no holds of their own, but reads of a slot of the shelf; so a block is held
 * by transfers once, however many there are, and counts once against the
 * quarter.  Nothing of the block itself is changed by them: `next` is the
 * queue's, of a block that a disk gave back, and `state` the last holder's.
 * Who drops it last, writer or shelf, sends it home.
 *
 * While a block is being written as well, the writer drops its hold when it
 * is done, as ever; what becomes of its chunk (a disk that fails, a round
 * that does, an unwrite) changes nothing in memory.  A block that is given
 * back is sealed, and so is not offered again by the next writer.
 *
 * Memory order.  The writer that sealed a block offers it under shelf::lock,
 * and tap_take finds it under the same; so a reader sees all of it.  What a
 * reader read is over when it puts, under the lock again, and the drop is
 * acq_rel (block.h) and the stock's own lock behind it: who gets the block
 * next writes after that.  `held` and `wanted` are hints that are read without
 * the lock: one that is seen late costs one block more.
 *
 * Locks.  output::tapping, then shelf::lock, then the stock's and the pool's
 * inside block_drop.  None is held while anybody waits for anything; a reader
 * that the recorder waits for has its priority (shelf.c).
 *
 * Only sealed blocks are offered, and so none that waits in the queue for a
 * slow disk.  To seal it earlier is not worth it: while disks keep up, a block
 * is with a writer, and sealed, as soon as it is closed; and when they do not,
 * blocks pile up in the queue, memory gets short, and there is nothing to be
 * had for transfers anyway.  It would take a lock about who fills a block,
 * which a writer then would wait for.
 */
#include "flow/memory/tap.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "flow/memory/map.h"
#include "flow/memory/pool.h"
#include "flow/memory/tap_priv.h"

static void
link_in(struct tap *t)
{
	struct shelf *s = t->shelf;

	pthread_mutex_lock(&s->lock);
	t->next = s->taps;
	s->taps = t;
	pthread_mutex_unlock(&s->lock);
}

static void
link_out(struct tap *t)
{
	struct shelf *s = t->shelf;
	struct tap **at;

	pthread_mutex_lock(&s->lock);
	assert(t->reads == 0);
	for (at = &s->taps; *at != t; at = &(*at)->next)
		;
	*at = t->next;
	shelf_sweep(s);
	pthread_mutex_unlock(&s->lock);
}

int
tap_make(struct tap **tap, struct output *o, struct stock *stock)
{
	struct shelf *s = stock_shelf(stock);
	struct tap *t = calloc(1, sizeof *t + s->most * sizeof t->read[0]);

	if (!t)
		return -ENOMEM;
	t->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (t->fd < 0) {
		free(t);
		return -errno;
	}
	t->shelf = s;
	t->output = o;
	shelf_hold(s);
	output_hold(o);
	link_in(t);
	output_tap(o, t);
	*tap = t;
	return 0;
}

void
tap_free(struct tap *t)
{
	if (!t)
		return;
	output_untap(t->output, t);
	link_out(t);
	shelf_drop(t->shelf);
	output_drop(t->output);
	close(t->fd);
	free(t);
}

struct block *
tap_take(struct tap *t, uint64_t number)
{
	struct shelf *s = t->shelf;
	struct shelf_slot *slot;
	struct block *b = NULL;

	pthread_mutex_lock(&s->lock);
	slot = shelf_find(s, t->output, number);
	if (slot) {
		b = slot->b;
		slot->reads++;
		t->read[slot - s->slot]++;
		t->reads++;
	}
	pthread_mutex_unlock(&s->lock);
	return b;
}

/* Under the lock. */
static bool
put(struct tap *t, struct shelf_slot *slot)
{
	struct shelf *s = t->shelf;
	bool revoked = slot->revoked;

	assert(t->read[slot - s->slot] > 0);
	t->read[slot - s->slot]--;
	t->reads--;
	if (revoked)
		atomic_fetch_sub_explicit(&t->wanted, 1, memory_order_relaxed);
	if (--slot->reads == 0 && revoked)
		shelf_empty(s, slot);
	return revoked;
}

bool
tap_put(struct tap *t, struct block *b)
{
	struct shelf *s = t->shelf;
	bool revoked = false;

	pthread_mutex_lock(&s->lock);
	for (unsigned i = 0; i < s->most; i++) {
		if (s->slot[i].b == b) {
			revoked = put(t, &s->slot[i]);
			break;
		}
	}
	shelf_sweep(s);
	pthread_mutex_unlock(&s->lock);
	return revoked;
}

void
tap_pass(struct tap *t, uint64_t number)
{
	pthread_mutex_lock(&t->shelf->lock);
	t->from = number;
	shelf_sweep(t->shelf);
	pthread_mutex_unlock(&t->shelf->lock);
}

void
tap_show(struct tap *t, struct map *map, uint64_t recording)
{
	struct shelf *s = t->shelf;

	pthread_mutex_lock(&s->lock);
	t->map = map;
	t->shown_as = recording;
	for (unsigned i = 0; i < s->most; i++) {
		if (s->slot[i].b && s->slot[i].b->session == t->output)
			map_show(map, recording, s->slot[i].b);
	}
	pthread_mutex_unlock(&s->lock);
}

bool
tap_wanted(const struct tap *t)
{
	return atomic_load_explicit(&t->wanted, memory_order_relaxed) > 0;
}

bool
tap_short(const struct tap *t)
{
	return atomic_load_explicit(&t->shelf->is_short, memory_order_relaxed);
}

int
tap_fd(const struct tap *t)
{
	return t->fd;
}

void
tap_clear(struct tap *t)
{
	eventfd_t n;

	while (eventfd_read(t->fd, &n) < 0 && errno == EINTR)
		;
}

/* It fails only where it is readable for long. */
void
tap_poke(struct tap *t)
{
	while (eventfd_write(t->fd, 1) < 0 && errno == EINTR)
		;
}

void
tap_facts(struct tap *t, struct tap_facts *f)
{
	struct shelf *s = t->shelf;

	pthread_mutex_lock(&s->lock);
	*f = (struct tap_facts){ .read = t->reads,
				 .end = t->end,
				 .revoked = t->revoked,
				 .skipped = t->skipped };
	for (unsigned i = 0; i < s->most; i++)
		f->held += s->slot[i].b && s->slot[i].b->session == t->output;
	pthread_mutex_unlock(&s->lock);
}
