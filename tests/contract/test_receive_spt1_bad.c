/* SPDX-License-Identifier: MIT */
/*
 * Wire frames that are none, and senders that misbehave: a connection that
 * breaks costs what it did not bring, and the others never notice.
 */
#include "contract/spt1_bench.h"

/* ---- what is not ----------------------------------------------------- */

/* Line 1 is cut off, and line 0 never notices. */
static void
cut(const char *why)
{
	uint64_t before = packets;
	unsigned lines = b.lines;

	strict = false; /* what it should have brought is lost */
	flow_all();
	ck_assert_msg(comes_cut(line[1].fd), "%s: line 1 goes on", why);
	said(why);
	said("127.0.0.1:");
	ck_assert_uint_eq(b.lines, lines + 1);
	close(line[1].fd);
	line[1].fd = -1;
	add_data(&line[0], 0, 1000, 10);
	flow_all();
	ck_assert_uint_eq(packets, before + 10);
	ck_assert(!is_cut(line[0].fd));
	finish();
}

static void
begin_two(void)
{
	begin(FOUR);
	call(2, 3);
	add_data(&line[0], 0, 0, 10);
	add_data(&line[1], 0, 10, 10);
	flow_all();
	ck_assert_uint_eq(packets, 20);
}

START_TEST(other_protocols)
{
	static const char *const others[] = { "GET / HTTP/1.0\r\n\r\n",
					      "SSH-2.0-OpenSSH_9.2\r\n",
					      "\x16\x03\x01\x02", "SPT2aaaa" };

	for (unsigned i = 0; i < sizeof others / sizeof *others; i++) {
		begin_two();
		add(&line[1], others[i], strlen(others[i]));
		cut("sent something that is no frame of spate's");
	}
}
END_TEST

START_TEST(wrong_bytes)
{
	begin_two();
	add_data(&line[1], 0, 20, 10);
	line[1].text[line[1].bytes - 1] ^= 1;
	cut("payload has a wrong checksum");
	begin_two();
	add_data(&line[1], 0, 20, 10);
	line[1].text[line[1].bytes - 10 * PACKET - 30] ^= 1;
	cut("header with a wrong checksum");
}
END_TEST

START_TEST(wrong_frames)
{
	static const uint8_t some[100];
	static const struct {
		const char *why;
		struct wire_frame f;
	} bad[] = {
		{ "not as long as its packets",
		  { .type = WIRE_DATA,
		    .payload_bytes = 99,
		    .packets = 2,
		    .first = 30 } },
		{ "belongs before another",
		  { .type = WIRE_DATA,
		    .payload_bytes = PACKET,
		    .packets = 1,
		    .first = 19 } },
		{ "an answer to nothing", { .type = WIRE_HAVE } },
		{ "type", { .type = 9 } },
	};

	for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
		begin_two();
		add_frame(&line[1], bad[i].f, some);
		cut(bad[i].why);
	}
	begin_two();
	add_hello(&line[1], 3, 1, 2);
	cut("a second hello");
	/* Announced to be too large: not waited for. */
	begin_two();
	add_frame(&line[1],
		  (struct wire_frame){ .type = WIRE_DATA, .first = 20 }, "");
	line[1].bytes -= WIRE_HEADER;
	wire_pack(&(struct wire_frame){ .type = WIRE_DATA,
					.payload_bytes = WIRE_PAYLOAD_MOST + 1,
					.packets = 9 },
		  line[1].text + line[1].bytes, crc32c);
	line[1].bytes += WIRE_HEADER;
	cut("larger than 4 MiB");
}
END_TEST

START_TEST(ends_of_all_kinds)
{
	struct linger linger = { .l_onoff = 1 };
	struct pollfd p = { .events = POLLIN };

	begin_two();
	add_data(&line[1], 0, 20, 100);
	flow(&line[1], 2000);
	shutdown(line[1].fd, SHUT_WR);
	settle(line[1].fd);
	line[1].sent = line[1].bytes;
	cut("gone in the middle of a frame");
	begin_two();
	shutdown(line[1].fd, SHUT_WR);
	settle(line[1].fd);
	cut("has gone without saying so");
	/* What was whole is told before. */
	begin_two();
	add_data(&line[1], 0, 20, 10);
	flow(&line[1], SIZE_MAX);
	shutdown(line[1].fd, SHUT_WR);
	settle(line[1].fd);
	add_data(&line[0], 0, 30, 10);
	flow_all();
	ck_assert_uint_eq(packets, 40);
	finish();
	begin_two();
	setsockopt(line[1].fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
	close(line[1].fd);
	line[1].fd = -1;
	p.fd = b.ops->fd(b.state, 1);
	ck_assert_int_eq(poll(&p, 1, PATIENCE), 1);
	take_all_lines();
	said("reset");
	finish();
}
END_TEST

START_TEST(who_stalls_is_cut_off)
{
	begin_two();
	strict = false;
	add_data(&line[1], 0, 20, 100);
	flow(&line[1], 2000);
	settle(line[1].fd);
	line[1].sent = line[1].bytes;
	for (int i = 0; i < 29; i++) {
		add_data(&line[0], 0, 200u + (unsigned)i, 1);
		flow_all();
		pass(&b, 1);
		ck_assert(!is_cut(line[1].fd));
	}
	flow_all();
	ck_assert_uint_eq(packets, 49);
	pass(&b, 1.2);
	ck_assert(comes_cut(line[1].fd));
	said("has been silent for 30 s");
	finish();
}
END_TEST

START_TEST(who_says_no_hello)
{
	begin(FOUR);
	line[0].fd = caller_heard(&b);
	take_all_lines();
	for (int i = 0; i < 7; i++) {
		add(&line[0], &"SPT1"[i % 4], 1);
		flow_all();
		pass(&b, 0.7);
	}
	ck_assert(!is_cut(line[0].fd));
	pass(&b, 0.4);
	ck_assert(comes_cut(line[0].fd));
	said("sent no hello");
	finish();
	begin(FOUR);
	line[0].fd = caller();
	add_data(&line[0], 0, 0, 1);
	flow_all();
	ck_assert(comes_cut(line[0].fd));
	said("no hello first");
	finish();
}
END_TEST

/* ---- transfers ------------------------------------------------------- */

static void
hello_refused(const struct wire_hello *h, const char *why)
{
	const struct wire_frame f = { .type = WIRE_HELLO,
				      .payload_bytes = WIRE_HELLO_BYTES };
	uint8_t payload[WIRE_HELLO_BYTES];

	wire_hello_pack(h, payload);
	line[LINES].fd = caller();
	line[LINES].bytes = line[LINES].sent = 0;
	add_frame(&line[LINES], f, payload);
	flow(&line[LINES], SIZE_MAX);
	take_all_lines();
	ck_assert(comes_cut(line[LINES].fd));
	said(why);
	close(line[LINES].fd);
	line[LINES].fd = -1;
}

START_TEST(who_may_join)
{
	begin(FOUR);
	call(2, 3);
	hello_refused(&(struct wire_hello){ 1, PACKET, 2, 0, 4 },
		      "another sender is connected");
	hello_refused(&(struct wire_hello){ 1, PACKET + 1, 2, 0, 3 },
		      "another size than `payload`");
	hello_refused(&(struct wire_hello){ 1, PACKET, 5, 4, 3 },
		      "more connections than `connections`");
	hello_refused(&(struct wire_hello){ 2, PACKET, 2, 0, 3 },
		      "another version");
	ck_assert(!is_cut(line[0].fd) && !is_cut(line[1].fd));
	/* All seats taken. */
	for (unsigned i = 2; i <= LINES; i++) {
		line[i].fd = caller_heard(&b);
		take_all_lines();
	}
	said("all of the stream's `connections` are taken");
	ck_assert(comes_cut(line[LINES].fd));
	ck_assert(!is_cut(line[LINES - 1].fd));
	finish();
}
END_TEST

START_TEST(it_connects_again)
{
	begin_two();
	leave(line[1].fd);
	take_all_lines();
	line[1].fd = caller();
	line[1].bytes = line[1].sent = 0;
	add_hello(&line[1], 3, 1, 2);
	add_data(&line[1], 0, 30, 10);
	add_data(&line[0], 0, 20, 10);
	flow_all();
	ck_assert_uint_eq(packets, 40);
	ck_assert_uint_eq(told[0][39] - told[0][0], 39);
	/* And before its old connection is known to be dead. */
	line[2].fd = caller();
	add_hello(&line[2], 3, 1, 2);
	add_data(&line[2], 0, 40, 10);
	flow_all();
	ck_assert(comes_cut(line[1].fd));
	ck_assert_uint_eq(packets, 50);
	finish();
}
END_TEST

/* The same numbers again, of a sender that was started again. */
START_TEST(another_transfer_is_another_run)
{
	uint64_t first, second;

	begin_two();
	first = told[0][0];
	for (unsigned i = 0; i < 2; i++)
		leave(line[i].fd);
	take_all_lines();
	told_forget();
	call(2, 4);
	add_data(&line[0], 0, 0, 10);
	add_data(&line[1], 0, 10, 10);
	flow_all();
	ck_assert_uint_eq(packets, 40);
	second = told[0][0];
	ck_assert_int_gt((int64_t)(second - first), (int64_t)1 << 40);
	finish();
}
END_TEST

SUITE("receive_spt1_bad", other_protocols, wrong_bytes, wrong_frames,
      ends_of_all_kinds, who_stalls_is_cut_off, who_says_no_hello, who_may_join,
      it_connects_again, another_transfer_is_another_run)
