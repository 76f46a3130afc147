/* SPDX-License-Identifier: MIT */
/* What receivers put comes out again in its order, and no memory stays behind,
 * whichever end goes first. */
#include "flow/source/source_relay.h"
#include "flow/memory/arena.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>

#include "lib/tapped.h"

static struct tapped bench;

enum { MANY = 20000 };

static struct source_relay *relay;
static struct source *source;
static uint64_t lost; /* packets that found no block */

static uint64_t
lost_told(void *arg)
{
	return __atomic_load_n((uint64_t *)arg, __ATOMIC_RELAXED);
}

static void
open_all(void)
{
	struct source_relay_args args = { .format = &fake_format,
					  .shape = &bench.shape,
					  .fill = FILL_ZERO,
					  .start_ns = 7,
					  .dropped = lost_told,
					  .arg = &lost };

	all_open(&bench);
	ck_assert_int_eq(source_relay_make(&relay, &args), 0);
	source = source_relay_source(relay);
}

static bool
is_readable(void)
{
	struct pollfd p = { .fd = source->ops->fd(source), .events = POLLIN };

	return poll(&p, 1, 0) == 1;
}

static void
relay_put(uint64_t gap)
{
	struct block *b = block_new(&bench, gap);

	ck_assert_ptr_nonnull(b);
	source_relay_put(relay, b);
}

static struct parcel
next(void)
{
	struct parcel p;

	ck_assert_int_eq(source_next(source, &p, 0), 0);
	return p;
}

static void
expect_none(int err)
{
	struct parcel p;

	ck_assert_int_eq(source_next(source, &p, 0), err);
}

static struct source_facts
facts(void)
{
	struct source_facts f;

	source->ops->facts(source, &f);
	return f;
}

START_TEST(in_order)
{
	struct source_about about;
	struct parcel p;

	open_all();
	expect_none(-ETIMEDOUT);
	ck_assert_int_eq(source->ops->about(source, &about), -EAGAIN);
	ck_assert(!is_readable());
	relay_put(0);
	ck_assert(is_readable());
	relay_put(5);
	for (uint64_t i = 0; i < 3; i++) {
		p = next();
		ck_assert_uint_eq(p.record.number, i);
		ck_assert_int_eq(p.err, i == 1 ? -ENODATA : 0);
		ck_assert_uint_eq(p.record.first, i * SLOTS - 3 * (i == 2));
		ck_assert_uint_eq(p.offset, p.record.first * BYTES);
		ck_assert_uint_eq(p.bytes, (i == 1 ? 5 : SLOTS) * BYTES);
		if (i != 1)
			ck_assert(data_is(p.data, p.record.first, SLOTS));
		ck_assert_uint_eq(p.record.flags & INDEX_SUMMED, 0);
		source_put(&p);
	}
	ck_assert_int_eq(source->ops->about(source, &about), 0);
	ck_assert_uint_eq(about.shape->payload, BYTES);
	expect_none(-ETIMEDOUT);
	ck_assert(facts().live);
	source_relay_end(relay);
	ck_assert(is_readable());
	expect_none(-ENODATA);
	ck_assert(!facts().live);
	source_relay_drop(relay);
	source_close(source);
	all_close(&bench);
}
END_TEST

START_TEST(what_did_not_come_is_fill)
{
	struct block *b;
	struct parcel p;

	open_all();
	b = block_new(&bench, 0);
	b->present[0] &= ~4ull;
	b->filled--;
	source_relay_put(relay, b);
	p = next();
	ck_assert_uint_eq(p.record.missing, 1);
	ck_assert_uint_eq(p.present[0], b->present[0]);
	for (unsigned i = 0; i < BYTES; i++)
		ck_assert_uint_eq(p.data[2 * BYTES + i], 0);
	ck_assert_uint_eq(p.data[3 * BYTES], byte_of(p.record.first + 3));
	source_put(&p);
	source_relay_drop(relay);
	source_close(source);
	all_close(&bench);
}
END_TEST

/* A peer that is too slow has all of the memory, and no more. */
START_TEST(no_more_than_there_is)
{
	struct block *b;
	struct parcel p;
	unsigned n = 0;

	open_all();
	while ((b = block_new(&bench, 0))) {
		source_relay_put(relay, b);
		n++;
	}
	ck_assert_uint_eq(n, BLOCKS);
	lost = 5;
	ck_assert_uint_eq(facts().dropped, 5);
	p = next();
	source_put(&p);
	p = next();
	ck_assert_uint_eq(block_pool_free_blocks(bench.pool), 1);
	source_put(&p);
	source_relay_drop(relay);
	lost = 7; /* nobody asks any more */
	ck_assert_uint_eq(facts().dropped, 5);
	source_close(source);
	all_close(&bench);
}
END_TEST

START_TEST(the_sender_goes_first)
{
	struct source_relay_facts f;

	open_all();
	relay_put(0);
	relay_put(0);
	source_close(source);
	ck_assert_uint_eq(block_pool_free_blocks(bench.pool), BLOCKS);
	relay_put(0);
	ck_assert_uint_eq(block_pool_free_blocks(bench.pool), BLOCKS);
	source_relay_facts(relay, &f);
	ck_assert_uint_eq(f.unsent, 3 * SLOTS);
	ck_assert_uint_eq(f.waits, 0);
	source_relay_drop(relay);
	all_close(&bench);
}
END_TEST

/* The stream is closed, and its memory given back, while a peer still has to
 * get what came. */
START_TEST(the_stream_goes_first)
{
	struct parcel p;

	open_all();
	relay_put(0);
	relay_put(0);
	source_relay_end(relay);
	source_relay_drop(relay);
	output_drop(bench.output);
	queue_close(&bench);
	block_pool_return(bench.pool);
	for (unsigned i = 0; i < 2; i++) {
		p = next();
		ck_assert(data_is(p.data, p.record.first, SLOTS));
		source_put(&p);
	}
	expect_none(-ENODATA);
	source_close(source);
	ck_assert_uint_eq(arena_facts(bench.arena).borrowed, 0);
	arena_free(bench.arena);
}
END_TEST

START_TEST(one_block_back)
{
	struct parcel p;

	open_all();
	for (unsigned i = 0; i < 3; i++)
		relay_put(0);
	for (unsigned i = 0; i < 2; i++) {
		p = next();
		source_put(&p);
	}
	ck_assert_int_eq(source->ops->seek(source, 0, SLOTS + 3), 0);
	for (unsigned i = 1; i < 3; i++) {
		p = next();
		ck_assert_uint_eq(p.record.number, i);
		ck_assert_uint_eq(p.offset, i * SLOTS * BYTES);
		ck_assert(data_is(p.data, p.record.first, SLOTS));
		source_put(&p);
	}
	/* It was all given: there is nothing ahead to go to. */
	ck_assert_int_eq(source->ops->seek(source, 0, 3 * SLOTS), 0);
	expect_none(-ETIMEDOUT);
	/* What is gone is gone; the rest is given. */
	ck_assert_int_eq(source->ops->seek(source, 0, 0), 0);
	p = next();
	ck_assert_uint_eq(p.record.number, 2);
	source_put(&p);
	source_relay_drop(relay);
	source_close(source);
	all_close(&bench);
}
END_TEST

static void *
send_all(void *arg)
{
	struct pollfd fd = { .fd = source->ops->fd(source), .events = POLLIN };
	struct parcel p, held = { .own = NULL };
	uint64_t first = 0;
	int err = 0;

	while (err != -ENODATA) {
		err = source_next(source, &p, 0);
		if (err == -ETIMEDOUT)
			poll(&fd, 1, 1000);
		if (err)
			continue;
		ck_assert_uint_eq(p.record.first, first);
		ck_assert(data_is(p.data, first, SLOTS));
		first += SLOTS;
		/* A plugin needs it for longer. */
		if (held.own)
			source_put(&held);
		held = p;
	}
	if (held.own)
		source_put(&held);
	source_close(source);
	ck_assert_uint_eq(first, MANY * SLOTS);
	return arg;
}

START_TEST(two_threads)
{
	pthread_t thread;

	open_all();
	pthread_create(&thread, NULL, send_all, NULL);
	for (unsigned i = 0; i < MANY;) {
		struct block *b = block_new(&bench, 0);

		if (b)
			source_relay_put(relay, b);
		else
			sched_yield();
		i += b != NULL;
	}
	source_relay_end(relay);
	source_relay_drop(relay);
	pthread_join(thread, NULL);
	all_close(&bench);
}
END_TEST

SUITE_THREADS("source_relay", NULL, in_order, what_did_not_come_is_fill,
	      no_more_than_there_is, the_sender_goes_first,
	      the_stream_goes_first, one_block_back, two_threads)
