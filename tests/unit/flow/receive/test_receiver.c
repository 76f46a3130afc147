/* SPDX-License-Identifier: MIT */
/*
 * A receiver with real sockets: a thread sends, the receiver takes, places
 * and hands blocks on; at the end each packet is accounted for.
 */
#include "flow/memory/arena.h"
#include "lib/receiver_bench.h"

static void
sent_and_recorded(unsigned train, const char *options)
{
	struct receiver *r;
	struct sender sender;
	struct counts c;

	pool_open();
	stream_open(&stream[0], "udp", options);
	ck_assert_int_eq(receiver_start(&r, NULL), 0);
	ck_assert_int_eq(receiver_subscribe(r, stream[0].subscriber), 0);
	sender_connect(&sender, &stream[0], 0);
	sender.train = train;
	sender.from = 1000000;
	pthread_create(&sender.thread, NULL, sender_run, &sender);
	pthread_join(sender.thread, NULL);
	stream_stop(r, &stream[0]);
	receiver_stop(r);
	c = stream_check(&stream[0]);
	sent_check(&stream[0], &c, SENT);
	ck_assert_uint_eq(c.placed, c.datagrams);
	close(sender.fd);
	stream_close(&stream[0]);
	arena_free(arena);
}

START_TEST(trains_are_recorded)
{
	sent_and_recorded(TRAIN, one);
}
END_TEST

START_TEST(singles_are_recorded)
{
	sent_and_recorded(1, one);
	sent_and_recorded(1, "listen = [ \"127.0.0.1:0\" ]; gro = false;");
}
END_TEST

/* What is in the socket at the stop belongs to the recording. */
START_TEST(a_stop_takes_what_has_arrived)
{
	for (unsigned train = 1; train <= TRAIN; train += TRAIN - 1) {
		struct receiver *r;
		struct sender sender;
		struct counts c;

		pool_open();
		stream_open(&stream[0], "udp", one);
		ck_assert_int_eq(receiver_start(&r, NULL), 0);
		sender_connect(&sender, &stream[0], 0);
		for (unsigned i = 0; i < 256; i += train)
			sender_send(&sender, i, train);
		sender_settle(&sender);
		/* All of it is in the socket before the receiver knows it. */
		ck_assert_int_eq(receiver_subscribe(r, stream[0].subscriber),
				 0);
		stream_stop(r, &stream[0]);
		receiver_stop(r);
		c = stream_check(&stream[0]);
		ck_assert_uint_eq(c.placed, 256);
		close(sender.fd);
		stream_close(&stream[0]);
		arena_free(arena);
	}
}
END_TEST

/* Several streams on one receiver, one of two sockets; each its own. */
START_TEST(streams_do_not_mix)
{
	static const char two[] = "listen = [ \"127.0.0.1:0\", \"[::1]:0\" ];";
	struct sender sender[MOST + 1];
	struct receiver *r;

	pool_open();
	ck_assert_int_eq(receiver_start(&r, NULL), 0);
	for (unsigned i = 0; i < MOST; i++) {
		stream_open(&stream[i], "udp", i ? one : two);
		ck_assert_int_eq(receiver_subscribe(r, stream[i].subscriber),
				 0);
		sender_connect(&sender[i], &stream[i], 0);
		sender[i].from = i * 100000;
	}
	sender_connect(&sender[MOST], &stream[0], 1);
	sender[MOST].from = SENT;
	for (unsigned i = 0; i <= MOST; i++)
		pthread_create(&sender[i].thread, NULL, sender_run, &sender[i]);
	for (unsigned i = 0; i <= MOST; i++) {
		pthread_join(sender[i].thread, NULL);
		close(sender[i].fd);
	}
	for (unsigned i = 0; i < MOST; i++) {
		struct counts c;

		stream_stop(r, &stream[i]);
		c = stream_check(&stream[i]);
		sent_check(&stream[i], &c, i ? SENT : 2 * SENT);
		stream_close(&stream[i]);
	}
	receiver_stop(r);
	arena_free(arena);
}
END_TEST

/* A source that ends by itself leaves the receiver in peace. */
START_TEST(a_source_ends)
{
	struct receiver *r;
	struct counts c;

	pool_open();
	stream_open(&stream[0], "gen", "packets = 20000; first = 77;");
	ck_assert_int_eq(receiver_start(&r, NULL), 0);
	ck_assert_int_eq(receiver_subscribe(r, stream[0].subscriber), 0);
	do {
		sched_yield();
		counts_read(&c, &stream[0].subscriber->shown[0]);
	} while (c.datagrams < 20000);
	stream_stop(r, &stream[0]);
	c = stream_check(&stream[0]);
	ck_assert_uint_eq(c.datagrams, 20000);
	ck_assert_uint_eq(c.placed + c.drop[DROP_NO_BUFFER], 20000);
	ck_assert_uint_eq(c.runs, 1);
	receiver_stop(r);
	stream_close(&stream[0]);
	arena_free(arena);
}
END_TEST

/* It shows that it lives, with nothing to do too. */
static void
beats(const struct receiver *r)
{
	int64_t was = receiver_beat(r);

	while (receiver_beat(r) == was)
		sched_yield();
}

START_TEST(nothing_comes)
{
	struct receiver *r;

	pool_open();
	ck_assert_int_eq(receiver_start(&r, NULL), 0);
	beats(r);
	stream_open(&stream[0], "udp", one);
	ck_assert_int_eq(receiver_subscribe(r, stream[0].subscriber), 0);
	beats(r);
	stream_stop(r, &stream[0]);
	ck_assert_uint_eq(stream_check(&stream[0]).datagrams, 0);
	ck_assert_uint_eq(stream[0].blocks, 0);
	receiver_stop(r);
	stream_close(&stream[0]);
	arena_free(arena);
}
END_TEST

SUITE_THREADS("receiver", NULL, nothing_comes, a_source_ends,
	      trains_are_recorded, singles_are_recorded,
	      a_stop_takes_what_has_arrived, streams_do_not_mix)
