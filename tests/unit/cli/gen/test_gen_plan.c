/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "cli/gen/gen_sender.h"
#include "lib/suite.h"

enum { PACKETS = 20000 };

/* What a receiver sees of a plan. */
struct seen {
	uint8_t times[PACKETS]; /* that each packet came */
	uint64_t order[2 * PACKETS];
	unsigned n;
	uint64_t late, farthest; /* behind a later one, and how far */
};

static struct seen *
play(struct gen_plan *plan)
{
	struct seen *seen = calloc(1, sizeof *seen);
	uint64_t packet, top = 0, over;

	ck_assert_ptr_nonnull(seen);
	while (gen_plan_next(plan, &packet)) {
		ck_assert_uint_lt(packet, PACKETS);
		ck_assert_uint_lt(seen->n, 2 * PACKETS);
		seen->order[seen->n++] = packet;
		if (packet > top || !seen->n)
			top = packet;
		if (packet < top && !seen->times[packet])
			seen->late++;
		over = 0;
		for (uint64_t i = packet + 1; i <= top; i++)
			over += seen->times[i] > 0;
		if (over > seen->farthest)
			seen->farthest = over;
		seen->times[packet]++;
	}
	ck_assert(!gen_plan_next(plan, &packet));
	return seen;
}

static unsigned
count(const struct seen *seen, unsigned times)
{
	unsigned n = 0;

	for (unsigned i = 0; i < PACKETS; i++)
		n += seen->times[i] == times;
	return n;
}

/* The guards are in order, once each, at both ends. */
static void
check_guards(const struct seen *seen)
{
	for (unsigned i = 0; i < GEN_GUARD; i++) {
		ck_assert_uint_eq(seen->order[i], i);
		ck_assert_uint_eq(seen->order[seen->n - 1 - i],
				  PACKETS - 1 - i);
		ck_assert_uint_eq(seen->times[i], 1);
		ck_assert_uint_eq(seen->times[PACKETS - 1 - i], 1);
	}
}

START_TEST(nothing_happens)
{
	const struct gen_chances none = { .seed = 1 };
	struct gen_plan plan;
	struct seen *seen;

	gen_plan_init(&plan, &none, PACKETS);
	seen = play(&plan);
	ck_assert_uint_eq(seen->n, PACKETS);
	for (unsigned i = 0; i < PACKETS; i++)
		ck_assert_uint_eq(seen->order[i], i);
	ck_assert_uint_eq(plan.sent, PACKETS);
	ck_assert_uint_eq(plan.next, PACKETS);
	ck_assert_uint_eq(plan.lost + plan.swapped + plan.duplicated, 0);
	free(seen);
}
END_TEST

START_TEST(counts_are_exact)
{
	const struct gen_chances some = {
		.loss = 0.1, .reorder = 0.1, .duplicate = 0.1, .displace = 7
	};
	struct gen_plan plan;
	struct seen *seen;

	gen_plan_init(&plan, &some, PACKETS);
	seen = play(&plan);
	ck_assert_uint_eq(plan.sent, seen->n);
	ck_assert_uint_eq(plan.lost, count(seen, 0));
	ck_assert_uint_eq(plan.duplicated, count(seen, 2));
	ck_assert_uint_eq(count(seen, 0) + count(seen, 1) + count(seen, 2),
			  PACKETS);
	ck_assert_uint_eq(plan.swapped, seen->late);
	/* Draws, so about as many as were asked for: seven sigma. */
	ck_assert_uint_gt(plan.lost, 1700);
	ck_assert_uint_lt(plan.lost, 2300);
	ck_assert_uint_gt(plan.swapped, 500);
	ck_assert_uint_gt(seen->farthest, 1);
	ck_assert_uint_le(seen->farthest, 7);
	check_guards(seen);
	free(seen);
}
END_TEST

START_TEST(swaps_are_of_neighbours)
{
	const struct gen_chances swaps = { .reorder = 1 };
	struct gen_plan plan;
	struct seen *seen;

	gen_plan_init(&plan, &swaps, PACKETS);
	seen = play(&plan);
	ck_assert_uint_eq(seen->n, PACKETS);
	ck_assert_uint_eq(seen->farthest, 1);
	ck_assert_uint_eq(plan.swapped, seen->late);
	ck_assert_uint_eq(plan.swapped, (PACKETS - 2 * GEN_GUARD) / 2);
	check_guards(seen);
	free(seen);
}
END_TEST

START_TEST(all_is_lost)
{
	const struct gen_chances all = { .loss = 1 };
	struct gen_plan plan;
	struct seen *seen;

	gen_plan_init(&plan, &all, PACKETS);
	seen = play(&plan);
	ck_assert_uint_eq(plan.lost, PACKETS - 2 * GEN_GUARD);
	ck_assert_uint_eq(seen->n, 2 * GEN_GUARD);
	check_guards(seen);
	free(seen);
}
END_TEST

START_TEST(the_last_before_the_guard_is_held)
{
	const struct gen_chances far = { .reorder = 1, .displace = 1000 };
	struct gen_plan plan;
	struct seen *seen;

	for (uint64_t seed = 0; seed < 20; seed++) {
		gen_plan_init(&plan, &far, PACKETS);
		plan.chances.seed = seed;
		seen = play(&plan);
		ck_assert_uint_eq(seen->n, PACKETS);
		ck_assert_uint_eq(plan.swapped, seen->late);
		check_guards(seen);
		free(seen);
	}
}
END_TEST

START_TEST(a_short_plan_is_all_guard)
{
	const struct gen_chances all = { .loss = 1, .duplicate = 1 };
	struct gen_plan plan;
	struct seen *seen;

	for (uint64_t n = 0; n <= 2 * GEN_GUARD; n++) {
		gen_plan_init(&plan, &all, n);
		seen = play(&plan);
		ck_assert_uint_eq(seen->n, n);
		free(seen);
	}
	gen_plan_init(&plan, &all, 2 * GEN_GUARD + 1);
	seen = play(&plan);
	ck_assert_uint_eq(plan.lost, 1);
	free(seen);
}
END_TEST

START_TEST(seeds)
{
	const struct gen_chances some = { .loss = 0.01, .seed = 5 };
	struct gen_plan plan;
	struct seen *one, *same, *other;

	gen_plan_init(&plan, &some, PACKETS);
	one = play(&plan);
	/* Swaps do not change what is lost. */
	gen_plan_init(&plan, &some, PACKETS);
	plan.chances.reorder = 0.5;
	same = play(&plan);
	gen_plan_init(&plan, &some, PACKETS);
	plan.chances.seed = 6;
	other = play(&plan);
	ck_assert_mem_eq(one->times, same->times, PACKETS);
	ck_assert_mem_ne(one->times, other->times, PACKETS);
	free(one);
	free(same);
	free(other);
}
END_TEST

START_TEST(ends_early)
{
	const struct gen_chances some = {
		.loss = 0.3, .reorder = 0.3, .duplicate = 0.3, .displace = 9
	};
	struct gen_plan plan;
	uint64_t packet = 0, top = 0;

	for (unsigned after = 1; after < 500; after++) {
		gen_plan_init(&plan, &some, PACKETS);
		for (unsigned i = 0; i < after; i++)
			ck_assert(gen_plan_next(&plan, &packet));
		gen_plan_end(&plan, plan.next + 1);
		while (gen_plan_next(&plan, &packet))
			top = packet;
		/* Whatever was lost or held, the last packet closes it. */
		ck_assert_uint_eq(top, plan.next - 1);
		ck_assert_uint_eq(plan.sent,
				  plan.next - plan.lost + plan.duplicated);
	}
}
END_TEST

SUITE("gen_plan", nothing_happens, counts_are_exact, swaps_are_of_neighbours,
      all_is_lost, the_last_before_the_guard_is_held, a_short_plan_is_all_guard,
      seeds, ends_early)
