/* SPDX-License-Identifier: MIT */
#include "lib/cut_bench.h"

static struct bench bench;

static const struct stream four = { { 5, 0, 9, 3 }, 4, 10, 0, 1 };

/* What was sent is the packets of the stream that are there, each once and in
 * order, with their prefixes. */
static void
is_stream(const struct bench *x, unsigned from, unsigned to)
{
	unsigned at = 0;

	for (unsigned i = from; i < to; i++) {
		const struct sent *s = &x->sent[at];

		if (!bench_has(x, i))
			continue;
		ck_assert_uint_lt(at, x->sents);
		ck_assert_uint_eq(s->number, i);
		ck_assert_uint_eq(s->bytes, PAYLOAD);
		ck_assert_mem_eq(s->data, x->data + i * PAYLOAD, PAYLOAD);
		ck_assert_uint_eq(s->head_bytes, 8);
		ck_assert_uint_eq(read_le64(s->head), 5000 + i);
		ck_assert_int_eq(s->time_ns, START_NS + (int64_t)i * SLOT_NS);
		at++;
	}
	ck_assert_uint_eq(at, x->sents);
}

START_TEST(whole_blocks_are_runs)
{
	struct bench *x = bench_make(&bench, four);

	bench_open(x);
	bench_all(x);
	is_stream(x, 0, BENCH_SLOTS);
	ck_assert_uint_eq(x->runs, BENCH_BLOCKS);
	ck_assert_uint_eq(bench_counts(x).missing, 0);
	cut_free(x->cut);
}
END_TEST

START_TEST(what_is_missing_is_not_sent)
{
	struct bench *x = bench_make(&bench, four);
	unsigned lost = 0;

	for (unsigned i = 0; i < BENCH_SLOTS; i++)
		if (dice_chance(&x->dice, i % 300 < 128 ? 60 : 2)) {
			bench_lose(x, i);
			lost++;
		}
	bench_open(x);
	bench_all(x);
	is_stream(x, 0, BENCH_SLOTS);
	ck_assert_uint_eq(bench_counts(x).missing, lost);
	cut_free(x->cut);
}
END_TEST

START_TEST(blocks_come_in_parts_and_again)
{
	for (unsigned round = 0; round < 40; round++) {
		struct bench *x = bench_make(&bench, four);
		unsigned lost = 0;

		x->dice.state = round;
		for (unsigned i = 0; i < BENCH_SLOTS; i++)
			if (dice_chance(&x->dice, round)) {
				bench_lose(x, i);
				lost++;
			}
		bench_open(x);
		bench_storm(x);
		is_stream(x, 0, BENCH_SLOTS);
		ck_assert_uint_eq(bench_counts(x).missing, lost);
		cut_free(x->cut);
	}
}
END_TEST

START_TEST(prefixes_may_be_left_out)
{
	struct bench *x = bench_make(&bench, four);

	x->choice.prefix = SEND_PREFIX_NONE;
	bench_open(x);
	bench_all(x);
	ck_assert_uint_eq(x->sents, BENCH_SLOTS);
	ck_assert_uint_eq(x->sent[7].head_bytes, 0);
	cut_free(x->cut);
	x = bench_make(&bench, four);
	x->args.bare = true;
	bench_open(x);
	bench_all(x);
	ck_assert_uint_eq(x->sents, BENCH_SLOTS);
	ck_assert_uint_eq(x->sent[7].head_bytes, 0);
	ck_assert_uint_eq(x->runs, BENCH_BLOCKS);
	cut_free(x->cut);
}
END_TEST

START_TEST(what_cannot_be_had_is_counted_once)
{
	struct bench *x = bench_make(&bench, four);
	struct parcel gap = { .record = { .number = 24,
					  .first = BENCH_SLOTS,
					  .missing = 1000,
					  .kind = INDEX_GAP },
			      .err = -ENODATA,
			      .bytes = 1000 * PAYLOAD };
	struct cut_counts n;

	for (unsigned i = 0; i < 10; i++)
		bench_lose(x, SLOTS + i);
	x->parcel[1].err = -EBADMSG;
	x->parcel[2].err = -EIO;
	x->parcel[3].err = -ENOBUFS;
	x->parcel[4].err = -ENODATA;
	for (unsigned i = 1; i < 5; i++)
		x->parcel[i].data = NULL;
	bench_open(x);
	for (unsigned i = 0; i < 5; i++) {
		bench_parcel(x, &x->parcel[i]);
		bench_parcel(x, &x->parcel[i]);
	}
	bench_parcel(x, &gap);
	bench_parcel(x, &gap);
	ck_assert_uint_eq(x->sents, SLOTS);
	n = bench_counts(x);
	ck_assert_uint_eq(n.unreadable, 54 + 64);
	ck_assert_uint_eq(n.missing, 10 + 64 + 1000);
	ck_assert_uint_eq(n.dropped, 64);
	cut_free(x->cut);
}
END_TEST

START_TEST(packets_are_wanted_again)
{
	for (unsigned from = 0; from < BENCH_SLOTS; from += 77) {
		struct bench *x = bench_make(&bench, four);
		unsigned lost = 0;
		uint32_t run;
		uint64_t first;

		for (unsigned i = 0; i < BENCH_SLOTS; i += 13, lost++)
			bench_lose(x, i);
		bench_open(x);
		bench_all(x);
		x->sents = x->bytes_n = 0;
		cut_back(x->cut, 0, from, &run, &first);
		ck_assert_uint_eq(run, 0);
		ck_assert_uint_eq(first, from);
		for (unsigned i = from / SLOTS; i < BENCH_BLOCKS; i++)
			bench_parcel(x, &x->parcel[i]);
		is_stream(x, from, BENCH_SLOTS);
		ck_assert_uint_eq(bench_counts(x).missing, lost);
		cut_free(x->cut);
	}
}
END_TEST

START_TEST(one_substream_alone)
{
	struct bench *x = bench_make(&bench, four);

	for (unsigned i = 0; i < BENCH_BLOCKS; i++)
		x->parcel[i].record.sub = (uint16_t)(i % 3);
	x->args.subs = 3;
	x->choice.sub = 2;
	bench_open(x);
	bench_all(x);
	ck_assert_uint_eq(x->sents, BENCH_SLOTS / 3);
	ck_assert_uint_eq(x->sent[0].number, 2 * SLOTS);
	cut_free(x->cut);
}
END_TEST

static struct bench *
bench_parts(void)
{
	const struct stream parts = { { 5, 0 }, 2, 10, 0, 4 };

	return bench_make(&bench, parts);
}

START_TEST(headers_are_stripped)
{
	struct bench *x = bench_parts();

	x->choice.headers_off = true;
	x->choice.strip = 4;
	bench_open(x);
	bench_all(x);
	ck_assert_uint_eq(x->sents, BENCH_SLOTS);
	for (unsigned i = 0; i < x->sents; i++) {
		const struct sent *s = &x->sent[i];
		uint32_t strip = i % 4 ? 4 : FAKE_HEADER;

		ck_assert_uint_eq(s->bytes, PAYLOAD - strip);
		ck_assert_mem_eq(s->data, x->data + i * PAYLOAD + strip,
				 s->bytes);
	}
	cut_free(x->cut);
	x = bench_make(&bench, four);
	x->choice.headers_off = true;
	bench_open(x);
	bench_all(x);
	ck_assert_uint_eq(x->runs, BENCH_BLOCKS);
	ck_assert_uint_eq(x->sent[99].bytes, PAYLOAD - FAKE_HEADER);
	cut_free(x->cut);
}
END_TEST

/* What cannot be is refused with a sentence. */
START_TEST(impossible_choices_are_refused)
{
	static const uint32_t threads[] = { 1 };
	struct format_ops mute = fake_format;
	struct bench *x = bench_parts();

	x->choice.threads = threads;
	x->choice.threads_n = 1;
	ck_assert_int_eq(cut_make(&x->cut, &x->args), -EINVAL);
	ck_assert_ptr_nonnull(strstr(x->why, "thread"));
	x = bench_make(&bench, four);
	x->choice.strip = PAYLOAD;
	ck_assert_int_eq(cut_make(&x->cut, &x->args), -EINVAL);
	ck_assert_ptr_nonnull(strstr(x->why, "nothing left"));
	x = bench_make(&bench, four);
	x->choice.headers_off = true;
	x->shape.header = 0;
	ck_assert_int_eq(cut_make(&x->cut, &x->args), -EINVAL);
	x = bench_make(&bench, four);
	x->shape.store = HEAP_ROW;
	x->args.bare = true;
	mute.parse = NULL;
	x->args.format = &mute;
	ck_assert_int_eq(cut_make(&x->cut, &x->args), -EINVAL);
	ck_assert_ptr_nonnull(strstr(x->why, "frames"));
}
END_TEST

SUITE("cut", whole_blocks_are_runs, what_is_missing_is_not_sent,
      blocks_come_in_parts_and_again, prefixes_may_be_left_out,
      what_cannot_be_had_is_counted_once, packets_are_wanted_again,
      one_substream_alone, headers_are_stripped, impossible_choices_are_refused)
