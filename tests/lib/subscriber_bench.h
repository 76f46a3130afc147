/* SPDX-License-Identifier: MIT */
#ifndef SPATE_TESTS_SUBSCRIBER_BENCH_H
#define SPATE_TESTS_SUBSCRIBER_BENCH_H

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
 * Subscribers of one intake, with a network that is made up: packets come with the
 * stamps that a test gives them, land where the intake aims, or beside it, and
 * every block that comes out is looked at, byte by byte.
 */
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

static inline int64_t
clock_test(void *arg)
{
	(void)arg;
	return now;
}

/* ---- the network ------------------------------------------------------- */

static inline unsigned
net_sources(const struct receive_state *n)
{
	return n->sources;
}

static inline int
net_fd(const struct receive_state *n, unsigned source)
{
	(void)n;
	(void)source;
	return -1;
}

static inline unsigned
net_sub(const struct receive_state *n, unsigned source)
{
	return n->source[source].sub;
}

/* A packet's bytes follow from where it is from and its sequence. */
static inline uint8_t
byte_of(unsigned sub, uint64_t sequence, unsigned i)
{
	return (uint8_t)(sub * 31 + sequence * 7 + i);
}

static inline void
packet_make(const struct source *s, uint64_t sequence, uint8_t *prefix,
	    uint8_t *payload)
{
	write_le64(prefix, sequence);
	for (unsigned i = 0; i < PAYLOAD; i++)
		payload[i] = byte_of(s->sub, sequence, i);
}

static inline void
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
static inline int
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

static inline void
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
static inline void
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
static inline void
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
static inline void
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

static inline void
opened(void *arg)
{
	((struct user *)arg)->opened++;
}

static inline void
done(void *arg)
{
	((struct user *)arg)->ended++;
}

enum kind { PLAIN, SPLIT };

static inline void
intake_again(void)
{
	ck_assert_int_eq(intake_make(&intake, &intake_args), 0);
	intake->arrival = &arrival;
}

/* `subs` sources, each of a substream. */
static inline void
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
		args.places = KEYS;
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

static inline struct user *
user_come(int64_t open, int64_t close, bool early)
{
	struct user *u = &user[users++];
	struct placement_args place[SOURCES + KEYS];
	struct subscriber_args args = { .name = "test",
					.place = place,
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
	for (unsigned i = 0; i < intake->a.places; i++)
		place[i] =
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
static inline void
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
static inline void
run_until(int64_t end, int64_t step)
{
	for (; now < end; now += step) {
		struct intake *in = intake;

		for (unsigned i = 0; i < in->sources && in->subscribers; i++)
			intake_pass(&in->source[i], 4, now + OFFSET, now);
		users_end();
	}
}

static inline void
gate_order(struct user *u, int64_t open, int64_t close)
{
	u->subscriber->time_window = (struct time_window){ open, close, false };
}

static inline struct counts
counts_of(struct user *u)
{
	struct counts sum = { 0 }, c;

	for (unsigned i = 0; i < intake->a.places; i++) {
		counts_read(&c, &u->subscriber->shown[i]);
		for (unsigned k = 0; k < COUNTS; k++)
			((uint64_t *)&sum)[k] += ((uint64_t *)&c)[k];
	}
	return sum;
}

/* Ends them all; each packet that was told is in a block, or in a drop. */
static inline void
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
static inline void
send_all(unsigned source, unsigned n, int64_t apart, unsigned train)
{
	struct source *s = &net.source[source];

	for (unsigned i = 0; i < n; i++)
		s->sent[s->n++] =
		    (struct sent){ .sequence = i,
				   .at = BEGIN + i / train * train * apart };
}

/* Did it get exactly what was stamped in [open, close)? */
static inline void
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

#endif
