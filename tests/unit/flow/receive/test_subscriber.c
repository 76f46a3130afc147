/* SPDX-License-Identifier: MIT */
/*
 * Several subscribers of one intake: each has exactly the packets that its time
 * window lets through, whoever they land with.
 *
 *   stamps  ----1----2----3----4----5----6----7---->
 *   subscriber A  |..................)
 *   subscriber B                     [...................
 *   subscriber C            [.................)
 */
#include <stdlib.h>
#include <string.h>

#include "flow/memory/arena.h"
#include "base/clock.h"
#include "base/log.h"
#include "lib/dice.h"
#include "flow/receive/subscriber.h"
#include "flow/receive/intake.h"
#include "lib/suite.h"

enum {
	PREFIX = 8,
	PAYLOAD = 64,
	SLOTS = 256,
	MOST = 6000, /* packets of a source */
	SOURCES = 4,
	SUBSCRIBERS = 3,
	KEYS = 3,
	US = 1000,
};

/*
 * Subscribers of one intake, with a network that is made up: packets come with
 * the stamps that a test gives them, land where the intake aims, or beside it,
 * and every block that comes out is looked at, byte by byte.
 */
#define SECOND INT64_C(1000000000)
#define BEGIN  (100 * SECOND) /* steady, of the first packet */
#define OFFSET (7 * SECOND)   /* UTC is that much ahead */
#define CARD   200000	      /* ns: a card stamps that much earlier */

struct sent {
	uint64_t sequence;
	int64_t at; /* steady */
};

struct source {
	struct sent sent[MOST];
	unsigned n, next;
	unsigned sub;
};

struct receive_state {
	struct source source[SOURCES];
	unsigned sources, beside; /* percent */
	bool stamps;
	unsigned most; /* packets of a batch */
	int64_t delay; /* from the stamp to the socket */
	int64_t takes; /* a call */
	struct dice dice;
	bool patient;  /* its sender waits where there is no room, */
	unsigned room; /* which is the least there was */
};

/* One user, and what came out for it. */
struct user {
	struct subscriber *subscriber;
	struct block_pool *pool;
	unsigned got[SOURCES][MOST];
	uint64_t packets;
	unsigned opened, ended;
	bool closed; /* it is over */
};

static struct receive_state net;
static struct format_shape shape, own[KEYS], *own_of[KEYS];
static struct arena *arena;
static struct intake *intake;
static struct user user[SUBSCRIBERS];
static unsigned users;
static int64_t now;
static struct intake_args intake_args;
static bool lesser; /* is a subscriber that is made now */
static struct arrival arrival = { .offset = OFFSET, .known = true };
static const uint32_t key[KEYS] = { 0, 1, 2 };
static uint8_t aside[RECEIVE_BATCH][PREFIX + PAYLOAD];
static const struct geometry geometry = { .payload = PAYLOAD,
					  .parts = 1,
					  .quantum = 1,
					  .slots = SLOTS,
					  .block_bytes = SLOTS * PAYLOAD };
static const struct block_pool_args blocks = { .blocks = 100,
					       .slots = SLOTS,
					       .slot_bytes = PAYLOAD,
					       .subs = SOURCES,
					       .side = 64 + 8 * SLOTS };

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
		/* Where it may, a card says that it had it before. */
		.arrived =
		    n->stamps ? sent->at + OFFSET - (b->card ? CARD : 0) : 0,
	};
}

/* What had come by now. */
static int
net_receive(struct receive_state *n, unsigned source, struct receive_batch *b)
{
	struct source *s = &n->source[source];
	unsigned most = b->pairs < n->most ? b->pairs : n->most;

	now += n->takes;
	if (n->patient) {
		if (most > b->room)
			most = b->room;
		if (b->room < n->room)
			n->room = b->room;
		b->known = s->next < s->n;
		b->next = b->known ? s->sent[s->next].sequence : 0;
	}
	while (b->packets < most && s->next < s->n &&
	       s->sent[s->next].at + n->delay <= now)
		packet_come(n, s, b);
	b->empty = s->next == s->n || s->sent[s->next].at + n->delay > now;
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

/* Frames of one thread, which tell second and frame, and no counter; of the
 * first source, and fewer than 256. */
static void
parse_timed(const struct format_shape *s, const void *prefix,
	    const void *payload, struct format_packet *p)
{
	const uint8_t *byte = payload; /* 7 x 183 = 1 mod 256; see byte_of */
	uint8_t n = (uint8_t)(byte[0] * 183);

	(void)prefix;
	*p = (struct format_packet){ .has = FORMAT_READABLE | FORMAT_VALID |
					    FORMAT_TIME,
				     .sequence = n,
				     .second = 1000 + n / 60,
				     .frame = n % 60 };
	if (s->fps && s->threads_n)
		p->has |= FORMAT_SEQUENCE;
}

/* Threads in turn. */
static void
parse(const struct format_shape *s, const void *prefix, const void *payload,
      struct format_packet *p)
{
	if (s->sequence == SEQUENCE_TIME) {
		parse_timed(s, prefix, payload, p);
		return;
	}
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

enum kind { PLAIN, SPLIT };

static void
intake_again(void)
{
	ck_assert_int_eq(intake_make(&intake, &intake_args), 0);
	intake->arrival = &arrival;
}

/* `subs` sources, each of a substream. */
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
				    .placements = subs,
				    .shares = 1 };
	struct fault fault;

	log_level_set(LEVEL_ERROR);
	clock_replaced = &clock;
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
		args.placements = KEYS;
		args.by = INTAKE_THREAD;
		args.key = key;
		args.own = own_of;
	}
	ck_assert_int_eq(arena_make(&arena,
				    SUBSCRIBERS * block_pool_need(&blocks),
				    NULL, &fault),
			 0);
	users = 0;
	intake_args = args;
	intake_again();
}

static struct user *
user_come(int64_t open, int64_t close, bool early)
{
	struct user *u = &user[users++];
	struct placement_args placement[SOURCES + KEYS];
	struct subscriber_args args = { .name = "test",
					.placement = placement,
					.time_window = { open, close, false },
					.early = early,
					.lesser = lesser,
					.opened = opened,
					.done = done,
					.arg = u };
	struct fault fault;

	*u = (struct user){ 0 };
	ck_assert_int_eq(block_pool_borrow(arena, &u->pool, &blocks, &fault),
			 0);
	for (unsigned i = 0; i < intake->a.placements; i++)
		placement[i] =
		    (struct placement_args){ .format = &format,
					     .shape =
						 own_of[0] ? own_of[i] : &shape,
					     .geometry = &geometry,
					     .pool = u->pool,
					     .sub = (uint16_t)i,
					     .max_gap = 1 << 20,
					     .max_age = 10 * SECOND,
					     .out = out,
					     .arg = u };
	ck_assert_int_eq(subscriber_make(&u->subscriber, intake, &args), 0);
	intake_join(intake, u->subscriber);
	return u;
}

/* As the receiver does it. */
static void
users_end(void)
{
	for (struct user *u = user; u < user + users; u++) {
		struct subscriber *f = u->subscriber;

		if (u->closed || !subscriber_closes(f, now))
			continue;
		if (!f->until)
			subscriber_close(f, now);
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
		struct intake_load load = { 0 };
		struct intake *in = intake;

		for (unsigned i = 0; i < in->sources && in->subscribers; i++) {
			in->source[i].clock = 1; /* it is looked at */
			intake_pass(&in->source[i], 4, now + OFFSET, now,
				    &load);
		}
		users_end();
	}
}

static void
gate_order(struct user *u, int64_t open, int64_t close)
{
	u->subscriber->time_window = (struct time_window){ open, close, false };
}

static struct counts
counts_of(struct user *u)
{
	struct counts sum = { 0 }, c;

	for (unsigned i = 0; i < intake->a.placements; i++) {
		counts_read(&c, &u->subscriber->shown[i]);
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
		gate_order(u, u->subscriber->time_window.open,
			   u->closed ? 0
			   : now < u->subscriber->time_window.close
			       ? now
			       : u->subscriber->time_window.close);
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
		ck_assert_uint_eq(block_pool_free_blocks(u->pool),
				  blocks.blocks);
		subscriber_free(u->subscriber);
		block_pool_return(u->pool);
	}
	ck_assert_ptr_null(intake->subscribers);
	intake_free(intake);
	arena_free(arena);
	clock_replaced = NULL;
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
		net.delay = beside * 10 * US;
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

/* Two come in another order, as stamped, or out of the order of stamps. */
static void
swap(struct sent *s, bool stamps)
{
	struct sent was = s[0];

	s[0].sequence = s[1].sequence;
	s[1].sequence = was.sequence;
	if (!stamps)
		return;
	s[0].at = s[1].at;
	s[1].at = was.at;
}

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
	if (dice_chance(dice, 50)) {
		a = user_come(INT64_MIN, to, false);
		b = user_come(from, INT64_MAX, false);
	} else {
		b = user_come(from, INT64_MAX, false);
		a = user_come(INT64_MIN, to, false);
	}
	c = user_come(BEGIN + SECOND, INT64_MAX, false);
	for (unsigned i = 0; i < subs; i++) {
		struct source *s = &net.source[i];
		unsigned kept = 0;

		send_all(i, 3000, 10 * US, 1 + dice_roll(dice, 20));
		for (unsigned k = 0; k < 3000; k++) {
			if (dice_chance(dice, 2))
				continue;
			s->sent[kept++] = s->sent[k];
			if (kept > 1 && dice_chance(dice, 20))
				swap(&s->sent[kept - 2], dice_chance(dice, 50));
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

/* A relay whose peer does not read has no block left.  It does not make the
 * sender of a recording wait, nor the recording copy; alone it does. */
static void
with_a_lesser(bool recorded)
{
	struct block *taken[100];
	struct user *relay, *rec = NULL;
	unsigned n = 0;

	net_open(PLAIN, 1);
	net.patient = true;
	net.room = UINT32_MAX;
	lesser = true;
	relay = user_come(INT64_MIN, INT64_MAX, false);
	lesser = false;
	if (recorded)
		rec = user_come(INT64_MIN, INT64_MAX, false);
	send_all(0, 2000, 10 * US, 1);
	run_until(BEGIN + 400 * US, 400 * US);
	while ((taken[n] = block_pool_take(relay->pool, 0)))
		n++;
	run_until(BEGIN + SECOND / 10, 400 * US);
	ck_assert_int_eq(net.room > 0, recorded);
	ck_assert_int_eq(net.source[0].next == 2000, recorded);
	while (n--)
		block_pool_put(taken[n]);
	run_until(now + SECOND / 10, 400 * US);
	ck_assert_uint_eq(net.source[0].next, 2000);
	net_close();
	if (recorded)
		has_exactly(rec, 0, INT64_MIN, INT64_MAX);
	else
		has_exactly(relay, 0, INT64_MIN, INT64_MAX);
}

START_TEST(a_lesser_one_makes_nobody_wait)
{
	with_a_lesser(false);
	with_a_lesser(true);
}
END_TEST

/* Two queues of a card are apart by far more than packets are: what is of one
 * recording and of the other comes in turn, for a while. */
static void
queues(enum kind kind)
{
	struct dice dice = { 3 };

	for (unsigned i = 0; i < 40; i++) {
		struct source *s = &net.source[0];
		struct user *a, *b;

		net_open(kind, 1);
		net.most = 16 + dice_roll(&dice, 100);
		a = user_come(INT64_MIN, BEGIN + 8003 * US, false);
		b = user_come(BEGIN + 8003 * US, INT64_MAX, false);
		send_all(0, 2000, 10 * US, 1);
		for (unsigned k = 0; k < 2000; k++) {
			s->sent[k].at += k % 2 * 1000 * US;
			if (k % 2 && dice_chance(&dice, 30))
				swap(&s->sent[k - 1], dice_chance(&dice, 50));
		}
		run_until(BEGIN + SECOND / 10, 400 * US);
		net_close();
		has_exactly(a, 0, INT64_MIN, BEGIN + 8003 * US);
		has_exactly(b, 0, BEGIN + 8003 * US, INT64_MAX);
	}
}

START_TEST(queues_of_a_card)
{
	queues(PLAIN);
	queues(SPLIT);
}
END_TEST

/* Only seconds of data tell how many frames there are in one: until then all
 * packets are held, of each subscriber those that are its own. */
START_TEST(while_it_learns)
{
	struct user *a, *b, *c;
	struct counts n;

	net_open(PLAIN, 1);
	shape.sequence = SEQUENCE_TIME;
	intake_free(intake);
	intake_again();
	a = user_come(INT64_MIN, BEGIN + 1000 * US, false);
	b = user_come(BEGIN + 1000 * US, INT64_MAX, false);
	c = user_come(BEGIN + SECOND, INT64_MAX, false);
	send_all(0, 250, 10 * US, 1);
	ck_assert(atomic_load(&intake->learning));
	run_until(BEGIN + 50000 * US, 500 * US);
	ck_assert(!atomic_load(&intake->learning));
	ck_assert_uint_eq(shape.fps, 60);
	ck_assert_uint_eq(shape.threads_n, 1);
	n = counts_of(a);
	ck_assert_uint_eq(n.datagrams, 100);
	ck_assert_uint_eq(n.placed, 100);
	n = counts_of(b);
	ck_assert_uint_eq(n.datagrams, 250);
	ck_assert_uint_eq(n.drop[DROP_BEFORE_START], 100);
	ck_assert_uint_eq(counts_of(c).drop[DROP_BEFORE_START], 250);
	gate_order(b, b->subscriber->time_window.open, now);
	run_until(now + SECOND / 10, 500 * US);
	ck_assert_uint_eq(counts_of(b).placed, 150);
	has_exactly(a, 0, INT64_MIN, BEGIN + 1000 * US);
	has_exactly(b, 0, BEGIN + 1000 * US, INT64_MAX);
	net_close();
}
END_TEST

/* One comes and goes while another runs, which notices nothing. */
START_TEST(others_come_and_go)
{
	struct user *a, *b, *c;
	struct subscriber_view view;

	net_open(PLAIN, 1);
	send_all(0, 5000, 10 * US, 8);
	a = user_come(INT64_MIN, INT64_MAX, false);
	run_until(BEGIN + 10000 * US, 500 * US);
	b = user_come(now, INT64_MAX, false);
	run_until(BEGIN + 20000 * US, 500 * US);
	gate_order(b, b->subscriber->time_window.open, now);
	run_until(BEGIN + 40000 * US, 500 * US);
	ck_assert(b->closed && !a->closed);
	/* What its sources told is told of that time. */
	subscriber_look(b->subscriber, 0, &view);
	ck_assert_uint_ge(view.counts.datagrams, 1000);
	ck_assert_uint_le(view.counts.datagrams, 1500);
	ck_assert_uint_eq(b->subscriber->overruns, view.counts.overruns);
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

/* What came before its time window opens is placed as well, and nothing after.
 * */
START_TEST(early_ones_are_placed)
{
	struct user *a;

	net_open(PLAIN, 1);
	send_all(0, 2000, 10 * US, 16);
	a = user_come(BEGIN + 10200 * US, BEGIN + 15000 * US, true);
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

/* Two that end at one time while more comes: the same for both, and no hole
 * before the last of it. */
static void
two_end(int64_t takes)
{
	struct user *a, *b;
	unsigned last = 0;

	net_open(PLAIN, 1);
	net.stamps = false;
	net.most = 3;
	net.takes = takes;
	send_all(0, 3000, 10 * US, 1);
	a = user_come(INT64_MIN, BEGIN + 10000 * US, false);
	b = user_come(BEGIN + 5000 * US, BEGIN + 10000 * US, false);
	run_until(BEGIN + 40000 * US, 20 * US);
	ck_assert(a->closed && b->closed);
	net_close();
	for (unsigned i = 0; i < 3000; i++)
		last = a->got[0][i] ? i : last;
	for (unsigned i = 0; i <= last; i++)
		ck_assert_uint_eq(a->got[0][i], 1);
	for (unsigned i = 700; i < 3000; i++)
		ck_assert_uint_eq(b->got[0][i], a->got[0][i]);
}

START_TEST(without_stamps_two_end)
{
	for (int64_t takes = 0; takes < 31 * US; takes += US)
		two_end(takes);
}
END_TEST

/* So many wait that the first is over while what is of the other is still to
 * be received. */
START_TEST(one_ends_before_the_other)
{
	struct user *a, *b;

	net_open(PLAIN, 1);
	net.most = 1;
	send_all(0, 3000, 10 * US, 1);
	a = user_come(INT64_MIN, BEGIN + 10000 * US, false);
	b = user_come(INT64_MIN, BEGIN + 15000 * US, false);
	run_until(BEGIN + 100000 * US, 200 * US);
	ck_assert(a->closed && b->closed);
	net_close();
	has_exactly(a, 0, INT64_MIN, BEGIN + 10000 * US);
	has_exactly(b, 0, INT64_MIN, BEGIN + 15000 * US);
}
END_TEST

/* A source that nothing comes from does not keep a subscriber from its end, nor
 * does one that never gets empty. */
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

/* A daemon that stood for some seconds at an edge needs stamps yet: what waits
 * in its sockets is of before and after. */
START_TEST(edges_are_near_for_long)
{
	struct subscriber f = { .time_window = { .open = BEGIN,
						 .close = INT64_MAX } };

	ck_assert(!subscriber_near(&f, BEGIN - SECOND));
	ck_assert(subscriber_near(&f, BEGIN));
	ck_assert(subscriber_near(&f, BEGIN + ARRIVAL_OLD - SECOND));
	ck_assert(!subscriber_near(&f, BEGIN + ARRIVAL_OLD + SECOND));
}
END_TEST

SUITE("subscriber", one_follows_another, two_overlap,
      a_lesser_one_makes_nobody_wait, queues_of_a_card, while_it_learns,
      others_come_and_go, one_is_cancelled, early_ones_are_placed,
      without_stamps, without_stamps_two_end, one_ends_before_the_other,
      an_end_waits_for_nobody, edges_are_near_for_long)
