/* SPDX-License-Identifier: MIT */
#include "flow/slots/candidate.h"

#include "lib/suite.h"

static struct candidate
candidate(unsigned need, uint64_t span, unsigned bits)
{
	return (struct candidate){ .need = need, .span = span, .bits = bits };
}

static enum candidate_answer
add(struct candidate *c, uint64_t sequence)
{
	enum candidate_answer a = candidate_add(c, sequence, 5);

	if (a == CANDIDATE_PARKED || a == CANDIDATE_ENOUGH)
		c->packet[c->n - 1].part = -1;
	return a;
}

START_TEST(so_many_have_to_agree)
{
	struct candidate c = candidate(CANDIDATE_AGREE, 100, 64);

	for (unsigned i = 0; i + 1 < CANDIDATE_AGREE; i++)
		ck_assert_int_eq(add(&c, 1000 + i), CANDIDATE_PARKED);
	ck_assert_int_eq(c.since, 5);
	ck_assert_int_eq(add(&c, 1000), CANDIDATE_DUPLICATE);
	ck_assert_int_eq(add(&c, 999), CANDIDATE_ENOUGH);
	ck_assert_uint_eq(c.n, CANDIDATE_AGREE);
}
END_TEST

START_TEST(strangers_are_a_span_away)
{
	struct candidate c = candidate(32, 100, 64);

	ck_assert_int_eq(add(&c, 1000), CANDIDATE_PARKED);
	ck_assert_int_eq(add(&c, 1100), CANDIDATE_STRANGER);
	ck_assert_int_eq(add(&c, 900), CANDIDATE_STRANGER);
	ck_assert_uint_eq(c.n, 1);
	ck_assert_int_eq(add(&c, 1099), CANDIDATE_PARKED);
	ck_assert_int_eq(add(&c, 901), CANDIDATE_PARKED);
}
END_TEST

/* Half the circle away is neither ahead nor behind. */
START_TEST(the_far_side_is_a_stranger)
{
	struct candidate c = candidate(32, 100, 64);

	ck_assert_int_eq(add(&c, 0), CANDIDATE_PARKED);
	ck_assert_int_eq(add(&c, 1ull << 63), CANDIDATE_STRANGER);
	c = candidate(32, 100, 32);
	ck_assert_int_eq(add(&c, 7), CANDIDATE_PARKED);
	ck_assert_int_eq(add(&c, (1ull << 31) + 7), CANDIDATE_STRANGER);
}
END_TEST

START_TEST(counters_wrap)
{
	struct candidate c = candidate(4, 100, 32);
	uint64_t base;

	ck_assert_int_eq(add(&c, 1), CANDIDATE_PARKED);
	ck_assert_int_eq(add(&c, 0xffffffff), CANDIDATE_PARKED);
	ck_assert_int_eq(add(&c, 0xfffffffe), CANDIDATE_PARKED);
	ck_assert_int_eq(add(&c, 0), CANDIDATE_ENOUGH);
	ck_assert(candidate_base(&c, 1, &base));
	ck_assert_uint_eq(base, 0xfffffffe);
	c = candidate(2, 100, 64);
	ck_assert_int_eq(add(&c, 3), CANDIDATE_PARKED);
	ck_assert_int_eq(add(&c, UINT64_MAX), CANDIDATE_ENOUGH);
	ck_assert(candidate_base(&c, 1, &base));
	ck_assert_uint_eq(base, UINT64_MAX);
}
END_TEST

START_TEST(rivals_win_by_number)
{
	struct candidate c = candidate(32, 100, 64);

	for (unsigned i = 0; i < 100; i++)
		ck_assert(!candidate_rivals(&c, 1, 5));
	add(&c, 5);
	for (unsigned i = 0; i + 1 < CANDIDATE_AGREE; i++)
		ck_assert(!candidate_rivals(&c, 1, 5));
	ck_assert(candidate_rivals(&c, 1, 5));
	/* The next candidate is judged by its own rivals. */
	c.n = 0;
	add(&c, 6);
	ck_assert(!candidate_rivals(&c, 1, 5));
	ck_assert(candidate_rivals(&c, CANDIDATE_AGREE, 5));
}
END_TEST

/* Threads that share a stream see its packets in another order. */
START_TEST(what_came_before_is_no_rival)
{
	struct candidate c = candidate(32, 100, 64);

	add(&c, 7);
	ck_assert(!candidate_rivals(&c, 1000, 4));
	ck_assert_int_eq(candidate_add(&c, 6, 3), CANDIDATE_PARKED);
	ck_assert_int_eq(c.since, 3);
	ck_assert(candidate_rivals(&c, CANDIDATE_AGREE, 4));
}
END_TEST

START_TEST(it_is_found_by_its_packets)
{
	struct candidate all[CANDIDATES];

	for (unsigned i = 0; i < CANDIDATES; i++)
		all[i] = candidate(32, 100, 64);
	ck_assert_ptr_null(candidate_find(all, 0));
	add(&all[3], 1000);
	ck_assert_ptr_eq(candidate_find(all, 901), &all[3]);
	ck_assert_ptr_null(candidate_find(all, 900));
}
END_TEST

START_TEST(runs_begin_with_a_frame)
{
	struct candidate c = candidate(32, 100, 64);
	uint64_t base = 0;

	add(&c, 11);
	ck_assert(!candidate_base(&c, 2, &base));
	add(&c, 14);
	add(&c, 12);
	ck_assert(candidate_base(&c, 2, &base));
	ck_assert_uint_eq(base, 12);
	/* What the format saw counts more than arithmetic. */
	c.packet[0].part = 0;
	c.packet[1].part = 1;
	c.packet[2].part = 1;
	ck_assert(candidate_base(&c, 2, &base));
	ck_assert_uint_eq(base, 11);
}
END_TEST

/* Garbage agrees with nothing; what agrees stays, however much comes. */
START_TEST(garbage_throws_out_garbage)
{
	struct candidate all[CANDIDATES], *c;

	for (int i = 0; i < CANDIDATES; i++)
		all[i] = candidate(CANDIDATE_AGREE, 100, 64);
	for (uint64_t i = 0; i < CANDIDATE_AGREE; i++) {
		for (uint64_t k = 1; k < CANDIDATES; k++) {
			uint64_t garbage = (i * CANDIDATES + k) << 20;

			c = candidate_choose(all, garbage);
			c->n = 0;
			add(c, garbage);
		}
		c = candidate_choose(all, i);
		if (i == 0)
			c->n = 0;
		ck_assert_uint_eq(c->n, i);
		add(c, i);
	}
	ck_assert_uint_eq(c->n, CANDIDATE_AGREE);
}
END_TEST

SUITE("candidate", so_many_have_to_agree, strangers_are_a_span_away,
      the_far_side_is_a_stranger, counters_wrap, rivals_win_by_number,
      what_came_before_is_no_rival, it_is_found_by_its_packets,
      runs_begin_with_a_frame, garbage_throws_out_garbage)
