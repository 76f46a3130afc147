/* SPDX-License-Identifier: MIT */
#include "flow/output/disk_choice.c"

#include <stdlib.h>
#include <string.h>

#include "lib/suite.h"

/*
 * Disks that are numbers: each takes as long for a block as its speed says,
 * and tells its rank as a writer does.  A block comes every `every`
 * nanoseconds, or waits.
 */
enum { DISKS = 6, MS = 1000000, MIB = 1 << 20, BLOCKS = 1 << 14 };

struct sim_disk {
	struct disk_choice choice;
	uint64_t device;
	uint64_t *free; /* of its account */
	double speed;
	int64_t since, until; /* of its block; until 0: it is idle */
	int64_t idle;	      /* since when */
	unsigned blocks;
};

static struct sim {
	struct disk_choices all;
	struct sim_disk disk[DISKS];
	unsigned n;
	uint64_t space[DISKS];
	uint64_t bytes; /* of a block */
	int64_t now;
	unsigned waiting, most; /* blocks */
	unsigned blocks_of_memory;
	unsigned given[BLOCKS], gives; /* to whom */
} sim;

static void
rank(struct sim_disk *d, int64_t took)
{
	struct disk_figures r = { .device = d->device,
				  .free = *d->free,
				  .speed = took ? (double)sim.bytes * 1e9 /
						      (double)took
						: d->choice.figures.speed,
				  .bytes = sim.bytes,
				  .took = took };

	disk_choice_report(&sim.all, &d->choice, &r, sim.now);
}

/* In MiB, and MiB/s; on the same account as disk `same`, or -1. */
static void
add_disk(uint64_t size, double speed, int same)
{
	struct sim_disk *d = &sim.disk[sim.n];

	sim.space[sim.n] = size * MIB;
	d->device = same < 0 ? sim.n + 1 : sim.disk[same].device;
	d->free = &sim.space[same < 0 ? sim.n : (unsigned)same];
	d->speed = speed * MIB;
	disk_choice_join(&sim.all, &d->choice);
	rank(d, 0);
	sim.n++;
}

static void
open_sim(uint64_t block)
{
	memset(&sim, 0, sizeof sim);
	sim.bytes = block * MIB;
	sim.blocks_of_memory = 64;
}

static void
finish_blocks(void)
{
	for (unsigned i = 0; i < sim.n; i++) {
		struct sim_disk *d = &sim.disk[i];

		if (!d->until || d->until > sim.now)
			continue;
		rank(d, d->until - d->since);
		d->idle = d->until;
		d->until = 0;
	}
}

static struct sim_disk *
best(const struct disk_choice_block *b)
{
	struct sim_disk *found = NULL;

	for (unsigned i = 0; i < sim.n; i++) {
		struct sim_disk *d = &sim.disk[i];

		if (d->until || *d->free < sim.bytes ||
		    !disk_choice_fit(&sim.all, &d->choice, b))
			continue;
		if (!found ||
		    disk_choice_better(&d->choice, &found->choice, b) ||
		    (!disk_choice_better(&found->choice, &d->choice, b) &&
		     d->idle < found->idle))
			found = d;
	}
	return found;
}

static void
deal(void)
{
	while (sim.waiting) {
		struct disk_choice_block b = { sim.bytes,
					       sim.waiting * 4 >
						   sim.blocks_of_memory * 3,
					       sim.now };
		struct sim_disk *d = best(&b);

		if (!d)
			return;
		disk_choice_serve(&sim.all, &d->choice, &b);
		*d->free -= sim.bytes;
		d->since = sim.now;
		d->until =
		    sim.now + (int64_t)((double)sim.bytes * 1e9 / d->speed);
		d->blocks++;
		sim.waiting--;
		sim.given[sim.gives++] = (unsigned)(d - sim.disk);
	}
}

/* Blocks come at MiB/s for so many seconds, or until some disk is full. */
static bool
run(double rate, double seconds)
{
	int64_t every = (int64_t)((double)sim.bytes / MIB / rate * 1e9);
	int64_t end = sim.now + (int64_t)(seconds * 1e9), next = sim.now;

	for (; sim.now < end; sim.now += MS) {
		finish_blocks();
		for (; next <= sim.now; next += every)
			sim.waiting++;
		deal();
		if (sim.waiting > sim.most)
			sim.most = sim.waiting;
		for (unsigned i = 0; i < sim.n; i++)
			if (*sim.disk[i].free < sim.bytes)
				return true;
	}
	return false;
}

static uint64_t
blocks_left(unsigned disk)
{
	return *sim.disk[disk].free / sim.bytes;
}

START_TEST(equal_disks_take_turns)
{
	open_sim(64);
	for (int i = 0; i < 4; i++)
		add_disk(100000, 200, -1);
	run(300, 60);
	ck_assert_uint_gt(sim.gives, 250);
	for (unsigned i = 4; i < sim.gives; i++)
		ck_assert_uint_eq(sim.given[i], sim.given[i - 4]);
	for (unsigned i = 1; i < sim.gives; i++)
		ck_assert_uint_ne(sim.given[i], sim.given[i - 1]);
	ck_assert_uint_le(sim.most, 1);
}
END_TEST

/* The smallest one's last two blocks are as large a part of the others. */
START_TEST(mixed_sizes_end_full_together)
{
	static const uint64_t sizes[][4] = { { 6400, 12800, 25600, 25600 },
					     { 6400, 6500, 25600, 100000 },
					     { 640, 64000, 64000, 64000 } };

	for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
		open_sim(64);
		for (int i = 0; i < 4; i++)
			add_disk(sizes[s][i], 1000, -1);
		ck_assert(run(500, 10000));
		for (unsigned i = 0; i < 4; i++)
			ck_assert_uint_le(blocks_left(i),
					  1 + 2 * sizes[s][i] / sizes[s][0]);
	}
}
END_TEST

START_TEST(a_disk_that_comes_later_ends_with_the_others)
{
	open_sim(64);
	add_disk(64000, 1000, -1);
	add_disk(64000, 1000, -1);
	ck_assert(!run(500, 60));
	add_disk(64000, 1000, -1);
	ck_assert(run(500, 10000));
	for (unsigned i = 0; i < 3; i++)
		ck_assert_uint_le(blocks_left(i), 10);
}
END_TEST

/* Nor does it get all there is for as long as it was away. */
START_TEST(what_was_missed_is_not_made_up_for)
{
	unsigned row = 0, most = 0;

	open_sim(64);
	add_disk(1000000, 1000, -1);
	add_disk(1000000, 1000, -1);
	sim.disk[0].since = sim.now;
	sim.disk[0].until = 60 * (int64_t)1000000000;
	ck_assert(!run(200, 60));
	sim.gives = 0;
	ck_assert(!run(200, 20));
	for (unsigned i = 0; i < sim.gives; i++) {
		row = sim.given[i] == 0 ? row + 1 : 0;
		most = row > most ? row : most;
	}
	ck_assert_uint_ge(most, 2);
	ck_assert_uint_le(most, 6);
}
END_TEST

/* Two folders on one file system of the same size as the other disk: that
 * one gets half of all. */
START_TEST(one_file_system_is_one_account)
{
	open_sim(64);
	add_disk(64000, 1000, -1);
	add_disk(0, 1000, 0);
	add_disk(64000, 1000, -1);
	ck_assert(run(500, 10000));
	ck_assert_uint_le(blocks_left(0), 4);
	ck_assert_uint_le(blocks_left(2), 4);
	ck_assert_uint_ge(sim.disk[0].blocks + 4, sim.disk[1].blocks);
	ck_assert_uint_ge(sim.disk[1].blocks + 4, sim.disk[0].blocks);
	ck_assert_uint_ge(sim.disk[2].blocks + 4, 1000);
}
END_TEST

/* 20 MB/s among 200: nothing ever waits, and it is tried every now and then. */
START_TEST(a_slow_disk_sits_on_the_bench)
{
	open_sim(64);
	for (int i = 0; i < 3; i++)
		add_disk(1000000, 200, -1);
	add_disk(1000000, 20, -1);
	run(350, 100);
	ck_assert(sim.disk[3].choice.benched);
	ck_assert_uint_le(sim.most, 1);
	ck_assert_uint_ge(sim.disk[3].blocks, 5);
	ck_assert_uint_le(sim.disk[3].blocks, 12);
}
END_TEST

START_TEST(it_comes_back_when_it_is_fast_again)
{
	unsigned was;

	open_sim(64);
	for (int i = 0; i < 3; i++)
		add_disk(1000000, 200, -1);
	sim.disk[1].speed = 20 * MIB;
	run(200, 20);
	ck_assert(sim.disk[1].choice.benched);
	sim.disk[1].speed = 200 * MIB;
	run(200, 20);
	ck_assert(!sim.disk[1].choice.benched);
	was = sim.disk[1].blocks;
	run(200, 20);
	ck_assert_uint_ge(sim.disk[1].blocks - was, 18);
}
END_TEST

/* A block that is nearly empty takes no second on any disk. */
START_TEST(a_short_block_does_not_bring_it_back)
{
	open_sim(64);
	for (int i = 0; i < 3; i++)
		add_disk(1000000, 200, -1);
	sim.disk[1].speed = 20 * MIB;
	run(200, 20);
	ck_assert(sim.disk[1].choice.benched);
	sim.bytes = MIB;
	rank(&sim.disk[1], 50 * (int64_t)MS);
	ck_assert(sim.disk[1].choice.benched);
	rank(&sim.disk[1], 6 * (int64_t)MS);
	ck_assert(!sim.disk[1].choice.benched);
	/* And none puts it there. */
	rank(&sim.disk[1], 50 * (int64_t)MS);
	ck_assert(!sim.disk[1].choice.benched);
}
END_TEST

/* All are slow, or there is one: somebody has to do it. */
START_TEST(the_bench_is_for_the_slow_among_the_fast)
{
	open_sim(64);
	add_disk(1000000, 20, -1);
	run(10, 100);
	ck_assert(!sim.disk[0].choice.benched);
	ck_assert_uint_le(sim.most, 1);

	open_sim(64);
	for (int i = 0; i < 4; i++)
		add_disk(1000000, 20, -1);
	run(70, 100);
	for (int i = 0; i < 4; i++)
		ck_assert(!sim.disk[i].choice.benched);
	ck_assert_uint_le(sim.most, 1);
}
END_TEST

/* The others left: a slow disk is better than none. */
START_TEST(the_bench_plays_when_all_others_left)
{
	struct disk_choice_block tight = { 64 * MIB, true, 0 };
	unsigned was;

	open_sim(64);
	for (int i = 0; i < 3; i++)
		add_disk(1000000, 200, -1);
	sim.disk[2].speed = 20 * MIB;
	run(200, 30);
	ck_assert(!disk_choice_fit(&sim.all, &sim.disk[2].choice, &tight));
	ck_assert(sim.disk[2].choice.benched);
	was = sim.disk[2].blocks;
	disk_choice_leave(&sim.all, &sim.disk[0].choice);
	disk_choice_leave(&sim.all, &sim.disk[1].choice);
	sim.disk[0].until = sim.disk[1].until = INT64_MAX;
	ck_assert(disk_choice_fit(&sim.all, &sim.disk[2].choice, &tight));
	sim.blocks_of_memory = 0; /* and it is short */
	run(15, 40);
	ck_assert_uint_ge(sim.disk[2].blocks, was + 8);
}
END_TEST

START_TEST(it_gets_nothing_while_memory_is_short)
{
	unsigned was;

	open_sim(64);
	for (int i = 0; i < 3; i++)
		add_disk(1000000, 200, -1);
	sim.disk[2].speed = 20 * MIB;
	run(300, 15);
	ck_assert(sim.disk[2].choice.benched);
	sim.blocks_of_memory = 0;
	was = sim.disk[2].blocks;
	run(399, 50);
	ck_assert_uint_eq(sim.disk[2].blocks, was);
}
END_TEST

/* More comes than the slow ones can take their part of: the fast one does. */
START_TEST(speed_is_used_where_it_is_needed)
{
	open_sim(64);
	add_disk(1000000, 400, -1);
	add_disk(1000000, 150, -1);
	add_disk(1000000, 150, -1);
	run(650, 60);
	ck_assert_uint_le(sim.most, 3);
}
END_TEST

/* And while memory is short, it goes first. */
START_TEST(the_fast_one_goes_first_when_memory_is_short)
{
	struct disk_choice_block b = { 64 * MIB, false, 0 };
	struct disk_choice *fast, *other;

	open_sim(64);
	add_disk(1000, 100, -1);
	add_disk(1000, 100, -1);
	fast = &sim.disk[0].choice;
	other = &sim.disk[1].choice;
	fast->figures.speed = 300;
	other->figures.speed = 100;
	fast->spent = 1;
	ck_assert(disk_choice_better(other, fast, &b));
	b.tight = true;
	ck_assert(disk_choice_better(fast, other, &b));
	ck_assert(!disk_choice_better(other, fast, &b));
	/* A little faster is as fast. */
	fast->figures.speed = 150;
	ck_assert(disk_choice_better(other, fast, &b));
}
END_TEST

/* With a block on its way, it leaves the next to others that are faster. */
START_TEST(no_second_block_for_the_slow)
{
	struct disk_choice_block b = { 64 * MIB, false, 0 };

	open_sim(64);
	add_disk(1000, 100, -1);
	add_disk(1000, 100, -1);
	add_disk(1000, 100, -1);
	for (int i = 0; i < 3; i++)
		sim.disk[i].choice.figures.speed = i ? 100 : 49;
	ck_assert(disk_choice_fit(&sim.all, &sim.disk[0].choice, &b));
	for (int i = 0; i < 3; i++)
		sim.disk[i].choice.figures.in_flight = 1;
	ck_assert(!disk_choice_fit(&sim.all, &sim.disk[0].choice, &b));
	ck_assert(disk_choice_fit(&sim.all, &sim.disk[1].choice, &b));
}
END_TEST

SUITE("disk_choice", equal_disks_take_turns, mixed_sizes_end_full_together,
      a_disk_that_comes_later_ends_with_the_others,
      what_was_missed_is_not_made_up_for, one_file_system_is_one_account,
      a_slow_disk_sits_on_the_bench, it_comes_back_when_it_is_fast_again,
      a_short_block_does_not_bring_it_back,
      the_bench_is_for_the_slow_among_the_fast,
      the_bench_plays_when_all_others_left,
      the_fast_one_goes_first_when_memory_is_short,
      it_gets_nothing_while_memory_is_short, speed_is_used_where_it_is_needed,
      no_second_block_for_the_slow)
