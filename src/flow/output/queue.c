/* SPDX-License-Identifier: MIT */
/*
 * Two lists under one lock.  With one condition variable for all disks the
 * kernel would wake any of them, and a disk could get two blocks in a row while
 * another idles; so every taker sleeps on a condition of its own, and a block
 * is handed to the one that the choice falls on.
 *
 * The lock is taken once per block, some hundred times a second at most.
 */
#include "flow/output/queue.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "flow/memory/block_pool.h"

/* A session whose blocks a disk refuses. */
struct refusal {
	const void *session;
	int64_t until; /* steady ns */
};

enum { REFUSALS = 16 };

struct taker {
	struct queue *queue;
	pthread_cond_t wake;

	/* Under queue::lock. */
	struct disk_choice choice;
	/* Handed to this disk, not yet fetched by its thread. */
	struct block *got;
	bool waiting;	    /* linked in queue::free */
	bool poked;	    /* the next wait returns -EINTR */
	struct taker *next; /* linked in queue::free */
	struct taker *peer; /* linked in queue::joined */
	struct refusal refusal[REFUSALS];
	unsigned refusals;
	unsigned disk;
};

struct queue {
	pthread_mutex_t lock;
	/* All fields below are under the lock. */
	/* Blocks that wait for a disk, oldest first. */
	struct block *head, **tail;
	/* Disks that wait for a block, longest wait first. */
	struct taker *free, **last;
	struct taker *joined; /* all disks */
	struct disk_choices choices;
	unsigned length, most; /* without parity */
	unsigned refusals;     /* of all disks that joined */
	bool ended;	       /* by queue_drain */
};

int
queue_make(struct queue **queue, unsigned most)
{
	struct queue *q = calloc(1, sizeof *q);

	if (!q)
		return -ENOMEM;
	pthread_mutex_init(&q->lock, NULL);
	q->tail = &q->head;
	q->last = &q->free;
	q->most = most;
	*queue = q;
	return 0;
}

void
queue_free(struct queue *q)
{
	if (!q)
		return;
	pthread_mutex_destroy(&q->lock);
	free(q);
}

int
taker_join(struct taker **taker, struct queue *q, unsigned disk)
{
	struct taker *t = calloc(1, sizeof *t);
	pthread_condattr_t attr;

	if (!t)
		return -ENOMEM;
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&t->wake, &attr);
	pthread_condattr_destroy(&attr);
	t->queue = q;
	t->disk = disk;
	pthread_mutex_lock(&q->lock);
	t->peer = q->joined;
	q->joined = t;
	disk_choice_join(&q->choices, &t->choice);
	pthread_mutex_unlock(&q->lock);
	*taker = t;
	return 0;
}

/* Takes the block at this place of the list. */
static struct block *
block_take(struct queue *q, struct block **at)
{
	struct block *b = *at;

	*at = b->next;
	if (!b->next)
		q->tail = at;
	b->next = NULL;
	q->length -= !b->parity;
	return b;
}

static void
block_push(struct queue *q, struct block *b, bool first)
{
	b->next = first ? q->head : NULL;
	if (first) {
		q->head = b;
		if (!b->next)
			q->tail = &b->next;
	} else {
		*q->tail = b;
		q->tail = &b->next;
	}
	q->length += !b->parity;
}

static void
taker_push(struct queue *q, struct taker *t)
{
	t->next = NULL;
	t->waiting = true;
	*q->last = t;
	q->last = &t->next;
}

static void
taker_unlink(struct queue *q, struct taker *t)
{
	struct taker **at;

	for (at = &q->free; *at != t; at = &(*at)->next)
		;
	*at = t->next;
	if (!t->next)
		q->last = at;
	t->waiting = false;
}

/* ---- the choice ------------------------------------------------------ */

static struct disk_choice_block
as_choice(const struct block *b)
{
	struct disk_choice_block c = { .now = clock_steady() };

	/* A block of heaps knows its bytes only once it is sealed; this is the
	 * most. */
	c.bytes = (uint64_t)(b->notes ? b->slots : b->used) * b->slot_bytes;
	c.tight =
	    b->pool && !b->parity &&
	    block_pool_free_blocks(b->pool) < block_pool_blocks(b->pool) / 4;
	return c;
}

static struct refusal *
refusal_of(struct taker *t, const void *session)
{
	for (unsigned i = 0; i < t->refusals; i++) {
		if (t->refusal[i].session == session)
			return &t->refusal[i];
	}
	return NULL;
}

enum { REFUSED = 3 };

/* Returns 0 if a disk is fit for a block, 1 if it has a member of the block's
 * parity group, 2 if it was given parity of the group; REFUSED: it may not have
 * it. */
static unsigned
unfitness(struct taker *t, const struct block *b)
{
	const struct refusal *r = refusal_of(t, b->session);

	if (r && clock_steady() < r->until)
		return REFUSED;
	if (!b->parity)
		return 0;
	if (block_bars_has(&b->parity->rows, t->disk))
		return 2;
	return block_bars_has(&b->parity->bars, t->disk);
}

/* True if this disk may have the block: no other disk is more fit. */
static bool
may_have(const struct queue *q, struct taker *t, const struct block *b)
{
	unsigned own = unfitness(t, b);

	for (struct taker *o = q->joined; own && o; o = o->peer) {
		if (unfitness(o, b) < own)
			return false;
	}
	return own != REFUSED;
}

/* True if some disk does not refuse the block; without `benched`, one that is not
 * benched as slow. */
static bool
any_admits(const struct queue *q, const struct block *b, bool benched)
{
	struct taker *t = q->joined;

	while (t &&
	       ((t->choice.benched && !benched) || unfitness(t, b) == REFUSED))
		t = t->peer;
	return t;
}

/* True if blocks of data wait whose memory becomes short; then they go before
 * parity.  Blocks that all disks refuse do not count. */
static bool
data_first(const struct queue *q)
{
	const struct block *b = q->head;

	while (b && (b->parity || (q->refusals && !any_admits(q, b, true))))
		b = b->next;
	return b && as_choice(b).tight;
}

/* True if the disk is fit for a block.  Once the queue is closed, every disk
 * is. */
static bool
is_fit(const struct queue *q, struct taker *t, const struct block *b,
       const struct disk_choice_block *c)
{
	if (!may_have(q, t, b))
		return false;
	if (q->ended || disk_choice_fit(&q->choices, &t->choice, c))
		return true;
	/* A benched disk takes what all others refuse. */
	return q->refusals && !any_admits(q, b, false);
}

/* Returns the waiting disk that gets block `b`; NULL: none is fit. */
static struct taker *
taker_best(struct queue *q, const struct block *b,
	   const struct disk_choice_block *c)
{
	struct taker *best = NULL;

	for (struct taker *t = q->free; t; t = t->next) {
		if (!is_fit(q, t, b, c))
			continue;
		if (!best || disk_choice_better(&t->choice, &best->choice, c))
			best = t;
	}
	return best;
}

/* Takes the block at this place of the list for a disk. */
static struct block *
block_serve(struct queue *q, struct block **at, struct taker *t,
	    const struct disk_choice_block *c)
{
	struct block *b = block_take(q, at);

	disk_choice_serve(&q->choices, &t->choice, c);
	if (b->parity)
		block_bars_add(&b->parity->rows, t->disk);
	return b;
}

/* Hands blocks to waiting disks until one of both lists is empty or no disk is
 * fit.  Parity is passed by, and blocks that a disk refuses; all others are
 * alike. */
static void
blocks_deal(struct queue *q)
{
	struct block **at = &q->head;
	bool data = data_first(q);

	while (*at && q->free) {
		struct disk_choice_block c = as_choice(*at);
		struct taker *t =
		    data && (*at)->parity ? NULL : taker_best(q, *at, &c);

		if (!t && !(*at)->parity && !q->refusals)
			return;
		if (t) {
			taker_unlink(q, t);
			t->got = block_serve(q, at, t, &c);
			pthread_cond_signal(&t->wake);
		} else {
			at = &(*at)->next;
		}
	}
}

/* Hands a block to a disk that does not wait.  Disks that wait were offered it
 * before, and none was fit. */
static struct block *
block_for(struct queue *q, struct taker *t)
{
	struct block **at = &q->head;
	struct disk_choice_block c;
	bool data = data_first(q);

	while (*at && ((data && (*at)->parity) || !may_have(q, t, *at)))
		at = &(*at)->next;
	if (!*at)
		return NULL;
	c = as_choice(*at);
	return is_fit(q, t, *at, &c) ? block_serve(q, at, t, &c) : NULL;
}

void
taker_leave(struct taker *t)
{
	struct queue *q = t->queue;
	struct taker **at;

	pthread_mutex_lock(&q->lock);
	for (at = &q->joined; *at != t; at = &(*at)->peer)
		;
	*at = t->peer;
	q->refusals -= t->refusals;
	disk_choice_leave(&q->choices, &t->choice);
	blocks_deal(q); /* a benched disk may be needed now */
	pthread_mutex_unlock(&q->lock);
	pthread_cond_destroy(&t->wake);
	free(t);
}

bool
taker_report(struct taker *t, const struct disk_figures *figures)
{
	struct queue *q = t->queue;
	int64_t now = clock_steady();
	bool benched;

	pthread_mutex_lock(&q->lock);
	if (disk_choice_report(&q->choices, &t->choice, figures, now))
		blocks_deal(q); /* another disk may be fit now */
	benched = t->choice.benched;
	pthread_mutex_unlock(&q->lock);
	return benched;
}

int
taker_refuse(struct taker *t, const void *session, int64_t until)
{
	struct queue *q = t->queue;
	struct refusal *r;
	int err = 0;

	pthread_mutex_lock(&q->lock);
	r = refusal_of(t, session);
	if (!r && t->refusals < REFUSALS) {
		r = &t->refusal[t->refusals++];
		r->session = session;
		q->refusals++;
	}
	if (r)
		r->until = until;
	else
		err = -ENOBUFS;
	blocks_deal(q); /* others may have them now */
	pthread_mutex_unlock(&q->lock);
	return err;
}

void
taker_admit(struct taker *t, const void *session)
{
	struct queue *q = t->queue;
	struct refusal *r;

	pthread_mutex_lock(&q->lock);
	r = refusal_of(t, session);
	if (r) {
		*r = t->refusal[--t->refusals];
		q->refusals--;
	}
	pthread_mutex_unlock(&q->lock);
}

bool
queue_serves(struct queue *q, const void *session)
{
	struct taker *t;
	bool serves;

	pthread_mutex_lock(&q->lock);
	for (t = q->joined; t && refusal_of(t, session); t = t->peer)
		;
	serves = t != NULL;
	pthread_mutex_unlock(&q->lock);
	return serves;
}

/* ---- blocks ---------------------------------------------------------- */

int
queue_put(struct queue *q, struct block *b)
{
	int err = 0;

	pthread_mutex_lock(&q->lock);
	if (q->ended) {
		err = -EPIPE;
	} else if (q->length == q->most) {
		err = -ENOBUFS;
	} else {
		block_push(q, b, false);
		blocks_deal(q);
	}
	pthread_mutex_unlock(&q->lock);
	return err;
}

void
queue_return(struct queue *q, struct block *b)
{
	pthread_mutex_lock(&q->lock);
	block_push(q, b, true);
	blocks_deal(q);
	pthread_mutex_unlock(&q->lock);
}

void
queue_put_parity(struct queue *q, struct block *const *b, unsigned n)
{
	pthread_mutex_lock(&q->lock);
	for (unsigned i = n; i--;)
		block_push(q, b[i], true);
	blocks_deal(q);
	pthread_mutex_unlock(&q->lock);
}

unsigned
queue_disks(struct queue *q, struct block_bars *disks)
{
	unsigned n = 0;

	*disks = (struct block_bars){ 0 };
	pthread_mutex_lock(&q->lock);
	for (const struct taker *t = q->joined; t; t = t->peer) {
		if (t->choice.benched)
			continue;
		block_bars_add(disks, t->disk);
		n++;
	}
	pthread_mutex_unlock(&q->lock);
	return n;
}

static int
wait_until(struct taker *t, int64_t until)
{
	struct timespec at = { .tv_sec = until / 1000000000,
			       .tv_nsec = until % 1000000000 };

	return -pthread_cond_timedwait(&t->wake, &t->queue->lock, &at);
}

/* Takes a block without waiting.  0, -EINTR, -EPIPE, or -EAGAIN: none now.
 * Caller holds the lock. */
static int
take_now(struct taker *t, struct block **b)
{
	struct queue *q = t->queue;

	*b = t->got ? t->got : t->waiting ? NULL : block_for(q, t);
	t->got = NULL;
	if (*b)
		return 0;
	if (t->poked) {
		t->poked = false;
		return -EINTR;
	}
	return q->ended ? -EPIPE : -EAGAIN;
}

int
queue_take(struct taker *t, struct block **b, int64_t until)
{
	struct queue *q = t->queue;
	bool late = until == 0;
	int err;

	pthread_mutex_lock(&q->lock);
	while ((err = take_now(t, b)) == -EAGAIN && !late) {
		if (!t->waiting)
			taker_push(q, t);
		late = wait_until(t, until) == -ETIMEDOUT;
	}
	if (t->waiting)
		taker_unlink(q, t);
	pthread_mutex_unlock(&q->lock);
	return err == -EAGAIN ? -ETIMEDOUT : err;
}

void
taker_poke(struct taker *t)
{
	pthread_mutex_lock(&t->queue->lock);
	t->poked = true;
	pthread_cond_signal(&t->wake);
	pthread_mutex_unlock(&t->queue->lock);
}

void
queue_poke(struct queue *q)
{
	pthread_mutex_lock(&q->lock);
	for (struct taker *t = q->free; t; t = t->next) {
		t->poked = true;
		pthread_cond_signal(&t->wake);
	}
	pthread_mutex_unlock(&q->lock);
}

struct block *
queue_rest(struct queue *q, const void *session)
{
	struct block **at = &q->head, *b;

	pthread_mutex_lock(&q->lock);
	while (*at && (*at)->session != session)
		at = &(*at)->next;
	b = *at ? block_take(q, at) : NULL;
	pthread_mutex_unlock(&q->lock);
	return b;
}

void
queue_drain(struct queue *q)
{
	pthread_mutex_lock(&q->lock);
	q->ended = true;
	for (struct taker *t = q->free; t; t = t->next)
		pthread_cond_signal(&t->wake);
	pthread_mutex_unlock(&q->lock);
}

bool
queue_waits(struct queue *q)
{
	bool waits;

	pthread_mutex_lock(&q->lock);
	waits = q->head != NULL;
	pthread_mutex_unlock(&q->lock);
	return waits;
}
