/* SPDX-License-Identifier: MIT */
/*
 * What receivers hand on: blocks of many substreams, from several threads,
 * in one row of numbers, and the runs of each substream.
 */
#include "flow/output/output.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "lib/fake_format.h"
#include "flow/memory/arena.h"
#include "flow/memory/block_pool.h"
#include "lib/suite.h"

enum { SUBS = 12, SLOTS = 8, BLOCKS = 64, THREADS = 4, ROUNDS = 2000 };

static struct arena *arena;
static struct block_pool *pool;
static struct queue *queue;
static struct taker *taker;
static struct output *output;
static struct format_shape shape;
static bool whole;    /* what is made of output_args::whole */
static bool protects; /* it has parity, from this pool */
static struct block_pool *parity;

static void
nothing(void *arg)
{
	(void)arg;
}

static void
output_open(unsigned subs)
{
	struct block_pool_args args = {
		.blocks = BLOCKS, .slots = SLOTS, .slot_bytes = 32, .subs = subs
	};
	struct block_pool_args extra = { .blocks = 2,
					 .slots = SLOTS,
					 .slot_bytes = 32,
					 .extra = parity_groups_extra() };
	struct fault fault;
	json_t *head;

	log_level_set(LEVEL_ERROR);
	parity = NULL;
	ck_assert_int_eq(arena_make(&arena, 2 << 20, NULL, &fault), 0);
	ck_assert_int_eq(block_pool_borrow(arena, &pool, &args, &fault), 0);
	if (protects)
		ck_assert_int_eq(
		    block_pool_borrow(arena, &parity, &extra, &fault), 0);
	ck_assert_int_eq(queue_make(&queue, BLOCKS), 0);
	ck_assert_int_eq(taker_join(&taker, queue, 0), 0);
	shape = (struct format_shape){ .payload = 32, .parts = 1 };
	head = json_object();
	ck_assert_int_eq(
	    output_make(&output, &(struct output_args){ .name = "test",
							.head = head,
							.queue = queue,
							.disks = 1,
							.changed = nothing,
							.subs = subs,
							.fill = FILL_ZERO,
							.whole = whole,
							.parity = 1,
							.parity_pool = parity,
							.format = &fake_format,
							.shape = &shape }),
	    0);
	json_decref(head);
}

static void
output_close(void)
{
	ck_assert_uint_eq(block_pool_free_blocks(pool), BLOCKS);
	ck_assert_uint_eq(output->in_flight, 0);
	output_drop(output);
	taker_leave(taker);
	queue_free(queue);
	block_pool_return(pool);
	arena_free(arena);
}

/* A block of `filled` packets, from slot 1 on. */
static void
put(unsigned sub, uint32_t run, uint64_t first, uint32_t filled)
{
	struct block *b = block_pool_take(pool, sub);

	ck_assert_ptr_nonnull(b);
	b->run = run;
	b->base = 1000 * run + sub;
	b->first = first;
	b->used = b->filled = filled;
	b->used++;
	b->present[0] = (1ull << b->used) - 2;
	b->first_ns = b->last_ns = 5;
	block_close(b);
	output_put(output, b);
}

/* Of the block that waits longest; its number. */
static uint64_t
take(bool lost)
{
	struct block *b;
	uint64_t number;

	ck_assert_int_eq(queue_take(taker, &b, 0), 0);
	number = b->number;
	output_seal(output, b);
	if (lost)
		output_lost(output, b);
	else
		output_written(output, b, 0);
	return number;
}

static const struct output_run *
run_of(unsigned sub, uint32_t run)
{
	for (unsigned i = 0; i < output->runs; i++) {
		if (output->run[i].sub == sub && output->run[i].run == run)
			return &output->run[i];
	}
	return NULL;
}

START_TEST(runs_are_each_substreams_own)
{
	output_open(3);
	put(1, 0, 0, 3);
	put(2, 0, 80, 2);
	put(1, 0, 8, 4);
	put(2, 1, 0, 5);
	put(1, 1, 16, 1);
	put(2, 1, 8, 1);
	ck_assert_uint_eq(output->runs, 4);
	ck_assert_uint_eq(run_of(1, 0)->packets, 7);
	ck_assert_uint_eq(run_of(1, 0)->first, 1);
	ck_assert_uint_eq(run_of(1, 0)->last, 12);
	ck_assert_uint_eq(run_of(2, 0)->packets, 2);
	ck_assert_uint_eq(run_of(2, 0)->first, 81);
	ck_assert_uint_eq(run_of(2, 1)->packets, 6);
	ck_assert_uint_eq(run_of(2, 1)->base, 1002);
	ck_assert_uint_eq(run_of(1, 1)->first, 17);
	/* What was lost is taken off the right one. */
	ck_assert_uint_eq(take(true), 0);
	ck_assert_uint_eq(run_of(1, 0)->packets, 4);
	for (unsigned i = 1; i < 6; i++)
		ck_assert_uint_eq(take(i == 3), i);
	ck_assert_uint_eq(run_of(2, 1)->packets, 1);
	ck_assert_uint_eq(run_of(2, 0)->packets, 2);
	output_unwrite(output, &(struct index_record){ .run = 1,
						       .sub = 1,
						       .present = 1,
						       .kind = INDEX_BLOCK });
	ck_assert_uint_eq(run_of(1, 1)->packets, 0);
	ck_assert_uint_eq(run_of(2, 1)->packets, 1);
	output_close();
}
END_TEST

/* One that restarts all the time leaves the others room for their first. */
START_TEST(no_substream_takes_all_the_room)
{
	output_open(SUBS);
	for (uint32_t run = 0; run < OUTPUT_RUNS + 50; run++) {
		put(3, run, 0, 1);
		take(false);
	}
	ck_assert_uint_eq(output->runs, OUTPUT_RUNS + 1);
	for (unsigned sub = 0; sub < SUBS; sub++) {
		put(sub, 9999, 0, 2);
		take(false);
		ck_assert_int_eq(run_of(sub, 9999) != NULL, sub != 3);
	}
	ck_assert_uint_eq(output->packets, OUTPUT_RUNS + 50 + 2 * SUBS);
	output_close();
}
END_TEST

static void *
receiver(void *arg)
{
	unsigned first = (unsigned)(uintptr_t)arg;

	for (uint64_t i = 0; i < ROUNDS; i++) {
		for (unsigned sub = first; sub < SUBS; sub += THREADS) {
			struct block *b;

			while (!(b = block_pool_take(pool, sub)))
				sched_yield();
			b->run = (uint32_t)(i / 500);
			b->first = i % 500 * SLOTS;
			b->gap = i % 3 ? 0 : SLOTS;
			b->used = b->filled = SLOTS;
			b->present[0] = (1ull << SLOTS) - 1;
			block_close(b);
			output_put(output, b);
		}
	}
	return NULL;
}

/* Each number is given once, and none is left out. */
START_TEST(receivers_on_many_threads)
{
	static uint8_t seen[2 * SUBS * ROUNDS];
	pthread_t thread[THREADS];
	uint64_t most = 0, numbers = 0;

	output_open(SUBS);
	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, receiver, (void *)i);
	for (unsigned i = 0; i < SUBS * ROUNDS; i++) {
		struct block *b;
		int err;

		do
			err = queue_take(taker, &b, INT64_MAX);
		while (err == -EINTR);
		ck_assert_int_eq(err, 0);
		ck_assert_uint_lt(b->number, sizeof seen);
		numbers += b->gap ? 2 : 1;
		most = b->number > most ? b->number : most;
		if (seen[b->number]++ || (b->gap && seen[b->number - 1]++))
			ck_abort_msg("a number was given twice");
		output_seal(output, b);
		output_written(output, b, 0);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	ck_assert_uint_eq(most + 1, numbers);
	ck_assert_uint_eq(output->runs, SUBS * ROUNDS / 500);
	for (unsigned i = 0; i < output->runs; i++)
		ck_assert_uint_eq(output->run[i].packets, 500 * SLOTS);
	output_close();
}
END_TEST

/* A writer that hangs reads on when the session, and all that the receiver
 * learned, are gone. */
START_TEST(it_outlives_what_made_it)
{
	static uint32_t thread[] = { 7, 3 };
	struct output *kept;

	output_open(1);
	shape.fps = 400; /* what was learned before the first block */
	shape.threads = thread;
	shape.threads_n = 2;
	put(0, 0, 0, 3);
	memset(thread, 0xff, sizeof thread);
	shape.fps = 1;
	kept = output;
	output_hold(kept);
	take(false);
	output_close();
	ck_assert_str_eq(kept->name, "test");
	ck_assert_uint_eq(kept->shape->fps, 400);
	ck_assert_uint_eq(kept->shape->threads[0], 7);
	ck_assert_uint_eq(kept->shape->threads[1], 3);
	ck_assert_uint_eq(kept->packets, 3);
	output_drop(kept);
}
END_TEST

/* Nobody can tell what a dying disk kept; whatever it turns out to be, each
 * packet is counted once. */
START_TEST(at_risk_and_back)
{
	struct index_record r = { .present = 3,
				  .bytes = 128,
				  .kind = INDEX_BLOCK };

	output_open(1);
	put(0, 0, 0, 3);
	take(false);
	atomic_store(&output->records, 1);
	output_risk(output, &r);
	ck_assert_uint_eq(output->packets, 0);
	ck_assert_uint_eq(output->lost_packets, 3);
	ck_assert_uint_eq(output->risk_packets, 3);
	ck_assert_uint_eq(output->records, 0);
	ck_assert_uint_eq(run_of(0, 0)->packets, 0);
	output_unrisk(output, &r);
	ck_assert_uint_eq(output->packets, 3);
	ck_assert_uint_eq(output->lost_packets, 0);
	ck_assert_uint_eq(output->risk_packets, 0);
	ck_assert_uint_eq(output->records, 1);
	ck_assert_uint_eq(output->chunks, 1);
	ck_assert_uint_eq(output->bytes, 128);
	ck_assert_uint_eq(output->sub[0].lost_packets, 0);
	ck_assert_uint_eq(run_of(0, 0)->packets, 3);
	ck_assert_uint_eq(run_of(0, 0)->missing, 0);
	output_close();
}
END_TEST

/* The disk that told it hangs, and another one has its block now. */
START_TEST(what_a_block_told_is_told_where_it_goes)
{
	const uint8_t is[] = { 1, 2, 3 };
	int one, other;

	output_open(1);
	ck_assert(output_described(output, is, sizeof is, 7, &one));
	ck_assert(!output_described(output, is, sizeof is, 8, &other));
	ck_assert(output_described(output, is, sizeof is, 7, &other));
	ck_assert(!output_described(output, is, sizeof is, 7, &other));
	ck_assert(!output_described(output, is, sizeof is, 9, &one));
	ck_assert_uint_eq(output->described_n, 1);
	output_close();
}
END_TEST

/* A flood of what is worth a line fills no disk with lines. */
START_TEST(so_much_is_told_and_no_more)
{
	unsigned told = 0;

	output_open(1);
	for (uint32_t n = 0; n < 3 * OUTPUT_DESCRIBED; n++) {
		const uint8_t *is = (const uint8_t *)&n;

		ck_assert(output_described(output, is, sizeof n, n, &told) ==
			  (n < OUTPUT_DESCRIBED));
		ck_assert(!output_described(output, is, sizeof n, n, &told));
	}
	while (output_controlled(output) && told <= OUTPUT_CONTROLS)
		told++;
	ck_assert_uint_eq(told, OUTPUT_CONTROLS);
	output_close();
}
END_TEST

/* What only the metadata of a block's disk would say, that with its parity says
 * as well. */
START_TEST(parity_has_the_lines_of_its_members)
{
	struct taker *other, *third;
	struct block *b;

	protects = true;
	output_open(3);
	protects = false;
	ck_assert_int_eq(taker_join(&other, queue, 1), 0);
	ck_assert_int_eq(taker_join(&third, queue, 2), 0);
	put(2, 1, 0, 3);
	ck_assert_int_eq(queue_take(taker, &b, 0), 0);
	output_seal(output, b);
	output_protect(output, b, 0);
	output_written(output, b, 0);
	ck_assert(!output_protect_end(output));
	ck_assert_uint_eq(output->in_flight, 0);
	output_protect_look(output, clock_steady());
	ck_assert(output_protect_end(output));
	ck_assert_uint_eq(output->in_flight, 1);
	ck_assert_int_eq(queue_take(other, &b, 0), 0);
	ck_assert_ptr_nonnull(strstr(b->parity->lines, "\"base\":\"1002\""));
	ck_assert_ptr_nonnull(strstr(b->parity->lines, "\"sub\":2"));
	ck_assert_ptr_nonnull(strstr(b->parity->lines, "\"holes\""));
	output_written(output, b, 1);
	ck_assert_uint_eq(output->parity_blocks, 1);
	taker_leave(other);
	taker_leave(third);
	block_pool_return(parity);
	output_close();
}
END_TEST

/* One that closed early is filled to its last slot, and is no longer. */
START_TEST(blocks_of_one_length)
{
	static const uint8_t zeros[SLOTS * 32];
	struct block *b;

	whole = true;
	output_open(1);
	b = block_pool_take(pool, 0);
	ck_assert_ptr_nonnull(b);
	memset(b->data, 0xee, (size_t)SLOTS * 32);
	b->base = 1000;
	b->used = 4;
	b->filled = 3;
	b->present[0] = 0xd; /* all but slot 1 */
	block_close(b);
	output_put(output, b);
	ck_assert_int_eq(queue_take(taker, &b, 0), 0);
	output_seal(output, b);
	ck_assert_uint_eq(block_bytes(b), 4 * 32);
	ck_assert_uint_eq(b->data[0], 0xee);
	ck_assert_mem_eq(b->data + 32, zeros, 32);
	ck_assert_uint_eq(b->data[3 * 32], 0xee);
	ck_assert_mem_eq(b->data + 4 * 32, zeros, 4 * 32);
	ck_assert_uint_eq(block_missing(b), 1);
	output_written(output, b, 0);
	output_close();
	whole = false;
}
END_TEST

SUITE_THREADS("output", NULL, blocks_of_one_length,
	      parity_has_the_lines_of_its_members, runs_are_each_substreams_own,
	      no_substream_takes_all_the_room, receivers_on_many_threads,
	      what_a_block_told_is_told_where_it_goes,
	      so_much_is_told_and_no_more, it_outlives_what_made_it,
	      at_risk_and_back)
