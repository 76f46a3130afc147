/* SPDX-License-Identifier: MIT */
/*
 * What transfers have of a recording's memory: no more than nobody needs, and
 * never what somebody writes.
 */
#include "flow/memory/tap.h"
#include "flow/memory/arena.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>

#include "lib/tapped.h"

static struct tapped bench;

enum { MANY = 4000 };

static void
pass(struct output *o, unsigned n)
{
	while (n--) {
		struct block *b;

		ck_assert(put(&bench, o, 0));
		b = seal(&bench);
		output_written(o, b, 0);
	}
}

static bool
rings(struct tap *t)
{
	struct pollfd p = { .fd = tap_fd(t), .events = POLLIN };

	poll(&p, 1, 0);
	tap_clear(t);
	return p.revents & POLLIN;
}

static struct tap_facts
facts(struct tap *t)
{
	struct tap_facts f;

	tap_facts(t, &f);
	return f;
}

static struct tap *
tap_new(struct output *o)
{
	struct tap *t;

	ck_assert_int_eq(output_tap_open(o, bench.pool, &t), 0);
	return t;
}

START_TEST(a_block_is_read_and_written_at_once)
{
	struct block *b, *r;
	struct tap *t;

	all_open(&bench);
	t = tap_new(bench.output);
	ck_assert(put(&bench, bench.output, 0));
	ck_assert_ptr_null(tap_take(t, 0)); /* it may still be filled */
	ck_assert(!rings(t));
	b = seal(&bench);
	ck_assert(rings(t));
	ck_assert_ptr_eq(tap_take(t, 0), b);
	ck_assert_ptr_null(tap_take(t, 1));
	output_written(bench.output, b, 0);
	ck_assert_uint_eq(block_pool_free_blocks(bench.pool), BLOCKS - 1);
	ck_assert_int_eq(b->state, BLOCK_SEALED);
	tap_pass(t, 1);
	ck_assert_uint_eq(block_pool_free_blocks(bench.pool), BLOCKS - 1);
	tap_put(t, b);
	ck_assert_uint_eq(block_pool_free_blocks(bench.pool), BLOCKS);

	/* The other way round. */
	ck_assert(put(&bench, bench.output, 0));
	b = seal(&bench);
	r = tap_take(t, 1);
	tap_pass(t, 2);
	tap_put(t, r);
	ck_assert_int_eq(b->state, BLOCK_SEALED);
	ck_assert_uint_eq(facts(t).held, 0);
	output_written(bench.output, b, 0);
	ck_assert_uint_eq(block_pool_free_blocks(bench.pool), BLOCKS);
	output_tap_close(bench.output, t);
	all_close(&bench);
}
END_TEST

START_TEST(a_gap_comes_with_its_block)
{
	struct tap *t;
	struct block *b;

	all_open(&bench);
	t = tap_new(bench.output);
	ck_assert(put(&bench, bench.output, 3)); /* 0 is the gap */
	b = seal(&bench);
	ck_assert_ptr_eq(tap_take(t, 0), b);
	tap_put(t, b);
	ck_assert_ptr_eq(tap_take(t, 1), b);
	tap_put(t, b);
	output_written(bench.output, b, 0);
	tap_pass(t, 2);
	output_tap_close(bench.output, t);
	all_close(&bench);
}
END_TEST

/* However many there are, and whoever reads. */
START_TEST(taps_have_a_quarter)
{
	struct tap *t, *u;
	struct block *b[QUARTER];

	all_open(&bench);
	t = tap_new(bench.output);
	u = tap_new(bench.output);
	pass(bench.output, QUARTER);
	ck_assert_uint_eq(block_pool_free_blocks(bench.pool), BLOCKS - QUARTER);
	b[0] = tap_take(t, 0);
	pass(bench.output, 2);
	ck_assert_uint_eq(block_pool_free_blocks(bench.pool), BLOCKS - QUARTER);
	/* The oldest went, but for what is read. */
	ck_assert(!tap_wanted(t));
	ck_assert_ptr_null(tap_take(u, 1));
	ck_assert_ptr_null(tap_take(u, 2));
	ck_assert_uint_eq(facts(u).revoked, 2);
	for (unsigned i = 1; i < QUARTER; i++) {
		b[i] = tap_take(u, i + 2);
		ck_assert_ptr_nonnull(b[i]);
	}
	/* Nothing can go: the new one is not kept. */
	pass(bench.output, 1);
	ck_assert_uint_eq(block_pool_free_blocks(bench.pool), BLOCKS - QUARTER);
	ck_assert_uint_eq(facts(t).skipped, 1);
	tap_put(t, b[0]);
	output_tap_close(bench.output, t);
	for (unsigned i = 1; i < QUARTER; i++)
		tap_put(u, b[i]);
	output_tap_close(bench.output, u);
	all_close(&bench);
}
END_TEST

/* As many as without it. */
START_TEST(the_recorder_gets_all_but_what_is_read)
{
	struct block *r, *taken[BLOCKS];
	struct tap *t;
	unsigned n = 0;

	all_open(&bench);
	t = tap_new(bench.output);
	pass(bench.output, QUARTER);
	r = tap_take(t, 0);
	rings(t);
	ck_assert(!tap_wanted(t));
	while ((taken[n] = block_pool_take(bench.pool, 0))) {
		n++;
		/* In good time. */
		if (!tap_wanted(t))
			ck_assert_uint_gt(block_pool_free_blocks(bench.pool),
					  BLOCK_POOL_EACH);
	}
	ck_assert_uint_eq(n, BLOCKS - 1);
	ck_assert(tap_wanted(t));
	ck_assert(rings(t));
	tap_put(t, r);
	ck_assert(!tap_wanted(t));
	taken[n] = block_pool_take(bench.pool, 0);
	ck_assert_ptr_nonnull(taken[n++]);
	while (n--)
		block_pool_put(taken[n]);
	output_tap_close(bench.output, t);
	all_close(&bench);
}
END_TEST

/* Held until they are durable, without a reader. */
START_TEST(blocks_are_held_until_they_are_durable)
{
	struct index_record r[3] = { { .number = 0 },
				     { .number = 1 },
				     { .number = 2 } };
	struct output *o;
	struct block *b;

	bench.hold = true;
	all_open(&bench);
	o = bench.output;
	pass(o, 3);
	ck_assert_uint_eq(block_pool_free_blocks(bench.pool), BLOCKS - 3);
	output_settle(o, &r[1], 1);
	ck_assert_uint_eq(block_pool_free_blocks(bench.pool), BLOCKS - 2);
	ck_assert_ptr_null(output_rescue(o, &r[1]));
	/* a disk that does not answer: they may still be needed */
	output_risk(o, &r[0]);
	b = output_rescue(o, &r[0]);
	ck_assert_ptr_nonnull(b);
	ck_assert(data_is(b->data, 0, SLOTS));
	ck_assert_uint_eq(o->in_flight, 1);
	output_unrisk(o, &r[0]);
	output_forget(o, &r[0]);
	output_written(o, b, 0);
	output_settle(o, &r[0], 1);
	ck_assert_uint_eq(block_pool_free_blocks(bench.pool), BLOCKS - 1);
	ck_assert_uint_eq(o->in_flight, 0);
	/* one that was lost for good is not held either */
	ck_assert(put(&bench, o, 0));
	output_lost(o, seal(&bench));
	ck_assert_uint_eq(block_pool_free_blocks(bench.pool), BLOCKS - 1);
	output_hold_end(o);
	ck_assert_ptr_null(output_rescue(o, &r[2]));
	pass(o, 1);
	ck_assert_uint_eq(block_pool_free_blocks(bench.pool), BLOCKS);
	all_close(&bench);
	bench.hold = false;
}
END_TEST

/* A reader and the recording hold a block once, and each for its own time. */
START_TEST(a_held_block_is_read_too)
{
	struct index_record r = { .number = 0 };
	struct block *b;
	struct tap *t;

	bench.hold = true;
	all_open(&bench);
	t = tap_new(bench.output);
	pass(bench.output, 1);
	b = tap_take(t, 0);
	output_settle(bench.output, &r, 1);
	ck_assert_ptr_null(output_rescue(bench.output, &r));
	tap_put(t, b);
	ck_assert_ptr_eq(tap_take(t, 0), b);
	tap_put(t, b);
	tap_pass(t, 1);
	ck_assert_uint_eq(block_pool_free_blocks(bench.pool), BLOCKS);
	pass(bench.output, 1);
	tap_pass(t, 2);
	ck_assert_uint_eq(block_pool_free_blocks(bench.pool), BLOCKS - 1);
	output_tap_close(bench.output, t);
	output_hold_end(bench.output);
	all_close(&bench);
	bench.hold = false;
}
END_TEST

/* The recorder gets all of them when it needs them. */
START_TEST(held_blocks_are_given_back)
{
	struct block *taken[BLOCKS];
	unsigned n = 0;

	bench.hold = true;
	all_open(&bench);
	pass(bench.output, 2 * QUARTER);
	ck_assert_uint_eq(block_pool_free_blocks(bench.pool), BLOCKS - QUARTER);
	while (n < BLOCKS && (taken[n] = block_pool_take(bench.pool, 0)))
		n++;
	ck_assert_uint_eq(n, BLOCKS);
	while (n--)
		block_pool_put(taken[n]);
	all_close(&bench);
	bench.hold = false;
}
END_TEST

/* What would make it short is not even kept. */
START_TEST(nothing_is_kept_while_it_is_short)
{
	struct block *taken[BLOCKS], *b;
	struct tap *t;
	unsigned n = 0;

	all_open(&bench);
	t = tap_new(bench.output);
	ck_assert(put(&bench, bench.output, 0));
	while (block_pool_plenty(bench.pool))
		taken[n++] = block_pool_take(bench.pool, 0);
	b = seal(&bench);
	ck_assert_uint_eq(facts(t).held, 0);
	ck_assert_uint_eq(facts(t).skipped, 1);
	output_written(bench.output, b, 0);
	while (n--)
		block_pool_put(taken[n]);
	output_tap_close(bench.output, t);
	all_close(&bench);
}
END_TEST

/* A disk that hangs keeps its hold, another one writes the block. */
START_TEST(a_block_is_given_to_another_disk)
{
	struct tap *t;
	struct block *b, *again;

	all_open(&bench);
	t = tap_new(bench.output);
	ck_assert(put(&bench, bench.output, 0));
	b = seal(&bench);
	block_hold(b);
	queue_return(bench.queue, b);
	ck_assert_ptr_eq(tap_take(t, 0), b);
	again = seal(&bench);
	ck_assert_ptr_eq(again, b);
	ck_assert_uint_eq(facts(t).held, 1);
	output_written(bench.output, again, 0);
	tap_pass(t, 1);
	tap_put(t, b);
	ck_assert_uint_eq(block_pool_free_blocks(bench.pool), BLOCKS - 1);
	block_drop(b); /* the first is back */
	output_tap_close(bench.output, t);
	all_close(&bench);
}
END_TEST

/* Recording, pool and receiver are gone; the tap is not. */
START_TEST(a_tap_outlives_the_rest)
{
	struct tap *t;
	struct block *b;

	all_open(&bench);
	t = tap_new(bench.output);
	ck_assert(put(&bench, bench.output, 0));
	output_written(bench.output, seal(&bench), 0);
	b = tap_take(t, 0);
	output_end(bench.output);
	output_drop(bench.output);
	queue_close(&bench);
	block_pool_return(bench.pool);
	ck_assert(data_is(b->data, b->first, SLOTS));
	tap_put(t, b);
	tap_pass(t, 1);
	ck_assert_uint_eq(arena_facts(bench.arena).borrowed, 0);
	output_tap_close(bench.output, t);
	arena_free(bench.arena);
}
END_TEST

/* Two parts of a stream have their blocks of one pool. */
START_TEST(outputs_are_told_apart)
{
	struct output *other;
	struct tap *t;

	all_open(&bench);
	other = output_new(&bench);
	t = tap_new(bench.output);
	pass(other, 1);
	ck_assert_ptr_null(tap_take(t, 0));
	ck_assert(!rings(t));
	ck_assert_uint_eq(block_pool_free_blocks(bench.pool), BLOCKS);
	output_tap_close(bench.output, t);
	output_drop(other);
	all_close(&bench);
}
END_TEST

START_TEST(it_is_known_what_is_settled)
{
	struct index_record r = { .kind = INDEX_BLOCK };
	struct tap *t;
	uint64_t end;

	all_open(&bench);
	t = tap_new(bench.output);
	for (unsigned i = 0; i < 4; i++)
		ck_assert(put(&bench, bench.output, i == 3)); /* 3 is a gap */
	ck_assert_uint_eq(output_settled(bench.output, 0), 0);
	rings(t);
	output_written(bench.output, seal(&bench), 0);
	ck_assert_uint_eq(output_settled(bench.output, 0), 0);
	ck_assert(rings(t));
	output_settle(bench.output, &r, 1);
	ck_assert(rings(t));
	ck_assert_uint_eq(output_settled(bench.output, 0), 1);
	output_written(bench.output, seal(&bench), 0);
	output_written(bench.output, seal(&bench), 0);
	output_lost(bench.output, seal(&bench));
	ck_assert_uint_eq(output_settled(bench.output, 0), 1);
	ck_assert_uint_eq(output_settled(bench.output, 1), 1);
	ck_assert_uint_eq(output_settled(bench.output, 3), 5);
	r.number = 2;
	output_unwrite(bench.output, &r);
	ck_assert_uint_eq(output_settled(bench.output, 2), 5);
	r.number = 1;
	output_risk(bench.output, &r);
	output_unrisk(bench.output, &r);
	ck_assert_uint_eq(output_settled(bench.output, 0), 5);
	ck_assert(!output_over(bench.output, &end));
	ck_assert_uint_eq(end, 5);
	rings(t);
	output_end(bench.output);
	ck_assert(rings(t));
	ck_assert(output_over(bench.output, &end));
	output_tap_close(bench.output, t);
	all_close(&bench);
}
END_TEST

/* ---- all at once ------------------------------------------------------ */

struct reader {
	struct tap *tap;
	bool idle; /* keeps what it reads until that is wanted */
	unsigned blocks;
};

static void
check(const struct block *b)
{
	ck_assert(data_is(b->data, SLOTS * b->number, SLOTS));
}

static void *
read_all(void *arg)
{
	struct reader *r = arg;
	uint64_t number = 0, end = 0;

	while (!output_over(bench.output, &end) || number < end) {
		struct block *b = tap_take(r->tap, number);

		if (!b) {
			/* It may never have been here. */
			number += number < end;
			sched_yield();
			continue;
		}
		check(b);
		while (r->idle && !tap_wanted(r->tap) &&
		       !output_over(bench.output, &end))
			sched_yield();
		check(b);
		tap_pass(r->tap, ++number);
		tap_put(r->tap, b);
		r->blocks++;
	}
	return NULL;
}

static void *
write_all(void *arg)
{
	struct block *b;
	int err;

	while ((err = queue_take(arg, &b, INT64_MAX)) != -EPIPE) {
		struct index_record r = { 0 };

		if (err)
			continue;
		output_seal(bench.output, b);
		check(b);
		r.number = b->number;
		output_written(bench.output, b, 0);
		output_settle(bench.output, &r, 1);
	}
	return NULL;
}

/* No block is written to, nor taken by the recorder, while somebody reads it;
 * and the recorder goes on, whatever readers do. */
START_TEST(many_threads)
{
	struct reader reader[3] = { { .idle = true }, { 0 }, { 0 } };
	pthread_t thread[3], writer[2];
	struct taker *other;

	all_open(&bench);
	ck_assert_int_eq(taker_join(&other, bench.queue, 0), 0);
	for (unsigned i = 0; i < 3; i++)
		reader[i].tap = tap_new(bench.output);
	pthread_create(&writer[0], NULL, write_all, bench.taker);
	pthread_create(&writer[1], NULL, write_all, other);
	for (unsigned i = 0; i < 3; i++)
		pthread_create(&thread[i], NULL, read_all, &reader[i]);
	for (unsigned i = 0; i < MANY;) {
		if (put(&bench, bench.output, 0))
			i++;
		else
			sched_yield();
	}
	queue_drain(bench.queue);
	for (unsigned i = 0; i < 2; i++)
		pthread_join(writer[i], NULL);
	output_end(bench.output);
	for (unsigned i = 0; i < 3; i++) {
		pthread_join(thread[i], NULL);
		ck_assert_uint_gt(reader[i].blocks, 0);
		output_tap_close(bench.output, reader[i].tap);
	}
	ck_assert_uint_eq(output_settled(bench.output, 0), MANY);
	taker_leave(other);
	all_close(&bench);
}
END_TEST

SUITE_THREADS("tap", NULL, a_block_is_read_and_written_at_once,
	      a_gap_comes_with_its_block, taps_have_a_quarter,
	      blocks_are_held_until_they_are_durable, a_held_block_is_read_too,
	      held_blocks_are_given_back,
	      the_recorder_gets_all_but_what_is_read,
	      nothing_is_kept_while_it_is_short,
	      a_block_is_given_to_another_disk, a_tap_outlives_the_rest,
	      outputs_are_told_apart, it_is_known_what_is_settled, many_threads)
