/* SPDX-License-Identifier: MIT */
#ifndef SPATE_TESTS_CUT_BENCH_H
#define SPATE_TESTS_CUT_BENCH_H

#include <errno.h>

#include "flow/send/cut.h"
#include "lib/dice.h"
#include "lib/fake_stream.h"

/*
 * A bench cuts blocks of a stream of fake packets, as a sender would with a
 * plugin that takes some now and some later, and writes down what came out.
 */
enum { BENCH_BLOCKS = 24, BENCH_SLOTS = BENCH_BLOCKS * SLOTS, MOST = 1 << 17 };

/* A packet that was taken. */
struct sent {
	uint64_t number;
	uint32_t run;
	uint32_t head_bytes, bytes;
	int64_t time_ns;
	uint8_t head[8], data[PAYLOAD];
};

struct bench {
	struct stream stream;
	struct format_shape shape;
	struct send_choice choice;
	struct cut_args args;
	struct cut *cut;
	/* The recording: each block as a parcel. */
	struct parcel parcel[BENCH_BLOCKS];
	uint8_t data[BENCH_SLOTS * PAYLOAD];
	uint64_t present[BENCH_SLOTS / 64];
	struct sent sent[BENCH_SLOTS];
	unsigned sents;
	uint8_t bytes[BENCH_SLOTS * PAYLOAD]; /* of them, one after another */
	unsigned bytes_n;
	unsigned runs; /* that they came as */
	struct dice dice;
	char why[256];
};

enum { SLOT_NS = 25000000 }; /* of fake streams with 40 packets a second */
#define START_NS INT64_C(1000000000000)

/* Blocks of 64 packets of four threads, 10 a second of each, from 1000 s on
 * and sequence 5000. */
static inline struct bench *
bench_make(struct bench *x, struct stream stream)
{
	memset(x, 0, sizeof *x);
	x->stream = stream;
	x->shape = shape_of(&stream);
	x->choice.sub = -1;
	x->dice = (struct dice){ 1 };
	x->args = (struct cut_args){ .format = &fake_format,
				     .shape = &x->shape,
				     .subs = 1,
				     .choice = &x->choice,
				     .why = x->why,
				     .why_bytes = sizeof x->why };
	memset(x->present, 0xff, sizeof x->present);
	for (unsigned i = 0; i < BENCH_SLOTS; i++)
		ideal(&stream, i, x->data + i * PAYLOAD);
	for (unsigned i = 0; i < BENCH_BLOCKS; i++) {
		struct parcel *p = &x->parcel[i];

		p->base = 5000;
		p->bytes = SLOTS * PAYLOAD;
		p->offset = i * p->bytes;
		p->data = x->data + p->offset;
		p->present = x->present + i;
		p->record = (struct index_record){
			.number = i,
			.first = i * SLOTS,
			.bytes = p->bytes,
			.present = SLOTS,
			.kind = INDEX_BLOCK,
			.first_ns = START_NS + (int64_t)i * SLOTS * SLOT_NS,
			.last_ns = START_NS +
				   ((int64_t)i * SLOTS + SLOTS - 1) * SLOT_NS,
		};
	}
	return x;
}

static inline void
bench_open(struct bench *x)
{
	ck_assert_int_eq(cut_make(&x->cut, &x->args), 0);
}

static inline bool
bench_has(const struct bench *x, unsigned slot)
{
	return x->present[slot / 64] >> slot % 64 & 1;
}

/* Loses a packet: fill is in its place, as a recorder leaves it. */
static inline void
bench_lose(struct bench *x, unsigned slot)
{
	struct index_record *r = &x->parcel[slot / SLOTS].record;

	if (!bench_has(x, slot))
		return;
	x->present[slot / 64] &= ~(UINT64_C(1) << slot % 64);
	r->present--;
	r->missing++;
	for (unsigned i = SLOTS, at; i-- > 0 && r->present;) {
		at = slot / SLOTS * SLOTS + i;
		if (bench_has(x, at))
			r->first_ns = START_NS + (int64_t)at * SLOT_NS;
		at = slot / SLOTS * SLOTS + SLOTS - 1 - i;
		if (bench_has(x, at))
			r->last_ns = START_NS + (int64_t)at * SLOT_NS;
	}
	write_le16(x->data + slot * PAYLOAD + 14, 1);
	memset(x->data + slot * PAYLOAD + FAKE_HEADER, 0x44,
	       PAYLOAD - FAKE_HEADER);
}

/* The part of a block from this slot on. */
static inline struct parcel
bench_part(const struct bench *x, unsigned block, unsigned slot, unsigned n)
{
	struct parcel p = x->parcel[block];

	p.at = slot * PAYLOAD;
	p.bytes = n * PAYLOAD;
	p.offset += p.at;
	if (p.data)
		p.data += p.at;
	return p;
}

static inline void
note(struct bench *x, const struct send_run *r, uint32_t i)
{
	struct sent *s = &x->sent[x->sents++];

	ck_assert_uint_le(x->sents, BENCH_SLOTS);
	*s = (struct sent){ .number = r->first + i,
			    .run = r->run,
			    .head_bytes = r->head_bytes,
			    .bytes = r->data_bytes,
			    .time_ns = r->time_ns + i * r->every };
	ck_assert_uint_le(r->data_bytes, PAYLOAD);
	if (r->head)
		memcpy(s->head, r->head + i * r->head_stride, r->head_bytes);
	memcpy(s->data, r->data + i * r->data_stride, r->data_bytes);
	memcpy(x->bytes + x->bytes_n, s->data, r->data_bytes);
	x->bytes_n += r->data_bytes;
}

/* Takes at most so many packets of what there is; false: there are none. */
static inline bool
bench_take(struct bench *x, uint64_t most)
{
	const struct send_run *run;
	uint64_t took = 0;
	unsigned n;

	ck_assert_int_eq(cut_look(x->cut, UINT64_MAX, &run, &n), 0);
	for (unsigned i = 0; i < n; i++) {
		x->runs++;
		ck_assert_uint_ge(run[i].packets, 1);
		for (uint32_t k = 0; k < run[i].packets && took < most; k++) {
			note(x, &run[i], k);
			took++;
		}
	}
	cut_took(x->cut, took);
	return n;
}

static inline void
bench_parcel(struct bench *x, const struct parcel *p)
{
	cut_begin(x->cut, p);
	while (bench_take(x, UINT64_MAX))
		;
}

static inline void
bench_all(struct bench *x)
{
	for (unsigned i = 0; i < BENCH_BLOCKS; i++)
		bench_parcel(x, &x->parcel[i]);
}

/* The same with everything that may happen on the way: parcels are parts of
 * blocks, few packets are taken at a time, and blocks come again, from their
 * beginning, when some of one was taken. */
static inline void
bench_storm(struct bench *x)
{
	for (unsigned i = 0; i < BENCH_BLOCKS; i++) {
		unsigned slot = 0;

		while (slot < SLOTS) {
			unsigned n = 1 + dice_roll(&x->dice, SLOTS - slot);
			unsigned takes = dice_roll(&x->dice, 6);
			struct parcel p = bench_part(x, i, slot, n);

			cut_begin(x->cut, &p);
			slot += n;
			while (bench_take(x, 1 + dice_roll(&x->dice, 9)))
				if (!takes--) {
					slot = 0;
					break;
				}
		}
	}
}

static inline struct cut_counts
bench_counts(struct bench *x)
{
	struct cut_counts counts;

	cut_counts(x->cut, &counts);
	return counts;
}

#endif
