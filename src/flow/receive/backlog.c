/* SPDX-License-Identifier: MIT */
/*
 * Waiting blocks are linked by `next`; the time when each was put stands in a
 * ring beside them.  The ring has as many entries as the pool has blocks, so
 * it is never full.
 *
 * A block's age counts from the moment it was put, which is not before its last
 * packet: rather too much is kept than too little.
 *
 * The pool is for packets that come now.  A substream that has put a block
 * needs one for the next in its window, and one to aim at; while it could not
 * take that many, the oldest blocks go back, whichever substream they are from.
 * So the memory that the stream was given is the limit, whatever `keep` says.
 *
 * The first block that leaves has no gap before it: packets that were lost, or
 * went back, before a recording began are not missing in it.
 */
#include "flow/receive/backlog.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/clock.h"

enum { ROOM = 2 }; /* blocks that a substream must be able to take */

enum backlog_state { WAITING, HELD, OPEN, DROPPED };

struct backlog {
	struct backlog_args a;
	unsigned most; /* blocks that the pool may have */

	pthread_mutex_t lock; /* guards the fields below */
	enum backlog_state state;
	struct block *oldest, **end;
	int64_t *since; /* ring: steady ns when each was put */
	unsigned first, length;
	bool *begun; /* per substream: a block of it went out */
	/* Packets and bytes in blocks that went back. */
	uint64_t packets, bytes;
	int64_t newest;	 /* steady ns when the newest was put */
	int64_t crowded; /* steady ns when the newest block was put that went
			    back for lack of room */
	bool crowds;	 /* `crowded` is set */
	int64_t kept;
};

int
backlog_make(struct backlog **backlog, const struct backlog_args *args)
{
	struct backlog *l = calloc(1, sizeof *l);

	if (!l)
		return -ENOMEM;
	l->a = *args;
	l->kept = args->keep;
	l->most = block_pool_most(args->pool);
	l->end = &l->oldest;
	pthread_mutex_init(&l->lock, NULL);
	l->since = calloc(l->most, sizeof *l->since);
	l->begun = calloc(args->subs ? args->subs : 1, sizeof *l->begun);
	if (!l->since || !l->begun) {
		backlog_free(l);
		return -ENOMEM;
	}
	*backlog = l;
	return 0;
}

/* ---- under the lock --------------------------------------------------- */

static struct block *
oldest_take(struct backlog *l)
{
	struct block *b = l->oldest;

	l->oldest = b->next;
	if (!l->oldest)
		l->end = &l->oldest;
	b->next = NULL;
	l->first = (l->first + 1) % l->most;
	l->length--;
	return b;
}

static void
newest_add(struct backlog *l, struct block *b, int64_t now)
{
	b->next = NULL;
	*l->end = b;
	l->end = &b->next;
	l->since[(l->first + l->length) % l->most] = now;
	l->length++;
}

/* Returns a block unused.  The bytes of heaps are not known before a block is
 * sealed, and not counted. */
static void
go_home(struct backlog *l, struct block *b)
{
	l->packets += b->filled;
	if (!b->notes)
		l->bytes += (uint64_t)b->filled * b->slot_bytes;
	block_seal(b);
	block_drop(b);
}

static void
go_out(struct backlog *l, struct block *b)
{
	if (!l->begun[b->sub])
		b->gap = 0;
	l->begun[b->sub] = true;
	l->a.out(l->a.arg, b);
}

static bool
is_old(const struct backlog *l, int64_t now)
{
	return l->length && now - l->since[l->first] >= l->a.keep;
}

static void
old_go(struct backlog *l, int64_t now)
{
	while (l->state == WAITING && is_old(l, now))
		go_home(l, oldest_take(l));
}

static void
room_make(struct backlog *l, unsigned sub)
{
	while (l->state == WAITING && l->length &&
	       block_pool_room(l->a.pool, sub) < ROOM) {
		l->crowded = l->since[l->first];
		l->crowds = true;
		go_home(l, oldest_take(l));
	}
}

static void
state_set(struct backlog *l, enum backlog_state state)
{
	if (l->state >= state)
		return;
	if (l->state == WAITING && l->crowds &&
	    l->newest - l->crowded < l->kept)
		l->kept = l->newest - l->crowded;
	l->state = state;
	while (l->length && state == OPEN)
		go_out(l, oldest_take(l));
	while (l->length && state == DROPPED)
		go_home(l, oldest_take(l));
}

/* ---- for all ---------------------------------------------------------- */

void
backlog_put(struct backlog *l, struct block *b, int64_t now)
{
	unsigned sub = b->sub;

	pthread_mutex_lock(&l->lock);
	l->newest = now;
	switch (l->state) {
	case OPEN: go_out(l, b); break;
	case DROPPED: go_home(l, b); break;
	default: newest_add(l, b, now); break;
	}
	old_go(l, now);
	room_make(l, sub);
	pthread_mutex_unlock(&l->lock);
}

void
backlog_take(void *backlog, struct block *b)
{
	backlog_put(backlog, b, clock_steady());
}

void
backlog_age(struct backlog *l, int64_t now)
{
	pthread_mutex_lock(&l->lock);
	old_go(l, now);
	pthread_mutex_unlock(&l->lock);
}

static void
state_move(struct backlog *l, enum backlog_state state)
{
	pthread_mutex_lock(&l->lock);
	state_set(l, state);
	pthread_mutex_unlock(&l->lock);
}

void
backlog_hold(struct backlog *l)
{
	state_move(l, HELD);
}

void
backlog_open(struct backlog *l)
{
	state_move(l, OPEN);
}

void
backlog_drop(struct backlog *l)
{
	state_move(l, DROPPED);
}

void
backlog_free(struct backlog *l)
{
	if (!l)
		return;
	while (l->length)
		go_home(l, oldest_take(l));
	pthread_mutex_destroy(&l->lock);
	free(l->since);
	free(l->begun);
	free(l);
}

int64_t
backlog_kept(struct backlog *l)
{
	int64_t kept;

	pthread_mutex_lock(&l->lock);
	kept = l->kept;
	pthread_mutex_unlock(&l->lock);
	return kept;
}

void
backlog_counts(struct backlog *l, struct counts *c)
{
	pthread_mutex_lock(&l->lock);
	c->placed -= l->packets;
	c->bytes -= l->bytes;
	c->drop[DROP_BEFORE_START] += l->packets;
	pthread_mutex_unlock(&l->lock);
}
