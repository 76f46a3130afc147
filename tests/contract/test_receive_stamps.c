/* SPDX-License-Identifier: MIT */
/*
 * When packets came, as udp tells it, over real sockets.
 */
#include <time.h>

#include "contract/receive_bench.h"
#include "lib/stamps.h"

static int64_t
utc_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t)t.tv_sec * SECOND + t.tv_nsec;
}

/* What is read is told as of when it was sent, not as of when it is read. */
static void
stamps_check(struct bench *b, int64_t from, int64_t to)
{
	int n;

	while ((n = receive_told(b, 0)) > 0) {
		for (int i = 0; i < n; i++) {
			int64_t at = b->batch.packet[i].arrived;

			if (at < from || at > to)
				ck_abort_msg("%lld ns from when it was sent",
					     (long long)(at - from));
		}
	}
}

/* Singles, trains, and such as are not what is expected. */
static void
all_send(struct bench *b)
{
	send_one(b, 1008);
	send_train(b, 1008, 20, 0);
	send_train(b, 1008, 20, 30);
	send_train(b, 1009, 20, 500);
	send_one(b, 3);
	send_one(b, 2000);
}

/* They are asked for when all is in the socket already, and has waited. */
static void
stamps(const char *options, unsigned want, bool senders)
{
	static struct bench b;

	wish.senders = senders;
	udp_open(&b, options, 8, 1000);
	wish.senders = false;
	stamps_wait();
	for (int round = 0; round < 3; round++) {
		int64_t from = utc_now(), to;

		b.stamps = false;
		take_all(&b);
		all_send(&b);
		to = utc_now();
		usleep(20000);
		b.want[0] = want;
		b.stamps = true;
		stamps_check(&b, from, to);
		ck_assert_uint_eq(b.told, b.sents);
	}
	bench_close(&b);
}

START_TEST(udp_says_when_packets_came)
{
	for (int senders = 0; senders < 2; senders++) {
		stamps(V4, RECEIVE_BATCH, senders);
		stamps(V4, 3, senders);
		stamps(V4 "gro = false;", RECEIVE_BATCH, senders);
		stamps(V4 "gro = false;", 3, senders);
		stamps("listen = [ \"[::1]:0\" ];", RECEIVE_BATCH, senders);
	}
}
END_TEST

/* And not what it costs to know. */
START_TEST(udp_tells_no_time_that_nobody_wants)
{
	static struct bench b;

	udp_open(&b, V4 "gro = false;", 8, 1000);
	for (int i = 0; i < 6; i++) {
		b.stamps = i % 2;
		send_one(&b, 1008);
		ck_assert_int_eq(receive_told(&b, 0), 1);
		ck_assert_int_eq(b.batch.packet[0].arrived > 0, i % 2);
	}
	bench_close(&b);
}
END_TEST

/* From trains to messages, and back, they go on. */
START_TEST(udp_stamps_in_every_mode)
{
	static struct bench b;

	udp_open(&b, V4, 8, 1000);
	b.stamps = true;
	for (int i = 0; i < 200; i++) {
		int64_t from = utc_now();

		send_one(&b, 1008);
		ck_assert_int_eq(receive_told(&b, 0), 1);
		ck_assert_int_ge(b.batch.packet[0].arrived, from);
		ck_assert_int_eq(receive_told(&b, 0), 0);
	}
	ck_assert(!gro_is_on(&b));
	bench_close(&b);
}
END_TEST

SUITE("receive stamps", udp_says_when_packets_came,
      udp_tells_no_time_that_nobody_wants, udp_stamps_in_every_mode)
