/* SPDX-License-Identifier: MIT */
#include "daemon/schedule/forecast_priv.h"

/* How often a scan is looked at. */
static unsigned looks;

static void
look(void)
{
	looks++;
}

#define begin_of(w, s) (look(), (begin_of)(w, s))
#define stop_of(w, s)  (look(), (stop_of)(w, s))
#define is_taken(s)    (look(), (is_taken)(s))
#include "daemon/schedule/forecast.c"

#include <stdio.h>

#include "lib/dice.h"
#include "lib/suite.h"

/* Times are seconds after NOW, memory is in GiB, rates in Gb/s. */
enum { MOST = 40 };

#define SEC  INT64_C(1000000000)
#define NOW  (INT64_C(1795000000) * SEC) /* 2026-11-18T11:06:40Z */
#define GIB  (UINT64_C(1) << 30)
#define GBPS UINT64_C(1000000000)
#define GB   UINT64_C(1000000000)

static struct forecast_args args;
static struct forecast_scan scan[MOST];
static struct forecast_sum sum;
static unsigned n;

static void
setup(uint64_t memory, uint64_t space_gb, uint64_t speed)
{
	args = (struct forecast_args){ .now = NOW,
				       .memory = memory * GIB,
				       .space = space_gb * GB,
				       .speed = speed * GBPS };
	memset(scan, 0, sizeof scan);
	n = 0;
}

static struct forecast_scan *
entry(const char *name, int64_t start, int64_t stop, uint64_t memory)
{
	struct forecast_scan *s = &scan[n++];

	*s = (struct forecast_scan){ .name = name,
				     .arm = NOW + (start - 10) * SEC,
				     .start = NOW + start * SEC,
				     .stop = NOW + stop * SEC,
				     .memory = memory * GIB,
				     .rate = 8 * GBPS };
	return s;
}

static void
decide_all(void)
{
	ck_assert_int_eq(forecast(&args, scan, n, &sum), 0);
}

static void
check_why(const struct forecast_scan *s, const char *text)
{
	ck_assert_msg(strstr(s->why, text), "'%s' has no '%s'", s->why, text);
}

START_TEST(nothing_at_all)
{
	setup(8, 100, 0);
	ck_assert_int_eq(forecast(&args, scan, 0, NULL), 0);
	decide_all();
	ck_assert_int_eq(sum.full_at, 0);
	ck_assert_uint_eq(sum.memory, 0);
}
END_TEST

/* 8 Gb/s are a GB each second: 60 GB of 100. */
START_TEST(one_that_fits)
{
	struct forecast_scan *s;

	setup(8, 100, 0);
	s = entry("a", 100, 160, 4);
	decide_all();
	ck_assert_int_eq(s->verdict, FORECAST_OK);
	ck_assert(s->measured);
	ck_assert_uint_eq(s->volume, 60 * GB);
	ck_assert_uint_eq(s->free_after, 40 * GB);
	ck_assert_int_eq(s->armed, s->arm);
	ck_assert_str_eq(s->why, "");
	ck_assert_uint_eq(sum.volume, 60 * GB);
	ck_assert_uint_eq(sum.memory, 4 * GIB);
	ck_assert_int_eq(sum.memory_at, s->arm);
	ck_assert_uint_eq(sum.rate, 8 * GBPS);
	ck_assert_int_eq(sum.rate_at, s->start);
	ck_assert_int_eq(sum.full_at, 0);
}
END_TEST

START_TEST(more_memory_than_there_is)
{
	struct forecast_scan *s;

	setup(8, 100, 0);
	s = entry("a", 100, 110, 9);
	decide_all();
	ck_assert_int_eq(s->verdict, FORECAST_REFUSED);
	ck_assert_int_eq(s->lack, FORECAST_MEMORY);
	ck_assert_uint_eq(s->rivals, 0);
	ck_assert_str_eq(s->why,
			 "memory: it takes 9.0 GiB, and `memory` is 8.0 GiB");
	ck_assert_uint_eq(sum.refused, 1);
	ck_assert_uint_eq(sum.volume, 0);
}
END_TEST

/* Who is too much by itself would not fit without the others, either. */
START_TEST(nobody_is_to_blame)
{
	struct forecast_scan *b, *c, *d;

	setup(8, 100, 12);
	entry("a", 100, 150, 4);
	b = entry("b", 100, 110, 9);
	c = entry("c", 110, 300, 1);
	c->rate = 4 * GBPS;
	c->stop = NOW + 3000 * SEC;
	d = entry("d", 100, 101, 1);
	d->rate = 13 * GBPS;
	decide_all();
	ck_assert_str_eq(b->why,
			 "memory: it takes 9.0 GiB, and `memory` is 8.0 GiB");
	ck_assert_str_eq(c->why, "disks: it makes 1.3 TiB, and there is room "
				 "for 93.1 GiB");
	ck_assert_str_eq(d->why, "disks: it brings 13.00 Gb/s, and they take "
				 "12.00 Gb/s");
	ck_assert_uint_eq(b->rivals + c->rivals + d->rivals, 0);
}
END_TEST

START_TEST(memory_at_one_time)
{
	struct forecast_scan *a, *b, *c;

	setup(8, 1000, 0);
	a = entry("a", 100, 200, 4);
	b = entry("b", 150, 250, 4);
	c = entry("c", 190, 300, 4);
	decide_all();
	ck_assert_int_eq(a->verdict, FORECAST_OK);
	ck_assert_int_eq(b->verdict, FORECAST_OK);
	ck_assert_int_eq(c->verdict, FORECAST_REFUSED);
	ck_assert_uint_eq(c->rivals, 2);
	ck_assert_uint_eq(c->rival[0], 0);
	ck_assert_uint_eq(c->rival[1], 1);
	ck_assert_str_eq(c->why,
			 "memory: 12.0 GiB are asked for from "
			 "2026-11-18T11:09:50Z to 11:10:00Z, and `memory` is "
			 "8.0 GiB; before it come a (earlier) and b (earlier)");
}
END_TEST

/* At one time, and not at another, too. */
START_TEST(rivals_of_one_time)
{
	struct forecast_scan *c;

	setup(8, 1000, 0);
	entry("a", 100, 200, 5);
	entry("b", 300, 400, 5);
	c = entry("c", 150, 350, 4);
	c->priority = -1;
	decide_all();
	ck_assert_int_eq(c->verdict, FORECAST_REFUSED);
	ck_assert_uint_eq(c->rivals, 1);
	ck_assert_uint_eq(c->rival[0], 0);
}
END_TEST

START_TEST(priority_wins)
{
	struct forecast_scan *a, *b;

	setup(8, 1000, 0);
	a = entry("a", 100, 200, 5);
	b = entry("b", 150, 250, 5);
	b->priority = 1;
	decide_all();
	ck_assert_int_eq(a->verdict, FORECAST_REFUSED);
	ck_assert_int_eq(b->verdict, FORECAST_OK);
	check_why(a, "before it comes b (priority 1)");
}
END_TEST

/* What runs is not asked, whatever comes. */
START_TEST(what_runs_stays)
{
	struct forecast_scan *a, *b;

	setup(8, 1000, 0);
	a = entry("a", -100, 200, 9);
	a->runs = true;
	b = entry("b", 150, 250, 5);
	b->priority = 100;
	decide_all();
	ck_assert_int_eq(a->verdict, FORECAST_OK);
	ck_assert_int_eq(b->verdict, FORECAST_REFUSED);
	check_why(b, "a (runs)");
	ck_assert_uint_eq(a->volume, 200 * GB); /* what remains */
}
END_TEST

START_TEST(one_after_the_other_shares)
{
	struct forecast_scan *a, *b;

	setup(8, 1000, 0);
	a = entry("a", 100, 200, 5);
	b = entry("b", 200, 300, 5);
	decide_all();
	ck_assert_int_eq(a->verdict, FORECAST_OK);
	ck_assert_int_eq(b->verdict, FORECAST_OK);
	ck_assert_int_eq(b->armed, NOW + 200 * SEC);
	ck_assert_str_eq(b->why, "armed only at 11:10:00Z, when there is "
				 "memory again: until then it is with a "
				 "(earlier)");
	ck_assert_uint_eq(b->rivals, 1);
	ck_assert_uint_eq(sum.memory, 5 * GIB);
}
END_TEST

START_TEST(armed_a_little_late)
{
	struct forecast_scan *b;

	setup(8, 1000, 0);
	entry("a", 100, 200, 5);
	b = entry("b", 204, 300, 5);
	decide_all();
	ck_assert_int_eq(b->armed, NOW + 200 * SEC);
	ck_assert_int_eq(b->verdict, FORECAST_OK);
}
END_TEST

/* The one with priority is armed in time; the other would be in its way. */
/* Nobody gives way to one that only wants to be ready early. */
START_TEST(arming_refuses_nobody)
{
	struct forecast_scan *a, *b;

	setup(8, 1000, 0);
	a = entry("a", 100, 200, 5);
	b = entry("b", 205, 300, 5);
	b->priority = 1;
	decide_all();
	ck_assert_int_eq(a->verdict, FORECAST_OK);
	ck_assert_int_eq(b->verdict, FORECAST_OK);
	ck_assert_int_eq(b->armed, a->stop);
	ck_assert_uint_eq(b->rivals, 1);
	ck_assert_uint_eq(b->rival[0], 0);
}
END_TEST

START_TEST(disks_fill_in_time)
{
	struct forecast_scan *a, *b, *c, *d;

	setup(8, 100, 0);
	c = entry("c", 300, 330, 1);
	a = entry("a", 100, 150, 1);
	b = entry("b", 200, 260, 1);
	d = entry("d", 400, 420, 1);
	decide_all();
	ck_assert_int_eq(a->verdict, FORECAST_OK);
	ck_assert_uint_eq(a->free_after, 50 * GB);
	ck_assert_int_eq(b->verdict, FORECAST_REFUSED);
	ck_assert_int_eq(b->lack, FORECAST_SPACE);
	ck_assert_str_eq(b->why,
			 "disks: it makes 55.9 GiB, and there is room for "
			 "46.6 GiB; before it comes a (earlier)");
	ck_assert_int_eq(c->verdict, FORECAST_OK);
	ck_assert_uint_eq(c->free_after, 20 * GB);
	ck_assert_int_eq(d->verdict, FORECAST_OK);
	ck_assert_uint_eq(d->free_after, 0);
	/* Had b been recorded: 50 GB of its 60. */
	ck_assert_int_eq(sum.full_at, NOW + 250 * SEC);
}
END_TEST

/* Space that a later one with priority needs is not given away. */
START_TEST(space_is_kept_for_priority)
{
	struct forecast_scan *a, *b;

	setup(8, 100, 0);
	a = entry("a", 100, 150, 1);
	b = entry("b", 1000, 1080, 1);
	b->priority = 2;
	decide_all();
	ck_assert_int_eq(a->verdict, FORECAST_REFUSED);
	ck_assert_int_eq(b->verdict, FORECAST_OK);
	check_why(a, "b (priority 2)");
}
END_TEST

START_TEST(more_than_the_disks_hold)
{
	struct forecast_scan *a;

	setup(8, 100, 0);
	a = entry("a", 100, 300, 1);
	decide_all();
	ck_assert_str_eq(a->why, "disks: it makes 186.3 GiB, and there is room "
				 "for 93.1 GiB");
	ck_assert_int_eq(sum.full_at, NOW + 200 * SEC);
}
END_TEST

START_TEST(no_disk_is_no_verdict)
{
	struct forecast_scan *a;

	setup(8, 0, 0);
	args.space = FORECAST_ANY_SPACE;
	a = entry("a", 100, 100000, 1);
	decide_all();
	ck_assert_int_eq(a->verdict, FORECAST_OK);
	ck_assert_uint_eq(a->free_after, FORECAST_ANY_SPACE);
	ck_assert_int_eq(sum.full_at, 0);
}
END_TEST

START_TEST(disks_that_are_too_slow)
{
	struct forecast_scan *a, *b, *c;

	setup(8, 10000, 12);
	a = entry("a", 100, 200, 1);
	b = entry("b", 199, 300, 1);
	c = entry("c", 300, 310, 1);
	c->rate = 16 * GBPS;
	decide_all();
	ck_assert_int_eq(a->verdict, FORECAST_OK);
	ck_assert_int_eq(b->lack, FORECAST_SPEED);
	ck_assert_str_eq(b->why,
			 "disks: 16.00 Gb/s come in from 2026-11-18T11:09:59Z "
			 "to 11:10:00Z, and they take 12.00 Gb/s; before it "
			 "comes a (earlier)");
	ck_assert_str_eq(c->why, "disks: it brings 16.00 Gb/s, and they take "
				 "12.00 Gb/s");
	/* Before its start nothing comes in. */
	b->start = NOW + 200 * SEC;
	decide_all();
	ck_assert_int_eq(b->verdict, FORECAST_OK);
}
END_TEST

START_TEST(a_rate_that_is_not_known)
{
	struct forecast_scan *a, *b;

	setup(8, 100, 1);
	a = entry("a", 100, 100000, 5);
	a->rate = 0;
	b = entry("b", 100, 200, 5);
	b->rate = 0;
	decide_all();
	ck_assert_int_eq(a->verdict, FORECAST_UNKNOWN);
	ck_assert(!a->measured);
	ck_assert_uint_eq(sum.unknown, 1);
	/* Memory is known all the same. */
	ck_assert_int_eq(b->verdict, FORECAST_REFUSED);
	check_why(b, "a (of the same time)");
}
END_TEST

START_TEST(a_recording_without_an_end)
{
	struct forecast_scan *a, *b, *c;

	setup(8, 100, 0);
	a = entry("a", -10, 0, 5);
	a->runs = true;
	a->stop = FORECAST_OPEN;
	b = entry("b", 100, 150, 3);
	c = entry("c", 1000, 1010, 4);
	decide_all();
	ck_assert_int_eq(a->verdict, FORECAST_UNKNOWN);
	ck_assert_int_eq(b->verdict, FORECAST_OK);
	ck_assert_int_eq(c->verdict, FORECAST_REFUSED);
	check_why(c, "a (runs)");
	/* Both fill the disks: a by itself until 100, then with b. */
	ck_assert_int_eq(sum.full_at, NOW + 100 * SEC);
	n = 1;
	decide_all();
	ck_assert_int_eq(sum.full_at, NOW + 100 * SEC);
}
END_TEST

START_TEST(begun_already)
{
	struct forecast_scan *a;

	setup(8, 100, 0);
	a = entry("a", -50, 50, 5);
	decide_all();
	ck_assert_uint_eq(a->volume, 50 * GB);
	ck_assert_int_eq(a->armed, NOW);
	a->stop = NOW - SEC;
	decide_all();
	ck_assert_uint_eq(a->volume, 0);
	ck_assert_int_eq(a->verdict, FORECAST_OK);
}
END_TEST

START_TEST(many_rivals_are_counted)
{
	static char name[MOST][16];
	struct forecast_scan *last;

	setup(30, 100000, 0);
	for (unsigned i = 0; i < 30; i++) {
		snprintf(name[i], sizeof name[i], "s%u", i);
		entry(name[i], 100, 200, 1);
	}
	last = entry("last", 100, 200, 1);
	decide_all();
	ck_assert_uint_eq(last->rivals, 30);
	check_why(last, "s0 (of the same time), s1 (of the same time), s2 (of "
			"the same time) and 27 more");
}
END_TEST

START_TEST(long_names_are_cut)
{
	static char name[300];

	setup(8, 100000, 0);
	memset(name, 'x', sizeof name - 1);
	for (unsigned i = 0; i < 8; i++)
		entry(name, 100, 200, 1);
	entry(name, 100, 200, 1);
	decide_all();
	ck_assert_int_eq(scan[8].verdict, FORECAST_REFUSED);
	ck_assert_uint_lt(strlen(scan[8].why), FORECAST_WHY);
}
END_TEST

/* ---- any schedule at all --------------------------------------------- */

static void
any_schedule(struct dice *d)
{
	static char name[MOST][16];

	setup(1 + dice_roll(d, 12), dice_roll(d, 600),
	      dice_chance(d, 50) ? 4 + dice_roll(d, 30) : 0);
	if (dice_chance(d, 5))
		args.space = FORECAST_ANY_SPACE;
	for (unsigned i = 0, all = dice_roll(d, MOST + 1); i < all; i++) {
		int64_t start = (int64_t)dice_roll(d, 300) - 30;
		struct forecast_scan *s;

		snprintf(name[i], sizeof name[i], "s%u", i);
		s = entry(name[i], start, start + 1 + dice_roll(d, 60),
			  dice_roll(d, 6));
		s->priority = (int)dice_roll(d, 4);
		s->runs = dice_chance(d, 5);
		s->rate = dice_chance(d, 90) ? dice_roll(d, 16) * GBPS : 0;
		if (dice_chance(d, 3))
			s->stop = FORECAST_OPEN;
	}
}

/* The sum at one time, of all that are taken in but `not`; slowly. */
static uint64_t
used(int64_t at, bool memory, const struct forecast_scan * not )
{
	uint64_t all = 0;

	for (unsigned i = 0; i < n; i++) {
		const struct forecast_scan *s = &scan[i];
		int64_t from = s->runs ? NOW : memory ? s->armed : s->start;

		if (s == not || s->verdict == FORECAST_REFUSED)
			continue;
		if (from <= at && at < s->stop)
			all += memory ? s->memory : s->rate;
	}
	return all;
}

/* What is asked for by those that run cannot be helped. */
static void
what_is_accepted_fits(void)
{
	uint64_t volume = 0;
	bool runs = false;

	for (unsigned i = 0; i < n; i++) {
		runs |= scan[i].runs;
		if (scan[i].verdict != FORECAST_REFUSED)
			volume += scan[i].volume;
		ck_assert_int_ge(scan[i].armed, NOW);
		ck_assert(scan[i].armed <= NOW ||
			  scan[i].armed <= scan[i].start);
	}
	for (int64_t t = 0; t < 400 && !runs; t++) {
		ck_assert_uint_le(used(NOW + t * SEC, true, NULL), args.memory);
		if (args.speed)
			ck_assert_uint_le(used(NOW + t * SEC, false, NULL),
					  args.speed);
	}
	if (!runs)
		ck_assert_uint_le(volume, args.space);
	ck_assert_uint_eq(volume, sum.volume);
}

/* Those that come before it fill what it lacks, by themselves. */
static bool
is_full_for(const struct forecast_scan *s)
{
	uint64_t volume = s->volume;

	for (unsigned i = 0; i < n; i++) {
		if (&scan[i] != s && scan[i].verdict != FORECAST_REFUSED)
			volume += scan[i].volume;
	}
	if (s->lack == FORECAST_SPACE)
		return volume > args.space;
	for (int64_t t = later(s->start, NOW); t < NOW + 400 * SEC; t += SEC) {
		bool memory = s->lack == FORECAST_MEMORY;

		if (t < s->stop &&
		    used(t, memory, s) + (memory ? s->memory : s->rate) >
			(memory ? args.memory : args.speed))
			return true;
	}
	return false;
}

static void
who_is_refused_has_no_room(void)
{
	for (unsigned i = 0; i < n; i++) {
		struct forecast_scan *s = &scan[i];
		unsigned few =
		    s->rivals < FORECAST_RIVALS ? s->rivals : FORECAST_RIVALS;

		if (s->verdict != FORECAST_REFUSED)
			continue;
		ck_assert(!s->runs);
		ck_assert(is_full_for(s));
		ck_assert_int_ne(s->why[0], 0);
		for (unsigned k = 0; k < few; k++) {
			const struct forecast_scan *r = &scan[s->rival[k]];

			ck_assert(r->runs || r->priority >= s->priority);
			ck_assert_int_ne(r->verdict, FORECAST_REFUSED);
		}
	}
}

/* Of all the others only those that come before it count. */
static void
lower_ones_do_not_matter(struct dice *d)
{
	static struct forecast_scan all[MOST];
	unsigned of = n ? dice_roll(d, n) : 0, kept = 0;
	enum forecast_verdict was = scan[of].verdict;
	int priority = scan[of].priority;

	memcpy(all, scan, sizeof all);
	for (unsigned i = 0; i < n; i++) {
		if (i == of || all[i].runs || all[i].priority >= priority)
			scan[kept++] = all[i];
		if (i == of)
			of = kept - 1;
	}
	if (!n)
		return;
	n = kept;
	decide_all();
	ck_assert_int_eq(scan[of].verdict, was);
}

static void
raised_is_not_worse(struct dice *d)
{
	unsigned of = n ? dice_roll(d, n) : 0;
	int64_t armed = scan[of].armed;
	bool was = n && scan[of].verdict != FORECAST_REFUSED;

	if (!n)
		return;
	scan[of].priority += 1 + (int)dice_roll(d, 3);
	decide_all();
	if (!was)
		return;
	ck_assert_int_ne(scan[of].verdict, FORECAST_REFUSED);
	ck_assert_int_le(scan[of].armed, armed);
}

START_TEST(any_schedule_holds)
{
	struct dice d = { 4711 };

	for (unsigned i = 0; i < 2000; i++) {
		any_schedule(&d);
		decide_all();
		what_is_accepted_fits();
		who_is_refused_has_no_room();
		raised_is_not_worse(&d);
		what_is_accepted_fits();
		lower_ones_do_not_matter(&d);
	}
}
END_TEST

/* A weekend of three thousand scans one after the other, and as many that are
 * all at one time: neither is a matter of seconds. */
START_TEST(thousands)
{
	enum { MANY = 3000 };
	struct forecast_scan *many = calloc(MANY, sizeof *many);

	ck_assert_ptr_nonnull(many);
	setup(8, 1000000, 32);
	for (unsigned all = 0; all < 2; all++) {
		for (unsigned i = 0; i < MANY; i++)
			many[i] = (struct forecast_scan){
				.name = "x",
				.arm = NOW + (i * 60 - 10) * SEC,
				.start = NOW + i * 60 * SEC,
				.stop =
				    NOW + (i * 60 + (all ? 200000 : 59)) * SEC,
				.memory = 4 * GIB,
				.rate = GBPS,
			};
		ck_assert_int_eq(forecast(&args, many, MANY, &sum), 0);
		ck_assert_uint_eq(sum.refused, all ? MANY - 2 : 0);
	}
	free(many);
}
END_TEST

/* A schedule of a year for disks of a day: that none of the others has room is
 * found out without comparing everybody with everybody. */
START_TEST(many_that_are_refused)
{
	enum { MANY = 20000 };
	struct forecast_scan *all = calloc(MANY, sizeof *all);
	struct forecast_args a = {
		.now = NOW, .memory = GIB, .space = 1000 * GB, .speed = 8 * GBPS
	};
	unsigned refused = 0;

	for (unsigned i = 0; i < MANY; i++) {
		/* Two at a time: one of them has no memory, or no speed. */
		all[i] = (struct forecast_scan){
			.name = "x",
			.arm = NOW + (int64_t)i / 2 * 60 * SEC,
			.start = NOW + ((int64_t)i / 2 * 60 + 10) * SEC,
			.stop = NOW + ((int64_t)i / 2 * 60 + 60) * SEC,
			.memory = i % 3 ? GIB : GIB / 4,
			.rate = 8 * GBPS,
		};
	}
	looks = 0;
	ck_assert_int_eq(forecast(&a, all, MANY, NULL), 0);
	ck_assert_uint_le(looks, 100 * MANY);
	for (unsigned i = 0; i < MANY; i++) {
		refused += all[i].verdict == FORECAST_REFUSED;
		ck_assert(all[i].verdict != FORECAST_REFUSED ||
			  all[i].rivals > 0);
	}
	ck_assert_uint_ge(refused, MANY - 40);
	free(all);
}
END_TEST

SUITE("forecast", many_that_are_refused, nothing_at_all, one_that_fits,
      more_memory_than_there_is, nobody_is_to_blame, memory_at_one_time,
      rivals_of_one_time, priority_wins, what_runs_stays,
      one_after_the_other_shares, armed_a_little_late, arming_refuses_nobody,
      disks_fill_in_time, space_is_kept_for_priority, more_than_the_disks_hold,
      no_disk_is_no_verdict, disks_that_are_too_slow, a_rate_that_is_not_known,
      a_recording_without_an_end, begun_already, many_rivals_are_counted,
      long_names_are_cut, any_schedule_holds, thousands)
