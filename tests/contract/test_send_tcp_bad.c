/* SPDX-License-Identifier: MIT */
/*
 * Peers that are no good, as sockets that say what they should not; and plain
 * bytes, which go to anybody.
 */
#include "wire/refuse.h"
#include "contract/send_tcp_bench.h"

static int door, peer;

static void
door_open(void)
{
	way_make();
	door = way.door;
	peer = -1;
	memset(&b, 0, sizeof b);
}

static void
door_close(void)
{
	if (peer >= 0)
		close(peer);
	close(door);
	from_close(&from);
}

/* Gives what there is, until the peer was let in and has heard something. */
static void
peer_let_in(void)
{
	struct pollfd p = { .fd = door, .events = POLLIN };

	from_give(&from, from.at);
	ck_assert_int_eq(poll(&p, 1, PATIENCE), 1);
	peer = accept4(door, NULL, NULL, SOCK_CLOEXEC);
	ck_assert_int_ge(peer, 0);
	p.fd = peer;
	for (int i = 0; i < 1000 && poll(&p, 1, 1) == 0; i++)
		from_give(&from, from.at);
}

static int
until_said(uint64_t end)
{
	int err = -EAGAIN;

	for (int i = 0; i < 1000 && (!err || err == -EAGAIN) && from.at < end;
	     i++) {
		err = from_give(&from, end);
		from_wait(&from, 1);
	}
	return err;
}

static void
framed_begin(bool ordered)
{
	door_open();
	ask = (struct send_args){ .connections = 1, .ordered = ordered };
	from_open(&from, "", way.port);
	peer_let_in();
}

static void
frame_say(struct wire_frame f, const void *payload)
{
	uint8_t header[WIRE_HEADER];

	f.payload_crc += crc32c(0, payload, f.payload_bytes);
	wire_pack(&f, header, crc32c);
	ck_assert_int_eq(send(peer, header, sizeof header, 0), sizeof header);
	ck_assert_int_eq(send(peer, payload, f.payload_bytes, 0),
			 f.payload_bytes);
}

static void
why_has(const char *text)
{
	struct send_facts facts;

	facts_of(&from, &facts);
	ck_assert_msg(strstr(facts.why, text), "'%s', expected '%s'", facts.why,
		      text);
	ck_assert_msg(strncmp(facts.why, "127.0.0.1:", 10) == 0,
		      "'%s' does not say who", facts.why);
}

/* ---- frames ---------------------------------------------------------- */

START_TEST(other_answers)
{
	static const struct {
		const char *bytes, *why;
	} other[] = {
		{ "HTTP/1.1 400 Bad Request\r\n", "no receiver of spate's" },
		{ "SSH-2.0-OpenSSH_9.2\r\n", "no receiver of spate's" },
	};

	for (unsigned i = 0; i < 2; i++) {
		framed_begin(true);
		give(peer, other[i].bytes, strlen(other[i].bytes));
		ck_assert_int_eq(until_said(10), -EPROTO);
		why_has(other[i].why);
		door_close();
	}
}
END_TEST

START_TEST(frames_that_cannot_be)
{
	static const uint8_t nothing[WIRE_ANSWER_MOST];
	static const struct {
		struct wire_frame f;
		int err;
		const char *why;
	} bad[] = {
		{ { .type = WIRE_DATA, .packets = 1, .payload_bytes = 8 },
		  -EPROTO,
		  "answers as no receiver" },
		{ { .type = WIRE_END }, -EPROTO, "answers as no receiver" },
		{ { .type = WIRE_HELLO }, -EPROTO, "answers as no receiver" },
		{ { .type = WIRE_REFUSE, .payload_bytes = WIRE_ANSWER_MOST },
		  -EPROTO,
		  "too long" },
		{ { .type = WIRE_PROOF, .payload_bytes = WIRE_PROOF_BYTES },
		  -EACCES,
		  "out of place" },
		{ { .type = WIRE_CHALLENGE, .payload_bytes = WIRE_NONCE },
		  -EACCES,
		  "no secret here" },
		{ { .type = WIRE_WELCOME }, -EXDEV, "takes copies" },
		{ { .type = WIRE_WELCOME, .payload_bytes = 60000 },
		  -EXDEV,
		  "takes copies" },
	};

	for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
		framed_begin(true);
		frame_say(bad[i].f, nothing);
		ck_assert_int_eq(until_said(10), bad[i].err);
		why_has(bad[i].why);
		door_close();
	}
}
END_TEST

/* What may be better the next time. */
START_TEST(bytes_that_are_damaged)
{
	framed_begin(true);
	frame_say((struct wire_frame){ .type = WIRE_REFUSE,
				       .payload_bytes = 4,
				       .payload_crc = 1 },
		  "{  }");
	ck_assert_int_eq(until_said(10), -EAGAIN);
	door_close();
	framed_begin(true);
	give(peer, "SPT1 but nothing else of a header, and too much", 47);
	give(peer, "   ", 3);
	ck_assert_int_eq(until_said(10), -EAGAIN);
	door_close();
}
END_TEST

static void
refuse_say(const char *code)
{
	struct refuse r = { .what = "the stream is \"full\"",
			    .why = "it has no disks" };
	uint8_t bytes[REFUSE_MOST];

	snprintf(r.code, sizeof r.code, "%s", code);
	frame_say(
	    (struct wire_frame){ .type = WIRE_REFUSE,
				 .payload_bytes = refuse_pack(&r, bytes) },
	    bytes);
}

START_TEST(reasons_are_told)
{
	framed_begin(true);
	refuse_say("size");
	ck_assert_int_eq(until_said(10), -EACCES);
	why_has("refuses: the stream is \"full\": it has no disks");
	door_close();
	framed_begin(true);
	refuse_say("busy");
	for (int i = 0; i < 20; i++) {
		ck_assert_int_eq(from_give(&from, 10), -EAGAIN);
		from_wait(&from, 1);
	}
	why_has("refuses: the stream is \"full\": it has no disks");
	door_close();
}
END_TEST

/* A receiver that says it has what was never sent, or not what it has. */
START_TEST(lies_about_places)
{
	const struct wire_frame nothing = { .type = WIRE_HAVE };
	const struct wire_frame much = { .type = WIRE_HAVE, .first = 5000 };
	int err;

	framed_begin(true);
	frame_say(much, "");
	ck_assert_int_eq(until_said(6000), -ERESTART);
	ck_assert_uint_eq(from.at, 5000);
	ck_assert_int_eq(until_said(6000), 0);
	err = -EAGAIN;
	for (int i = 0; i < 20; i++) {
		err = from.ops->finish(from.state);
		from_wait(&from, 1);
	}
	ck_assert_int_eq(err, -EAGAIN); /* it has not said that it has all */
	frame_say(nothing, "");
	for (int i = 0; i < 100 && err == -EAGAIN; i++) {
		err = from.ops->finish(from.state);
		from_wait(&from, 1);
	}
	ck_assert_int_eq(err, -EAGAIN);
	why_has("has not got everything");
	door_close();
	/* Who cannot go back does not. */
	framed_begin(false);
	frame_say(much, "");
	ck_assert_int_eq(until_said(10), 0);
	ck_assert_uint_eq(from.at, 10);
	ck_assert_uint_eq(from.restarts, 0);
	door_close();
}
END_TEST

START_TEST(nobody_is_there)
{
	struct send_facts facts;
	uint16_t port_of_none = port_pick();

	ask = (struct send_args){ .connections = 2, .ordered = true };
	from_open(&from, "", port_of_none);
	for (int i = 0; i < 50; i++) {
		ck_assert_int_eq(from_give(&from, 10), -EAGAIN);
		from_wait(&from, 1);
	}
	why_has("Connection refused");
	facts_of(&from, &facts);
	ck_assert_uint_eq(facts.connections, 0);
	from_close(&from);
}
END_TEST

START_TEST(what_cannot_be_sent)
{
	static const struct {
		struct send_args a;
		const char *why;
	} bad[] = {
		{ { .to = "udp://127.0.0.1:1" }, "no address for TCP" },
		{ { .to = "tcp://::1:2630" }, "brackets" },
		{ { .plain = true, .connections = 2 }, "go in one" },
		{ { .plain = true, .subs = 3 }, "--sub" },
	};

	for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
		ask = bad[i].a;
		ck_assert_int_eq(from_try(&from, "", 1), -EINVAL);
		ck_assert_msg(strstr(from.why, bad[i].why),
			      "'%s', expected '%s'", from.why, bad[i].why);
		free(from.options);
		conf_close(from.conf);
	}
}
END_TEST

/* What frames cannot take may be copied all the same: the peer is asked. */
START_TEST(what_can_only_be_copied)
{
	static const struct {
		struct send_args a;
		const char *why;
	} unfit[] = {
		{ { .subs = 3 }, "--sub" },
		{ { .data_bytes = 5 << 20 }, "too long for a frame" },
	};

	for (unsigned i = 0; i < 4; i++) {
		const struct wire_frame answer = { .type = i < 2
							       ? WIRE_HAVE
							       : WIRE_WELCOME };

		door_open();
		ask = unfit[i % 2].a;
		ask.ordered = true;
		ask.connections = 1;
		from_open(&from, "", way.port);
		peer_let_in();
		frame_say(answer, "");
		ck_assert_int_eq(until_said(10), i < 2 ? -EINVAL : -EXDEV);
		if (i < 2) {
			struct send_facts facts;

			facts_of(&from, &facts);
			ck_assert_ptr_nonnull(strstr(facts.why, unfit[i].why));
		}
		door_close();
	}
}
END_TEST

/* ---- plain bytes ----------------------------------------------------- */

static uint8_t heard[2 * MOST * PACKET];
static size_t heards;
static int little; /* bytes that the peer's kernel takes; 0: many */

static void
plain_begin(const char *options, uint32_t stride)
{
	door_open();
	if (little)
		setsockopt(door, SOL_SOCKET, SO_RCVBUF, &little, sizeof little);
	heards = 0;
	ask = (struct send_args){ .plain = true, .ordered = true };
	from_open(&from, options, way.port);
	from.stride = stride;
}

/* The peer reads at most so much; false: it has all. */
static bool
hear(size_t most)
{
	ssize_t got;

	if (peer < 0)
		peer = accept4(door, NULL, NULL, SOCK_CLOEXEC);
	if (peer < 0)
		return true;
	got = recv(peer, heard + heards, most, MSG_DONTWAIT);
	heards += got > 0 ? (size_t)got : 0;
	return got != 0;
}

static void
heard_is(uint64_t n)
{
	ck_assert_uint_eq(heards, n * PACKET);
	for (uint64_t i = 0; i < n; i++)
		ck_assert_msg(noise_is(i, 0, heard + i * PACKET, PACKET),
			      "packet %llu is wrong", (unsigned long long)i);
}

/* All was given: the peer hears the rest, to the end. */
static void
drain(void)
{
	size_t before;

	for (int i = 0; i < 20000; i++) {
		before = heards;
		if (!hear(10000))
			return;
		ck_assert_int_eq(from.ops->finish(from.state), -EAGAIN);
		from_wait(&from, heards == before);
	}
}

START_TEST(plain_bytes)
{
	static const uint32_t strides[] = { PACKET, PACKET + 24 };
	struct send_facts facts;

	for (unsigned s = 0; s < 2; s++) {
		int err = -EAGAIN;

		plain_begin("", strides[s]);
		for (int i = 0; i < 5000 && err; i++) {
			err = from_give(&from, MOST);
			if (!err && from.at < MOST)
				err = -EAGAIN;
			hear(10000);
			from_wait(&from, i % 16 ? 0 : 1);
		}
		ck_assert_int_eq(err, 0);
		/* Not before the peer has all, and has closed. */
		drain();
		heard_is(MOST);
		close(peer);
		peer = -1;
		for (int i = 0; i < 500 && (err = from.ops->finish(from.state));
		     i++)
			from_wait(&from, 1);
		ck_assert_int_eq(err, 0);
		facts_of(&from, &facts);
		ck_assert_uint_eq(facts.packets, MOST);
		ck_assert_uint_eq(facts.bytes, MOST * PACKET);
		door_close();
	}
}
END_TEST

/* Without a copy: as long as the kernel has it, its memory is not told to be
 * free.  Over loopback it copies after all, when the peer reads. */
START_TEST(plain_bytes_as_they_lie)
{
	static const char *const modes[] = { "always", "auto", "never" };
	struct send_facts facts;
	bool held[3] = { false };

	little = 32768;
	for (unsigned m = 0; m < 3; m++) {
		char text[64];

		snprintf(text, sizeof text, "zerocopy = \"%s\"", modes[m]);
		plain_begin(text, PACKET);
		from_close(&from);
		ask.zerocopy_ok = true;
		from_open(&from, text, way.port);
		from.step = 2000;
		for (int i = 0; i < 5000 && from.at < MOST; i++) {
			ck_assert_int_le(from_give(&from, MOST), 0);
			/* The kernel had taken all of the first load before
			 * it was given the second one. */
			if (from.at >= 4000 && from.spoiled < 2000)
				held[m] = true;
			hear(10000);
			from_wait(&from, i % 16 ? 0 : 1);
		}
		drain();
		heard_is(MOST);
		for (int i = 0; i < 100 && from.spoiled < from.taken; i++) {
			from.ops->finish(from.state);
			data_spoil(&from);
			from_wait(&from, 1);
		}
		facts_of(&from, &facts);
		ck_assert_str_eq(facts.way, m ? "tcp, plain bytes"
					      : "tcp, plain bytes, no copy");
		ck_assert_uint_eq(from.spoiled, from.taken);
		door_close();
	}
	ck_assert(held[0] && !held[2]);
	/* It is wanted back all the same: then nothing more can be sent. */
	plain_begin("zerocopy = \"always\"", PACKET);
	from_close(&from);
	ask.zerocopy_ok = true;
	from_open(&from, "zerocopy = \"always\"", way.port);
	for (int i = 0; i < 100 && from.at < MOST; i++) {
		from_give(&from, MOST);
		hear(1000);
	}
	ck_assert_uint_lt(from.ops->release(from.state), from.taken);
	from.ops->detach(from.state);
	ck_assert_uint_eq(from.ops->release(from.state), from.taken);
	ck_assert_int_eq(from.ops->finish(from.state), -EPIPE);
	door_close();
}
END_TEST

/* Half of it, and the peer is gone. */
START_TEST(plain_bytes_that_break)
{
	struct send_facts facts;
	int err = 0;

	for (int reset = 0; reset < 2; reset++) {
		const struct linger away = { .l_onoff = 1 };

		plain_begin("", PACKET);
		for (int i = 0; i < 1000 && heards < 40000; i++) {
			from_give(&from, 2000);
			hear(10000);
			from_wait(&from, 1);
		}
		if (reset)
			setsockopt(peer, SOL_SOCKET, SO_LINGER, &away,
				   sizeof away);
		close(peer);
		peer = -1;
		err = until_said(MOST);
		ck_assert_msg(err == -EPIPE || err == -ECONNRESET, "%s",
			      strerror(-err));
		facts_of(&from, &facts);
		ck_assert_ptr_nonnull(strstr(facts.why, " after "));
		ck_assert_uint_eq(from.ops->release(from.state), from.taken);
		door_close();
	}
}
END_TEST

/* The peer says that it sends nothing, and reads on: that is no end. */
START_TEST(plain_bytes_to_one_who_is_silent)
{
	int err = -EAGAIN;

	plain_begin("socket_buffer = 1048576", PACKET);
	for (int i = 0; i < 1000 && (from.at < MOST || peer < 0); i++) {
		from_give(&from, MOST);
		if (peer < 0)
			hear(1);
		from_wait(&from, 1);
	}
	ck_assert_int_eq(from.ops->finish(from.state), -EAGAIN);
	shutdown(peer, SHUT_WR);
	for (int i = 0; i < 100; i++) {
		ck_assert_int_eq(from.ops->finish(from.state), -EAGAIN);
		from_wait(&from, 1);
	}
	for (int i = 0; i < 20000 && hear(10000); i++)
		from_wait(&from, 1);
	heard_is(MOST);
	for (int i = 0; i < 500 && (err = from.ops->finish(from.state)); i++)
		from_wait(&from, 1);
	ck_assert_int_eq(err, 0);
	door_close();
}
END_TEST

START_TEST(plain_memory_that_is_wanted_back)
{
	plain_begin("socket_buffer = 16384", PACKET);
	for (int i = 0; i < 100; i++) {
		from_give(&from, MOST);
		from_wait(&from, 1);
	}
	ck_assert_uint_lt(from.spoiled, from.taken);
	from.ops->detach(from.state);
	data_spoil(&from);
	ck_assert_uint_eq(from.spoiled, from.taken);
	for (int i = 0; i < 5000 && from.at < MOST; i++) {
		from_give(&from, MOST);
		hear(10000);
	}
	drain();
	heard_is(MOST);
	door_close();
}
END_TEST

/* One that lives, and does not read for longer than one that is gone may. */
START_TEST(who_does_not_read_is_waited_for)
{
	struct send_facts facts;

	little = 4096;
	plain_begin("vanish = \"1s\"; socket_buffer = 16384", PACKET);
	for (int i = 0; i < 40; i++) {
		int err = from_give(&from, MOST);

		ck_assert_msg(!err || err == -EAGAIN, "%s", strerror(-err));
		if (peer < 0)
			hear(1000);
		from_wait(&from, 100);
	}
	ck_assert_uint_lt(from.spoiled, from.taken);
	for (int i = 0; i < 5000 && from.at < MOST; i++) {
		ck_assert_int_eq(from_give(&from, MOST), 0);
		hear(10000);
	}
	drain();
	heard_is(MOST);
	facts_of(&from, &facts);
	ck_assert_uint_eq(facts.reconnects, 0);
	door_close();
}
END_TEST

SUITE("send_tcp_bad", other_answers, frames_that_cannot_be,
      bytes_that_are_damaged, reasons_are_told, lies_about_places,
      nobody_is_there, what_cannot_be_sent, what_can_only_be_copied,
      plain_bytes, plain_bytes_as_they_lie, plain_bytes_that_break,
      plain_bytes_to_one_who_is_silent, plain_memory_that_is_wanted_back,
      who_does_not_read_is_waited_for)
