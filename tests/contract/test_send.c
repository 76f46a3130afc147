/* SPDX-License-Identifier: MIT */
/* What every send plugin has to do, whatever it sends by. */
#include "contract/send_bench.h"

enum { ROUNDS = 200, STALLED = 20000 };

/* Runs of any length, some with memory between their packets. */
static void
runs_give(struct bench *b, unsigned rounds)
{
	for (unsigned i = 0; i < rounds; i++) {
		uint32_t packets = 1 + dice_roll(&b->dice, 40);
		uint32_t gap =
		    dice_chance(&b->dice, 30) ? dice_roll(&b->dice, 3000) : 0;

		run_make(b, packets, gap);
		give_all(b);
	}
}

static void
all_arrives(const struct send_ops *ops, const struct peer *peer)
{
	for (uint32_t head = 0; head <= (peer->heads ? 24 : 0); head += 8) {
		struct bench *b = bench_open(ops, peer, head);
		struct send_facts f;

		bench_connect(b);
		runs_give(b, ROUNDS);
		bench_finish(b);
		bench_heard(b, b->made);
		ops->facts(b->state, &f);
		ck_assert_uint_eq(f.packets, b->made);
		ck_assert_uint_ge(f.bytes, b->made * (DATA + head));
		ck_assert_uint_eq(f.lost, 0);
		ck_assert_ptr_nonnull(f.way);
		bench_close(b);
	}
}

/* It may be called before it is connected, and says no more than -EAGAIN. */
static void
nothing_is_connected(const struct send_ops *ops, const struct peer *peer)
{
	struct bench *b = bench_open(ops, peer, 0);

	run_make(b, 10, 0);
	give_all(b);
	runs_give(b, 3);
	bench_finish(b);
	bench_heard(b, b->made);
	bench_close(b);
}

static void
an_end_without_packets(const struct send_ops *ops, const struct peer *peer)
{
	struct bench *b = bench_open(ops, peer, 0);

	bench_connect(b);
	bench_finish(b);
	bench_heard(b, 0);
	bench_close(b);
}

/* Many runs in one call, of which it takes what it can. */
static void
many_runs_in_a_call(const struct send_ops *ops, const struct peer *peer)
{
	struct bench *b = bench_open(ops, peer, 0);
	struct send_run run[SEND_RUNS];
	unsigned at = 0;

	bench_connect(b);
	for (unsigned i = 0; i < SEND_RUNS; i++) {
		run_make(b, 1 + i % 3, i % 5 ? 0 : 100);
		run[i] = b->run;
	}
	while (at < SEND_RUNS) {
		uint64_t taken = 0;

		ck_assert_int_eq(
		    ops->send(b->state, run + at,
			      at + 60 < SEND_RUNS ? 60 : SEND_RUNS - at,
			      &taken),
		    0);
		if (!taken)
			bench_wait(b);
		for (; taken; at += !run[at].packets) {
			uint64_t n =
			    taken < run[at].packets ? taken : run[at].packets;

			b->run = run[at];
			run_took(b, n);
			run[at] = b->run;
			taken -= n;
		}
		peer->serve();
		release(b);
	}
	b->run.packets = 0;
	bench_finish(b);
	bench_heard(b, b->made);
	bench_close(b);
}

/* Gives to a peer that does not read until nothing is taken any more. */
static void
stall(struct bench *b)
{
	unsigned refused = 0;

	bench_connect(b);
	while (b->made < STALLED && refused < 20) {
		if (!b->run.packets)
			run_make(b, 1 + dice_roll(&b->dice, 40), 0);
		if (give(b))
			refused = 0;
		else
			refused++;
		release(b);
	}
	ck_assert_uint_ge(refused, 20);
	ck_assert_uint_gt(b->taken, 0);
}

static void
a_peer_that_does_not_read(const struct send_ops *ops, const struct peer *peer)
{
	struct bench *b;

	if (!peer->holds)
		return;
	b = bench_open(ops, peer, 0);
	stall(b);
	give_all(b);
	bench_finish(b);
	bench_heard(b, b->made);
	bench_close(b);
}

/* The memory of all that was taken is spoiled at once. */
static void
memory_that_is_wanted_back(const struct send_ops *ops, const struct peer *peer)
{
	struct bench *b;

	/* What the kernel keeps, nobody can give back. */
	zerocopy_ok = false;
	b = bench_open(ops, peer, 0);
	zerocopy_ok = true;
	if (peer->holds) {
		stall(b);
	} else {
		run_make(b, 100, 0);
		while (!give(b))
			bench_wait(b);
	}
	ops->detach(b->state);
	ck_assert_uint_eq(ops->release(b->state), b->taken);
	for (unsigned i = 0; i < 2; i++) {
		release(b);
		/* The run of which only some was taken is still ours. */
		ops->detach(b->state);
	}
	for (unsigned i = 0; i + b->run.packets > 0 && i < 5; i++) {
		give_all(b);
		run_make(b, 30, 0);
	}
	give_all(b);
	bench_finish(b);
	bench_heard(b, b->made);
	bench_close(b);
}

static void
a_close_in_the_middle(const struct send_ops *ops, const struct peer *peer)
{
	struct bench *b = bench_open(ops, peer, 0);

	bench_close(b);
	b = bench_open(ops, peer, 0);
	bench_connect(b);
	bench_close(b);
	b = bench_open(ops, peer, 0);
	if (peer->holds)
		stall(b);
	else
		runs_give(b, 3);
	bench_close(b);
}

/* Facts only grow, and looking at them changes nothing. */
static void
facts_that_grow(const struct send_ops *ops, const struct peer *peer)
{
	struct bench *b = bench_open(ops, peer, 0);
	struct send_facts was = { 0 };

	bench_connect(b);
	for (unsigned i = 0; i < 50; i++) {
		struct send_facts f;

		runs_give(b, 1);
		ops->facts(b->state, &f);
		ck_assert_uint_ge(f.packets, was.packets);
		ck_assert_uint_ge(f.bytes, was.bytes);
		ck_assert_uint_le(f.packets, b->taken);
		ck_assert_uint_ge(f.connections, 1);
		ck_assert_str_eq(f.why, "");
		was = f;
	}
	bench_finish(b);
	bench_close(b);
}

/* A URL that is none of its own is refused with a sentence. */
static void
other_addresses(const struct send_ops *ops, const struct peer *peer)
{
	static const char *const urls[] = {
		"",	"nonsense", "gopher://127.0.0.1:70",
		"://:", "udp://",   "tcp://:::::9"
	};
	struct bench *b = &bench;

	(void)peer;
	memset(b, 0, sizeof *b);
	b->ops = ops;
	options_fill(b);
	b->host = log_host("test");
	for (unsigned i = 0; i < sizeof urls / sizeof *urls; i++) {
		struct send_args args = { .host = &b->host,
					  .options = b->options,
					  .to = urls[i],
					  .subs = 1,
					  .data_bytes = DATA,
					  .transfer = 1,
					  .why = b->why,
					  .why_bytes = sizeof b->why };

		b->why[0] = '\0';
		ck_assert_msg(ops->check(&args) == -EINVAL, "%s takes \"%s\"",
			      ops->head.name, urls[i]);
		ck_assert_str_ne(b->why, "");
	}
	options_free(b);
}

/* All that the core calls is there. */
static void
whole(const struct send_ops *ops, const struct peer *peer)
{
	(void)peer;
	ck_assert_uint_eq(ops->head.abi, SPATE_ABI);
	ck_assert_ptr_nonnull(ops->head.help);
	ck_assert(ops->check && ops->open && ops->send && ops->poll);
	ck_assert(ops->release && ops->detach && ops->finish && ops->facts);
	ck_assert_ptr_nonnull(ops->close);
	ck_assert(!(ops->head.flags & SEND_TIMED) || ops->timed);
}

CONTRACT(whole)
CONTRACT(all_arrives)
CONTRACT(nothing_is_connected)
CONTRACT(an_end_without_packets)
CONTRACT(many_runs_in_a_call)
CONTRACT(a_peer_that_does_not_read)
CONTRACT(memory_that_is_wanted_back)
CONTRACT(a_close_in_the_middle)
CONTRACT(facts_that_grow)
CONTRACT(other_addresses)

SUITE("send", plugin_whole, plugin_all_arrives, plugin_nothing_is_connected,
      plugin_an_end_without_packets, plugin_many_runs_in_a_call,
      plugin_a_peer_that_does_not_read, plugin_memory_that_is_wanted_back,
      plugin_a_close_in_the_middle, plugin_facts_that_grow,
      plugin_other_addresses)
