/* SPDX-License-Identifier: MIT */
/*
 * The recording always wins: a reader gets memory of a recording only while the
 * recorder does not need it.
 *
 *   receiver   stock_take: a block that is wanted and few are left
 *                 |                                  +-> shelf_revoke
 *   writer     output_seal --> shelf_offer ----> [ shelf: at most a quarter ]
 *                 |                                  ^ tap_take, tap_put
 *              writes it, drops it                   sender's thread
 *
 *
 * Ownership.  A sealed block is never written again, and has one hold for the
 * writer that has it (two, if a hung disk's block was also given to another
 * disk) and one for the shelf.  Taps count reads of a slot of the shelf and
 * have no holds of their own; so a block is held by readers once, however many
 * there are, and counts once against the quarter.  Readers change nothing in
 * the block itself: `next` is the queue's, for a block that a disk gave back,
 * and `state` the last holder's.  The last to drop it, writer or shelf, returns
 * it to its stock.
 *
 * The writer drops its hold as ever when its write is done; what becomes of the
 * chunk (a failed disk, a failed sync, an unwrite) changes nothing in memory.
 * A block that a disk gave back is sealed already, and so is not offered again
 * by the next writer.
 *
 * Memory order.  The writer that sealed a block offers it under shelf::lock,
 * and tap_take finds it under the same lock; so a reader sees all of it.  A
 * reader is done before it puts, under the lock again; then come the drop,
 * which is acq_rel (block.h), and the stock's own lock; so the next user of the
 * block writes after that.  `held` and `wanted` are hints that are read without
 * the lock: seeing one late costs one block more.
 *
 * Locks.  Order: output::tapping, then shelf::lock, then the stock's and the
 * pool's inside block_drop.  None is held while its thread waits for anything;
 * a reader that the recorder waits for inherits its priority (shelf.c).
 *
 * Only sealed blocks are offered, and so none that waits in the queue for a
 * slow disk.  Sealing earlier is not worth it: while disks keep up, a block is
 * with a writer, and sealed, as soon as it is closed; when they do not, blocks
 * pile up in the queue, memory gets short, and nothing is left to lend anyway.
 * It would also take a lock around the fill of a block, which a writer would
 * then wait for.
 */
#include "flow/memory/tap.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "flow/memory/pool.h"
#include "flow/memory/shelf.h"

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
tap_make(struct tap **tap, const struct tap_of *of, struct stock *stock)
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
	t->of = *of;
	shelf_hold(s);
	link_in(t);
	*tap = t;
	return 0;
}

void
tap_free(struct tap *t)
{
	if (!t)
		return;
	link_out(t);
	shelf_drop(t->shelf);
	close(t->fd);
	free(t);
}

struct tap **
tap_peer(struct tap *t)
{
	return &t->peer;
}

struct block *
tap_take(struct tap *t, uint64_t number)
{
	struct shelf *s = t->shelf;
	struct shelf_slot *slot;
	struct block *b = NULL;

	pthread_mutex_lock(&s->lock);
	slot = shelf_find(s, t->of.session, number);
	if (slot) {
		b = slot->b;
		slot->reads++;
		t->read[slot - s->slot]++;
		t->reads++;
	}
	pthread_mutex_unlock(&s->lock);
	return b;
}

/* Ends one read of a slot.  True if the slot was revoked.  Call under the
 * lock. */
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
		if (s->slot[i].b && s->slot[i].b->session == t->of.session)
			shelf_show(t, s->slot[i].b);
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

/* Fails only when the counter is full, and then the descriptor is readable
 * anyway. */
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
		f->held +=
		    s->slot[i].b && s->slot[i].b->session == t->of.session;
	pthread_mutex_unlock(&s->lock);
}
