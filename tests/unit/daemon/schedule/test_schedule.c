/* SPDX-License-Identifier: MIT */
/* When scans are armed, begin, end and are missed, whatever the clock does. */
#include <errno.h>
#include <math.h>

#include "lib/made_schedule.h"

START_TEST(test_on_time)
{
	struct made *m = made_new(false, false);
	unsigned id = made_add(m, 60 * S, 90 * S, "r1");

	made_is(m, id, "waiting");
	made_pass(m, 49 * S);
	made_is(m, id, "waiting");
	ck_assert_uint_eq(m->sessions, 0);
	made_pass(m, 2 * S);
	made_is(m, id, "armed");
	ck_assert_int_eq(m->session[0].start, STEADY0 + 60 * S);
	ck_assert_int_eq(m->session[0].stop, STEADY0 + 90 * S);
	made_pass(m, 10 * S);
	made_is(m, id, "running");
	made_pass(m, 28 * S);
	made_is(m, id, "running");
	made_pass(m, 2 * S);
	made_is(m, id, "done");
	made_pass(m, 600 * S);
	ck_assert_uint_eq(m->sessions, 1);
	made_free(m);
}
END_TEST

START_TEST(test_late)
{
	struct made *m = made_new(false, false);
	struct fault fault = { 0 };
	struct scan *over = made_scan(-60 * S, -30 * S, "over");
	unsigned late = made_add(m, -60 * S, 30 * S, "late");

	made_is(m, late, "running");
	ck_assert_int_eq(m->session[0].start, 0);
	ck_assert_int_eq(m->session[0].stop, STEADY0 + 30 * S);
	made_pass(m, 31 * S);
	made_is(m, late, "done");

	ck_assert_int_eq(schedule_add(m->s, over, m->now, &fault), -EINVAL);
	over->stop = over->start;
	ck_assert_int_eq(schedule_add(m->s, over, m->now, &fault), -EINVAL);
	over->start = m->now.utc + 60 * S;
	over->stop = m->now.utc + 30 * S;
	ck_assert_int_eq(schedule_add(m->s, over, m->now, &fault), -EINVAL);
	scan_free(over);
	ck_assert_uint_eq(m->sessions, 1);
	made_free(m);
}
END_TEST

/* One that was armed late by a moment takes nothing of the one before. */
START_TEST(test_back_to_back)
{
	struct made *m = made_new(false, false);
	struct scan *next = made_scan(60 * S, 90 * S, "r2");
	struct fault fault = { 0 };

	next->arm = 0; /* there was no memory for both */
	ck_assert_int_gt(schedule_add(m->s, next, m->now, &fault), 0);
	made_pass(m, 59 * S);
	ck_assert_uint_eq(m->sessions, 0);
	m->now.steady += S + S / 50;
	m->now.utc += S + S / 50;
	schedule_step(m->s, m->now);
	ck_assert_uint_eq(m->sessions, 1);
	ck_assert_int_eq(m->session[0].start, STEADY0 + 60 * S);
	made_free(m);
}
END_TEST

/* An hour forward and back, or a leap second, before it is armed: it waits
 * for UTC. */
START_TEST(test_clock_waiting)
{
	static const int64_t by[] = { HOUR, -HOUR, S, -S };

	for (int i = 0; i < 4; i++) {
		struct made *m = made_new(false, false);
		unsigned id = made_add(m, 3 * HOUR, 3 * HOUR + 60 * S, "r1");
		int64_t wait = 3 * HOUR - by[i];

		made_set_clock(m, by[i]);
		made_is(m, id, "waiting");
		made_pass(m, wait - 11 * S);
		made_is(m, id, "waiting");
		made_pass(m, 2 * S);
		made_is(m, id, "armed");
		ck_assert_int_eq(m->session[0].start, STEADY0 + wait);
		made_pass(m, 10 * S);
		made_is(m, id, "running");
		made_pass(m, 61 * S);
		made_is(m, id, "done");
		ck_assert_uint_eq(m->sessions, 1);
		made_free(m);
	}
}
END_TEST

/* Past the start: it begins at once.  Past the end: it is missed, and waits
 * again when the clock is put right. */
START_TEST(test_clock_past)
{
	struct made *m = made_new(false, false);
	unsigned lng = made_add(m, 600 * S, 2 * HOUR, "long");
	unsigned brief = made_add(m, 600 * S, 660 * S, "brief");

	made_set_clock(m, HOUR);
	made_is(m, lng, "running");
	made_is(m, brief, "missed");
	ck_assert_int_eq(made_session(m, lng)->stop, STEADY0 + 2 * HOUR - HOUR);
	ck_assert_ptr_null(made_session(m, brief));

	made_set_clock(m, -HOUR);
	made_is(m, brief, "waiting");
	made_is(m, lng, "running");
	made_pass(m, 661 * S);
	made_is(m, brief, "done");
	made_is(m, lng, "running");
	made_pass(m, HOUR - 661 * S + S);
	made_is(m, lng, "done");
	ck_assert_uint_eq(m->sessions, 2);
	made_free(m);
}
END_TEST

START_TEST(test_clock_armed)
{
	struct made *m = made_new(false, false);
	unsigned id = made_add(m, 5 * S, 65 * S, "r1");

	made_is(m, id, "armed");
	made_set_clock(m, -S); /* a leap second */
	made_is(m, id, "armed");
	ck_assert_int_eq(m->session[0].start, STEADY0 + 6 * S);
	ck_assert_int_eq(m->session[0].stop, STEADY0 + 66 * S);
	ck_assert_uint_eq(m->moves, 1);
	made_set_clock(m, -HOUR);
	made_is(m, id, "waiting");
	ck_assert(m->session[0].ended);
	made_set_clock(m, HOUR + S);
	made_is(m, id, "armed");
	ck_assert_uint_eq(m->sessions, 2);
	ck_assert_int_eq(m->session[1].start, STEADY0 + 5 * S);

	/* Into the middle of it, and past it. */
	made_set_clock(m, 30 * S);
	made_is(m, id, "armed");
	ck_assert_int_eq(m->session[1].start, STEADY0 - 25 * S);
	made_set_clock(m, HOUR);
	made_is(m, id, "missed");
	ck_assert(m->session[1].ended);
	made_free(m);
}
END_TEST

/* What runs has the length that it had, and runs once. */
START_TEST(test_clock_running)
{
	static const int64_t by[] = { HOUR, -HOUR, S, -S };

	for (int i = 0; i < 4; i++) {
		struct made *m = made_new(false, false);
		unsigned id = made_add(m, 5 * S, 65 * S, "r1");

		made_pass(m, 35 * S);
		made_is(m, id, "running");
		made_set_clock(m, by[i]);
		made_is(m, id, "running");
		made_pass(m, 29 * S);
		made_is(m, id, "running");
		made_pass(m, 2 * S);
		made_is(m, id, "done");
		ck_assert_int_eq(m->session[0].stop, STEADY0 + 65 * S);
		/* And after it. */
		made_set_clock(m, -by[i]);
		made_set_clock(m, -HOUR);
		made_pass(m, 2 * HOUR);
		made_is(m, id, "done");
		ck_assert_uint_eq(m->sessions, 1);
		made_free(m);
	}
}
END_TEST

/* Scans that follow each other have one edge, however the clock was slewed
 * since the first began; one that is far off has not. */
START_TEST(test_one_edge)
{
	struct made *m = made_new(false, false);
	unsigned first = made_add(m, 5 * S, 125 * S, "first");
	unsigned second = made_add(m, 125 * S, 155 * S, "second");
	unsigned third = made_add(m, 155 * S, 185 * S, "third");
	const struct made_session *a, *b, *c;

	for (int i = 0; i < 120; i++) {
		made_pass(m, S);
		m->now.utc += S / 10000;
	}
	a = made_session(m, first);
	b = made_session(m, second);
	made_is(m, second, "armed");
	ck_assert_int_eq(a->stop, STEADY0 + 125 * S);
	ck_assert_int_eq(b->start, a->stop);
	ck_assert_uint_eq(m->moves, 0);
	made_pass(m, 10 * S);
	made_is(m, second, "running");
	made_set_clock(m, HOUR / 180);
	c = made_session(m, third);
	ck_assert_ptr_nonnull(c);
	ck_assert_int_lt(c->start, b->stop - S);
	made_free(m);
}
END_TEST

/* What may pass is tried again every second, until its end. */
START_TEST(test_again)
{
	struct made *m = made_new(false, false);
	unsigned id = made_add(m, 20 * S, 80 * S, "r1");
	unsigned never = made_add(m, 20 * S, 40 * S, "r2");

	m->arm_err = -ENODEV;
	made_pass(m, 45 * S);
	made_is(m, id, "waiting");
	made_is(m, never, "failed");
	for (int i = 0; i < 9; i++) { /* woken by others */
		schedule_changed(m->s);
		schedule_step(m->s, m->now);
	}
	ck_assert_uint_ge(schedule_find(m->s, id)->tries, 30);
	ck_assert_uint_le(schedule_find(m->s, id)->tries, 37);
	m->arm_err = 0;
	made_pass(m, 2 * S);
	made_is(m, id, "running");

	/* A disk that is lost while it runs. */
	made_session(m, id)->ended = true;
	schedule_ended(m->s, id, true, "no disk is left", m->now);
	made_is(m, id, "waiting");
	made_pass(m, 2 * S);
	made_is(m, id, "running");
	ck_assert_uint_eq(m->sessions, 2);
	ck_assert(m->session[1].resume);
	made_pass(m, 60 * S);
	made_is(m, id, "done");

	/* Disks that are lost at once, each time. */
	id = made_add(m, 130 * S, 230 * S, "full");
	m->sessions = 0;
	for (int i = 0; i < 600; i++) {
		struct made_session *of = made_session(m, id);

		if (of && !of->ended && of->begun) {
			of->ended = true;
			schedule_ended(m->s, id, true, "no disk is left",
				       m->now);
		}
		made_pass(m, S / 10);
	}
	ck_assert_uint_ge(m->sessions, 5);
	ck_assert_uint_le(m->sessions, 10);

	m->arm_err = -EINVAL;
	id = made_add(m, 200 * S, 300 * S, "r3");
	made_pass(m, 200 * S);
	made_is(m, id, "failed");
	ck_assert_uint_eq(schedule_find(m->s, id)->tries, 1);
	made_free(m);
}
END_TEST

START_TEST(test_cancel)
{
	struct made *m = made_new(false, false);
	unsigned waits = made_add(m, HOUR, 2 * HOUR, "waits");
	unsigned armed = made_add(m, 5 * S, HOUR, "armed");
	unsigned runs = made_add(m, 0, HOUR, "runs");
	struct fault fault = { 0 };
	json_t *removed;
	char id[16];

	made_is(m, runs, "running");
	made_is(m, armed, "armed");
	snprintf(id, sizeof id, "%u", armed);
	ck_assert_int_eq(
	    schedule_remove(m->s, "waits", &removed, m->now, &fault), 0);
	ck_assert_uint_eq(json_array_size(removed), 1);
	json_decref(removed);
	ck_assert_int_eq(schedule_remove(m->s, id, &removed, m->now, &fault),
			 0);
	json_decref(removed);
	ck_assert_int_eq(
	    schedule_remove(m->s, "runs", &removed, m->now, &fault), 0);
	json_decref(removed);
	ck_assert_int_eq(
	    schedule_remove(m->s, "runs", &removed, m->now, &fault), -ENOENT);
	ck_assert_int_eq(
	    schedule_remove(m->s, "../x", &removed, m->now, &fault), -ENOENT);
	made_is(m, waits, "cancelled");
	made_is(m, armed, "cancelled");
	made_is(m, runs, "cancelled");
	ck_assert(m->session[0].ended && m->session[1].ended);
	made_pass(m, 2 * HOUR);
	ck_assert_uint_eq(m->sessions, 2);
	made_free(m);
}
END_TEST

/* By the clock of the data nothing is late: it is armed when UTC says so, and
 * waits for data. */
START_TEST(test_data)
{
	struct made *m = made_new(false, false);
	struct scan *scan = made_scan(60 * S, 90 * S, "r1");
	struct scan *past = made_scan(-HOUR, -HOUR + S, "past");
	struct fault fault = { 0 };
	int id, old;

	scan->data = past->data = true;
	id = schedule_add(m->s, scan, m->now, &fault);
	ck_assert_int_gt(id, 0);
	made_pass(m, 51 * S);
	made_is(m, (unsigned)id, "armed");
	ck_assert(m->session[0].data);
	ck_assert_int_eq(m->session[0].start, TEN + 60 * S);
	ck_assert_int_eq(m->session[0].stop, TEN + 90 * S);
	made_set_clock(m, S);
	ck_assert_uint_eq(m->moves, 0);
	made_pass(m, 60 * S);
	made_is(m, (unsigned)id, "armed");
	/* A minute after its end nobody waits any more. */
	made_pass(m, 60 * S);
	made_is(m, (unsigned)id, "missed");
	ck_assert(m->session[0].ended);

	old = schedule_add(m->s, past, m->now, &fault);
	ck_assert_int_gt(old, 0);
	made_is(m, (unsigned)old, "armed");
	made_pass(m, HOUR);
	made_is(m, (unsigned)old, "armed");
	schedule_began(m->s, (unsigned)old, m->now);
	made_pass(m, HOUR);
	made_is(m, (unsigned)old, "running");
	schedule_ended(m->s, (unsigned)old, false, "time", m->now);
	made_is(m, (unsigned)old, "done");
	made_free(m);
}
END_TEST

static void
refuse_low(void *arg, struct schedule *s, int64_t utc)
{
	const struct scan_list *all = schedule_scans(s);
	struct made *m = arg;

	(void)utc;
	m->moves++;
	for (unsigned i = 0; i < all->n; i++) {
		struct scan *scan = all->scan[i];

		if (scan->priority < 5)
			schedule_refuse(s, scan, "memory");
		else
			schedule_accept(s, scan);
	}
}

/* There is no room for it: said when it is added, and taken back when there
 * is. */
START_TEST(test_admit)
{
	struct made *m = made_new(false, false);
	struct scan *low = made_scan(60 * S, 90 * S, "low");
	struct scan *high = made_scan(60 * S, 90 * S, "high");
	struct fault fault = { 0 };
	int id;

	schedule_close(m->s);
	m->hooks.admit = refuse_low;
	made_reopen(m);
	high->priority = 5;
	ck_assert_int_eq(schedule_add(m->s, low, m->now, &fault), -EBUSY);
	ck_assert_str_eq(fault.why, "memory");
	scan_free(low);
	id = schedule_add(m->s, high, m->now, &fault);
	ck_assert_int_gt(id, 0);
	high->priority = 0;
	schedule_changed(m->s);
	made_pass(m, S);
	made_is(m, (unsigned)id, "refused");
	made_pass(m, 60 * S);
	ck_assert_uint_eq(m->sessions, 0);
	high->priority = 7;
	schedule_changed(m->s);
	made_pass(m, S);
	made_is(m, (unsigned)id, "running");
	made_free(m);
}
END_TEST

/* Between two scans nobody is woken, whatever their number. */
START_TEST(test_thousand)
{
	struct made *m = made_new(false, false);
	char name[32];
	unsigned wakes = 0;

	for (int i = 999; i >= 0; i--) {
		snprintf(name, sizeof name, "n%04d", i);
		made_add(m, HOUR + i * 60 * S, HOUR + i * 60 * S + 30 * S,
			 name);
	}
	schedule_step(m->s, m->now);
	ck_assert_int_eq(schedule_next(m->s), STEADY0 + HOUR - 10 * S);
	for (unsigned i = 1; i < 1000; i++)
		ck_assert_int_lt(schedule_scans(m->s)->scan[i - 1]->start,
				 schedule_scans(m->s)->scan[i]->start);
	while (m->now.steady < STEADY0 + HOUR + 1000 * 60 * S) {
		int64_t to = m->now.steady + 5 * S;

		m->now.utc += to - m->now.steady;
		m->now.steady = to;
		made_sessions(m);
		wakes += to >= schedule_next(m->s);
		schedule_step(m->s, m->now);
	}
	ck_assert_uint_eq(m->sessions, 1000);
	for (unsigned i = 0; i < 1000; i++)
		made_is(m, schedule_scans(m->s)->scan[i]->id, "done");
	/* Armed, begun, ended: no more than that of each. */
	ck_assert_uint_le(wakes, 3001);
	made_free(m);
}
END_TEST

START_TEST(test_twins)
{
	struct made *m = made_new(false, false);
	struct scan *twin = made_scan(60 * S, 90 * S, "r1");
	struct fault fault = { 0 };

	made_add(m, 60 * S, 90 * S, "r1");
	ck_assert_int_eq(schedule_add(m->s, twin, m->now, &fault), -EBUSY);
	twin->start += 3600 * S;
	twin->stop += 3600 * S;
	ck_assert_int_gt(schedule_add(m->s, twin, m->now, &fault), 0);

	twin = made_scan(60 * S, 90 * S, "r2");
	twin->stream[0][0] = 'x';
	ck_assert_int_eq(schedule_add(m->s, twin, m->now, &fault), -EBUSY);
	ck_assert_str_eq(fault.why, "there is no such stream");
	scan_free(twin);
	made_free(m);
}
END_TEST

SUITE("schedule", test_on_time, test_late, test_back_to_back,
      test_clock_waiting, test_clock_past, test_clock_armed, test_clock_running,
      test_one_edge, test_again, test_cancel, test_data, test_admit,
      test_thousand, test_twins)
