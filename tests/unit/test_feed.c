/* SPDX-License-Identifier: MIT */
/*
 * Several feeds of one intake, with a network that is made up: packets come
 * with the stamps that a test gives them, land where the intake aims, or
 * beside it, and every block that comes out is looked at, byte by byte.
 *
 *   stamps  ----1----2----3----4----5----6----7---->
 *   feed A  |..................)
 *   feed B                     [...................
 *   feed C            [.................)
 */
#include "flow/feed.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "dice.h"
#include "flow/intake.h"
#include "flow/shared.h"
#include "suite.h"

enum {
	PREFIX = 8,
	PAYLOAD = 64,
	SLOTS = 64,
	MOST = 6000, /* packets of a source */
	SOURCES = 4,
	FEEDS = 3,
	KEYS = 3,
	US = 1000,
};

#define SECOND INT64_C(1000000000)
#define BEGIN  (100 * SECOND) /* steady, of the first packet */
#define OFFSET (7 * SECOND)   /* UTC is that much ahead */

struct sent {
	uint64_t sequence;
	int64_t at; /* steady */
};

struct source {
	struct sent sent[MOST];
	unsigned n, next;
	unsigned sub;
	bool known;
};

struct receive_state {
	struct source source[SOURCES];
	unsigned sources, beside; /* percent */
	bool stamps;
	unsigned most; /* packets of a batch */
	struct dice dice;
};

/* One user, and what came out for it. */
struct user {
	struct feed *feed[SOURCES]; /* of each intake */
	struct stock *stock;
	unsigned got[SOURCES][MOST];
	uint64_t packets;
	unsigned opened, ended;
	bool closed; /* it is over */
};

static struct receive_state net;
static struct format_shape shape, own[KEYS], *own_of[KEYS];
static struct pool *pool;
static struct intake *intake[SOURCES];
static unsigned intakes;
static struct user user[FEEDS];
static unsigned users;
static int64_t now;
static struct arrival arrival = { .offset = OFFSET, .known = true };
static const uint32_t key[KEYS] = { 0, 1, 2 };
static uint8_t aside[RECEIVE_BATCH][PREFIX + PAYLOAD];
static const struct geometry geometry = { .payload = PAYLOAD,
					  .parts = 1,
					  .quantum = 1,
					  .slots = SLOTS,
					  .block_bytes = SLOTS * PAYLOAD };
static const struct stock_args blocks = {
	.blocks = 100, .slots = SLOTS, .slot_bytes = PAYLOAD, .subs = SOURCES
};

static int64_t
clock_test(void *arg)
{
	(void)arg;
	return now;
}

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

/* A packet's bytes follow from where it is from and its sequence. */
static uint8_t
byte_of(unsigned sub, uint64_t sequence, unsigned i)
{
	return (uint8_t)(sub * 31 + sequence * 7 + i);
}

static void
packet_make(const struct source *s, uint64_t sequence, uint8_t *prefix,
	    uint8_t *payload)
{
	write_le64(prefix, sequence);
	for (unsigned i = 0; i < PAYLOAD; i++)
		payload[i] = byte_of(s->sub, sequence, i);
}

static void
packet_come(struct receive_state *n, struct source *s, struct receive_batch *b)
{
	const struct sent *sent = &s->sent[s->next++];
	unsigned i = b->packets++;
	uint8_t *prefix = b->pair[i].prefix, *payload = b->pair[i].payload;

	if (dice_chance(&n->dice, n->beside)) {
		prefix = aside[i];
		payload = aside[i] + PREFIX;
	}
	packet_make(s, sent->sequence, prefix, payload);
	b->packet[i] = (struct receive_packet){
		.prefix = prefix,
		.payload = payload,
		.prefix_bytes = PREFIX,
		.bytes = PREFIX + PAYLOAD,
		.arrived = n->stamps ? sent->at + OFFSET : 0,
	};
}

/* What had come by now. */
static int
net_receive(struct receive_state *n, unsigned source, struct receive_batch *b)
{
	struct source *s = &n->source[source];
	unsigned most = b->pairs < n->most ? b->pairs : n->most;

	while (b->packets < most && s->next < s->n &&
	       s->sent[s->next].at <= now)
		packet_come(n, s, b);
	b->empty = s->next == s->n || s->sent[s->next].at > now;
	return 0;
}

static void
net_counts(struct receive_state *n, unsigned source, struct receive_counts *c)
{
	*c = (struct receive_counts){ .datagrams = n->source[source].next,
				      .overruns = n->source[source].next / 10 };
}

static const struct receive_ops ops = { .sources = net_sources,
					.fd = net_fd,
					.sub = net_sub,
					.receive = net_receive,
					.counts = net_counts };

/* Threads in turn. */
static void
parse(const struct format_shape *s, const void *prefix, const void *payload,
      struct format_packet *p)
{
	*p = (struct format_packet){ .has = FORMAT_READABLE | FORMAT_VALID |
					    FORMAT_SEQUENCE };
	format_counter_read(s, prefix, payload, &p->sequence);
	p->thread = (uint32_t)(p->sequence % KEYS);
}

static const struct format_ops format = { .parse = parse };

/* ---- users ------------------------------------------------------------- */

/* Blocks of a split have every third packet of one source; of rings and port
 * ranges, those of a substream. */
static void
out(void *arg, struct block *b)
{
	struct user *u = arg;
	unsigned sub = own_of[0] ? 0 : b->sub;

	for (uint32_t i = 0; i < b->used; i++) {
		uint64_t sequence = b->base + b->first + i;

		if (!block_has(b, i))
			continue;
		ck_assert_uint_lt(sequence, MOST);
		u->got[sub][sequence]++;
		u->packets++;
		for (unsigned k = 0; k < PAYLOAD; k++) {
			if (block_slot(b, i)[k] != byte_of(sub, sequence, k))
				ck_abort_msg("packet %u: byte %u is another's",
					     (unsigned)sequence, k);
		}
	}
	block_seal(b);
	block_drop(b);
}

static void
opened(void *arg)
{
	((struct user *)arg)->opened++;
}

static void
done(void *arg)
{
	((struct user *)arg)->ended++;
}

enum kind { PLAIN, SPLIT, RINGS };

/* `subs` sources of one intake; of rings, an intake each with all of them. */
static void
net_open(enum kind kind, unsigned subs)
{
	static const struct clock_source clock = { clock_test, clock_test,
						   NULL };
	struct intake_args args = { .name = "test",
				    .ops = &ops,
				    .state = &net,
				    .format = &format,
				    .shape = &shape,
				    .slots = SLOTS,
				    .places = subs,
				    .shares = 1,
				    .rings = kind == RINGS };
	struct fault fault;

	log_level_set(LOG_ERROR);
	clock_replace(&clock);
	now = BEGIN;
	net = (struct receive_state){ .sources = subs, .stamps = true };
	net.most = RECEIVE_BATCH;
	for (unsigned i = 0; i < subs; i++)
		net.source[i].sub = i;
	shape = (struct format_shape){ .prefix = PREFIX,
				       .payload = PAYLOAD,
				       .sequence = SEQUENCE_LE64,
				       .sequence_bits = 64,
				       .parts = 1 };
	own_of[0] = NULL;
	for (unsigned i = 0; i < KEYS && kind == SPLIT; i++) {
		own[i] = shape;
		own_of[i] = &own[i];
		args.places = KEYS;
		args.by = INTAKE_THREAD;
		args.key = key;
		args.own = own_of;
	}
	ck_assert_int_eq(pool_make(&pool, FEEDS * pool_need(&blocks), &fault),
			 0);
	intakes = 1;
	users = 0;
	ck_assert_int_eq(intake_make(&intake[0], &args), 0);
	intake[0]->arrival = &arrival;
}

static struct user *
user_come(int64_t open, int64_t close, bool early)
{
	struct user *u = &user[users++];
	struct place_args place[SOURCES + KEYS];
	struct feed_args args = { .name = "test",
				  .place = place,
				  .gate = { open, close, false },
				  .early = early,
				  .opened = opened,
				  .done = done,
				  .arg = u };
	struct fault fault;

	*u = (struct user){ 0 };
	ck_assert_int_eq(pool_borrow(pool, &u->stock, &blocks, &fault), 0);
	for (unsigned i = 0; i < intake[0]->a.places; i++)
		place[i] = (struct place_args){ .format = &format,
						.shape = own_of[0] ? own_of[i]
								   : &shape,
						.geometry = &geometry,
						.stock = u->stock,
						.sub = (uint16_t)i,
						.max_gap = 1 << 20,
						.max_age = 10 * SECOND,
						.out = out,
						.arg = u };
	ck_assert_int_eq(feed_make(&u->feed[0], intake[0], &args), 0);
	intake_join(intake[0], u->feed[0]);
	return u;
}

/* As the receiver does it. */
static void
users_end(void)
{
	for (struct user *u = user; u < user + users; u++) {
		struct feed *f = u->feed[0];

		if (u->closed || !feed_closes(f, now))
			continue;
		if (!f->until)
			feed_close(f, now);
		if (!intake_drain(f->in, f, 1, now + OFFSET, now))
			continue;
		intake_flush(f->in, f, now);
		intake_leave(f->in, f);
		u->closed = true;
		f->a.done(f->a.arg);
	}
}

/* Passes, a step apart, until then. */
static void
run_until(int64_t end, int64_t step)
{
	for (; now < end; now += step) {
		struct intake *in = intake[0];

		for (unsigned i = 0; i < in->sources && in->feeds; i++)
			intake_pass(&in->source[i], 4, now + OFFSET, now);
		users_end();
	}
}

static void
gate_order(struct user *u, int64_t open, int64_t close)
{
	u->feed[0]->gate = (struct gate){ open, close, false };
}

static struct counts
counts_of(struct user *u)
{
	struct counts sum = { 0 }, c;

	for (unsigned i = 0; i < intake[0]->a.places; i++) {
		counts_read(&c, &u->feed[0]->shown[i]);
		for (unsigned k = 0; k < COUNTS; k++)
			((uint64_t *)&sum)[k] += ((uint64_t *)&c)[k];
	}
	return sum;
}

/* Ends them all; each packet that was told is in a block, or in a drop. */
static void
net_close(void)
{
	for (struct user *u = user; u < user + users; u++)
		gate_order(u, u->feed[0]->gate.open,
			   u->closed ? 0
			   : now < u->feed[0]->gate.close
			       ? now
			       : u->feed[0]->gate.close);
	run_until(now + SECOND / 10, SECOND / 1000);
	for (struct user *u = user; u < user + users; u++) {
		struct counts c = counts_of(u);
		uint64_t dropped = 0;

		ck_assert(u->closed);
		ck_assert_uint_eq(u->ended, 1);
		for (int i = 0; i < DROP_KINDS; i++)
			dropped += c.drop[i];
		ck_assert_uint_eq(c.datagrams, c.placed + dropped);
		ck_assert_uint_eq(c.placed, u->packets);
		ck_assert_uint_eq(stock_home(u->stock), blocks.blocks);
		feed_free(u->feed[0]);
		stock_return(u->stock);
	}
	ck_assert_ptr_null(intake[0]->feeds);
	intake_free(intake[0]);
	pool_free(pool);
	clock_replace(NULL);
}

/* ---- what is sent ------------------------------------------------------ */

/* n packets, so far apart, in trains that have one stamp. */
static void
send_all(unsigned source, unsigned n, int64_t apart, unsigned train)
{
	struct source *s = &net.source[source];

	for (unsigned i = 0; i < n; i++)
		s->sent[s->n++] =
		    (struct sent){ .sequence = i,
				   .at = BEGIN + i / train * train * apart };
}

/* Did it get exactly what was stamped in [open, close)? */
static void
has_exactly(const struct user *u, unsigned source, int64_t open, int64_t close)
{
	const struct source *s = &net.source[source];

	for (unsigned i = 0; i < s->n; i++) {
		const struct sent *k = &s->sent[i];
		unsigned want = k->at >= open && k->at < close;

		if (u->got[source][k->sequence] != want)
			ck_abort_msg("user %u has packet %u of source %u %u "
				     "times",
				     (unsigned)(u - user),
				     (unsigned)k->sequence, source,
				     u->got[source][k->sequence]);
	}
}

/* ---- tests ------------------------------------------------------------- */

/* The boundary is in the middle of a batch, of a train, between two; passes
 * are long or short; packets land where they should, or not. */
static void
back_to_back(enum kind kind, unsigned subs, unsigned train, int64_t boundary)
{
	for (unsigned beside = 0; beside <= 100; beside += 50) {
		struct user *a, *b;
		uint64_t before;

		net_open(kind, subs);
		net.beside = beside;
		a = user_come(INT64_MIN, BEGIN + boundary, false);
		b = user_come(BEGIN + boundary, INT64_MAX, false);
		for (unsigned i = 0; i < subs; i++)
			send_all(i, 3000, 10 * US, train);
		run_until(BEGIN + SECOND / 10, 700 * US);
		ck_assert(a->closed);
		ck_assert_uint_eq(a->opened, 1);
		ck_assert_uint_eq(b->opened, 1);
		before = counts_of(b).drop[DROP_BEFORE_START];
		ck_assert_uint_eq(counts_of(a).datagrams, a->packets);
		ck_assert_uint_eq(before, a->packets);
		net_close();
		for (unsigned i = 0; i < subs; i++) {
			has_exactly(a, i, INT64_MIN, BEGIN + boundary);
			has_exactly(b, i, BEGIN + boundary, INT64_MAX);
		}
		ck_assert_uint_eq(a->packets + b->packets, 3000 * subs);
	}
}

START_TEST(one_follows_another)
{
	back_to_back(PLAIN, 1, 1, 15000 * US);
	back_to_back(PLAIN, 1, 1, 15003 * US);
	back_to_back(PLAIN, 1, 64, 15360 * US);
	back_to_back(PLAIN, 1, 100, 15003 * US);
	back_to_back(PLAIN, SOURCES, 1, 12345 * US);
	back_to_back(SPLIT, 1, 1, 15003 * US);
	back_to_back(SPLIT, 1, 100, 15003 * US);
}
END_TEST

/* Each packet of the overlap is in both, and whoever has the slots, the other
 * has what was sent; also where some are lost, and come in another order. */
static void
overlap(enum kind kind, unsigned subs, struct dice *dice)
{
	int64_t from = BEGIN + (int64_t)dice_roll(dice, 15000) * US;
	int64_t to = from + (int64_t)dice_roll(dice, 15000) * US;
	struct user *a, *b, *c;

	net_open(kind, subs);
	net.beside = dice_roll(dice, 30);
	net.most = 1 + dice_roll(dice, RECEIVE_BATCH);
	a = user_come(INT64_MIN, to, false);
	b = user_come(from, INT64_MAX, false);
	c = user_come(BEGIN + SECOND, INT64_MAX, false);
	for (unsigned i = 0; i < subs; i++) {
		struct source *s = &net.source[i];
		unsigned kept = 0;

		send_all(i, 3000, 10 * US, 1 + dice_roll(dice, 20));
		for (unsigned k = 0; k < 3000; k++) {
			if (dice_chance(dice, 2))
				continue;
			s->sent[kept++] = s->sent[k];
			/* Two swap their contents, and come as stamped. */
			if (kept > 1 && dice_chance(dice, 5)) {
				uint64_t was = s->sent[kept - 2].sequence;

				s->sent[kept - 2].sequence =
				    s->sent[kept - 1].sequence;
				s->sent[kept - 1].sequence = was;
			}
		}
		s->n = kept;
	}
	run_until(BEGIN + SECOND / 10, 400 * US);
	ck_assert_uint_eq(c->opened, 0);
	ck_assert_uint_eq(counts_of(c).datagrams,
			  counts_of(c).drop[DROP_BEFORE_START]);
	ck_assert_uint_eq(c->packets, 0);
	net_close();
	for (unsigned i = 0; i < subs; i++) {
		has_exactly(a, i, INT64_MIN, to);
		has_exactly(b, i, from, INT64_MAX);
	}
}

START_TEST(two_overlap)
{
	struct dice dice = { 5 };

	for (unsigned i = 0; i < 60; i++) {
		overlap(PLAIN, 1, &dice);
		overlap(PLAIN, SOURCES, &dice);
		overlap(SPLIT, 1, &dice);
	}
}
END_TEST

/* One comes and goes while another runs, which notices nothing. */
START_TEST(others_come_and_go)
{
	struct user *a, *b, *c;
	struct feed_view view;

	net_open(PLAIN, 1);
	send_all(0, 5000, 10 * US, 8);
	a = user_come(INT64_MIN, INT64_MAX, false);
	run_until(BEGIN + 10000 * US, 500 * US);
	b = user_come(now, INT64_MAX, false);
	run_until(BEGIN + 20000 * US, 500 * US);
	gate_order(b, b->feed[0]->gate.open, now);
	run_until(BEGIN + 40000 * US, 500 * US);
	ck_assert(b->closed && !a->closed);
	/* What its sources told is told of that time. */
	feed_look(b->feed[0], 0, &view);
	ck_assert_uint_ge(view.counts.datagrams, 1000);
	ck_assert_uint_le(view.counts.datagrams, 2500);
	ck_assert_uint_eq(b->feed[0]->overruns, view.counts.overruns);
	c = user_come(now, INT64_MAX, false);
	gate_order(a, INT64_MIN, now);
	run_until(BEGIN + SECOND / 10, 500 * US);
	has_exactly(a, 0, INT64_MIN, BEGIN + 40000 * US);
	has_exactly(b, 0, BEGIN + 10000 * US, BEGIN + 20000 * US);
	net_close();
	has_exactly(c, 0, BEGIN + 40000 * US, INT64_MAX);
}
END_TEST

/* It was armed, and is not wanted: no block comes out, at once. */
START_TEST(one_is_cancelled)
{
	struct user *a, *b;

	net_open(PLAIN, 1);
	send_all(0, 2000, 10 * US, 1);
	a = user_come(INT64_MIN, INT64_MAX, false);
	b = user_come(BEGIN + 5000 * US, INT64_MAX, false);
	run_until(BEGIN + 4000 * US, 500 * US);
	gate_order(b, INT64_MAX, INT64_MIN);
	run_until(now + 1, 500 * US);
	ck_assert(b->closed);
	ck_assert_uint_eq(b->packets, 0);
	ck_assert_uint_eq(b->opened, 0);
	run_until(BEGIN + 30000 * US, 500 * US);
	net_close();
	has_exactly(a, 0, INT64_MIN, INT64_MAX);
}
END_TEST

/* What came before its gate opens is placed as well, and nothing after. */
START_TEST(early_ones_are_placed)
{
	struct user *a;

	net_open(PLAIN, 1);
	send_all(0, 2000, 10 * US, 16);
	a = user_come(BEGIN + 10000 * US, BEGIN + 15000 * US, true);
	run_until(BEGIN + 9000 * US, 500 * US);
	ck_assert_uint_gt(a->packets, 500);
	ck_assert_uint_eq(a->opened, 0);
	run_until(BEGIN + 30000 * US, 500 * US);
	ck_assert_uint_eq(a->opened, 1);
	net_close();
	has_exactly(a, 0, INT64_MIN, BEGIN + 15000 * US);
}
END_TEST

/* Without stamps it is the pass that counts: in exactly one of two; and what
 * waits when a recording is ended is its own, if it is nobody else's. */
START_TEST(without_stamps)
{
	struct user *a, *b;

	net_open(PLAIN, 1);
	net.stamps = false;
	send_all(0, 2000, 10 * US, 1);
	a = user_come(INT64_MIN, BEGIN + 10000 * US, false);
	b = user_come(BEGIN + 10000 * US, INT64_MAX, false);
	run_until(BEGIN + 30000 * US, 300 * US);
	ck_assert(a->closed);
	net_close();
	for (unsigned i = 0; i < 2000; i++)
		ck_assert_uint_eq(a->got[0][i] + b->got[0][i], 1);

	net_open(PLAIN, 1);
	net.stamps = false;
	send_all(0, 2000, 0, 1);
	a = user_come(INT64_MIN, INT64_MAX, false);
	b = user_come(BEGIN + SECOND, INT64_MAX, false);
	gate_order(a, INT64_MIN, now);
	run_until(BEGIN + 50000 * US, 300 * US);
	ck_assert(a->closed);
	ck_assert_uint_eq(a->packets, 2000);
	net_close();
}
END_TEST

/* A source that nothing comes from does not keep a feed from its end, nor does
 * one that never gets empty. */
START_TEST(an_end_waits_for_nobody)
{
	struct user *a, *b;

	net_open(PLAIN, 2);
	send_all(0, 3000, 1, 1);
	net.most = 1;
	a = user_come(INT64_MIN, BEGIN + 100, false);
	b = user_come(BEGIN + 100, INT64_MAX, false);
	run_until(BEGIN + 30000 * US, 100 * US);
	ck_assert(a->closed);
	ck_assert_uint_eq(a->packets, 100);
	ck_assert(!b->closed);
	run_until(BEGIN + SECOND, 100 * US);
	net_close();
	has_exactly(b, 0, BEGIN + 100, INT64_MAX);
}
END_TEST

SUITE("feed", one_follows_another, two_overlap, others_come_and_go,
      one_is_cancelled, early_ones_are_placed, without_stamps,
      an_end_waits_for_nobody)
