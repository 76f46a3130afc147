/* SPDX-License-Identifier: MIT */
/*
 * Frames, from the send plugin to the receive plugin: each packet has to come
 * once, whatever happens to connections between the two.
 */
#include <sys/stat.h>

#include "contract/send_tcp_turns.h"

START_TEST(all_of_it)
{
	struct send_facts facts;

	for (unsigned n = 1; n <= 4; n++) {
		both_open("", n);
		send_all(5000, true);
		told_are(5000);
		facts_of(&from, &facts);
		ck_assert_uint_eq(facts.packets, 5000);
		ck_assert_uint_eq(facts.bytes, 5000 * PACKET);
		ck_assert_uint_eq(facts.reconnects, 0);
		ck_assert_uint_eq(facts.lost, 0);
		ck_assert_str_eq(facts.why, "");
		ck_assert_uint_eq(from.restarts, 0);
		from_close(&from);
		said("has sent everything");
		finish();
	}
}
END_TEST

/* As many connections as the receiver takes. */
START_TEST(where_nobody_says_how_many)
{
	static const unsigned takes[] = { 1, 2, 3, 4 }, gets[] = { 1, 2, 2, 4 };
	struct send_facts facts;
	char text[64];

	for (unsigned i = 0; i < 4; i++) {
		snprintf(text, sizeof text,
			 "frames = \"spt1\"; connections = %u;", takes[i]);
		begin(text);
		by_way = false;
		ask = (struct send_args){ .ordered = true };
		from_open(&from, "", port);
		send_all(100, false);
		for (int k = 0; k < 100; k++) { /* the others come */
			from_give(&from, 100);
			turn(k);
		}
		facts_of(&from, &facts);
		ck_assert_uint_eq(facts.connections, gets[i]);
		send_all(100, true);
		told_are(100);
		from_close(&from);
		finish();
	}
}
END_TEST

START_TEST(packets_that_are_stripped)
{
	both_open("frame = 4096", 2);
	from.stride = PACKET + 13;
	send_all(3000, true);
	told_are(3000);
	from_close(&from);
	finish();
	both_open("frame = 4096", 2);
	from.step = 7;
	send_all(3000, true);
	told_are(3000);
	from_close(&from);
	finish();
}
END_TEST

/* What was there already is not told again, nor even sent. */
START_TEST(started_again)
{
	begin(FOUR);
	by_way = false;
	for (unsigned i = 0; i < 4; i++) {
		ask = (struct send_args){ .connections = 1 + i % 3,
					  .ordered = true };
		from_open(&from, "frame = 4096", port);
		send_all(1500 * (i + 1), i == 1);
		told_are(1500 * (i + 1));
		ck_assert_uint_eq(from.restarts, i > 0);
		ck_assert_uint_le(from.taken, 1700);
		from_close(&from);
		take_all_lines();
	}
	/* All is there: it says so at once. */
	from_open(&from, "", port);
	for (int i = 0, err = -EAGAIN; i < TURNS && err; i++) {
		err = from.ops->finish(from.state);
		if (err == -ERESTART)
			from_back(&from);
		turn(i);
	}
	ck_assert_uint_eq(from.at, 6000);
	told_are(6000);
	from_close(&from);
	finish();
}
END_TEST

START_TEST(connections_that_break)
{
	struct send_facts facts;

	for (unsigned n = 1; n <= 4; n += 3) {
		both_open("frame = 4096", n);
		from_close(&from);
		way_make();
		by_way = true;
		from_open(&from, "frame = 4096", way.port);
		break_every = 15000;
		broke = 0;
		for (unsigned at = 500; at <= 6000; at += 500)
			send_all(at, false);
		break_every = 0;
		send_all(6000, true);
		told_are(6000);
		facts_of(&from, &facts);
		ck_assert_uint_gt(facts.reconnects, 3);
		ck_assert_uint_gt(from.restarts, 1);
		ck_assert_uint_eq(facts.lost, 0);
		from_close(&from);
		way_free();
		finish();
	}
}
END_TEST

/* The memory is wanted back while nobody reads. */
START_TEST(memory_that_is_wanted_back)
{
	both_open("frame = 65536; socket_buffer = 16384", 2);
	for (int i = 0; i < 100 && from.at < MOST; i++) {
		from_give(&from, MOST);
		if (i < 10)
			turn(i);
	}
	ck_assert_uint_lt(from.spoiled, from.taken);
	from.ops->detach(from.state);
	ck_assert_uint_eq(from.ops->release(from.state), from.taken);
	data_spoil(&from);
	send_all(MOST, true);
	told_are(MOST);
	from_close(&from);
	finish();
}
END_TEST

/* ---- secrets --------------------------------------------------------- */

static char secret_file[64];

static const char *
with_secret(void)
{
	static char text[256];
	FILE *f;

	snprintf(secret_file, sizeof secret_file, "/tmp/spate-test-secret.%d",
		 (int)getpid());
	f = fopen(secret_file, "w");
	fprintf(f, "open, sesame, open\n");
	fclose(f);
	chmod(secret_file, 0600);
	snprintf(text, sizeof text, FOUR "secret_file = \"%s\";", secret_file);
	return text;
}

static int
attempt(const char *secret)
{
	int err = -EAGAIN;

	ask = (struct send_args){ .connections = 2,
				  .ordered = true,
				  .secret = (const uint8_t *)secret,
				  .secret_bytes =
				      secret ? (uint32_t)strlen(secret) : 0 };
	from_open(&from, "", port);
	for (int i = 0; i < 200 && (err == -EAGAIN || !err) && from.at < 100;
	     i++) {
		err = from_give(&from, 100);
		turn(63);
	}
	return err;
}

static void
failed(const char *what)
{
	struct send_facts facts;

	facts_of(&from, &facts);
	ck_assert_msg(strstr(facts.why, what), "'%s', expected '%s'", facts.why,
		      what);
	ck_assert_uint_eq(packets, 0);
	from_close(&from);
	finish();
}

START_TEST(who_knows_the_secret)
{
	by_way = false;
	begin(with_secret());
	ck_assert_int_eq(attempt("open, sesame, open"), 0);
	send_all(100, true);
	told_are(100);
	from_close(&from);
	finish();
	begin(with_secret());
	ck_assert_int_eq(attempt("open, barley, open"), -EACCES);
	said("is refused: it does not know the secret");
	failed("it does not know the secret");
	begin(with_secret());
	ck_assert_int_eq(attempt(NULL), -EACCES);
	failed("there is no secret here");
	begin(FOUR);
	ck_assert_int_eq(attempt("open, sesame, open"), -EACCES);
	failed("no proof that it knows the secret");
	unlink(secret_file);
}
END_TEST

/* The same transfer, by two at a time. */
START_TEST(two_send_the_same)
{
	static struct from other;
	struct send_facts facts;

	both_open("", 1);
	send_all(1000, false);
	other = from;
	from_open(&from, "", port);
	for (int i = 0; i < 50; i++) {
		ck_assert_int_eq(from_give(&from, 2000), -EAGAIN);
		turn(i);
	}
	said("is refused: it is being sent already");
	facts_of(&from, &facts);
	ck_assert_ptr_nonnull(strstr(facts.why, "it is being sent already"));
	from_close(&from);
	from = other;
	send_all(1000, true);
	told_are(1000);
	from_close(&from);
	finish();
}
END_TEST

SUITE("send_tcp", all_of_it, where_nobody_says_how_many,
      packets_that_are_stripped, started_again, connections_that_break,
      memory_that_is_wanted_back, who_knows_the_secret, two_send_the_same)
