/* SPDX-License-Identifier: MIT */
#include "lib/cut_bench.h"

static struct bench bench;

static const struct stream four = { { 5, 0, 9, 3 }, 4, 10, 0, 1 };

static struct bench *
bench_plain(void)
{
	struct bench *x = bench_make(&bench, four);

	x->args.plain = true;
	return x;
}

static void
is_file(const struct bench *x, unsigned from, unsigned to)
{
	ck_assert_uint_eq(x->bytes_n, to - from);
	ck_assert_mem_eq(x->bytes, x->data + from, x->bytes_n);
}

START_TEST(bytes_are_the_files)
{
	for (unsigned round = 0; round < 20; round++) {
		struct bench *x = bench_plain();

		x->dice.state = round;
		for (unsigned i = 0; i < BENCH_SLOTS; i++)
			if (dice_chance(&x->dice, 10))
				bench_lose(x, i);
		bench_open(x);
		bench_storm(x);
		is_file(x, 0, sizeof x->data);
		ck_assert_uint_eq(x->sent[0].head_bytes, 0);
		cut_free(x->cut);
	}
}
END_TEST

START_TEST(whole_blocks_are_runs)
{
	struct bench *x = bench_plain();

	for (unsigned i = 0; i < BENCH_SLOTS; i += 10)
		bench_lose(x, i);
	bench_open(x);
	bench_all(x);
	ck_assert_uint_eq(x->runs, BENCH_BLOCKS);
	cut_free(x->cut);
}
END_TEST

START_TEST(any_range_of_bytes)
{
	for (unsigned round = 0; round < 300; round++) {
		struct bench *x = bench_plain();
		unsigned all = sizeof x->data;
		unsigned a = (unsigned)(round * 7919 % all);
		unsigned e = a + 1 + round * round * 31 % (all - a);

		x->dice.state = round;
		x->choice.from_byte = a;
		x->choice.to_byte = e;
		bench_open(x);
		if (round % 2)
			bench_storm(x);
		else
			bench_all(x);
		is_file(x, a, e);
		cut_free(x->cut);
	}
}
END_TEST

/* What is not there is made as a recorder would have. */
START_TEST(fill_is_in_place_of_what_is_not_there)
{
	struct bench *x = bench_plain();

	for (unsigned i = 3 * SLOTS; i < 5 * SLOTS; i++)
		bench_lose(x, i);
	for (unsigned i = 9 * SLOTS; i < 10 * SLOTS; i++)
		bench_lose(x, i);
	x->parcel[3].err = -EIO;
	x->parcel[4].err = -ENODATA;
	x->parcel[9].err = -EBADMSG;
	for (unsigned i = 0; i < BENCH_BLOCKS; i++)
		if (x->parcel[i].err)
			x->parcel[i].data = NULL;
	bench_open(x);
	bench_storm(x);
	ck_assert_uint_eq(x->bytes_n, sizeof x->data);
	for (unsigned i = 0; i < BENCH_SLOTS; i++) {
		uint8_t *is = x->bytes + i * PAYLOAD;
		unsigned same = bench_has(x, i) ? PAYLOAD : FAKE_HEADER;

		ck_assert_mem_eq(is, x->data + i * PAYLOAD, same);
		if (!bench_has(x, i))
			pattern_from(is, FAKE_HEADER);
	}
	cut_free(x->cut);
}
END_TEST

/* The source's own fill goes before. */
static int
fill_x(struct source *s, const struct parcel *p, uint64_t at, uint64_t bytes,
       uint8_t *to)
{
	(void)s;
	for (uint64_t i = 0; i < bytes; i++)
		to[i] = (uint8_t)(p->record.number * 7 + (at + i) * 13);
	return 0;
}

START_TEST(a_source_may_know_the_fill)
{
	const struct source_ops ops = { .fill = fill_x };
	struct source source = { &ops };
	struct bench *x = bench_plain();

	x->parcel[2].err = -EIO;
	x->parcel[2].data = NULL;
	x->parcel[2].source = &source;
	x->choice.from_byte = 2 * SLOTS * PAYLOAD + 99;
	x->choice.to_byte = 3 * SLOTS * PAYLOAD;
	bench_open(x);
	bench_all(x);
	ck_assert_uint_eq(x->bytes_n, SLOTS * PAYLOAD - 99);
	for (unsigned i = 0; i < x->bytes_n; i++)
		ck_assert_uint_eq(x->bytes[i],
				  (uint8_t)(2 * 7 + (i + 99) * 13));
	cut_free(x->cut);
}
END_TEST

START_TEST(zeros_where_that_is_the_fill)
{
	struct bench *x = bench_plain();

	x->args.zero_fill = true;
	x->parcel[0].err = -EIO;
	x->parcel[0].data = NULL;
	bench_open(x);
	bench_parcel(x, &x->parcel[0]);
	ck_assert_uint_eq(x->bytes_n, SLOTS * PAYLOAD);
	for (unsigned i = 0; i < x->bytes_n; i++)
		ck_assert_uint_eq(x->bytes[i], 0);
	cut_free(x->cut);
}
END_TEST

/* Fill that a plugin has still in use is not written over: a gap of more than
 * is made at a time. */
START_TEST(fill_waits_for_its_memory)
{
	enum { GAP = 300000 };
	struct bench *x = bench_plain();
	struct parcel gap = { .record = { .number = 1,
					  .first = SLOTS,
					  .missing = GAP,
					  .kind = INDEX_GAP },
			      .err = -ENODATA,
			      .bytes = (uint64_t)GAP * PAYLOAD };
	const struct send_run *run;
	uint64_t packets = 0, waits = 0;
	unsigned n;

	bench_open(x);
	bench_parcel(x, &x->parcel[0]);
	cut_begin(x->cut, &gap);
	for (;;) {
		int err = cut_look(x->cut, SLOTS, &run, &n);

		if (err == -EAGAIN) {
			ck_assert_uint_gt(packets, 0);
			waits++;
			err = cut_look(x->cut, SLOTS + packets, &run, &n);
		}
		ck_assert_int_eq(err, 0);
		if (!n)
			break;
		ck_assert_uint_eq(run[0].first, SLOTS + packets);
		packets += run[0].packets;
		cut_took(x->cut, run[0].packets);
	}
	ck_assert_uint_eq(packets, GAP);
	ck_assert_uint_ge(waits, 1);
	ck_assert_uint_eq(bench_counts(x).missing, GAP);
	cut_free(x->cut);
}
END_TEST

START_TEST(rows_are_bytes_too)
{
	struct bench *x = bench_plain();
	unsigned a = 1234, e = 20 * SLOTS * PAYLOAD + 5;

	x->shape.store = HEAP_ROW;
	x->choice.from_byte = a;
	x->choice.to_byte = e;
	bench_open(x);
	for (unsigned i = 0; i < BENCH_BLOCKS; i++) {
		struct parcel *p = &x->parcel[i];
		const struct send_run *run;
		unsigned n;

		p->present = NULL;
		for (;;) {
			cut_begin(x->cut, p);
			ck_assert_int_eq(cut_look(x->cut, UINT64_MAX, &run, &n),
					 0);
			if (!n)
				break;
			memcpy(x->bytes + x->bytes_n, run->data,
			       run->data_bytes);
			x->bytes_n += run->data_bytes;
			cut_took(x->cut, 1);
		}
	}
	is_file(x, a, e);
	cut_free(x->cut);
}
END_TEST

SUITE("cut_plain", bytes_are_the_files, whole_blocks_are_runs,
      any_range_of_bytes, fill_is_in_place_of_what_is_not_there,
      a_source_may_know_the_fill, zeros_where_that_is_the_fill,
      fill_waits_for_its_memory, rows_are_bytes_too)
