/* SPDX-License-Identifier: MIT */
#include "lib/sender_bench.h"

START_TEST(all_of_it_arrives)
{
	struct sender_args args = bench_args();
	struct sender_facts f;

	args.transfer = 77;
	args.secret = (const uint8_t *)"geheim";
	args.secret_bytes = 6;
	bench_start(&args);
	UNTIL(sender_ended(sender));
	f = look();
	ck_assert_uint_eq(f.packets, ALL);
	ck_assert_uint_eq(f.bytes, ALL * (PAYLOAD + 8));
	ck_assert_uint_eq(f.send.packets, ALL);
	ck_assert_str_eq(f.send.way, "to a test");
	ck_assert_str_eq(f.why, "");
	ck_assert_uint_eq(plugin.args.transfer, 77);
	ck_assert_uint_eq(plugin.args.head_bytes, 8);
	ck_assert_uint_eq(plugin.args.data_bytes, PAYLOAD);
	ck_assert(plugin.args.zerocopy_ok);
	bench_end(SENDER_DONE);
	bench_arrived();
}
END_TEST

/* A relay's, which had no memory: each of them once. */
START_TEST(what_the_source_dropped_counts_once)
{
	struct sender_args args = bench_args();

	source.dropped = 5;
	bench_start(&args);
	UNTIL(sender_ended(sender));
	ck_assert_uint_eq(look().dropped, 5);
	ck_assert_str_eq(look().why, "5 packets found no room");
	bench_end(SENDER_DONE);
}
END_TEST

START_TEST(a_source_may_know_its_format_late)
{
	struct sender_args args = bench_args();

	source.mute = true;
	source.blocks = 0;
	bench_start(&args);
	usleep(20000);
	ck_assert_uint_eq(look().state, SENDER_CONNECTING);
	atomic_store(&source.blocks, BLOCKS);
	eventfd_write(source.wake, 1);
	bench_end(SENDER_DONE);
	bench_arrived();
}
END_TEST

START_TEST(a_few_are_taken_at_a_time)
{
	struct sender_args args = bench_args();

	plugin.most = 7;
	bench_start(&args);
	bench_end(SENDER_DONE);
	bench_arrived();
}
END_TEST

/* A live recording: blocks come late, and it says that it waits. */
START_TEST(it_waits_for_more)
{
	struct sender_args args = bench_args();

	source.blocks = 3;
	bench_start(&args);
	UNTIL(look().state == SENDER_WAITING);
	ck_assert_uint_eq(look().packets, 3 * SLOTS);
	UNTIL(atomic_load(&source.puts) == 3);
	for (unsigned i = 4; i <= BLOCKS; i++) {
		atomic_store(&source.blocks, i);
		eventfd_write(source.wake, 1);
		usleep(300);
	}
	bench_end(SENDER_DONE);
	bench_arrived();
}
END_TEST

/* The plugin holds on to all it has, and the recorder wants it back. */
START_TEST(memory_is_given_back_when_it_is_wanted)
{
	struct sender_args args = bench_args();

	source.blocks = 5;
	plugin.keeps = true;
	plugin.most = 10;
	bench_start(&args);
	UNTIL(look().packets == 5 * SLOTS);
	ck_assert_uint_eq(atomic_load(&source.puts), 0);
	atomic_store(&source.wanted, true);
	eventfd_write(source.wake, 1);
	UNTIL(atomic_load(&source.puts) >= 5);
	ck_assert_uint_eq(atomic_load(&plugin.detaches), 1);
	/* In the middle of a block, too, by a plugin that is stuck. */
	plugin.stuck = true;
	atomic_store(&source.blocks, BLOCKS);
	eventfd_write(source.wake, 1);
	usleep(20000);
	atomic_store(&source.wanted, true);
	eventfd_write(source.wake, 1);
	UNTIL(atomic_load(&source.puts) > 10);
	plugin.stuck = false;
	plugin.keeps = false;
	eventfd_write(plugin.wake, 1);
	bench_end(SENDER_DONE);
	bench_arrived();
}
END_TEST

START_TEST(memory_is_wanted_again_and_again)
{
	struct sender_args args = bench_args();

	plugin.most = 5;
	plugin.keeps = true;
	bench_start(&args);
	while (!sender_ended(sender)) {
		atomic_store(&source.wanted, true);
		eventfd_write(source.wake, 1);
		eventfd_write(plugin.wake, 1);
		usleep(700);
	}
	bench_end(SENDER_DONE);
	bench_arrived();
}
END_TEST

/* It cannot be sent, but what the recorder gets is its own again. */
START_TEST(a_plugin_that_keeps_memory_is_closed)
{
	struct sender_args args = bench_args();

	plugin.never = true;
	source.blocks = 2;
	bench_start(&args);
	UNTIL(look().packets == 2 * SLOTS);
	atomic_store(&source.wanted, true);
	eventfd_write(source.wake, 1);
	UNTIL(sender_ended(sender));
	ck_assert_ptr_nonnull(strstr(look().why, "did not give memory back"));
	bench_end(SENDER_FAILED);
}
END_TEST

/* Fill has one piece of memory: the plugin has to get on with the last one
 * before there can be more. */
START_TEST(fill_waits_for_who_gets_on_when_asked)
{
	struct sender_args args = bench_args();

	args.plain = true;
	source.gap = 3;
	source.gaps = 4;
	plugin.lazy = true;
	bench_start(&args);
	UNTIL(sender_ended(sender));
	ck_assert_uint_eq(look().bytes, ALL * PAYLOAD);
	ck_assert_uint_eq(plugin.wrong, 4 * SLOTS); /* it is not packets */
	plugin.wrong = 0;
	bench_end(SENDER_DONE);
}
END_TEST

START_TEST(no_more_is_held_than_there_is_room_for)
{
	struct sender_args args = bench_args();

	plugin.keeps = true;
	bench_start(&args);
	UNTIL(atomic_load(&plugin.finishes));
	bench_end(SENDER_DONE);
	bench_arrived();
}
END_TEST

/* ---- orders ---------------------------------------------------------- */

START_TEST(it_pauses_and_goes_on)
{
	struct sender_args args = bench_args();
	uint64_t before;

	source.blocks = 4;
	bench_start(&args);
	UNTIL(look().packets == 4 * SLOTS);
	sender_pause(sender, true);
	UNTIL(look().state == SENDER_PAUSED);
	before = look().packets;
	atomic_store(&source.blocks, BLOCKS);
	eventfd_write(source.wake, 1);
	usleep(50000);
	ck_assert_uint_eq(look().packets, before);
	ck_assert_uint_eq(look().state, SENDER_PAUSED);
	sender_pause(sender, false);
	bench_end(SENDER_DONE);
	bench_arrived();
}
END_TEST

START_TEST(the_rate_changes)
{
	struct sender_args args = bench_args();
	uint64_t packets;

	args.rate = 1; /* a bit a second: one packet, and it sleeps */
	bench_start(&args);
	UNTIL(look().packets == 1);
	usleep(30000);
	ck_assert_uint_eq(look().packets, 1);
	/* 48 bytes 200 times a second. */
	sender_rate(sender, 48 * 8 * 200);
	UNTIL(look().packets >= 20);
	ck_assert(atomic_load(&plugin.rated));
	ck_assert_uint_eq(look().asked, 48 * 8 * 200);
	packets = look().packets;
	ck_assert_uint_lt(packets, ALL);
	sender_rate(sender, SEND_RATE_FREE);
	bench_end(SENDER_DONE);
	bench_arrived();
}
END_TEST

/* As the data's clock says: 2048 packets, 1 us apart, are 2 ms and more. */
START_TEST(the_datas_clock)
{
	struct sender_args args = bench_args();
	int64_t start = clock_steady();

	args.rate = SEND_RATE_DATA;
	bench_start(&args);
	bench_end(SENDER_DONE);
	bench_arrived();
	ck_assert_int_ge(clock_steady() - start, 2000000);
}
END_TEST

static void
stop_now(void)
{
	int64_t start = clock_steady();

	sender_stop(sender);
	UNTIL(sender_ended(sender));
	/* 100 ms are promised: this is on a machine that does other things. */
	ck_assert_int_lt(clock_steady() - start, INT64_C(2000000000));
	sender_stop(sender);
	bench_end(SENDER_STOPPED);
}

START_TEST(it_stops_in_any_state)
{
	for (unsigned way = 0; way < 7; way++) {
		struct sender_args args = bench_args();

		args.rate = way == 1;
		source.blocks = way == 2 ? 1 : BLOCKS;
		plugin.stuck = way == 3;
		plugin.away = way == 4;
		plugin.finish = way == 5 ? -EAGAIN : 0;
		plugin.most = 1;
		plugin.keeps = true;
		bench_start(&args);
		if (way == 6)
			sender_pause(sender, true);
		if (way == 5)
			UNTIL(look().state == SENDER_FINISHING);
		else if (way)
			usleep(20000);
		stop_now();
	}
}
END_TEST

/* ---- what hangs ------------------------------------------------------ */

START_TEST(a_disk_may_hang)
{
	struct sender_args args = bench_args();

	source.hangs = true;
	bench_start(&args);
	usleep(20000);
	sender_stop(sender);
	UNTIL(sender_ended(sender));
	ck_assert_uint_eq(look().state, SENDER_STOPPED);
	ck_assert(!atomic_load(&source.closed));
	ck_assert(!sender_free(sender));
	/* It answers after all: the thread ends by itself, and tells nobody. */
	atomic_store(&source.hangs, false);
	UNTIL(atomic_load(&source.closed));
	usleep(20000);
	ck_assert_uint_eq(atomic_load(&changes), 0);
}
END_TEST

START_TEST(a_name_server_may_hang)
{
	struct sender_args args = bench_args();

	plugin.opens = true;
	bench_start(&args);
	usleep(20000);
	sender_stop(sender);
	UNTIL(sender_ended(sender));
	ck_assert(!sender_free(sender));
	atomic_store(&plugin.opens, false);
	UNTIL(atomic_load(&source.closed));
	ck_assert(atomic_load(&plugin.closed));
	usleep(20000);
}
END_TEST

SUITE_THREADS("sender", NULL, all_of_it_arrives,
	      what_the_source_dropped_counts_once,
	      a_source_may_know_its_format_late, a_few_are_taken_at_a_time,
	      it_waits_for_more, memory_is_given_back_when_it_is_wanted,
	      memory_is_wanted_again_and_again,
	      a_plugin_that_keeps_memory_is_closed,
	      fill_waits_for_who_gets_on_when_asked,
	      no_more_is_held_than_there_is_room_for, it_pauses_and_goes_on,
	      the_rate_changes, the_datas_clock, it_stops_in_any_state,
	      a_disk_may_hang, a_name_server_may_hang)
