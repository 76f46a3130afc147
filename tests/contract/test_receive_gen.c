/* SPDX-License-Identifier: MIT */
/*
 * What receive.h promises, asked of gen: what it makes is what was asked for.
 */
#include "contract/receive_bench.h"

/* The bare minimum of a format: a number in the prefix. */
static void
number_stamp(const struct format_shape *s, const struct format_packet *p,
	     void *prefix, void *payload)
{
	format_counter_write(s, p->sequence, prefix, payload);
}

static const struct format_ops number = { .stamp = number_stamp };

enum { MADE = 5000 };

struct made {
	unsigned times[MADE];
	unsigned packets, backwards;
	uint64_t sum;
};

static void
gen_run(const char *options, struct made *made)
{
	struct format_shape shape = { .prefix = 8,
				      .payload = 104,
				      .sequence = SEQUENCE_LE64,
				      .sequence_bits = 64,
				      .parts = 1 };
	static struct bench b;
	uint64_t last = 0;
	int n;

	*made = (struct made){ .packets = 0 };
	ck_assert_msg(bench_try(&b, "gen", options, &number, &shape) == 0, "%s",
		      b.why);
	ck_assert_uint_eq(b.ops->sources(b.state), 1);
	ck_assert_int_ge(b.ops->fd(b.state, 0), 0);
	while ((n = receive(&b, 0)) >= 0) {
		now_ns += SECOND / 1000;
		for (int i = 0; i < n; i++) {
			const struct receive_packet *k = &b.batch.packet[i];
			uint64_t at = read_le64(k->prefix) - 100;

			ck_assert_uint_eq(k->bytes, 112);
			ck_assert_uint_lt(at, MADE);
			made->times[at]++;
			made->backwards += at < last;
			made->sum = made->sum * 31 + read_le64(k->payload) + at;
			last = at;
			made->packets++;
		}
	}
	ck_assert_int_eq(n, -ENODATA);
	ck_assert_int_eq(receive(&b, 0), -ENODATA);
	bench_close(&b);
}

#define GEN "first = 100; packets = 5000; "

START_TEST(gen_makes_what_was_asked_for)
{
	static struct made made, again;
	unsigned lost = 0, twice = 0;

	gen_run(GEN, &made);
	for (int i = 0; i < MADE; i++)
		ck_assert_uint_eq(made.times[i], 1);
	ck_assert_uint_eq(made.backwards, 0);
	gen_run(GEN "loss = 0.1; reorder = 0.1; duplicate = 0.05;", &made);
	for (int i = 0; i < MADE; i++) {
		lost += made.times[i] == 0;
		twice += made.times[i] == 2;
		ck_assert_uint_le(made.times[i], 2);
	}
	/* Seeded, so these are the same every time; they only have to be
	 * near what was asked for. */
	ck_assert(lost > 350 && lost < 650);
	ck_assert(twice > 100 && twice < 400);
	ck_assert_uint_gt(made.backwards, 100);
	ck_assert_uint_eq(made.times[0], 1);
	ck_assert_uint_ge(made.times[MADE - 1], 1);
	gen_run(GEN "loss = 0.1; reorder = 0.1; duplicate = 0.05;", &again);
	ck_assert_mem_eq(&made, &again, sizeof made);
	gen_run(GEN "loss = 0.1; seed = 2;", &again);
	ck_assert_uint_ne(made.sum, again.sum);
	/* At a rate it makes the same, in time. */
	gen_run(GEN "gen_rate = \"100Mbps\";", &again);
	ck_assert_uint_eq(again.packets, MADE);
}
END_TEST

START_TEST(gen_refuses_to_lose_everything)
{
	struct format_shape shape = { .prefix = 8,
				      .payload = 100,
				      .sequence = SEQUENCE_LE64,
				      .parts = 1 };
	static struct bench b;

	ck_assert_int_eq(bench_try(&b, "gen", "loss = 1.0;", &number, &shape),
			 -EINVAL);
	ck_assert_ptr_nonnull(strstr(b.why, "loss"));
	bench_free(&b);
}
END_TEST

/* A format with heaps has nothing that could be stamped. */
START_TEST(gen_makes_no_heaps)
{
	static const struct format_ops heaps = { .head.name = "spead" };
	struct format_shape shape = { .payload = 4096, .parts = 1 };
	static struct bench b;

	ck_assert_int_eq(bench_try(&b, "gen", "", &heaps, &shape), -EINVAL);
	ck_assert_ptr_nonnull(strstr(b.why, "spate gen --format spead"));
	bench_free(&b);
}
END_TEST

SUITE("receive gen", gen_makes_what_was_asked_for,
      gen_refuses_to_lose_everything, gen_makes_no_heaps)
