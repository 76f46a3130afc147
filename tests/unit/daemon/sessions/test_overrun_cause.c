/* SPDX-License-Identifier: MIT */
#include "daemon/sessions/overrun_cause.h"

#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "lib/suite.h"

#define OF(...)                                                                \
	overrun_cause_of(&(struct overrun_clock){ __VA_ARGS__ },               \
			 2 * NS_SECOND, &lost)

static int64_t lost;

START_TEST(the_worst_is_the_cause)
{
	ck_assert_int_eq(OF(.ran = NS_SECOND), OVERRUN_UNKNOWN);
	ck_assert_int_eq(lost, 0);
	ck_assert_int_eq(OF(.ran = NS_SECOND, .waited = 41 * NS_MS),
			 OVERRUN_WAITED);
	ck_assert_int_eq(lost, 41 * NS_MS);
	ck_assert_int_eq(OF(.waited = NS_MS), OVERRUN_UNKNOWN);
	ck_assert_int_eq(OF(.waited = 20 * NS_MS, .stolen = 30 * NS_MS),
			 OVERRUN_STOLEN);
	ck_assert_int_eq(OF(.waited = 40 * NS_MS, .stolen = 30 * NS_MS),
			 OVERRUN_WAITED);
	ck_assert_int_eq(OF(.waited = 40 * NS_MS, .throttled = 30 * NS_MS),
			 OVERRUN_THROTTLED);
	ck_assert_int_eq(lost, 30 * NS_MS);
	ck_assert_int_eq(OF(.faults = 1), OVERRUN_PAGED);
	/* One that never rests waits a little all the time. */
	ck_assert_int_eq(OF(.ran = 1900 * NS_MS, .waited = 20 * NS_MS),
			 OVERRUN_BUSY);
}
END_TEST

/* This thread is the receiver. */
START_TEST(looks_at_threads)
{
	const pid_t me = gettid();
	struct overrun_watch w;
	enum overrun_cause cause;
	struct timespec ran;
	json_t *list;

	overrun_watch_open(&w, &me, 1);
	ck_assert_uint_eq(w.threads, 1);
	do
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ran);
	while (ran.tv_sec == 0 && ran.tv_nsec < 80 * NS_MS);
	ck_assert_uint_eq(
	    overrun_watch_look(&w, 0, clock_steady(), &cause, &lost), 0);
	ck_assert_uint_gt(w.look[1][0].ran, w.look[0][0].ran + 40 * NS_MS);
	ck_assert_uint_eq(
	    overrun_watch_look(&w, 7, clock_steady(), &cause, &lost), 7);
	ck_assert_uint_eq(w.account[cause].overruns, 7);
	list = overrun_watch_json(&w);
	ck_assert_uint_eq(json_array_size(list), 1);
	json_decref(list);
	overrun_watch_close(&w);
	ck_assert_uint_eq(overrun_watch_look(&w, 9, 0, &cause, &lost), 0);
}
END_TEST

SUITE("overrun_cause", the_worst_is_the_cause, looks_at_threads)
