/* SPDX-License-Identifier: MIT */
/*
 * An intake of many substreams, with a network that is made up: each source
 * brings what a test says, and blocks come home when it says so.
 */
#include "flow/receive/intake.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "flow/memory/arena.h"
#include "lib/suite.h"

#ifdef __has_feature
#if __has_feature(address_sanitizer)
#define ASAN_OF_CLANG
#endif
#endif

enum {
	PREFIX = 8,
	PAYLOAD = 8000,
	SLOTS = 64,
	MOST = 432, /* substreams */
	SHELF = 4000,
	LATER = 10000000, /* ns: nothing is on its way to a socket any more */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) ||           \
    defined(ASAN_OF_CLANG)
	MEMORY = 1 << 30, /* sanitizers have much of their own */
#else
	MEMORY = 8 << 20,
#endif
};

/* What a source brings. */
enum kind { SILENT, STREAM, GARBAGE, RESTARTS, JUMPS };

struct source {
	enum kind kind;
	uint64_t next;
	unsigned left; /* packets that are there now */
	unsigned sub;
};

struct receive_state {
	struct source source[MOST];
	unsigned sources, subs, calls, looks;
};

static const struct arrival arrival = { .known = true };
static struct receive_state net;
static struct format_shape shape;
static struct arena *arena;
static struct block_pool *pool;
static struct intake *intake;
static struct subscriber *subscriber;
static struct block *shelf[SHELF]; /* waiting for slow disks */
static unsigned shelved;
static bool slow;
static const struct geometry geometry = { .payload = PAYLOAD,
					  .parts = 1,
					  .quantum = 1,
					  .slots = SLOTS,
					  .block_bytes = SLOTS * PAYLOAD };

/* ---- the network ------------------------------------------------------- */

static unsigned
net_sources(const struct receive_state *n)
{
	return n->sources;
}

static int
net_fd(const struct receive_state *n, unsigned source)
{
	(void)n;
	(void)source;
	return -1;
}

static unsigned
net_sub(const struct receive_state *n, unsigned source)
{
	return n->source[source].sub;
}

static uint64_t
sequence_next(struct source *s)
{
	s->next++;
	switch (s->kind) {
	case GARBAGE: return s->next * 0x9e3779b97f4a7c15;
	case RESTARTS: return s->next % 40 + (s->next / 40 << 30);
	case JUMPS: return s->next * SLOTS;
	default: return s->next;
	}
}

static int
net_receive(struct receive_state *n, unsigned source, struct receive_batch *b)
{
	struct source *s = &n->source[source];

	n->calls++;
	for (; b->packets < b->pairs && s->left; s->left--) {
		const struct receive_pair *at = &b->pair[b->packets];

		write_le64(at->prefix, sequence_next(s));
		memset(at->payload, (int)s->sub, 16);
		b->packet[b->packets++] = (struct receive_packet){
			.prefix = at->prefix,
			.payload = at->payload,
			.prefix_bytes = PREFIX,
			.bytes = PREFIX + PAYLOAD,
		};
	}
	return 0;
}

static void
net_counts(struct receive_state *n, unsigned source, struct receive_counts *c)
{
	n->looks++;
	*c = (struct receive_counts){ .overruns = source,
				      .datagrams = n->source[source].next };
	snprintf(c->sender, sizeof c->sender, "%u", source);
}

static const struct receive_ops ops = { .sources = net_sources,
					.fd = net_fd,
					.sub = net_sub,
					.receive = net_receive,
					.counts = net_counts };

static void
parse(const struct format_shape *s, const void *prefix, const void *payload,
      struct format_packet *p)
{
	*p = (struct format_packet){ .has = FORMAT_READABLE | FORMAT_VALID |
					    FORMAT_SEQUENCE };
	format_counter_read(s, prefix, payload, &p->sequence);
}

static const struct format_ops format = { .parse = parse };

/* ---- the intake -------------------------------------------------------- */

static void
home(struct block *b)
{
	block_seal(b);
	block_drop(b);
}

static void
out(void *arg, struct block *b)
{
	(void)arg;
	if (b->data[0] != (uint8_t)b->sub && block_has(b, 0))
		ck_abort_msg("a block of %u has a packet of another", b->sub);
	if (!slow) {
		home(b);
		return;
	}
	ck_assert_uint_lt(shelved, SHELF);
	shelf[shelved++] = b;
}

static void
done(void *arg)
{
	(void)arg;
}

static void
pool_open(unsigned subs, unsigned blocks)
{
	struct block_pool_args args = { .blocks = blocks,
					.slots = SLOTS,
					.slot_bytes = PAYLOAD,
					.subs = subs };
	struct fault fault;

	log_level_set(LEVEL_ERROR);
	ck_assert_int_eq(
	    arena_make(&arena, block_pool_need(&args), NULL, &fault), 0);
	while (arena_facts(arena).ready < arena_facts(arena).bytes)
		usleep(1000);
	ck_assert_int_eq(block_pool_borrow(arena, &pool, &args, &fault), 0);
	slow = false;
	shelved = 0;
	net = (struct receive_state){ .sources = subs, .subs = subs };
	for (unsigned i = 0; i < subs; i++)
		net.source[i] = (struct source){ .kind = STREAM, .sub = i };
}

static void
intake_open(unsigned shares, unsigned share)
{
	struct placement_args placement[MOST];
	struct intake_args args = { .name = "test",
				    .ops = &ops,
				    .state = &net,
				    .format = &format,
				    .shape = &shape,
				    .slots = SLOTS,
				    .shares = shares };
	struct subscriber_args user = { .name = "test",
					.placement = placement,
					.time_window = { INT64_MIN, INT64_MAX,
							 false },
					.done = done };

	shape = (struct format_shape){ .prefix = PREFIX,
				       .payload = PAYLOAD,
				       .sequence = SEQUENCE_LE64,
				       .sequence_bits = 64,
				       .parts = 1 };
	for (unsigned sub = share; sub < net.subs; sub += shares)
		placement[args.placements++] =
		    (struct placement_args){ .format = &format,
					     .shape = &shape,
					     .geometry = &geometry,
					     .pool = pool,
					     .sub = (uint16_t)sub,
					     .max_gap = 256 << 20,
					     .max_age = 1000,
					     .out = out };
	ck_assert_int_eq(intake_make(&intake, &args), 0);
	ck_assert_int_eq(subscriber_make(&subscriber, intake, &user), 0);
	intake->arrival = &arrival;
	intake_join(intake, subscriber);
}

static void
close_all(void)
{
	intake_flush(intake, subscriber, 1 << 20);
	intake_leave(intake, subscriber);
	while (shelved)
		home(shelf[--shelved]);
	ck_assert_uint_eq(block_pool_free_blocks(pool),
			  block_pool_blocks(pool));
	subscriber_free(subscriber);
	intake_free(intake);
	block_pool_return(pool);
	arena_free(arena);
}

/* Each source brings n more, and they are taken. */
static void
all_bring(unsigned n)
{
	struct intake_load load = { 0 };

	for (unsigned i = 0; i < net.sources; i++) {
		if (net.source[i].kind == SILENT)
			continue;
		net.source[i].left += n;
		while (intake_pass(&intake->source[i], 1, 5, 5, &load) > 0)
			;
	}
}

static struct counts
counts_of(unsigned placement)
{
	struct counts c;

	counts_read(&c, &subscriber->shown[placement]);
	return c;
}

/* ---- tests ------------------------------------------------------------- */

static uint64_t
resident(void)
{
	FILE *f = fopen("/proc/self/statm", "r");
	unsigned long size, pages;

	ck_assert_ptr_nonnull(f);
	ck_assert_int_eq(fscanf(f, "%lu %lu", &size, &pages), 2);
	fclose(f);
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* All begin at once, with two blocks each and a few to spare; what it takes
 * beside them is little, then and later. */
START_TEST(hundreds_are_small)
{
	uint64_t before;

	pool_open(MOST, 2 * MOST + 6);
	before = resident();
	intake_open(1, 0);
	for (unsigned n = 0; n < 5 * SLOTS; n += 8)
		all_bring(8);
	/* A sanitizer keeps some bytes for each of ours. */
	ck_assert_msg(SANITIZED || resident() < before + MEMORY,
		      "%llu bytes more",
		      (unsigned long long)(resident() - before));
	for (unsigned i = 0; i < MOST; i++) {
		struct counts c = counts_of(i);

		ck_assert_uint_eq(c.placed, 5 * SLOTS);
		ck_assert_uint_eq(c.runs, 1);
	}
	close_all();
}
END_TEST

/* What one is flooded with, and however slow disks are, the others have the
 * blocks that they need. */
static void
flooded(enum kind kind, unsigned flood)
{
	enum { SUBS = 12 };
	uint64_t sent = 0;

	pool_open(SUBS, 2 * SUBS + 6);
	net.source[3].kind = kind;
	net.source[5].kind = SILENT;
	intake_open(1, 0);
	slow = true;
	for (unsigned round = 0; round < 400; round++) {
		net.source[3].left += flood;
		all_bring(4);
		sent += 4;
		/* The disks take what the others need, and not all of what
		 * the flood makes. */
		for (unsigned i = 0; i < shelved; i++) {
			if (shelf[i]->sub == 3 && round % 40)
				continue;
			home(shelf[i]);
			shelf[i--] = shelf[--shelved];
		}
	}
	for (unsigned i = 0; i < SUBS; i++) {
		struct counts c = counts_of(i);

		if (i == 3)
			continue;
		ck_assert_uint_eq(c.placed, i == 5 ? 0 : sent);
		ck_assert_uint_eq(c.drop[DROP_NO_BUFFER], 0);
		ck_assert_uint_eq(c.drop[DROP_LATE], 0);
	}
	close_all();
}

START_TEST(garbage_starves_nobody)
{
	flooded(GARBAGE, 500);
}
END_TEST

START_TEST(restarts_starve_nobody)
{
	flooded(RESTARTS, 500);
}
END_TEST

START_TEST(jumps_starve_nobody)
{
	flooded(JUMPS, 100);
}
END_TEST

START_TEST(a_fast_one_starves_nobody)
{
	flooded(STREAM, 5000);
}
END_TEST

/* They all cross into the next block at the same moment: the one before is
 * with the disks by then, and comes home before they do so again. */
static void
in_step(unsigned lost)
{
	enum { SUBS = 100 };

	pool_open(SUBS, 2 * SUBS + 6);
	intake_open(1, 0);
	slow = true;
	for (unsigned n = 0; n < 20 * SLOTS; n += 4) {
		for (unsigned i = 0; lost && i < SUBS && n % 32 == 0; i++)
			net.source[i].next += lost;
		all_bring(4);
		/* Half a block is the time that disks have. */
		if (n % (SLOTS / 2) == SLOTS / 4) {
			while (shelved)
				home(shelf[--shelved]);
		}
	}
	for (unsigned i = 0; i < SUBS; i++) {
		struct counts c = counts_of(i);

		ck_assert_uint_eq(c.drop[DROP_NO_BUFFER], 0);
		ck_assert_uint_eq(c.placed, 20 * SLOTS);
	}
	close_all();
}

START_TEST(in_step_two_blocks_are_enough)
{
	in_step(0);
}
END_TEST

START_TEST(even_with_losses)
{
	in_step(1);
}
END_TEST

/* Of two shares, the second: substreams 1, 3, 5 ... */
START_TEST(sources_feed_their_places)
{
	struct subscriber_view view;

	pool_open(9, 40);
	for (unsigned i = 0; i < 8; i++)
		net.source[i].sub = i % 4 * 2 + 1;
	net.sources = 8;
	intake_open(2, 1);
	ck_assert_uint_eq(intake->a.placements, 4);
	all_bring(40);
	for (unsigned i = 0; i < 4; i++)
		ck_assert_uint_eq(counts_of(i).datagrams, 80);
	for (unsigned i = 0; i < 8; i++) {
		subscriber_look(subscriber, i, &view);
		ck_assert_uint_eq(view.placement, i % 4);
	}
	close_all();
}
END_TEST

/* Each source is looked at once in ten ticks, in turn. */
START_TEST(looks_are_spread)
{
	struct subscriber_view view;

	pool_open(40, 80);
	intake_open(1, 0);
	all_bring(3);
	net.looks = 0;
	for (int i = 0; i < 10; i++) {
		intake_tick(intake, 1);
		ck_assert_uint_eq(net.looks, 4 * (i + 1));
	}
	ck_assert_uint_eq(intake->overruns, 39 * 40 / 2);
	for (unsigned i = 0; i < 40; i++) {
		subscriber_look(subscriber, i, &view);
		ck_assert_uint_eq(view.counts.datagrams, 3);
		ck_assert_int_eq(atoi(view.counts.sender), i);
	}
	close_all();
}
END_TEST

/* Sources of one stream: none runs away from the others by more than they
 * have of the window. */
START_TEST(a_turn_is_short_beside_others)
{
	struct intake_load load = { 0 };

	pool_open(1, 10);
	net.sources = 2;
	net.source[1] = (struct source){ .kind = STREAM, .sub = 0 };
	intake_open(1, 0);
	net.source[0].left = 100000;
	net.calls = 0;
	ck_assert_int_eq(intake_pass(&intake->source[0], 16, 5, 5, &load), 1);
	ck_assert_uint_eq(net.calls, 1);
	close_all();
}
END_TEST

/* The receiver rests by the bytes that a pass found, and by how full that made
 * the fullest source. */
START_TEST(a_pass_tells_its_load)
{
	struct intake_load load = { 0 };
	uint64_t bytes;

	pool_open(1, 10);
	intake_open(1, 0);
	net.source[0].left = 8;
	while (intake_pass(&intake->source[0], 16, 5, 5, &load) > 0)
		;
	bytes = load.bytes;
	ck_assert_uint_ge(bytes, 8 * 512);
	ck_assert_uint_eq(load.full,
			  bytes * INTAKE_FULL / intake->source[0].hold);
	net.source[0].left = 4;
	while (intake_pass(&intake->source[0], 16, 5, 5, &load) > 0)
		;
	ck_assert_uint_eq(load.bytes, bytes / 2 * 3);
	ck_assert_uint_eq(load.full,
			  bytes * INTAKE_FULL / intake->source[0].hold);
	close_all();
}
END_TEST

/* Everything that has come by now. */
static void
subscriber_end(void)
{
	subscriber->time_window.close = 5;
	subscriber_close(subscriber, 5);
}

/* The end takes what is there, in turns, and waits for nobody for ever. */
START_TEST(an_end_is_drained)
{
	unsigned rounds = 0;

	pool_open(4, 40);
	intake_open(1, 0);
	for (unsigned i = 0; i < 4; i++)
		net.source[i].left = 1000 * i;
	subscriber_end();
	while (!intake_drain(intake, subscriber, 1, LATER, LATER + rounds))
		rounds++;
	ck_assert_uint_ge(rounds, 3000 / RECEIVE_BATCH);
	for (unsigned i = 0; i < 4; i++)
		ck_assert_uint_eq(counts_of(i).datagrams, 1000 * i);
	close_all();
	/* One that never ends is left at last. */
	pool_open(2, 40);
	intake_open(1, 0);
	net.source[1].left = 1000000000;
	subscriber_end();
	ck_assert(!intake_drain(intake, subscriber, 1, LATER, LATER));
	ck_assert(
	    intake_drain(intake, subscriber, 1, LATER, LATER + 2000000000));
	close_all();
}
END_TEST

SUITE_THREADS("intake", NULL, sources_feed_their_places, hundreds_are_small,
	      garbage_starves_nobody, restarts_starve_nobody,
	      jumps_starve_nobody, a_fast_one_starves_nobody,
	      in_step_two_blocks_are_enough, even_with_losses, looks_are_spread,
	      a_turn_is_short_beside_others, a_pass_tells_its_load,
	      an_end_is_drained)
