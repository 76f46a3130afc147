/* SPDX-License-Identifier: MIT */
/*
 * What receive.h promises, asked of tcp with wire frames: packets of several
 * connections are told once, with their sequence, none so early that another
 * would be late.
 */
#include "contract/spt1_bench.h"
#include "lib/dice.h"

/* ---- what is good ---------------------------------------------------- */

START_TEST(frames_of_one_connection)
{
	struct receive_counts c;

	begin(FOUR);
	call(1, 5);
	answer_check(line[0].fd);
	said("is connected, 1 of 1");
	add_data(&line[0], 0, 0, 10);
	add_data(&line[0], 0, 10, 1);
	add_data(&line[0], 0, 11, 200);
	add_data(&line[0], 0, 300, 5); /* 211 to 299 are lost */
	flow_all();
	ck_assert_uint_eq(packets, 216);
	ck_assert_uint_eq(told[0][304] - told[0][0], 304);
	b.ops->counts(b.state, 0, &c);
	ck_assert_uint_eq(c.datagrams, 216);
	ck_assert_ptr_nonnull(strstr(c.sender, "127.0.0.1:"));
	add_end(&line[0], 0, 305);
	flow_all();
	said("has sent everything");
	ck_assert(comes_cut(line[0].fd));
	finish();
}
END_TEST

/* Frames dealt to connections that are fast and slow by turns. */
static void
deal(struct dice *d, unsigned lines, unsigned runs)
{
	for (unsigned run = 0; run < runs; run++) {
		uint64_t at = 0;

		while (at + 48 < MOST) {
			unsigned n = 1 + dice_roll(d, 48);

			if (dice_chance(d, 95))
				add_data(&line[dice_roll(d, lines)], run, at,
					 n);
			at += n;
		}
	}
	for (unsigned i = 0; i < lines; i++)
		add_end(&line[i], runs, 0);
}

static uint64_t
made_count(void)
{
	uint64_t n = 0;

	for (unsigned run = 0; run < 8; run++)
		for (unsigned i = 0; i < MOST; i++)
			n += made[run][i];
	return n;
}

START_TEST(connections_are_put_in_order)
{
	struct dice d = { 11 };
	uint64_t all;

	begin(FOUR);
	call(LINES, 77);
	deal(&d, LINES, 3);
	all = made_count();
	for (int i = 0; i < 2000000 && packets < all; i++) {
		unsigned which = dice_roll(&d, LINES);

		if (dice_chance(&d, 30))
			flow(&line[which], 1 + dice_roll(&d, 5000));
		else
			take_line(which, dice_roll(&d, RECEIVE_BATCH + 1));
	}
	ck_assert_uint_eq(packets, all);
	flow_all();
	for (unsigned i = 0; i < LINES; i++)
		ck_assert(comes_cut(line[i].fd));
	/* Runs are far from each other, in their order. */
	for (unsigned run = 1; run < 3; run++)
		for (unsigned i = 0, k; i < 50; i++)
			for (k = 0; k < 50; k++)
				if (told[run][i] && told[run - 1][k])
					ck_assert_int_gt(
					    (int64_t)(told[run][i] -
						      told[run - 1][k]),
					    (int64_t)1 << 40);
	finish();
}
END_TEST

/* Nothing is told before all have said hello, or a second has passed. */
START_TEST(the_first_frames_wait)
{
	begin(FOUR);
	strict = false;
	line[0].fd = caller();
	add_hello(&line[0], 9, 0, 2);
	add_data(&line[0], 0, 10, 10);
	flow_all();
	ck_assert_uint_eq(packets, 0);
	line[1].fd = caller();
	add_hello(&line[1], 9, 1, 2);
	flow_all();
	ck_assert_uint_eq(packets, 0); /* it may bring 0 to 9 */
	add_data(&line[1], 0, 0, 10);
	flow_all();
	ck_assert_uint_eq(packets, 20);
	finish();
	/* The other one never comes. */
	begin(FOUR);
	line[0].fd = caller();
	add_hello(&line[0], 9, 0, 2);
	add_data(&line[0], 0, 10, 10);
	flow_all();
	pass(&b, 0.8);
	flow_all();
	ck_assert_uint_eq(packets, 0);
	pass(&b, 0.3);
	flow_all();
	ck_assert_uint_eq(packets, 10);
	finish();
}
END_TEST

/* One that brings nothing is waited for, but not for ever. */
START_TEST(who_lags_is_waited_for)
{
	begin(FOUR);
	call(2, 3);
	add_data(&line[0], 0, 0, 10);
	add_data(&line[1], 0, 10, 10);
	for (unsigned i = 0; i < 10; i++)
		add_data(&line[0], 0, 20 + i * 20, 20);
	flow_all();
	/* Line 1 stands at 20. */
	ck_assert_uint_eq(packets, 20 + REACH);
	pass(&b, 0.5);
	flow_all();
	ck_assert_uint_eq(packets, 20 + REACH);
	/* It says where it stands. */
	add_data(&line[1], 0, 100, 0);
	flow_all();
	ck_assert_uint_eq(packets, 100 + REACH);
	pass(&b, 1.1);
	flow_all();
	ck_assert_uint_eq(packets, 220);
	finish();
}
END_TEST

START_TEST(without_room_it_waits)
{
	begin(FOUR);
	call(1, 3);
	add_data(&line[0], 0, 0, 100);
	flow(&line[0], SIZE_MAX);
	for (int i = 0; i < 100; i++)
		ck_assert_uint_eq(take_line(0, 0), 0);
	for (int i = 0; i < 100 && packets < 100; i++)
		take_line(0, 7);
	ck_assert_uint_eq(packets, 100);
	finish();
}
END_TEST

START_TEST(it_can_be_polled)
{
	struct pollfd p = { .events = POLLIN };

	begin(FOUR);
	call(2, 3);
	p.fd = b.ops->fd(b.state, 1);
	ck_assert_int_eq(poll(&p, 1, 0), 0);
	add_data(&line[1], 0, 80, 10);
	add_data(&line[0], 0, 0, 10);
	flow(&line[1], SIZE_MAX);
	ck_assert_int_eq(poll(&p, 1, PATIENCE), 1);
	take_all_lines();
	ck_assert_uint_eq(packets, 0);
	/* Its frame is read, and waits for the other: that is something. */
	ck_assert_int_eq(poll(&p, 1, 0), 1);
	flow(&line[0], SIZE_MAX);
	take_all_lines();
	add_data(&line[0], 0, 90, 1);
	flow(&line[0], SIZE_MAX);
	take_all_lines();
	ck_assert_uint_eq(packets, 21);
	ck_assert_int_eq(poll(&p, 1, 0), 0);
	finish();
}
END_TEST

/* Somebody calls again as line i, of two. */
static void
call_again(unsigned i)
{
	line[i].fd = caller();
	line[i].bytes = line[i].sent = 0;
	add_hello_born(&line[i], 3, i, 2, 9);
	flow(&line[i], SIZE_MAX);
	take_all_lines();
}

static void
have_is(int fd, uint64_t first)
{
	uint8_t at[WIRE_HEADER];
	struct wire_frame f;

	ck_assert_int_eq(recv(fd, at, sizeof at, 0), sizeof at);
	ck_assert_ptr_null(wire_unpack(&f, at, crc32c));
	ck_assert_uint_eq(f.type, WIRE_HAVE);
	ck_assert_uint_eq(f.run, 0);
	ck_assert_uint_eq(f.first, first);
}

/* What a connection lost is waited for, however long it takes, and is asked
 * for; and what comes twice is told once. */
START_TEST(a_hole_is_filled_before_all_else)
{
	begin(FOUR);
	call_again(0);
	call_again(1);
	have_is(line[1].fd, 0);
	add_data(&line[0], 0, 0, 10);
	add_data(&line[1], 0, 10, 10);
	add_data(&line[1], 0, 30, 10);
	flow_all();
	ck_assert_uint_eq(packets, 20);
	leave(line[0].fd); /* with 20 to 29 */
	line[0].fd = -1;
	for (int i = 0; i < 5; i++) {
		pass(&b, 1.1);
		flow_all();
	}
	ck_assert_uint_eq(packets, 20);
	leave(line[1].fd); /* with 30 to 39, which nobody reads */
	line[1].fd = -1;
	pass(&b, 0.1);
	said("has gone, with what comes behind a hole");
	ck_assert_uint_eq(packets, 20);
	call_again(1);
	have_is(line[1].fd, 10); /* more it cannot know */
	call_again(0);
	have_is(line[0].fd, 10);
	add_data(&line[0], 0, 10, 20);
	add_data(&line[1], 0, 30, 20);
	flow_all();
	ck_assert_uint_eq(packets, 50);
	add_end(&line[0], 0, 50);
	add_end(&line[1], 0, 50);
	flow_all();
	have_is(line[0].fd, 50);
	have_is(line[1].fd, 50);
	finish();
}
END_TEST

SUITE("receive_spt1", frames_of_one_connection, connections_are_put_in_order,
      the_first_frames_wait, who_lags_is_waited_for, without_room_it_waits,
      it_can_be_polled, a_hole_is_filled_before_all_else)
