/* SPDX-License-Identifier: MIT */
/* Keeps sealed blocks for taps and takes them back; tap.c explains the
 * rules. */
#include "flow/memory/shelf.h"

#include <errno.h>
#include <stdlib.h>

#include "flow/memory/block_record.h"
#include "flow/memory/map.h"
#include "flow/memory/pool.h"

enum { PART = 4 }; /* the shelf has at most a quarter of the stock */

/* Priority inheritance: a receiver may have a real-time priority, and lends it
 * to the thread that has the lock while it waits for it. */
static void
lock_make(pthread_mutex_t *lock)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT);
	pthread_mutex_init(lock, &attr);
	pthread_mutexattr_destroy(&attr);
}

int
shelf_make(struct shelf **shelf, unsigned blocks)
{
	unsigned most = blocks / PART;
	struct shelf *s = calloc(1, sizeof *s + most * sizeof s->slot[0]);

	if (!s)
		return -ENOMEM;
	lock_make(&s->lock);
	s->most = most;
	atomic_init(&s->holders, 1);
	*shelf = s;
	return 0;
}

void
shelf_hold(struct shelf *s)
{
	atomic_fetch_add_explicit(&s->holders, 1, memory_order_relaxed);
}

void
shelf_drop(struct shelf *s)
{
	if (!s || atomic_fetch_sub_explicit(&s->holders, 1,
					    memory_order_acq_rel) != 1)
		return;
	pthread_mutex_destroy(&s->lock);
	free(s);
}

/* ---- under the lock --------------------------------------------------- */

static void
held_add(struct shelf *s, int n)
{
	atomic_fetch_add_explicit(&s->held, (unsigned)n, memory_order_relaxed);
}

static uint64_t
lowest(const struct block *b)
{
	return b->number - (b->gap > 0);
}

static bool
is_wanted(const struct tap *t, const struct block *b)
{
	return t->of.session == b->session && b->number >= t->from;
}

struct shelf_slot *
shelf_find(struct shelf *s, const void *session, uint64_t number)
{
	for (unsigned i = 0; i < s->most; i++) {
		struct shelf_slot *slot = &s->slot[i];

		if (slot->b && !slot->revoked && slot->b->session == session &&
		    lowest(slot->b) <= number && number <= slot->b->number)
			return slot;
	}
	return NULL;
}

/* The slot is emptied before the drop: after it another thread may own the
 * block already. */
void
shelf_empty(struct shelf *s, struct shelf_slot *slot)
{
	struct block *b = slot->b;

	if (!slot->revoked)
		held_add(s, -1);
	slot->b = NULL;
	block_drop(b);
}

static bool
has_use(const struct shelf *s, const struct block *b)
{
	for (const struct tap *t = s->taps; t; t = t->next) {
		if (is_wanted(t, b))
			return true;
	}
	return false;
}

void
shelf_sweep(struct shelf *s)
{
	for (unsigned i = 0; i < s->most; i++) {
		struct shelf_slot *slot = &s->slot[i];

		if (slot->b && !slot->reads && !has_use(s, slot->b))
			shelf_empty(s, slot);
	}
}

/* Revokes a block that is being read.  Its readers are told, and keep it until
 * they put it. */
static void
read_revoke(struct shelf *s, struct shelf_slot *slot)
{
	size_t i = (size_t)(slot - s->slot);

	slot->revoked = true;
	held_add(s, -1);
	for (struct tap *t = s->taps; t; t = t->next) {
		if (!t->read[i])
			continue;
		t->revoked++;
		atomic_fetch_add_explicit(&t->wanted, t->read[i],
					  memory_order_relaxed);
		tap_poke(t);
	}
}

static void
slot_revoke(struct shelf *s, struct shelf_slot *slot)
{
	if (slot->reads) {
		read_revoke(s, slot);
		return;
	}
	for (struct tap *t = s->taps; t; t = t->next)
		t->revoked += is_wanted(t, slot->b);
	shelf_empty(s, slot);
}

/* Finds an empty slot, or frees that of the oldest block that nobody reads.
 * NULL: all are being read. */
static struct shelf_slot *
slot_get(struct shelf *s)
{
	struct shelf_slot *oldest = NULL;

	for (unsigned i = 0; i < s->most; i++) {
		struct shelf_slot *slot = &s->slot[i];

		if (!slot->b)
			return slot;
		if (!slot->reads && (!oldest || slot->since < oldest->since))
			oldest = slot;
	}
	if (oldest)
		slot_revoke(s, oldest);
	return oldest;
}

void
shelf_show(const struct tap *t, struct block *b)
{
	struct index_record r;

	if (b->shown)
		return;
	r = block_record(t->of.format, t->of.shape, b);
	map_show(t->map, t->shown_as, b, &r);
}

/* Shows the block to live readers, also where the shelf has no room for it: the
 * writer still holds it for a while. */
static void
show(const struct shelf *s, struct block *b)
{
	for (const struct tap *t = s->taps; t; t = t->next) {
		if (t->map && is_wanted(t, b))
			shelf_show(t, b);
	}
}

static void
put(struct shelf *s, struct block *b)
{
	struct shelf_slot *slot =
	    b->home && !stock_plenty(b->home) ? NULL : slot_get(s);

	for (struct tap *t = s->taps; t; t = t->next) {
		if (!is_wanted(t, b))
			continue;
		t->skipped += !slot;
		if (t->end <= b->number)
			t->end = b->number + 1;
		if (slot)
			tap_poke(t);
	}
	if (!slot)
		return;
	block_hold(b);
	*slot = (struct shelf_slot){ .b = b, .since = s->turn++ };
	held_add(s, 1);
}

/* ---- for all ---------------------------------------------------------- */

void
shelf_revoke(struct shelf *s)
{
	pthread_mutex_lock(&s->lock);
	for (unsigned i = 0; i < s->most; i++) {
		if (s->slot[i].b && !s->slot[i].revoked)
			slot_revoke(s, &s->slot[i]);
	}
	pthread_mutex_unlock(&s->lock);
}

void
shelf_offer(struct shelf *s, struct block *b)
{
	pthread_mutex_lock(&s->lock);
	if (has_use(s, b)) {
		show(s, b);
		put(s, b);
	}
	pthread_mutex_unlock(&s->lock);
}
