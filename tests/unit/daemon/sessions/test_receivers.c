/* SPDX-License-Identifier: MIT */
/* Who gets what, with receivers that only take note. */
#include <errno.h>
#include <stdlib.h>

#include "daemon/sessions/receivers.c"
#include "lib/suite.h"

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

static struct receivers
begin(unsigned n, const uint32_t *cpu, unsigned cpus)
{
	struct setup_options o = { .receivers = n,
				   .receiver_priority = 7,
				   .receiver_cpus = { cpu, cpus } };
	struct receivers receivers = { 0 };

	started = stopped = fail_at = 0;
	ck_assert_int_eq(receivers_start(&receivers, &o), 0);
	ck_assert_uint_eq(receivers.n, n);
	return receivers;
}

static unsigned
give(struct receivers *receivers, unsigned sources)
{
	return (unsigned)(receivers_add(receivers, NULL, sources) -
			  receivers->member);
}

/* Equals in turn; else whoever has the fewest sources. */
START_TEST(by_load)
{
	struct receivers receivers = begin(3, NULL, 0);

	ck_assert_uint_eq(give(&receivers, 8), 0);
	ck_assert_uint_eq(give(&receivers, 1), 1);
	ck_assert_uint_eq(give(&receivers, 1), 2);
	ck_assert_uint_eq(give(&receivers, 1), 1);
	ck_assert_uint_eq(give(&receivers, 4), 2);
	ck_assert_uint_eq(give(&receivers, 1), 1);
	receivers_remove(&receivers.member[0], 8);
	ck_assert_uint_eq(give(&receivers, 1), 0);
	receivers_stop(&receivers);
	ck_assert_uint_eq(stopped, 3);
}
END_TEST

/* Those of one group go apart, however busy the others are. */
START_TEST(by_group)
{
	struct receivers receivers = begin(3, NULL, 0);
	const struct receivers_member *one, *two, *three, *four;

	ck_assert_uint_eq(give(&receivers, 9), 0);
	ck_assert_uint_eq(give(&receivers, 5), 1);
	one = receivers_add(&receivers, &receivers, 1);
	two = receivers_add(&receivers, &receivers, 1);
	three = receivers_add(&receivers, &receivers, 1);
	four = receivers_add(&receivers, &receivers, 1);
	ck_assert_ptr_eq(one, &receivers.member[2]);
	ck_assert_ptr_eq(two, &receivers.member[1]);
	ck_assert_ptr_eq(three, &receivers.member[0]);
	ck_assert_ptr_eq(four, &receivers.member[2]);
	receivers_stop(&receivers);
}
END_TEST

START_TEST(cpus)
{
	static const uint32_t five[] = { 2, 3, 4, 5, 6 };
	struct receivers receivers = begin(2, five, 5);
	const struct receiver *r = receivers.member[0].receiver;

	ck_assert_int_eq(r->args.priority, 7);
	ck_assert_uint_eq(r->args.cpus, 3);
	ck_assert_uint_eq(r->cpu[0], 2);
	ck_assert_uint_eq(r->cpu[1], 4);
	ck_assert_uint_eq(r->cpu[2], 6);
	r = receivers.member[1].receiver;
	ck_assert_uint_eq(r->args.cpus, 2);
	ck_assert_uint_eq(r->cpu[0], 3);
	ck_assert_uint_eq(r->cpu[1], 5);
	receivers_stop(&receivers);

	receivers = begin(3, five, 2);
	ck_assert_uint_eq(receivers.member[0].receiver->cpu[0], 2);
	ck_assert_uint_eq(receivers.member[1].receiver->cpu[0], 3);
	ck_assert_uint_eq(receivers.member[2].receiver->cpu[0], 2);
	ck_assert_uint_eq(receivers.member[2].receiver->args.cpus, 1);
	receivers_stop(&receivers);

	receivers = begin(2, NULL, 0);
	ck_assert_uint_eq(receivers.member[0].receiver->args.cpus, 0);
	receivers_stop(&receivers);
}
END_TEST

/* All of them have to: one that hangs is not hidden by the others. */
START_TEST(moves)
{
	struct receivers receivers = begin(2, NULL, 0);

	receivers.member[0].receiver->beat = 7;
	ck_assert(!receivers_move(&receivers));
	receivers.member[1].receiver->beat = 7;
	ck_assert(!receivers_move(&receivers));
	receivers.member[0].receiver->beat =
	    receivers.member[1].receiver->beat = 8;
	ck_assert(receivers_move(&receivers));
	ck_assert(!receivers_move(&receivers));
	receivers_stop(&receivers);
}
END_TEST

/* Those that did start are stopped. */
START_TEST(cannot_start)
{
	struct setup_options o = { .receivers = 4 };
	struct receivers receivers = { 0 };

	started = stopped = 0;
	fail_at = 3;
	ck_assert_int_eq(receivers_start(&receivers, &o), -EAGAIN);
	receivers_stop(&receivers);
	ck_assert_uint_eq(stopped, 2);
}
END_TEST

SUITE("receivers", by_load, by_group, cpus, moves, cannot_start)
