/* SPDX-License-Identifier: MIT */
/*
 * Several threads, one window.
 *
 * Nearly every packet has a slot in a block that is open already.  For those,
 * threads need nothing from each other: the thread that sets the presence bit
 * of a slot owns its bytes, and copies its packet there.  It holds the gate for
 * reading meanwhile: while any reader is inside, the window stays where it is
 * and no block leaves it.  A thread adds its sums to the blocks when it leaves
 * the gate, once per batch.
 *
 * All else is rare: the first packet of a block, one that moves the window, a
 * run that may begin, a duplicate that may be an echo, age, the end.  It is
 * left to slots.c, which knows nothing of threads, and is called with the gate
 * held for writing, when no other thread is inside.  So slots.c finds all sums
 * complete, and may close any block.
 *
 *   batch -> [read: slots, by bit and copy] -> [write: what is left]
 *
 * Adding up by atomics was rejected: a block that is closed while other threads
 * copy into it is neither full nor empty, and all that slots.c knows about its
 * blocks would become a guess.  The wait at the gate is one batch of the other
 * threads, once per block.
 */
#include "flow/slots/shared_priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "flow/place/learn.h"

/* ns; clock readings of threads differ by less. */
#define STEP INT64_C(20000000)

int
shared_check(const struct format_shape *shape, uint32_t slots, unsigned threads,
	     char *why, uint32_t why_bytes)
{
	const char *text = NULL;

	if (shape->store != HEAP_NONE)
		text = "heaps cannot be put together by several threads; "
		       "leave `rings` out";
	else if (shape->sequence == SEQUENCE_ARRIVAL)
		text = "packets without a sequence cannot be put in order by "
		       "several threads; set `sequence`, or leave `rings` out";
	else if (learn_needed(shape))
		text = "several threads cannot learn together; set `fps` and "
		       "`threads` of the stream, or leave `rings` out";
	else if (slots < SHARED_SLOTS * threads)
		text = "a block holds too few packets for so many threads; "
		       "make `block` larger, or `rings` less";
	if (text)
		snprintf(why, why_bytes, "%s", text);
	return text ? -EINVAL : 0;
}

static unsigned
shared_aim(struct place *place, const struct aim *aim,
	   struct receive_pair *pair, unsigned n)
{
	struct handle *h = (struct handle *)place;

	(void)aim;
	for (unsigned i = 0; i < n; i++) {
		pair[i].prefix = scratch_prefix(h->scratch, i);
		pair[i].payload = scratch_slot(h->scratch, i);
		pair[i].prefix_bytes = h->scratch->prefix_bytes;
		pair[i].payload_bytes = h->scratch->slot_bytes;
	}
	return n;
}

/* Keeps one UTC offset for all threads.  It changes only if UTC is stepped:
 * then the newest pass of any thread sets it. */
static void
arrival_follow(struct shared *s, int64_t now_ns, int64_t now)
{
	int64_t by = now_ns - now - s->arrival.offset;

	if (s->arrival.known && (now <= s->looked || (by > -STEP && by < STEP)))
		return;
	arrival_set(&s->arrival, now_ns, now, 0);
	s->looked = now;
}

static void
batch_start(struct handle *h, int64_t now_ns, int64_t now)
{
	struct shared *s = h->shared;

	h->now_ns = now_ns;
	h->now = now;
	h->starved = false;
	pthread_mutex_lock(&s->lock);
	arrival_follow(s, now_ns, now);
	h->arrival = s->arrival;
	h->thread = pthread_self();
	h->begun = true;
	pthread_mutex_unlock(&s->lock);
}

static void
shared_batch(struct place *place, struct aim *aim,
	     const struct receive_packet *packet, unsigned n, int64_t now_ns,
	     int64_t now)
{
	struct handle *h = (struct handle *)place;
	unsigned i = 0;

	h->aim = aim;
	batch_start(h, now_ns, now);
	while (i < n) {
		i += shared_put(h, packet + i, n - i);
		if (h->lefts || h->placed)
			shared_give(h);
	}
	shared_pass(h, n ? packet_at(h, &packet[n - 1]) : now - SHARED_SILENCE);
}

static void
shared_age(struct place *place, int64_t now)
{
	struct handle *h = (struct handle *)place;
	struct shared *s = h->shared;

	pthread_rwlock_wrlock(&s->gate);
	place_age(&s->slots->base, now);
	shared_counts(h);
	pthread_rwlock_unlock(&s->gate);
}

static void
shared_flush(struct place *place)
{
	struct handle *h = (struct handle *)place;
	struct shared *s = h->shared;
	bool last;

	pthread_mutex_lock(&s->lock);
	last = ++s->flushed == s->threads;
	pthread_mutex_unlock(&s->lock);
	shared_pass(h, SHARED_NEVER);
	if (!last)
		return;
	pthread_rwlock_wrlock(&s->gate);
	place_flush(&s->slots->base);
	shared_counts(h);
	pthread_rwlock_unlock(&s->gate);
}

static void
all_free(struct shared *s)
{
	for (unsigned i = 0; i < s->threads; i++)
		scratch_free(s->handle[i].scratch);
	if (s->slots)
		place_free(&s->slots->base);
	scratch_free(s->scratch);
	pthread_cond_destroy(&s->progress);
	pthread_mutex_destroy(&s->lock);
	pthread_rwlock_destroy(&s->gate);
	free(s);
}

/* The event loop frees all handles; the last one frees the rest. */
static void
shared_free(struct place *place)
{
	struct shared *s = ((struct handle *)place)->shared;

	if (++s->freed == s->threads)
		all_free(s);
}

static const struct place_ops shared_ops = {
	.aim = shared_aim,
	.batch = shared_batch,
	.age = shared_age,
	.flush = shared_flush,
	.free = shared_free,
};

/* Writers come first: a steady flow of readers would otherwise keep them out
 * forever. */
static void
locks_make(struct shared *s)
{
	pthread_rwlockattr_t gate;
	pthread_condattr_t progress;

	pthread_rwlockattr_init(&gate);
	pthread_rwlockattr_setkind_np(
	    &gate, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(&s->gate, &gate);
	pthread_rwlockattr_destroy(&gate);
	pthread_condattr_init(&progress);
	pthread_condattr_setclock(&progress, CLOCK_MONOTONIC);
	pthread_cond_init(&s->progress, &progress);
	pthread_condattr_destroy(&progress);
	pthread_mutex_init(&s->lock, NULL);
}

static int
handles_make(struct shared *s, const struct place_args *args)
{
	int err = 0;

	for (unsigned i = 0; i < s->threads && !err; i++) {
		struct handle *h = &s->handle[i];

		h->base.ops = &shared_ops;
		h->shared = s;
		h->passed = INT64_MIN;
		err = slots_scratch_make(&h->scratch, args);
	}
	return err;
}

int
shared_make(struct place **handle, unsigned threads,
	    const struct place_args *args)
{
	struct shared *s =
	    calloc(1, sizeof *s + threads * sizeof(struct handle));
	struct place_args inner = *args;
	struct place *place;
	int err;

	if (!s)
		return -ENOMEM;
	s->threads = threads;
	s->patience = SHARED_PATIENCE;
	s->turned = s->began = s->newest = INT64_MIN;
	locks_make(s);
	err = handles_make(s, args);
	if (!err)
		err = slots_scratch_make(&s->scratch, args);
	inner.scratch = s->scratch;
	if (!err)
		err = slots_make(&place, &inner);
	if (err) {
		all_free(s);
		return err;
	}
	s->slots = (struct slots *)place;
	/* A checksum under the gate would keep all other threads waiting. */
	s->slots->unsummed = true;
	for (unsigned i = 0; i < threads; i++)
		handle[i] = &s->handle[i].base;
	return 0;
}

void
shared_patience(struct place *handle, int64_t ns)
{
	((struct handle *)handle)->shared->patience = ns;
}
