/* SPDX-License-Identifier: MIT */
#include "daemon/health/no_buffer_cause.h"

#include "base/clock.h"
#include "lib/suite.h"

static const char a[] = "/mnt/a", b[] = "/mnt/b";

/* Fails unless the facts are a cause, and mean a disk. */
static void
is(const struct no_buffer_facts *f, enum no_buffer_cause cause,
   const char *disk)
{
	const char *meant;

	ck_assert_int_eq(no_buffer_cause_of(f, &meant), cause);
	ck_assert_ptr_eq(meant, disk);
}

#define FACTS(...) (&(struct no_buffer_facts){ __VA_ARGS__ })

START_TEST(the_worst_is_the_cause)
{
	is(FACTS(.takers = true, .filled = true, .slowest = b),
	   NO_BUFFER_BEHIND, b);
	is(FACTS(.takers = true, .filled = true, .slow = a, .slowest = b),
	   NO_BUFFER_SLOW, a);
	is(FACTS(.takers = true, .filled = true, .writes_back = true,
		 .slowest = b),
	   NO_BUFFER_WRITEBACK, b);
	is(FACTS(.takers = true, .writes_back = true, .slow = a),
	   NO_BUFFER_MEMORY, NULL);
	is(FACTS(.gone = b), NO_BUFFER_GONE, b);
	is(FACTS(.takers = true, .filled = true, .gone = b, .slowest = a),
	   NO_BUFFER_BEHIND, a);
	is(FACTS(.stalled = a, .stall_ns = 9 * NS_SECOND), NO_BUFFER_STALLED,
	   a);
	/* A large write to a slow disk. */
	is(FACTS(.stalled = a, .stall_ns = NS_SECOND / 2, .takers = true,
		 .filled = true, .slowest = b),
	   NO_BUFFER_BEHIND, b);
}
END_TEST

/* A disk that stalled has answered already when memory is full. */
START_TEST(a_stall_counts_for_a_while)
{
	const struct no_buffer_facts *well =
	    FACTS(.takers = true, .filled = true, .slowest = b);
	const struct no_buffer_account *one;
	struct no_buffer_watch w = { 0 };
	char text[100];

	ck_assert_ptr_null(no_buffer_watch_add(
	    &w, 0,
	    FACTS(.stalled = a, .stall_ns = 3 * NS_SECOND, .takers = true,
		  .filled = true, .slowest = b),
	    10 * NS_SECOND));
	one = no_buffer_watch_add(&w, 7, well, 13 * NS_SECOND);
	ck_assert_int_eq(one->cause, NO_BUFFER_STALLED);
	ck_assert_str_eq(no_buffer_why(one, text, sizeof text),
			 "/mnt/a has not answered for 3.0 s");
	ck_assert_ptr_null(no_buffer_watch_add(&w, 7, well, 14 * NS_SECOND));
	one = no_buffer_watch_add(&w, 9, well, 15 * NS_SECOND);
	ck_assert_int_eq(one->cause, NO_BUFFER_BEHIND);
	ck_assert_uint_eq(one->packets, 2);
	ck_assert_uint_eq(w.account[0].packets, 7);
}
END_TEST

/* Every packet is in one account, however many disks there are. */
START_TEST(accounts_are_whole)
{
	enum { DISKS = 40 };
	static const char disk[DISKS][2];
	struct no_buffer_watch w = { 0 };
	uint64_t packets = 0;
	json_t *list, *row;
	size_t i;

	for (unsigned turn = 0; turn < 2 * DISKS; turn++)
		no_buffer_watch_add(
		    &w, packets += 3,
		    FACTS(.stalled = disk[turn % DISKS],
			  .stall_ns = NS_SECOND * turn + NS_SECOND),
		    turn);
	ck_assert_uint_eq(w.accounts, NO_BUFFER_ACCOUNTS);
	list = no_buffer_watch_json(&w);
	json_array_foreach(list, i, row) {
		ck_assert_str_eq(
		    json_string_value(json_object_get(row, "cause")),
		    "stalled");
		packets -= (uint64_t)json_integer_value(
		    json_object_get(row, "packets"));
	}
	ck_assert_uint_eq(packets, 0);
	ck_assert_int_gt(w.account[0].stall_ns, DISKS * NS_SECOND);
	json_decref(list);
}
END_TEST

SUITE("no_buffer_cause", the_worst_is_the_cause, a_stall_counts_for_a_while,
      accounts_are_whole)
