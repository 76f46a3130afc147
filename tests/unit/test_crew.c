/* SPDX-License-Identifier: MIT */
/* Who gets what, with receivers that only take note. */
#include <errno.h>
#include <stdlib.h>

#include "daemon/sessions/crew.c"
#include "unit/suite.h"

struct receiver {
	struct receiver_args args;
	uint32_t cpu[8];
	int64_t beat;
};

static unsigned fail_at; /* the start that fails; 0: none */
static unsigned started, stopped;

int
receiver_start(struct receiver **receiver, const struct receiver_args *args)
{
	if (++started == fail_at)
		return -EAGAIN;
	*receiver = calloc(1, sizeof **receiver);
	(*receiver)->args = *args;
	for (unsigned i = 0; i < args->cpus; i++)
		(*receiver)->cpu[i] = args->cpu[i];
	return 0;
}

void
receiver_stop(struct receiver *r)
{
	stopped++;
	free(r);
}

int64_t
receiver_beat(const struct receiver *r)
{
	return r->beat;
}

static struct crew
begin(unsigned n, const uint32_t *cpu, unsigned cpus)
{
	struct setup_options o = { .receivers = n,
				   .receiver_priority = 7,
				   .receiver_cpus = { cpu, cpus } };
	struct crew crew = { 0 };

	started = stopped = fail_at = 0;
	ck_assert_int_eq(crew_start(&crew, &o), 0);
	ck_assert_uint_eq(crew.n, n);
	return crew;
}

static unsigned
give(struct crew *crew, unsigned sources)
{
	return (unsigned)(crew_add(crew, NULL, sources) - crew->member);
}

/* Equals in turn; else whoever has the fewest sources. */
START_TEST(by_load)
{
	struct crew crew = begin(3, NULL, 0);

	ck_assert_uint_eq(give(&crew, 8), 0);
	ck_assert_uint_eq(give(&crew, 1), 1);
	ck_assert_uint_eq(give(&crew, 1), 2);
	ck_assert_uint_eq(give(&crew, 1), 1);
	ck_assert_uint_eq(give(&crew, 4), 2);
	ck_assert_uint_eq(give(&crew, 1), 1);
	crew_remove(&crew.member[0], 8);
	ck_assert_uint_eq(give(&crew, 1), 0);
	crew_stop(&crew);
	ck_assert_uint_eq(stopped, 3);
}
END_TEST

/* Those of one group go apart, however busy the others are. */
START_TEST(by_group)
{
	struct crew crew = begin(3, NULL, 0);
	const struct crew_member *one, *two, *three, *four;

	ck_assert_uint_eq(give(&crew, 9), 0);
	ck_assert_uint_eq(give(&crew, 5), 1);
	one = crew_add(&crew, &crew, 1);
	two = crew_add(&crew, &crew, 1);
	three = crew_add(&crew, &crew, 1);
	four = crew_add(&crew, &crew, 1);
	ck_assert_ptr_eq(one, &crew.member[2]);
	ck_assert_ptr_eq(two, &crew.member[1]);
	ck_assert_ptr_eq(three, &crew.member[0]);
	ck_assert_ptr_eq(four, &crew.member[2]);
	crew_stop(&crew);
}
END_TEST

START_TEST(cpus)
{
	static const uint32_t five[] = { 2, 3, 4, 5, 6 };
	struct crew crew = begin(2, five, 5);
	const struct receiver *r = crew.member[0].receiver;

	ck_assert_int_eq(r->args.priority, 7);
	ck_assert_uint_eq(r->args.cpus, 3);
	ck_assert_uint_eq(r->cpu[0], 2);
	ck_assert_uint_eq(r->cpu[1], 4);
	ck_assert_uint_eq(r->cpu[2], 6);
	r = crew.member[1].receiver;
	ck_assert_uint_eq(r->args.cpus, 2);
	ck_assert_uint_eq(r->cpu[0], 3);
	ck_assert_uint_eq(r->cpu[1], 5);
	crew_stop(&crew);

	crew = begin(3, five, 2);
	ck_assert_uint_eq(crew.member[0].receiver->cpu[0], 2);
	ck_assert_uint_eq(crew.member[1].receiver->cpu[0], 3);
	ck_assert_uint_eq(crew.member[2].receiver->cpu[0], 2);
	ck_assert_uint_eq(crew.member[2].receiver->args.cpus, 1);
	crew_stop(&crew);

	crew = begin(2, NULL, 0);
	ck_assert_uint_eq(crew.member[0].receiver->args.cpus, 0);
	crew_stop(&crew);
}
END_TEST

/* All of them have to: one that hangs is not hidden by the others. */
START_TEST(moves)
{
	struct crew crew = begin(2, NULL, 0);

	crew.member[0].receiver->beat = 7;
	ck_assert(!crew_moves(&crew));
	crew.member[1].receiver->beat = 7;
	ck_assert(!crew_moves(&crew));
	crew.member[0].receiver->beat = crew.member[1].receiver->beat = 8;
	ck_assert(crew_moves(&crew));
	ck_assert(!crew_moves(&crew));
	crew_stop(&crew);
}
END_TEST

/* Those that did start are stopped. */
START_TEST(cannot_start)
{
	struct setup_options o = { .receivers = 4 };
	struct crew crew = { 0 };

	started = stopped = 0;
	fail_at = 3;
	ck_assert_int_eq(crew_start(&crew, &o), -EAGAIN);
	crew_stop(&crew);
	ck_assert_uint_eq(stopped, 2);
}
END_TEST

SUITE("crew", by_load, by_group, cpus, moves, cannot_start)
