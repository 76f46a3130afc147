/* SPDX-License-Identifier: MIT */
/*
 * What receive.h promises, asked of udp where datagrams have many lengths:
 * pairs that differ, as of the pieces of heaps, and packets that are longer
 * than what was expected.
 */
#include <arpa/inet.h>

#include "contract/receive_bench.h"

enum { PREFIX = 200, PAYLOAD = 4096, LONGEST = 65507 };

/* Heaps of five packets: the first has a longer header, the last is short. */
static void
heaps(const struct bench *b, unsigned i, struct receive_pair *p)
{
	(void)b;
	p->prefix_bytes = i % 5 ? 56 : 128;
	p->payload_bytes = (i % 5 == 4 ? 500 : 1472) - p->prefix_bytes;
}

/* Like heaps, whose first packet is the longest. */
static void
long_first(const struct bench *b, unsigned i, struct receive_pair *p)
{
	(void)b;
	p->prefix_bytes = i % 3 ? 0 : 80;
	p->payload_bytes = 1000;
}

/* The first is the end of a heap, or a heap of its own. */
static void
short_first(const struct bench *b, unsigned i, struct receive_pair *p)
{
	(void)b;
	p->prefix_bytes = 80;
	p->payload_bytes = i % 3 ? 2000 : 420;
}

static void
all_differ(const struct bench *b, unsigned i, struct receive_pair *p)
{
	(void)b;
	p->prefix_bytes = i * 37 % PREFIX;
	p->payload_bytes = i * 777 % PAYLOAD;
}

static void
nothing_expected(const struct bench *b, unsigned i, struct receive_pair *p)
{
	(void)b;
	p->prefix_bytes = 0;
	p->payload_bytes = i % 2 ? 0 : 1;
}

static void (*const lengths[])(const struct bench *, unsigned,
			       struct receive_pair *) = {
	heaps, long_first, short_first, all_differ, nothing_expected, NULL
};
enum { LENGTHS = sizeof lengths / sizeof *lengths };

static const char *const modes[] = { V4, V4 "gro = false;" };

static void
sizes_open(struct bench *b, const char *options, uint32_t longest)
{
	wish = (struct receive_args){ .longest = longest, .senders = true };
	udp_open(b, options, PREFIX, PAYLOAD);
}

static void
traffic(struct bench *b)
{
	static const uint32_t size[] = { 1,    80,   500,  1000, 1080,
					 1472, 4095, 4296, 9000, 20000 };

	for (unsigned i = 0; i < sizeof size / sizeof *size; i++) {
		unsigned most = 65000 / size[i] < 60 ? 65000 / size[i] : 60;

		send_one(b, size[i]);
		take_all(b);
		for (unsigned n = 2; n < most; n = 2 * n + 1) {
			send_train(b, size[i], n, 0);
			send_train(b, size[i], n - 1, size[i] / 2);
			send_one(b, size[i]);
			take_all(b);
		}
	}
	for (unsigned i = 0; i < 10; i++) {
		send_train(b, 1472, 4, 500);
		send_train(b, 1472, 3, 500);
		send_train(b, 1472, 4, 501);
		send_train(b, 1472, 9, 500);
		send_one(b, 0);
		send_one(b, LONGEST);
	}
	take_all(b);
}

START_TEST(every_length_comes_whole)
{
	static struct bench b;

	for (unsigned i = 0; i < LENGTHS; i++) {
		for (unsigned mode = 0; mode < 2; mode++) {
			sizes_open(&b, modes[mode], LONGEST);
			b.lengths = lengths[i];
			traffic(&b);
			bench_close(&b);
		}
	}
}
END_TEST

/* From train mode to batches and back, with every length in the socket. */
START_TEST(every_length_in_every_mode)
{
	static struct bench b;

	for (unsigned i = 0; i < LENGTHS; i++) {
		now_ns = 1000 * (int64_t)SECOND;
		sizes_open(&b, V4, LONGEST);
		b.lengths = lengths[i];
		singles(&b, 63);
		send_one(&b, 900);
		send_train(&b, 600, 3, 0);
		send_one(&b, 1800);
		singles(&b, 80);
		ck_assert(!gro_is_on(&b));
		traffic(&b);
		for (unsigned calls = 0; calls < 20; calls++)
			receive_told(&b, 0);
		now_ns += 11 * (int64_t)SECOND;
		for (unsigned calls = 0; calls < 300; calls++)
			receive_told(&b, 0);
		ck_assert(gro_is_on(&b));
		traffic(&b);
		bench_close(&b);
	}
}
END_TEST

/* Where anything up to the longest may be a packet, a train that has lost its
 * segment size would look like one: such a socket is left when it is empty. */
START_TEST(full_sockets_keep_their_trains)
{
	static struct bench b;

	sizes_open(&b, V4, LONGEST);
	for (unsigned i = 0; i < 240; i++)
		send_one(&b, 600);
	for (unsigned i = 0; i < 10; i++) {
		send_train(&b, 600, 2, 0);
		send_one(&b, 1200);
		send_train(&b, 700, 3, 50);
	}
	while (b.told < b.sents) {
		ck_assert(gro_is_on(&b));
		ck_assert_int_ge(receive_told(&b, 0), 1);
	}
	take_all(&b);
	bench_close(&b);
}
END_TEST

/* How many packets of the last call lie where they were expected? */
static unsigned
landed(const struct bench *b)
{
	unsigned n = 0;

	for (unsigned i = 0; i < b->batch.packets; i++)
		n += b->batch.packet[i].payload == b->pair[i].payload;
	return n;
}

START_TEST(what_is_expected_lands_without_a_copy)
{
	static struct bench b;

	sizes_open(&b, modes[0], LONGEST);
	b.lengths = heaps;
	for (unsigned i = 0; i < 20; i++) {
		send_train(&b, 1472, 4, 500);
		ck_assert_int_eq(receive_told(&b, 0), 5);
		ck_assert_uint_eq(landed(&b), 5);
		send_train(&b, 1472, 3, 1000);
		ck_assert_int_eq(receive_told(&b, 0), 4);
		ck_assert_uint_eq(landed(&b), 4);
	}
	bench_close(&b);
	sizes_open(&b, modes[1], LONGEST);
	b.lengths = heaps;
	for (unsigned i = 0; i < 60; i++)
		send_one(&b, i % 5 == 4 ? 500 : 1472);
	ck_assert_int_eq(receive_told(&b, 0), 60);
	ck_assert_uint_eq(landed(&b), 60);
	ck_assert(b.batch.empty);
	bench_close(&b);
}
END_TEST

/* A train of as many packets as pairs are wanted ends within the pairs. */
START_TEST(pairs_are_wanted_for_a_whole_train)
{
	static struct bench b;

	sizes_open(&b, V4, LONGEST);
	b.lengths = long_first;
	send_train(&b, 1000, 40, 0);
	take_all(&b);
	ck_assert_uint_gt(b.want[0], 60);
	ck_assert_uint_lt(b.want[0], 70);
	b.lengths = NULL;
	send_one(&b, 1000);
	take_all(&b);
	ck_assert_uint_eq(b.want[0], 65536 / (PREFIX + PAYLOAD) + 1);
	b.lengths = nothing_expected;
	send_one(&b, 1000);
	take_all(&b);
	ck_assert_uint_eq(b.want[0], RECEIVE_BATCH);
	bench_close(&b);
}
END_TEST

/* A whole batch of the longest: each has its own memory until the next. */
START_TEST(many_long_ones_at_once)
{
	static struct bench b;
	struct receive_counts c;

	for (unsigned i = 0; i < LENGTHS; i++) {
		sizes_open(&b, modes[1], LONGEST);
		b.lengths = lengths[i];
		for (unsigned n = 0; n < 40; n++)
			send_one(&b, LONGEST - n);
		ck_assert_int_eq(receive_told(&b, 0), 40);
		b.ops->counts(b.state, 0, &c);
		ck_assert_uint_eq(c.overruns, 0);
		bench_close(&b);
	}
}
END_TEST

START_TEST(longer_than_the_longest_is_cut)
{
	static struct bench b;

	for (unsigned mode = 0; mode < 2; mode++) {
		sizes_open(&b, modes[mode], 5000);
		for (unsigned i = 0; i < LENGTHS; i++) {
			b.lengths = lengths[i];
			send_one(&b, 5000);
			send_one(&b, 5001);
			send_one(&b, 65000);
			send_train(&b, 5001, 3, 4000);
			send_train(&b, 4999, 3, 4000);
			send_one(&b, 5000);
			take_all(&b);
		}
		bench_close(&b);
	}
}
END_TEST

/* The sender of the next datagram, by what is told of it. */
static uint32_t
told_sender(struct bench *b)
{
	send_train(b, 1000, 3, 0);
	while (b->told < b->sents)
		receive_told(b, 0);
	for (unsigned i = 1; i < b->batch.packets; i++)
		ck_assert_uint_eq(b->batch.packet[i].sender,
				  b->batch.packet[0].sender);
	return b->batch.packet[0].sender;
}

START_TEST(senders_are_told_apart)
{
	static struct bench b;

	for (unsigned mode = 0; mode < 2; mode++) {
		uint32_t first, second;
		int other;

		sizes_open(&b, modes[mode], LONGEST);
		first = told_sender(&b);
		other = b.from;
		b.from = -1;
		connect_to(&b, 0);
		second = told_sender(&b);
		ck_assert_uint_ne(first, second);
		ck_assert_uint_eq(told_sender(&b), second);
		close(b.from);
		b.from = other;
		ck_assert_uint_eq(told_sender(&b), first);
		bench_close(&b);
	}
}
END_TEST

SUITE("receive sizes", every_length_comes_whole, every_length_in_every_mode,
      full_sockets_keep_their_trains, what_is_expected_lands_without_a_copy,
      pairs_are_wanted_for_a_whole_train, many_long_ones_at_once,
      longer_than_the_longest_is_cut, senders_are_told_apart)
