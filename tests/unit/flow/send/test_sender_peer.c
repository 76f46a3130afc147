/* SPDX-License-Identifier: MIT */
/* What peers do to a sender. */
#include "lib/sender_bench.h"

START_TEST(one_that_takes_nothing_is_not_asked_all_the_time)
{
	struct sender_args args = bench_args();
	unsigned calls;

	plugin.stuck = true;
	bench_start(&args);
	usleep(50000);
	calls = atomic_load(&plugin.calls);
	usleep(500000);
	/* It looks four times a second by itself. */
	ck_assert_uint_le(atomic_load(&plugin.calls) - calls, 10);
	atomic_store(&plugin.stuck, false);
	eventfd_write(plugin.wake, 1);
	bench_end(SENDER_DONE);
	bench_arrived();
}
END_TEST

/* Even where the plugin's descriptor is always ready. */
START_TEST(no_descriptor_makes_it_spin)
{
	struct sender_args args = bench_args();
	unsigned calls;
	int64_t since;

	plugin.stuck = true;
	eventfd_write(plugin.wake, 1);
	eventfd_write(source.wake, 1);
	bench_start(&args);
	usleep(400000);
	since = clock_steady();
	calls = atomic_load(&plugin.calls);
	usleep(1000000);
	calls = atomic_load(&plugin.calls) - calls;
	/* A busy machine sleeps longer than it was asked to. */
	ck_assert_uint_le(calls, (clock_steady() - since) / 1000000);
	atomic_store(&plugin.stuck, false);
	bench_end(SENDER_DONE);
	bench_arrived();
}
END_TEST

START_TEST(one_that_is_away_is_waited_for)
{
	struct sender_args args = bench_args();
	int64_t start = clock_steady();

	plugin.away = true;
	bench_start(&args);
	usleep(1200000);
	/* At 0, 0.1, 0.3 and 0.7 s. */
	ck_assert_uint_ge(atomic_load(&plugin.calls), 3);
	ck_assert_uint_le(atomic_load(&plugin.calls),
			  5 + (clock_steady() - start) / 1000000000);
	ck_assert_uint_eq(look().state, SENDER_CONNECTING);
	ck_assert_str_eq(look().why, "nobody is there");
	atomic_store(&plugin.away, false);
	bench_end(SENDER_DONE);
	bench_arrived();
}
END_TEST

START_TEST(one_that_stays_away_is_given_up)
{
	struct sender_args args = bench_args();

	args.patience = 300000000;
	plugin.away = true;
	bench_start(&args);
	UNTIL(sender_ended(sender));
	ck_assert_str_eq(look().why, "nobody is there");
	bench_end(SENDER_FAILED);
}
END_TEST

START_TEST(one_that_goes_comes_back)
{
	struct sender_args args = bench_args();

	source.blocks = 4;
	bench_start(&args);
	UNTIL(look().packets == 4 * SLOTS);
	atomic_store(&plugin.away, true);
	atomic_store(&source.blocks, BLOCKS);
	eventfd_write(source.wake, 1);
	UNTIL(look().state == SENDER_CONNECTING);
	atomic_store(&plugin.away, false);
	bench_end(SENDER_DONE);
	bench_arrived();
}
END_TEST

START_TEST(packets_are_wanted_again)
{
	struct sender_args args = bench_args();

	plugin.most = 9;
	plugin.keeps = true;
	plugin.err_at = 1000;
	plugin.back = 333;
	plugin.err = -ERESTART;
	bench_start(&args);
	UNTIL(sender_ended(sender));
	ck_assert_uint_eq(atomic_load(&source.seeks), 1);
	bench_end(SENDER_DONE);
	bench_arrived();
	ck_assert_uint_ge(plugin.taken, ALL + 1000 - 333);
}
END_TEST

/* Before the first one: it has some from before. */
START_TEST(packets_are_there_already)
{
	struct sender_args args = bench_args();

	plugin.back = 777;
	plugin.err = -ERESTART;
	bench_start(&args);
	bench_end(SENDER_DONE);
	bench_arrived();
	ck_assert_uint_eq(plugin.taken, ALL - 777);
}
END_TEST

START_TEST(the_last_packets_are_wanted_again)
{
	struct sender_args args = bench_args();

	plugin.finish = -ERESTART;
	plugin.back = ALL - 10;
	bench_start(&args);
	bench_end(SENDER_DONE);
	bench_arrived();
	ck_assert_uint_eq(plugin.taken, ALL + 10);
	ck_assert_uint_eq(plugin.finishes, 2);
}
END_TEST

/* A relay cannot go back: it goes on. */
START_TEST(what_is_gone_is_gone)
{
	struct sender_args args = bench_args();

	source.no_seek = true;
	plugin.most = 9;
	plugin.err_at = 1000;
	plugin.back = 333;
	plugin.err = -ERESTART;
	bench_start(&args);
	bench_end(SENDER_DONE);
	ck_assert_uint_eq(plugin.next, ALL);
	ck_assert_uint_lt(plugin.taken, ALL);
}
END_TEST

START_TEST(one_that_wants_a_copy_gets_none_here)
{
	struct sender_args args = bench_args();

	plugin.err = -EXDEV;
	bench_start(&args);
	UNTIL(sender_ended(sender));
	ck_assert(look().wants_copy);
	ck_assert_uint_eq(plugin.taken, 0);
	bench_end(SENDER_FAILED);
}
END_TEST

/* Heaps do not go in frames, but such a peer has to be asked all the same. */
START_TEST(what_cannot_be_cut_may_be_copied)
{
	for (unsigned copies = 0; copies < 2; copies++) {
		struct sender_args args = bench_args();
		struct send_ops bare = fake_ops;

		bare.head.flags = SEND_BARE;
		args.ops = &bare;
		source.shape.store = HEAP_ROW;
		plugin.err = copies ? -EXDEV : 0;
		bench_start(&args);
		UNTIL(sender_ended(sender));
		ck_assert_uint_eq(look().wants_copy, copies);
		if (!copies)
			ck_assert_ptr_nonnull(strstr(look().why, "frames"));
		ck_assert_uint_eq(plugin.taken, 0);
		bench_end(SENDER_FAILED);
	}
}
END_TEST

START_TEST(what_fails_says_why)
{
	struct sender_args args = bench_args();

	plugin.err = -EPERM;
	plugin.err_at = 500;
	plugin.most = 100;
	bench_start(&args);
	UNTIL(sender_ended(sender));
	ck_assert(!look().wants_copy);
	ck_assert_str_ne(look().why, "");
	bench_end(SENDER_FAILED);
}
END_TEST

START_TEST(the_end_is_waited_for)
{
	struct sender_args args = bench_args();

	plugin.finish = -EAGAIN;
	bench_start(&args);
	UNTIL(look().state == SENDER_FINISHING);
	usleep(20000);
	ck_assert(!sender_ended(sender));
	atomic_store(&plugin.finish, 0);
	eventfd_write(plugin.wake, 1);
	bench_end(SENDER_DONE);
	bench_arrived();
}
END_TEST

/* Nobody is there to say that it has all. */
START_TEST(one_that_goes_at_the_end_is_given_up)
{
	struct sender_args args = bench_args();

	args.patience = 200000000;
	plugin.finish = -EAGAIN;
	bench_start(&args);
	UNTIL(look().state == SENDER_FINISHING);
	atomic_store(&plugin.away, true);
	bench_end(SENDER_FAILED);
}
END_TEST

/* ---- and sources ----------------------------------------------------- */

START_TEST(a_recording_that_is_removed)
{
	struct sender_args args = bench_args();

	source.blocks = 3;
	bench_start(&args);
	UNTIL(look().packets == 3 * SLOTS);
	atomic_store(&source.err, -ENOENT);
	eventfd_write(source.wake, 1);
	UNTIL(sender_ended(sender));
	ck_assert_str_eq(look().why, "it was removed");
	bench_end(SENDER_FAILED);
}
END_TEST

START_TEST(one_that_cannot_be_read)
{
	struct sender_args args = bench_args();

	source.err = -EIO;
	source.mute = true;
	bench_start(&args);
	UNTIL(sender_ended(sender));
	ck_assert_ptr_nonnull(strstr(look().why, "cannot be read"));
	bench_end(SENDER_FAILED);
}
END_TEST

/* Looks at it, from another thread, while it runs. */
static void *
looks(void *arg)
{
	(void)arg;
	while (!sender_ended(sender)) {
		struct sender_facts f = look();

		/* Never half of one and half of another. */
		if (f.bytes != f.packets * (PAYLOAD + 8) ||
		    f.send.packets != f.packets)
			atomic_fetch_add(&plugin.wrong, 1);
	}
	return NULL;
}

START_TEST(looks_are_whole)
{
	struct sender_args args = bench_args();
	pthread_t other;

	args.rate = UINT64_C(48) * 8 * 4000;
	bench_start(&args);
	ck_assert_int_eq(pthread_create(&other, NULL, looks, NULL), 0);
	for (unsigned i = 0; i < 2000; i++) {
		sender_pause(sender, i % 2 == 0);
		usleep(100);
	}
	sender_pause(sender, false);
	sender_rate(sender, SEND_RATE_FREE);
	pthread_join(other, NULL);
	bench_end(SENDER_DONE);
	bench_arrived();
}
END_TEST

SUITE_THREADS("sender_peer", NULL,
	      one_that_takes_nothing_is_not_asked_all_the_time,
	      no_descriptor_makes_it_spin, one_that_is_away_is_waited_for,
	      one_that_stays_away_is_given_up, one_that_goes_comes_back,
	      packets_are_wanted_again, packets_are_there_already,
	      the_last_packets_are_wanted_again, what_is_gone_is_gone,
	      one_that_wants_a_copy_gets_none_here,
	      what_cannot_be_cut_may_be_copied, what_fails_says_why,
	      the_end_is_waited_for, one_that_goes_at_the_end_is_given_up,
	      a_recording_that_is_removed, one_that_cannot_be_read,
	      looks_are_whole)
