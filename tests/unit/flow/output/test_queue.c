/* SPDX-License-Identifier: MIT */
#include "flow/output/queue.c"

#include <sched.h>
#include <string.h>

#include "base/clock.h"
#include "flow/memory/arena.h"
#include "lib/suite.h"

enum { BLOCKS = 64, TAKERS = 4, MANY = 4000, MOST = 16 };
#define FAR (clock_steady() + 100000000000)

static struct queue *queue;
static struct block block[BLOCKS];

static void
open_queue(unsigned most)
{
	memset(block, 0, sizeof block);
	ck_assert_int_eq(queue_make(&queue, most), 0);
}

static struct taker *
join(void)
{
	struct taker *t;

	ck_assert_int_eq(taker_join(&t, queue, 0), 0);
	return t;
}

/* Is block i what comes next? */
static void
takes(struct taker *t, int i)
{
	struct block *b;

	ck_assert_int_eq(queue_take(t, &b, 0), 0);
	ck_assert_ptr_eq(b, &block[i]);
	ck_assert_ptr_null(b->next);
}

static void
takes_nothing(struct taker *t, int err)
{
	struct block *b;

	ck_assert_int_eq(queue_take(t, &b, 0), err);
}

START_TEST(first_in_first_out)
{
	struct taker *t;

	open_queue(BLOCKS);
	t = join();
	for (int round = 0; round < 3; round++) {
		takes_nothing(t, -ETIMEDOUT);
		for (int i = 0; i < 9; i++)
			ck_assert_int_eq(queue_put(queue, &block[i]), 0);
		ck_assert_uint_eq(queue->length, 9);
		for (int i = 0; i < 9; i++)
			takes(t, i);
		ck_assert_uint_eq(queue->length, 0);
	}
	taker_leave(t);
	queue_free(queue);
}
END_TEST

START_TEST(bounded)
{
	struct taker *t;

	open_queue(2);
	t = join();
	ck_assert_int_eq(queue_put(queue, &block[0]), 0);
	ck_assert_int_eq(queue_put(queue, &block[1]), 0);
	ck_assert_int_eq(queue_put(queue, &block[2]), -ENOBUFS);
	/* One that a disk gives back has room in any case, and goes first. */
	queue_return(queue, &block[3]);
	ck_assert_uint_eq(queue->length, 3);
	takes(t, 3);
	takes(t, 0);
	ck_assert_int_eq(queue_put(queue, &block[2]), 0);
	takes(t, 1);
	takes(t, 2);
	/* First into an empty queue, then one behind it. */
	queue_return(queue, &block[4]);
	ck_assert_int_eq(queue_put(queue, &block[5]), 0);
	takes(t, 4);
	takes(t, 5);
	taker_leave(t);
	queue_free(queue);
}
END_TEST

/* What one disk refuses waits for another one, and the rest passes by. */
START_TEST(a_session_is_refused)
{
	struct taker *t, *other;
	struct block *b;

	open_queue(BLOCKS);
	t = join();
	ck_assert(queue_serves(queue, "a"));
	ck_assert_int_eq(taker_refuse(t, "a", FAR), 0);
	ck_assert(!queue_serves(queue, "a"));
	ck_assert(queue_serves(queue, "b"));
	for (int i = 0; i < 6; i++) {
		block[i].session = i % 2 ? "b" : "a";
		ck_assert_int_eq(queue_put(queue, &block[i]), 0);
	}
	takes(t, 1);
	takes(t, 3);
	other = join();
	ck_assert(queue_serves(queue, "a"));
	takes(other, 0);
	takes(t, 5);
	takes_nothing(t, -ETIMEDOUT);
	/* Its time is over: it is tried, and still counts as refused. */
	ck_assert_int_eq(taker_refuse(t, "a", clock_steady()), 0);
	takes(t, 2);
	taker_leave(other);
	ck_assert(!queue_serves(queue, "a"));
	ck_assert_int_eq(taker_refuse(t, "a", FAR), 0);
	takes_nothing(t, -ETIMEDOUT);
	taker_admit(t, "a");
	ck_assert(queue_serves(queue, "a"));
	takes(t, 4);
	/* A refusal hands to others what waits, and goes with its disk. */
	for (int i = 0; i < REFUSALS; i++)
		ck_assert_int_eq(taker_refuse(t, &block[i], FAR), 0);
	ck_assert_int_eq(taker_refuse(t, "a", FAR), -ENOBUFS);
	taker_leave(t);
	ck_assert_uint_eq(queue->refusals, 0);
	/* Nor is it given what it refuses at the end. */
	t = join();
	ck_assert_int_eq(taker_refuse(t, "a", FAR), 0);
	ck_assert_int_eq(queue_put(queue, &block[0]), 0);
	queue_drain(queue);
	takes_nothing(t, -EPIPE);
	b = queue_rest(queue, "a");
	ck_assert_ptr_eq(b, &block[0]);
	taker_leave(t);
	queue_free(queue);
}
END_TEST

/* Makes blocks parity of a group, and puts them, for none of these disks. */
static void
parity_put(int first, unsigned n, uint64_t barred)
{
	static struct block_parity parity[BLOCKS];
	struct block *b[2];

	parity[first] = (struct block_parity){ .bars.bit[0] = barred };
	for (unsigned i = 0; i < n; i++) {
		b[i] = &block[first + (int)i];
		b[i]->parity = &parity[first];
	}
	queue_put_parity(queue, b, n);
}

/* Parity goes to disks that have nothing of its group, one row to each, and
 * others pass by it; unless no such disk is left. */
START_TEST(parity_goes_elsewhere)
{
	struct taker *t[4];
	struct block_bars disks;

	open_queue(2);
	for (unsigned i = 0; i < 4; i++)
		ck_assert_int_eq(taker_join(&t[i], queue, i), 0);
	ck_assert_uint_eq(queue_disks(queue, &disks), 4);
	ck_assert_uint_eq(disks.bit[0], 15);
	ck_assert_int_eq(queue_put(queue, &block[0]), 0);
	ck_assert_int_eq(queue_put(queue, &block[1]), 0);
	parity_put(5, 2, 3);
	/* it takes no room from others */
	ck_assert_uint_eq(queue->length, 2);
	takes(t[0], 0);
	takes(t[3], 5);
	takes(t[3], 1);
	takes_nothing(t[3], -ETIMEDOUT);
	takes_nothing(t[1], -ETIMEDOUT);
	takes(t[2], 6);

	/* Disks 2 and 3 have left. */
	taker_leave(t[2]);
	parity_put(8, 1, 3);
	takes_nothing(t[1], -ETIMEDOUT);
	taker_leave(t[3]);
	takes(t[1], 8);
	taker_leave(t[0]);
	taker_leave(t[1]);
	queue_free(queue);
}
END_TEST

/* Two parity blocks of a group; the disk that has one dies.  The disk that has the
 * other one would refuse a second file of that name. */
START_TEST(parity_is_not_given_twice)
{
	struct taker *t[4];

	open_queue(2);
	for (unsigned i = 0; i < 4; i++)
		ck_assert_int_eq(taker_join(&t[i], queue, i), 0);
	parity_put(5, 2, 3);
	takes(t[3], 5);
	takes(t[2], 6);
	taker_leave(t[3]);
	queue_return(queue, &block[5]);
	takes_nothing(t[2], -ETIMEDOUT);
	takes(t[0], 5);
	/* Only the disk that has the other one is left: better than none. */
	taker_leave(t[0]);
	taker_leave(t[1]);
	queue_return(queue, &block[5]);
	takes(t[2], 5);
	taker_leave(t[2]);
	queue_free(queue);
}
END_TEST

/* Parity goes first, but not where data become short of memory. */
START_TEST(data_that_run_short_go_first)
{
	struct block_pool_args args = { .blocks = 8,
					.slots = 1,
					.slot_bytes = 4096 };
	struct block *b[7];
	struct arena *arena;
	struct fault fault;
	struct taker *t;

	open_queue(4);
	t = join();
	ck_assert_int_eq(
	    arena_make(&arena, block_pool_need(&args), NULL, &fault), 0);
	ck_assert_int_eq(
	    block_pool_borrow(arena, &block[1].pool, &args, &fault), 0);
	ck_assert_int_eq(queue_put(queue, &block[1]), 0);
	parity_put(5, 1, 2);
	takes(t, 5);
	queue_return(queue, &block[5]);
	for (int i = 0; i < 7; i++)
		b[i] = block_pool_take(block[1].pool, 0);
	/* But not if no disk may have them. */
	block[1].session = "a";
	ck_assert_int_eq(taker_refuse(t, "a", FAR), 0);
	takes(t, 5);
	queue_return(queue, &block[5]);
	taker_admit(t, "a");
	takes(t, 1);
	takes(t, 5);
	for (int i = 0; i < 7; i++)
		block_pool_put(b[i]);
	taker_leave(t);
	block_pool_return(block[1].pool);
	arena_free(arena);
	queue_free(queue);
}
END_TEST

/* Blocks of one session are given up, also parity; others stay where they are. */
START_TEST(one_session_is_given_up)
{
	struct taker *t;
	int a, b;

	open_queue(4);
	for (int i = 0; i < 7; i++)
		block[i].session = i % 2 ? &a : &b;
	ck_assert(!queue_waits(queue));
	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(queue_put(queue, &block[i]), 0);
	parity_put(5, 1, 0);
	parity_put(6, 1, 0);
	ck_assert_ptr_eq(queue_rest(queue, &a), &block[5]);
	ck_assert_ptr_eq(queue_rest(queue, &a), &block[1]);
	ck_assert_ptr_eq(queue_rest(queue, &a), &block[3]);
	ck_assert_ptr_null(queue_rest(queue, &a));
	ck_assert_uint_eq(queue->length, 2);
	t = join();
	takes(t, 6);
	takes(t, 0);
	takes(t, 2);
	parity_put(5, 1, 0);
	ck_assert_uint_eq(queue->length, 0);
	ck_assert(queue_waits(queue));
	takes(t, 5);
	taker_leave(t);
	queue_free(queue);
}
END_TEST

START_TEST(drain_gives_what_is_left)
{
	struct taker *t;

	open_queue(4);
	t = join();
	ck_assert_int_eq(queue_put(queue, &block[0]), 0);
	queue_drain(queue);
	ck_assert_int_eq(queue_put(queue, &block[1]), -EPIPE);
	queue_return(queue, &block[2]);
	takes(t, 2);
	takes(t, 0);
	takes_nothing(t, -EPIPE);
	takes_nothing(t, -EPIPE);
	taker_leave(t);
	queue_free(queue);
}
END_TEST

START_TEST(poked_once)
{
	struct taker *t;
	struct block *b;

	open_queue(4);
	t = join();
	taker_poke(t);
	ck_assert_int_eq(queue_take(t, &b, FAR), -EINTR);
	takes_nothing(t, -ETIMEDOUT);
	/* A block comes first, and the poke is not forgotten. */
	taker_poke(t);
	taker_poke(t);
	ck_assert_int_eq(queue_put(queue, &block[0]), 0);
	takes(t, 0);
	takes_nothing(t, -EINTR);
	takes_nothing(t, -ETIMEDOUT);
	taker_leave(t);
	queue_free(queue);
}
END_TEST

START_TEST(time_runs_out)
{
	struct taker *t;
	struct block *b;
	int64_t until = clock_steady() + 3000000;

	open_queue(4);
	t = join();
	ck_assert_int_eq(queue_take(t, &b, until), -ETIMEDOUT);
	ck_assert_int_ge(clock_steady(), until);
	/* It does not wait any more: a block stays in the queue. */
	ck_assert_int_eq(queue_put(queue, &block[0]), 0);
	ck_assert_uint_eq(queue->length, 1);
	takes(t, 0);
	taker_leave(t);
	queue_free(queue);
}
END_TEST

/* Nobody takes them just now: they wait, in their order. */
START_TEST(blocks_wait_for_a_disk)
{
	struct taker *a, *b;

	open_queue(4);
	ck_assert_int_eq(queue_put(queue, &block[0]), 0);
	a = join();
	b = join();
	ck_assert_int_eq(queue_put(queue, &block[1]), 0);
	takes(a, 0);
	taker_leave(a);
	taker_leave(b);
	queue_return(queue, &block[0]);
	ck_assert_int_eq(queue_put(queue, &block[2]), 0);
	b = join();
	takes(b, 0);
	takes(b, 1);
	taker_leave(b);
	ck_assert_ptr_eq(queue_rest(queue, NULL), &block[2]);
	ck_assert_ptr_null(queue_rest(queue, NULL));
	queue_free(queue);
}
END_TEST

/* One with a block on its way and a slow disk leaves what waits to others,
 * until there are none. */
START_TEST(the_slow_leave_it_to_others)
{
	struct disk_figures slow = { .free = 1 << 30,
				     .speed = 1,
				     .in_flight = 1 };
	struct disk_figures fast = { .free = 1 << 30, .speed = 4 };
	struct taker *a, *b;

	open_queue(4);
	a = join();
	b = join();
	ck_assert(!taker_report(a, &slow));
	ck_assert(!taker_report(b, &fast));
	ck_assert_int_eq(queue_put(queue, &block[0]), 0);
	ck_assert_int_eq(queue_put(queue, &block[1]), 0);
	takes_nothing(a, -ETIMEDOUT);
	takes(b, 0);
	taker_leave(b);
	takes(a, 1);
	taker_leave(a);
	queue_free(queue);
}
END_TEST

/* What nobody else is there for is not left to lie in the queue. */
START_TEST(who_sits_on_the_bench_is_told)
{
	struct disk_figures slow = {
		.free = 1 << 30, .speed = 1, .bytes = 2, .took = 2000000000
	};
	struct disk_figures fast = { .free = 1 << 30, .speed = 100 };
	struct taker *a, *b;

	open_queue(4);
	a = join();
	b = join();
	ck_assert(!taker_report(b, &fast));
	ck_assert(taker_report(a, &slow));
	slow.took = 0;
	ck_assert(taker_report(a, &slow));
	ck_assert_int_eq(queue_put(queue, &block[0]), 0);
	takes(a, 0); /* nobody else waits */
	slow.took = 1;
	ck_assert(!taker_report(a, &slow));
	taker_leave(a);
	taker_leave(b);
	queue_free(queue);
}
END_TEST

/* ---- threads --------------------------------------------------------- */

struct disk {
	pthread_t thread;
	struct taker *taker;
	struct block *got;
	int err;
	unsigned taken, poked;
	atomic_bool done;
};

static struct disk disk[TAKERS];

static void *
take_one(void *arg)
{
	struct disk *d = arg;

	d->err = queue_take(d->taker, &d->got, FAR);
	atomic_store(&d->done, true);
	return NULL;
}

static void
start(struct disk *d, void *(*run)(void *arg))
{
	*d = (struct disk){ .taker = join() };
	ck_assert_int_eq(pthread_create(&d->thread, NULL, run, d), 0);
}

static void
finish(struct disk *d)
{
	pthread_join(d->thread, NULL);
	taker_leave(d->taker);
}

static void
until_waiting(const struct disk *d)
{
	bool waiting = false;

	while (!waiting) {
		pthread_mutex_lock(&queue->lock);
		waiting = d->taker->waiting;
		pthread_mutex_unlock(&queue->lock);
		sched_yield();
	}
}

/* Whoever has waited longest is the first to get a block. */
START_TEST(the_longest_waiting_is_served)
{
	open_queue(BLOCKS);
	for (int i = 0; i < TAKERS; i++) {
		start(&disk[i], take_one);
		until_waiting(&disk[i]);
	}
	for (int i = 0; i < TAKERS; i++)
		ck_assert_int_eq(queue_put(queue, &block[i]), 0);
	ck_assert_uint_eq(queue->length, 0);
	for (int i = 0; i < TAKERS; i++) {
		finish(&disk[i]);
		ck_assert_int_eq(disk[i].err, 0);
		ck_assert_ptr_eq(disk[i].got, &block[i]);
	}
	queue_free(queue);
}
END_TEST

/* And before that, who got less of what it has room for. */
START_TEST(the_best_is_served)
{
	struct disk_figures figures = { .free = 1 << 20 };

	open_queue(BLOCKS);
	for (int i = 0; i < TAKERS; i++) {
		block[i].used = 1;
		block[i].slot_bytes = 4096;
		start(&disk[i], take_one);
		until_waiting(&disk[i]);
		taker_report(disk[i].taker, &figures);
	}
	pthread_mutex_lock(&queue->lock);
	disk[0].taker->choice.spent = 1;
	pthread_mutex_unlock(&queue->lock);
	for (int i = 0; i < TAKERS; i++)
		ck_assert_int_eq(queue_put(queue, &block[i]), 0);
	for (int i = 0; i < TAKERS; i++)
		finish(&disk[i]);
	for (int i = 0; i < TAKERS; i++)
		ck_assert_ptr_eq(disk[(i + 1) % TAKERS].got, &block[i]);
	queue_free(queue);
}
END_TEST

static void
waiting_ones_end(void (*end)(void), int err)
{
	open_queue(BLOCKS);
	for (int i = 0; i < TAKERS; i++)
		start(&disk[i], take_one);
	for (int i = 0; i < TAKERS; i++)
		until_waiting(&disk[i]);
	end();
	for (int i = 0; i < TAKERS; i++) {
		finish(&disk[i]);
		ck_assert_int_eq(disk[i].err, err);
	}
	queue_free(queue);
}

static void
drain(void)
{
	queue_drain(queue);
}
static void
poke_all(void)
{
	for (int i = 0; i < TAKERS; i++)
		taker_poke(disk[i].taker);
}

static void
poke_queue(void)
{
	queue_poke(queue);
}

START_TEST(who_waits_is_woken)
{
	waiting_ones_end(drain, -EPIPE);
	waiting_ones_end(poke_all, -EINTR);
	waiting_ones_end(poke_queue, -EINTR);
}
END_TEST

static atomic_uint bodies[BLOCKS];

/* Takes until the end; gives some blocks back, as a disk that fails. */
static void *
take_all(void *arg)
{
	struct disk *d = arg;
	struct block *b;
	int err;

	while ((err = queue_take(d->taker, &b, clock_steady() + 100000)) !=
	       -EPIPE) {
		if (err == -EINTR)
			d->poked++;
		if (err)
			continue;
		if (++d->taken % 7 == 0) {
			queue_return(queue, b);
			continue;
		}
		b->used++; /* whose it is alone */
		atomic_fetch_sub(&bodies[b - block], 1);
	}
	return NULL;
}

/* Every block that is put is taken once; nobody else has it meanwhile. */
START_TEST(many_takers_lose_nothing)
{
	uint64_t put = 0, used = 0;

	open_queue(MOST);
	for (int i = 0; i < TAKERS; i++)
		start(&disk[i], take_all);
	while (put < MANY) {
		struct block *b = &block[put % BLOCKS];
		unsigned none = 0;

		if (!atomic_compare_exchange_strong(&bodies[b - block], &none,
						    1)) {
			sched_yield();
			continue;
		}
		if (queue_put(queue, b) == 0)
			put++;
		else
			atomic_store(&bodies[b - block], 0);
		if (put % 64 == 0)
			taker_poke(disk[put / 64 % TAKERS].taker);
	}
	queue_drain(queue);
	for (int i = 0; i < TAKERS; i++)
		finish(&disk[i]);
	for (struct block *b; (b = queue_rest(queue, NULL));)
		b->used++;
	for (int i = 0; i < BLOCKS; i++)
		used += block[i].used;
	ck_assert_uint_eq(used, MANY);
	queue_free(queue);
}
END_TEST

SUITE_THREADS("queue", NULL, first_in_first_out, bounded, a_session_is_refused,
	      parity_goes_elsewhere, parity_is_not_given_twice,
	      data_that_run_short_go_first, one_session_is_given_up,
	      drain_gives_what_is_left, poked_once, time_runs_out,
	      blocks_wait_for_a_disk, the_slow_leave_it_to_others,
	      who_sits_on_the_bench_is_told, the_best_is_served,
	      the_longest_waiting_is_served, who_waits_is_woken,
	      many_takers_lose_nothing)
