/* SPDX-License-Identifier: MIT */
/*
 * The two plugins for UCX: each packet has to come once, whatever breaks, by
 * sockets and by shared memory; and nothing may be written where the core does
 * not want it any more.
 */
#include <sys/stat.h>

#include "contract/send_tcp_turns.h"

/* Of libucx's thread, where one is left at the end, the leak sanitizer dies. */
static int leaks_unseen;

int __lsan_is_turned_off(void);

int __attribute__((used, visibility("default"))) __lsan_is_turned_off(void)
{
	return leaks_unseen;
}

static const char *const ways[] = { "tcp", "posix", "posix,cma", "sysv",
				    "all" };

static void
by(int i)
{
	setenv("UCX_TLS", ways[i], 1);
	setenv("UCX_WARN_UNUSED_ENV_VARS", "n", 1);
}

START_TEST(all_of_it)
{
	struct send_facts facts;

	by(_i);
	for (unsigned n = 1; n <= 4; n += 3) {
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

START_TEST(packets_that_are_stripped)
{
	by(_i);
	both_open("message = 4096; messages = 2; checksum = false", 2);
	from.stride = PACKET + 13;
	send_all(3000, true);
	told_are(3000);
	from_close(&from);
	finish();
	both_open("message = 4096", 2);
	from.step = 7;
	send_all(3000, true);
	told_are(3000);
	from_close(&from);
	finish();
}
END_TEST

START_TEST(started_again)
{
	by(_i);
	begin(FOUR);
	by_way = false;
	for (unsigned i = 0; i < 3; i++) {
		ask =
		    (struct send_args){ .connections = 1 + i, .ordered = true };
		from_open(&from, "message = 4096", port);
		send_all(1500 * (i + 1), i == 1);
		told_are(1500 * (i + 1));
		ck_assert_uint_eq(from.restarts, i > 0);
		from_close(&from);
		take_all_lines();
	}
	finish();
}
END_TEST

/* Of packets where they lie, and of copies. */
static void
break_often(bool in_place)
{
	struct send_facts facts;

	both_open("message = 4096", 1);
	from_close(&from);
	way_make();
	by_way = true;
	ask = (struct send_args){ .connections = 2,
				  .ordered = true,
				  .zerocopy_ok = in_place };
	from_open(&from, in_place ? "message = \"128K\"" : "message = 4096",
		  way.port);
	break_every = in_place ? 0 : 3000;
	broke = 0;
	for (unsigned at = 2000; at <= 8000; at += 2000) {
		send_all(at, false);
		for (unsigned i = 0; i < way.n && in_place; i++)
			way_break(i);
	}
	break_every = 0;
	send_all(8000, true);
	told_are(8000);
	facts_of(&from, &facts);
	ck_assert_uint_gt(facts.reconnects, 1);
	ck_assert_uint_eq(facts.lost, 0);
	from_close(&from);
	way_free();
	finish();
}

START_TEST(connections_that_break)
{
	by(_i);
	break_often(false);
	break_often(true);
}
END_TEST

/* What goes from where it lies is gone after a detach, at once, and comes
 * whole all the same. */
START_TEST(memory_that_is_wanted_back)
{
	by(_i);
	for (unsigned in_place = 0; in_place < 2; in_place++) {
		begin(FOUR);
		by_way = false;
		ask = (struct send_args){ .connections = 1,
					  .ordered = true,
					  .zerocopy_ok = in_place };
		from_open(&from, "message = \"128K\"; messages = 2", port);
		for (int i = 0; i < 300 && !from.at; i++) {
			from_give(&from, MOST);
			if (!from.at)
				turn(i);
		}
		ck_assert_uint_gt(from.at, 0);
		if (in_place)
			ck_assert_uint_lt(from.spoiled, from.taken);
		else
			ck_assert_uint_eq(from.spoiled, from.taken);
		from.ops->detach(from.state);
		ck_assert_uint_eq(from.ops->release(from.state), from.taken);
		data_spoil(&from);
		send_all(MOST, true);
		told_are(MOST);
		ck_assert_uint_eq(from.restarts, in_place);
		from_close(&from);
		finish();
	}
}
END_TEST

/* A receiver that takes nothing: so much is taken, and no more. */
START_TEST(a_receiver_that_stalls)
{
	uint64_t at;

	by(_i);
	both_open("message = 4096; messages = 4", 1);
	for (int i = 0; i < 300 && !from.at; i++) {
		from_give(&from, MOST);
		turn(i);
	}
	for (int i = 0; i < 50; i++) {
		from_give(&from, MOST);
		from_wait(&from, 1);
	}
	at = from.at;
	ck_assert_uint_lt(at, MOST);
	for (int i = 0; i < 50; i++)
		ck_assert_int_eq(from_give(&from, MOST), 0);
	ck_assert_uint_eq(from.at, at);
	send_all(MOST, true);
	told_are(MOST);
	from_close(&from);
	finish();
}
END_TEST

/* ---- straight to where it belongs ------------------------------------ */

enum { BIG = 4096 }; /* bytes of a packet */

static uint8_t memory[2][RECEIVE_BATCH * 64 * BIG];
static uint8_t big[sizeof *memory]; /* what is sent: packets of noise */

/* One call, with all pairs in one of two memories. */
static void
big_take(unsigned which, uint64_t *got)
{
	static struct receive_pair pair[RECEIVE_BATCH];
	static struct receive_batch batch;
	uint64_t at = batch.known ? batch.next & 0xffffffff : *got;

	for (unsigned i = 0; i < RECEIVE_BATCH; i++)
		pair[i] = (struct receive_pair){
			.payload = memory[which] + (at + i) * BIG,
			.payload_bytes = BIG,
		};
	batch.pair = pair;
	batch.pairs = batch.room = RECEIVE_BATCH;
	batch.known = batch.again = false;
	ck_assert_int_eq(b.ops->receive(b.state, 0, &batch), 0);
	for (unsigned i = 0; i < batch.packets; i++) {
		uint64_t k = batch.packet[i].sequence & 0xffffffff;

		ck_assert_uint_eq(k, *got);
		ck_assert(noise_is(k, 0, batch.packet[i].payload, BIG));
		++*got;
	}
}

static void
big_turn(uint64_t *at, uint64_t end)
{
	struct send_run run = { .data = big + *at * BIG,
				.data_bytes = BIG,
				.data_stride = BIG,
				.first = *at,
				.packets = (uint32_t)(end - *at) };
	uint64_t taken = 0;
	uint32_t number;
	int err;

	err = *at < end ? from.ops->send(from.state, &run, 1, &taken)
			: from.ops->finish(from.state);
	*at += taken;
	if (err == -ERESTART)
		from.ops->back(from.state, &number, at);
	else
		ck_assert(!err || err == -EAGAIN);
}

static void
untouched_since(const uint8_t *at)
{
	ck_assert_uint_eq(at[0], 0xaa);
	ck_assert(!memcmp(at, at + 1, sizeof *memory - 1));
}

/* Wherever the pairs move to in the middle, nothing is written any more to
 * where they were. */
START_TEST(pairs_that_move)
{
	uint64_t at = 0, got = 0, end = 1000;
	unsigned moves = 0;

	by(_i);
	for (unsigned i = 0; i < end; i++)
		noise_fill(i, 0, big + i * BIG, BIG);
	wish = (struct receive_args){ .reach = 0 };
	tcp_open(&b, "", 0, BIG);
	ask = (struct send_args){ .connections = 1,
				  .ordered = true,
				  .data_bytes = BIG };
	from_open(&from, "message = \"128K\";", port);
	for (int i = 0; i < 20000 && got < end; i++) {
		uint64_t was = got;

		big_turn(&at, end);
		big_take(moves & 1, &got);
		if (got == was)
			from_wait(&from, 1);
		if (got < (moves + 1) * 200)
			continue;
		if (moves)
			untouched_since(memory[~moves & 1]);
		moves++; /* what is written there now is seen */
		memset(memory[~moves & 1], 0xaa, sizeof *memory);
	}
	ck_assert_uint_eq(got, end);
	untouched_since(memory[~moves & 1]);
	from_close(&from);
	bench_close(&b);
}
END_TEST

/* ---- secrets --------------------------------------------------------- */

static int
attempt(const char *options, const char *secret)
{
	int err = -EAGAIN;

	begin(options);
	by_way = false;
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
ended(uint64_t n)
{
	ck_assert_uint_eq(packets, n);
	from_close(&from);
	finish();
}

START_TEST(who_knows_the_secret)
{
	static const struct {
		bool asks;
		const char *secret;
		int err;
	} of[] = { { true, "open, sesame, open", 0 },
		   { true, "open, barley, open", -EACCES },
		   { true, NULL, -EACCES },
		   { false, "open, sesame, open", -EACCES } };
	char file[64], text[256];
	FILE *f;

	by(0);
	leaks_unseen = true;
	snprintf(file, sizeof file, "/tmp/spate-test-ucx.%d", (int)getpid());
	f = fopen(file, "w");
	ck_assert_ptr_nonnull(f);
	fprintf(f, "open, sesame, open\n");
	fclose(f);
	chmod(file, 0600);
	snprintf(text, sizeof text, FOUR "secret_file = \"%s\";", file);
	ck_assert_int_eq(attempt(of[_i].asks ? text : FOUR, of[_i].secret),
			 of[_i].err);
	unlink(file);
	if (of[_i].err == 0) {
		send_all(100, true);
		told_are(100);
	} else if (of[_i].asks && of[_i].secret) {
		said("is refused: it does not know the secret");
	}
	ended(of[_i].err ? 0 : 100);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("send_ucx");
	const struct {
		const char *name;
		const TTest *test;
		int n;
	} test[] = {
		{ "all", all_of_it, 5 },
		{ "stripped", packets_that_are_stripped, 5 },
		{ "again", started_again, 1 },
		{ "break", connections_that_break, 5 },
		{ "memory", memory_that_is_wanted_back, 5 },
		{ "stalls", a_receiver_that_stalls, 5 },
		{ "move", pairs_that_move, 5 },
		{ "secret", who_knows_the_secret, 4 },
	};
	SRunner *runner;
	int failed;

	if (!dlopen("libucp.so.0", RTLD_LAZY)) {
		printf("skipped: %s\n", dlerror());
		return 77;
	}
	for (unsigned i = 0; i < sizeof test / sizeof *test; i++) {
		TCase *t = tcase_create(test[i].name);

		tcase_set_timeout(t, 0);
		tcase_add_loop_test(t, test[i].test, 0, test[i].n);
		suite_add_tcase(s, t);
	}
	runner = srunner_create(s);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed > 0;
}
