/* SPDX-License-Identifier: MIT */
/*
 * What format.h promises, asked of every format plugin that was built.
 *
 * Each plugin is offered the same grid of shapes; what it accepts, it must
 * be able to write and read back, without a touch of the data or of bytes
 * outside.  Shapes that it refuses need a sentence.  Only `known` says what
 * a certain format can express beyond that; a plugin that is not in it is
 * held to the rest.
 */
#include <stdlib.h>
#include <string.h>

#include "contract/defaults.h"
#include "formats.h"

enum { GUARD = 64, FPS = 1000, ROUNDS = 42 };

#define AROUND INT64_C(1795168800) /* 2026-11-20T10:00:00Z */

struct known {
	const char *name;
	bool time, thread, invalid;
};

static const struct known known[] = {
	{ "raw", false, false, false }, { "udpmon", false, false, false },
	{ "vdif", true, true, true },	{ "mark5b", true, false, false },
	{ NULL, false, false, false },
};

/* One plugin with one shape that it has accepted, and memory for a packet
 * of exactly that size with guards on both sides. */
struct bench {
	const struct format_ops *ops;
	const struct known *known;
	struct format_shape shape;
	uint8_t *memory;
	size_t bytes;
	uint8_t *prefix, *payload;
};

static const uint32_t threads[] = { 2, 0, 5 };

static const struct known *
known_find(const char *name)
{
	const struct known *k = known;

	while (k->name && strcmp(k->name, name))
		k++;
	return k;
}

static void
bench_open(struct bench *b, const struct format_ops *ops,
	   const struct format_shape *shape)
{
	*b = (struct bench){ .ops = ops, .shape = *shape };
	b->known = known_find(ops->head.name);
	b->bytes = (size_t)shape->prefix + shape->payload + 3 * GUARD;
	b->memory = malloc(b->bytes);
	ck_assert_ptr_nonnull(b->memory);
	b->prefix = b->memory + GUARD;
	b->payload = b->prefix + shape->prefix + GUARD;
}

/* Different bytes everywhere, different for each seed: a part of what was
 * made once, for nearly all of the time would go into making it. */
static void
bench_scribble(struct bench *b, uint32_t seed)
{
	enum { SEEDS = 8192 };
	static uint8_t bytes[SEEDS + 16384];
	static bool made;
	uint32_t x = 1;

	for (size_t i = 0; !made && i < sizeof bytes; i++) {
		x = x * 1664525 + 1013904223;
		bytes[i] = x >> 24;
	}
	made = true;
	ck_assert_uint_lt(seed, SEEDS);
	ck_assert_uint_le(SEEDS + b->bytes, sizeof bytes);
	memcpy(b->memory, bytes + seed, b->bytes);
}

/* The shapes of the grid; false when there are no more. */
static bool
grid(unsigned i, struct format_shape *s)
{
	static const uint32_t prefixes[] = { 0, 4, 8, 12 };
	static const uint32_t payloads[] = { 64, 1003, 5008, 8032, 10016 };
	unsigned kinds = SEQUENCE_KINDS;

	*s = (struct format_shape){ .fps = FPS,
				    .threads = threads,
				    .around = AROUND };
	s->sequence = i % kinds;
	i /= kinds;
	s->sequence_at = i % 4 * 4;
	i /= 4;
	s->threads_n = i % 2 ? 3 : 1;
	i /= 2;
	s->prefix = prefixes[i % 4];
	i /= 4;
	if (i >= sizeof payloads / sizeof *payloads)
		return false;
	s->payload = payloads[i];
	return true;
}

/* Calls back with every accepted shape; returns how many there were. */
static unsigned
each_shape(const struct format_ops *ops, void (*check)(struct bench *))
{
	struct format_shape s;
	struct bench b;
	unsigned accepted = 0;
	char why[256];

	for (unsigned i = 0; grid(i, &s); i++) {
		memset(why, 0, sizeof why);
		if (ops->shape(&s, why, sizeof why) == 0) {
			bench_open(&b, ops, &s);
			check(&b);
			free(b.memory);
			accepted++;
		} else {
			ck_assert_msg(strlen(why) > 20,
				      "%s: shape %u is "
				      "refused without a sentence",
				      ops->head.name, i);
			ck_assert_uint_lt(strlen(why), sizeof why - 1);
		}
	}
	return accepted;
}

static void
shapes_of_plugin(const struct format_ops *ops, void (*check)(struct bench *))
{
	ck_assert_msg(each_shape(ops, check), "%s accepts no shape",
		      ops->head.name);
}

static void
check_shape(struct bench *b)
{
	const struct format_shape *s = &b->shape;
	struct format_shape again = *s;
	char why[256] = "";

	ck_assert_int_ne(s->sequence, SEQUENCE_DEFAULT);
	ck_assert(s->sequence_bits == 32 || s->sequence_bits == 64);
	ck_assert_uint_ge(s->parts, 1);
	ck_assert_uint_le(s->header, s->payload);
	ck_assert_uint_eq(s->fps, FPS);
	/* A complete shape is complete: it can be stored and used again. */
	ck_assert_int_eq(b->ops->shape(&again, why, sizeof why), 0);
	ck_assert_mem_eq(&again, s, sizeof again);
}

static bool
is_counted(const struct format_shape *s)
{
	return s->sequence != SEQUENCE_ARRIVAL && s->sequence != SEQUENCE_TIME;
}

static uint64_t
sequence_mask(const struct format_shape *s)
{
	return s->sequence_bits == 32 ? UINT32_MAX : UINT64_MAX;
}

/* A header as the generator makes it: the model, stamped. */
static void
make(struct bench *b, const struct format_packet *x)
{
	if (x->part == 0 && b->ops->model)
		b->ops->model(&b->shape, b->payload);
	b->ops->stamp(&b->shape, x, b->prefix, b->payload);
}

static void
compare(struct bench *b, const struct format_packet *x,
	const struct format_packet *p)
{
	const struct format_shape *s = &b->shape;

	ck_assert_uint_ne(p->has & FORMAT_READABLE, 0);
	if (is_counted(s)) {
		ck_assert_uint_ne(p->has & FORMAT_SEQUENCE, 0);
		ck_assert_uint_eq(p->sequence, x->sequence & sequence_mask(s));
	}
	if (s->sequence == SEQUENCE_TIME)
		ck_assert_uint_ne(p->has & FORMAT_SEQUENCE, 0);
	if (s->parts > 1) {
		ck_assert_uint_ne(p->has & FORMAT_PART, 0);
		ck_assert_uint_eq(p->part, x->part);
	}
	if (b->known->time && x->part == 0) {
		ck_assert_uint_ne(p->has & FORMAT_TIME, 0);
		ck_assert_int_eq(p->second, x->second);
		ck_assert_uint_eq(p->frame, x->frame);
	}
	if (b->known->thread)
		ck_assert_uint_eq(p->thread, x->thread);
	if (b->known->invalid)
		ck_assert_uint_eq(p->has & FORMAT_VALID, x->has & FORMAT_VALID);
	else if (b->known->name)
		ck_assert_uint_ne(p->has & FORMAT_VALID, 0);
}

/* The n-th of many packets: whatever the fields can be, and their ends. */
static struct format_packet
packet_make(const struct format_shape *s, unsigned n)
{
	static const uint64_t sequences[] = { 0,	   1,
					      UINT32_MAX,  1ull << 32,
					      4812800702u, 1ull << 63 };
	static const int64_t seconds[] = {
		AROUND,	    AROUND + 1, AROUND - 400 * 86400,
		1772323199, 1772323200, /* 2026-02-28T23:59:59Z, and 1 s on */
		1798761599, 1798761600, /* 2026-12-31T23:59:59Z, and 1 s on */
		1782863999, 1782864000, /* 2026-06-30T23:59:59Z, and 1 s on */
	};
	static const uint32_t frames[] = { 0, 1, 499, FPS - 1 };

	return (struct format_packet){
		.has = FORMAT_SEQUENCE | FORMAT_READABLE | FORMAT_TIME |
		       FORMAT_PART | (n % 3 ? FORMAT_VALID : 0),
		.sequence = sequences[n % 6] + n / 6,
		.second = seconds[n % 9],
		.frame = frames[n % 4],
		.thread = threads[n % s->threads_n],
		.part = n % 7 % s->parts,
	};
}

static void
check_round_trip(struct bench *b)
{
	for (unsigned n = 0; n < ROUNDS; n++) {
		struct format_packet x = packet_make(&b->shape, n), p;

		bench_scribble(b, n);
		make(b, &x);
		memset(&p, n, sizeof p);
		b->ops->parse(&b->shape, b->prefix, b->payload, &p);
		compare(b, &x, &p);
		ck_assert_uint_eq(p.bytes % b->shape.payload, 0);
	}
}

/* A header that came is made into another packet's, as fill does it. */
static void
check_restamp(struct bench *b)
{
	struct format_packet x = packet_make(&b->shape, 0), p;

	bench_scribble(b, 1);
	x.part = 0;
	make(b, &x);
	for (unsigned n = 1; n < ROUNDS; n++) {
		x = packet_make(&b->shape, n);
		x.part = 0;
		b->ops->stamp(&b->shape, &x, b->prefix, b->payload);
		b->ops->parse(&b->shape, b->prefix, b->payload, &p);
		compare(b, &x, &p);
	}
}

static void
check_untouched(struct bench *b)
{
	const struct format_shape *s = &b->shape;
	uint8_t *before = malloc(b->bytes);
	size_t prefix = GUARD, payload = GUARD + s->prefix + GUARD;

	for (unsigned n = 0; n < ROUNDS; n++) {
		struct format_packet x = packet_make(s, n);
		uint32_t header = x.part == 0 ? s->header : 0;
		size_t data = payload + header;

		bench_scribble(b, n);
		memcpy(before, b->memory, b->bytes);
		if (n % 2)
			make(b, &x);
		else /* over garbage, without a prefix */
			b->ops->stamp(s, &x, NULL, b->payload);
		ck_assert_mem_eq(b->memory, before, prefix);
		ck_assert_mem_eq(b->memory + prefix + s->prefix,
				 before + prefix + s->prefix, GUARD);
		ck_assert_mem_eq(b->memory + data, before + data,
				 b->bytes - data);
		if (n % 2 == 0)
			ck_assert_mem_eq(b->memory, before, payload);
	}
	free(before);
}

static void
check_purity(struct bench *b)
{
	const struct format_shape shape = b->shape;
	uint8_t *before = malloc(b->bytes);

	for (unsigned n = 0; n < ROUNDS; n++) {
		struct format_packet x = packet_make(&shape, n), p, q;

		bench_scribble(b, n);
		make(b, &x);
		memcpy(before, b->memory, b->bytes);
		memset(&p, 0, sizeof p);
		memset(&q, 0, sizeof q);
		b->ops->parse(&b->shape, b->prefix, b->payload, &p);
		b->ops->parse(&b->shape, b->prefix, b->payload, &q);
		ck_assert_mem_eq(&p, &q, sizeof p);
		b->ops->stamp(&b->shape, &x, b->prefix, b->payload);
		ck_assert_mem_eq(b->memory, before, b->bytes);
		ck_assert_mem_eq(&b->shape, &shape, sizeof shape);
	}
	free(before);
}

/* What was stored has no prefix: its counter is gone, the rest is not. */
static void
check_stored(struct bench *b)
{
	for (unsigned n = 0; n < ROUNDS; n++) {
		struct format_packet x = packet_make(&b->shape, n), p, q;

		bench_scribble(b, n);
		make(b, &x);
		b->ops->parse(&b->shape, b->prefix, b->payload, &p);
		b->ops->parse(&b->shape, NULL, b->payload, &q);
		ck_assert_uint_eq(p.has & ~FORMAT_SEQUENCE,
				  q.has & ~FORMAT_SEQUENCE);
		if (format_counter_bytes(&b->shape) &&
		    b->shape.sequence_at < b->shape.prefix)
			ck_assert_uint_eq(q.has & FORMAT_SEQUENCE, 0);
		ck_assert_uint_eq(p.part, q.part);
		if (p.has & FORMAT_TIME)
			ck_assert_int_eq(p.second, q.second);
	}
}

/* One after the other in time is one after the other in number. */
static void
check_time_counts(struct bench *b)
{
	const struct format_shape *s = &b->shape;
	uint64_t last = 0;
	unsigned total = s->threads_n * 4;

	if (s->sequence != SEQUENCE_TIME)
		return;
	for (unsigned n = 0; n < total; n++) {
		unsigned frame = FPS - 2 + n / s->threads_n;
		struct format_packet p, x = { .has = FORMAT_TIME };

		x.second = AROUND + frame / FPS;
		x.frame = frame % FPS;
		x.thread = threads[n % s->threads_n];
		make(b, &x);
		b->ops->parse(s, b->prefix, b->payload, &p);
		ck_assert_uint_ne(p.has & FORMAT_SEQUENCE, 0);
		if (n)
			ck_assert_uint_eq(p.sequence, last + 1);
		last = p.sequence;
	}
}

static void
check_garbage(struct bench *b)
{
	uint8_t *prefix = malloc(b->shape.prefix ? b->shape.prefix : 1);
	uint8_t *payload = malloc(b->shape.payload);

	for (unsigned n = 0; n < ROUNDS; n++) {
		struct format_packet p;

		bench_scribble(b, n + 4711);
		if (n % 4 == 1 && b->ops->model) /* nearly a header */
			b->ops->model(&b->shape, b->payload);
		b->payload[n % b->shape.payload] ^= 1u << n % 8;
		if (n < 2)
			memset(b->payload, n ? 0xff : 0, b->shape.payload);
		memcpy(prefix, b->prefix, b->shape.prefix);
		memcpy(payload, b->payload, b->shape.payload);
		b->ops->parse(&b->shape, n % 2 ? prefix : NULL, payload, &p);
		ck_assert_uint_lt(p.has, FORMAT_PART * 2);
		if (p.has & FORMAT_SEQUENCE)
			ck_assert_uint_le(p.sequence, sequence_mask(&b->shape));
		if (p.has & FORMAT_PART)
			ck_assert_uint_lt(p.part, b->shape.parts);
	}
	free(payload);
	free(prefix);
}

static void
check_ops(const struct format_ops *ops, const char *file)
{
	char name[64];

	ck_assert_msg(ops, "%s has no spate_format", file);
	ck_assert_uint_eq(ops->head.abi, SPATE_ABI);
	ck_assert_uint_eq(ops->head.bytes, sizeof *ops);
	snprintf(name, sizeof name, "/format-%s.so", ops->head.name);
	ck_assert_msg(strstr(file, name), "%s calls itself %s", file,
		      ops->head.name);
	ck_assert_ptr_nonnull(ops->head.help);
	ck_assert_ptr_nonnull(ops->extension);
	ck_assert_ptr_nonnull(ops->shape);
	if (!ops->piece) {
		ck_assert_ptr_nonnull(ops->parse);
		ck_assert_ptr_nonnull(ops->stamp);
	}
	for (const struct option_key *o = ops->head.options; o && o->name;
	     o++) {
		ck_assert_uint_lt(o->offset, ops->head.options_bytes);
		ck_assert_ptr_nonnull(o->help);
	}
}

#define CONTRACT(what, check)                                                  \
	static void what##_of(const struct format_ops *ops,                    \
			      const char *file __attribute__((unused)))        \
	{                                                                      \
		if (!ops->piece) /* see test_heap_format */                    \
			shapes_of_plugin(ops, check);                          \
	}                                                                      \
	START_TEST(what)                                                       \
	{                                                                      \
		each_format(what##_of);                                        \
	}                                                                      \
	END_TEST

START_TEST(plugins_say_what_they_are)
{
	each_format(check_ops);
}
END_TEST

CONTRACT(shapes_are_complete_or_refused, check_shape)
CONTRACT(what_is_stamped_is_parsed, check_round_trip)
CONTRACT(a_header_becomes_another, check_restamp)
CONTRACT(no_byte_of_data_is_touched, check_untouched)
CONTRACT(same_bytes_same_answer, check_purity)
CONTRACT(stored_packets_are_parsed, check_stored)
CONTRACT(time_counts_without_holes, check_time_counts)
CONTRACT(garbage_is_survived, check_garbage)

SUITE("format contract", plugins_say_what_they_are,
      shapes_are_complete_or_refused, what_is_stamped_is_parsed,
      a_header_becomes_another, no_byte_of_data_is_touched,
      same_bytes_same_answer, stored_packets_are_parsed,
      time_counts_without_holes, garbage_is_survived)
