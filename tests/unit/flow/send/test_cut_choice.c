/* SPDX-License-Identifier: MIT */
#include "lib/cut_bench.h"

static struct bench bench;

static const struct stream four = { { 5, 0, 9, 3 }, 4, 10, 0, 1 };

static struct bench *
bench_threads(const uint32_t *threads, unsigned n)
{
	struct bench *x = bench_make(&bench, four);

	x->choice.threads = threads;
	x->choice.threads_n = n;
	return x;
}

static bool
is_wanted(const struct bench *x, unsigned slot)
{
	uint32_t thread = x->stream.threads[slot % 4];

	for (unsigned i = 0; i < x->choice.threads_n; i++)
		if (x->choice.threads[i] == thread)
			return true;
	return false;
}

/* Packets of wanted threads, numbered anew; what is lost of them is a hole. */
static void
is_chosen(const struct bench *x, unsigned from)
{
	unsigned at = 0, number = 0;

	for (unsigned i = 0; i < BENCH_SLOTS; i++) {
		const struct sent *s = &x->sent[at];

		if (!is_wanted(x, i))
			continue;
		if (bench_has(x, i) && number >= from) {
			ck_assert_uint_lt(at, x->sents);
			ck_assert_uint_eq(s->number, number);
			ck_assert_uint_eq(read_le64(s->head), 5000 + number);
			ck_assert_mem_eq(s->data, x->data + i * PAYLOAD,
					 PAYLOAD);
			at++;
		}
		number++;
	}
	ck_assert_uint_eq(at, x->sents);
}

START_TEST(threads_are_chosen)
{
	static const uint32_t one[] = { 9 }, two[] = { 3, 5 }, odd[] = { 77 };
	struct bench *x = bench_threads(one, 1);

	bench_open(x);
	bench_all(x);
	is_chosen(x, 0);
	ck_assert_uint_eq(x->sents, BENCH_SLOTS / 4);
	/* Every fourth packet of a block is a run with a stride. */
	ck_assert_uint_eq(x->runs, BENCH_BLOCKS);
	cut_free(x->cut);
	x = bench_threads(two, 2);
	bench_open(x);
	bench_all(x);
	is_chosen(x, 0);
	cut_free(x->cut);
	x = bench_threads(odd, 1);
	bench_open(x);
	bench_all(x);
	ck_assert_uint_eq(x->sents, 0);
	cut_free(x->cut);
}
END_TEST

START_TEST(chosen_threads_have_holes_where_packets_are_missing)
{
	static const uint32_t two[] = { 3, 5 };

	for (unsigned round = 0; round < 30; round++) {
		struct bench *x = bench_threads(two, 2);
		unsigned lost = 0;

		x->dice.state = round;
		/* What is lost before anybody knows who takes turns has no
		 * number. */
		for (unsigned i = SLOTS; i < BENCH_SLOTS; i++)
			if (dice_chance(&x->dice, 2 * round)) {
				bench_lose(x, i);
				lost += is_wanted(x, i);
			}
		bench_open(x);
		bench_storm(x);
		is_chosen(x, 0);
		ck_assert_uint_eq(bench_counts(x).missing, lost);
		cut_free(x->cut);
	}
}
END_TEST

/* A block that is wholly lost is a hole of the right length. */
START_TEST(chosen_threads_count_over_gaps)
{
	static const uint32_t two[] = { 3, 5 };
	struct bench *x = bench_threads(two, 2);

	for (unsigned i = 5 * SLOTS; i < 7 * SLOTS; i++)
		bench_lose(x, i);
	x->parcel[5].err = -ENODATA;
	x->parcel[5].data = NULL;
	bench_open(x);
	for (unsigned i = 0; i < BENCH_BLOCKS; i++)
		if (i != 6)
			bench_parcel(x, &x->parcel[i]);
	is_chosen(x, 0);
	ck_assert_uint_eq(bench_counts(x).missing, SLOTS / 2);
	cut_free(x->cut);
}
END_TEST

START_TEST(chosen_threads_are_wanted_again)
{
	static const uint32_t two[] = { 3, 5 };

	for (unsigned from = 0; from < BENCH_SLOTS / 2; from += 71) {
		struct bench *x = bench_threads(two, 2);
		uint32_t run;
		uint64_t first;

		for (unsigned i = SLOTS; i < BENCH_SLOTS; i += 7)
			bench_lose(x, i);
		bench_open(x);
		bench_all(x);
		x->sents = x->bytes_n = 0;
		cut_back(x->cut, 0, from, &run, &first);
		ck_assert_uint_eq(first, 0);
		bench_storm(x);
		is_chosen(x, from);
		cut_free(x->cut);
	}
}
END_TEST

START_TEST(another_run_counts_anew)
{
	static const uint32_t two[] = { 3, 5 };
	struct bench *x = bench_threads(two, 2);

	bench_open(x);
	bench_parcel(x, &x->parcel[0]);
	for (unsigned i = 0; i < SLOTS; i++)
		ideal(&four, i, x->data + (SLOTS + i) * PAYLOAD);
	x->parcel[1].record.run = 1;
	x->parcel[1].record.first = 0;
	bench_parcel(x, &x->parcel[1]);
	ck_assert_uint_eq(x->sents, SLOTS);
	ck_assert_uint_eq(x->sent[SLOTS / 2].run, 1);
	ck_assert_uint_eq(x->sent[SLOTS / 2].number, 0);
	cut_free(x->cut);
}
END_TEST

/* ---- ranges ---------------------------------------------------------- */

static void
is_from_to(const struct bench *x, unsigned from, unsigned to)
{
	ck_assert_uint_eq(x->sents, to - from);
	for (unsigned i = from; i < to; i++)
		ck_assert_uint_eq(x->sent[i - from].number, i);
}

START_TEST(packets_that_begin_in_a_range_of_bytes)
{
	for (unsigned round = 0; round < 200; round++) {
		struct bench *x = bench_make(&bench, four);
		unsigned a = round * 7919 % (BENCH_SLOTS * PAYLOAD);
		unsigned e = a + round * round * 31 % 9999;

		x->choice.from_byte = a;
		x->choice.to_byte = e ? e : 1;
		bench_open(x);
		if (round % 2)
			bench_storm(x);
		else
			bench_all(x);
		e = x->choice.to_byte < sizeof x->data
			? (unsigned)x->choice.to_byte
			: sizeof x->data;
		is_from_to(x, (a + PAYLOAD - 1) / PAYLOAD,
			   a < e ? (e + PAYLOAD - 1) / PAYLOAD
				 : (a + PAYLOAD - 1) / PAYLOAD);
		cut_free(x->cut);
	}
}
END_TEST

/* Of times that only blocks have: those of packets are counted. */
START_TEST(a_range_of_arrival_times)
{
	for (unsigned round = 0; round < 60; round++) {
		struct bench *x = bench_make(&bench, four);
		unsigned a = round * 23, e = a + 1 + round * 7;

		x->choice.from_ns = START_NS + (int64_t)a * SLOT_NS;
		x->choice.to_ns = START_NS + (int64_t)e * SLOT_NS;
		bench_open(x);
		if (round % 2)
			bench_storm(x);
		else
			bench_all(x);
		is_from_to(x, a, e < BENCH_SLOTS ? e : BENCH_SLOTS);
		cut_free(x->cut);
	}
}
END_TEST

/* Packets with their own times: four threads have the same one. */
START_TEST(a_range_of_the_datas_times)
{
	struct bench *x = bench_make(&bench, four);

	x->shape.fps = 10;
	for (unsigned i = 0; i < BENCH_BLOCKS; i++)
		x->parcel[i].record.flags = INDEX_DATA_TIME;
	/* Frame 33 to frame 99: not where a count from the block says. */
	x->choice.from_ns = START_NS + INT64_C(3300000000);
	x->choice.to_ns = START_NS + INT64_C(9900000000);
	bench_open(x);
	bench_all(x);
	is_from_to(x, 33 * 4, 99 * 4);
	cut_free(x->cut);
}
END_TEST

START_TEST(it_says_when_the_range_has_ended)
{
	struct bench *x = bench_make(&bench, four);

	x->choice.to_ns = START_NS + (int64_t)4 * SLOTS * SLOT_NS;
	x->args.subs = 2;
	for (unsigned i = 0; i < BENCH_BLOCKS; i++)
		x->parcel[i].record.sub = (uint16_t)(i % 2);
	bench_open(x);
	for (unsigned i = 0; i < 5; i++) {
		bench_parcel(x, &x->parcel[i]);
		ck_assert(!cut_ended(x->cut));
	}
	bench_parcel(x, &x->parcel[5]);
	ck_assert(cut_ended(x->cut));
	cut_free(x->cut);
	/* A substream without any packets is not waited for. */
	x->args.subs = 3;
	bench_open(x);
	for (unsigned i = 0; i < 20; i++)
		for (unsigned k = 4; k < BENCH_BLOCKS; k++)
			bench_parcel(x, &x->parcel[k]);
	ck_assert(cut_ended(x->cut));
	cut_free(x->cut);
}
END_TEST

SUITE("cut_choice", threads_are_chosen,
      chosen_threads_have_holes_where_packets_are_missing,
      chosen_threads_count_over_gaps, chosen_threads_are_wanted_again,
      another_run_counts_anew, packets_that_begin_in_a_range_of_bytes,
      a_range_of_arrival_times, a_range_of_the_datas_times,
      it_says_when_the_range_has_ended)
