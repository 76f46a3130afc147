/* SPDX-License-Identifier: MIT */
/* One entry in two files, and entries that are taken out and put back. */
#include "lib/made_schedule.h"

static char text[512];

static const char *
entry(int64_t from)
{
	return made_entry(text, "r1", from, 100 * S, "");
}

static unsigned
ahead(const struct made *m)
{
	const struct scan_list *all = schedule_scans(m->s);
	unsigned n = 0;

	for (unsigned i = 0; i < all->n; i++)
		n += scan_is_ahead(all->scan[i]);
	return n;
}

static void
remove_file(struct made *m, const char *file)
{
	struct fault fault = { 0 };
	json_t *removed;

	ck_assert_int_eq(schedule_remove(m->s, file, &removed, m->now, &fault),
			 0);
	json_decref(removed);
}

/* Whichever way the first goes: the other has it, and it is read again. */
static void
two_files(int64_t from, void (*away)(struct made *m))
{
	struct made *m = made_new(true, false);
	unsigned sessions;

	made_file(m, "a.conf", entry(from));
	made_file(m, "b.conf", entry(from));
	made_pass(m, 5 * S);
	ck_assert_uint_eq(ahead(m), 1);
	sessions = m->sessions;
	away(m);
	made_pass(m, 3 * S);
	ck_assert_uint_eq(ahead(m), 1);
	made_file(m, "b.conf", entry(from));
	made_pass(m, 3 * S);
	ck_assert_uint_eq(ahead(m), 1);
	if (sessions) {
		ck_assert_uint_eq(m->sessions, sessions);
		ck_assert(!m->session[0].ended);
		ck_assert_str_eq(schedule_find(m->s, m->session[0].scan)->file,
				 "b.conf");
	}
	made_pass(m, 200 * S);
	ck_assert_uint_eq(m->sessions, 1);
	ck_assert_ptr_null(m->session[0].why);
	made_free(m);
}

static void
by_rm(struct made *m)
{
	remove_file(m, "a.conf");
}

static void
by_unlink(struct made *m)
{
	made_unlink(m, "a.conf");
}

static void
by_edit(struct made *m)
{
	made_file(m, "a.conf", "");
}

START_TEST(test_two_files)
{
	static void (*const ways[])(struct made *) = { by_rm, by_unlink,
						       by_edit };

	for (int i = 0; i < 3; i++) {
		two_files(60 * S, ways[i]); /* waiting */
		two_files(14 * S, ways[i]); /* armed */
		two_files(2 * S, ways[i]);  /* running */
	}
}
END_TEST

/* What its file took away comes with it again; what a person cancelled does
 * not. */
START_TEST(test_put_back)
{
	struct made *m = made_new(true, true);

	made_file(m, "a.conf", entry(8 * S));
	made_pass(m, S);
	made_unlink(m, "a.conf");
	made_pass(m, 3 * S);
	ck_assert_uint_eq(ahead(m), 0);
	made_restart(m);
	made_file(m, "a.conf", entry(8 * S));
	made_is(m, made_find(m, "r1")->id, "armed");
	remove_file(m, "a.conf");
	made_file(m, "a.conf", entry(8 * S));
	made_is(m, made_find(m, "r1")->id, "armed");
	made_pass(m, 10 * S);
	made_is(m, made_find(m, "r1")->id, "running");
	remove_file(m, "r1");
	made_unlink(m, "a.conf");
	made_pass(m, 3 * S);
	made_file(m, "a.conf", entry(8 * S));
	made_is(m, made_find(m, "r1")->id, "cancelled");
	made_free(m);
}
END_TEST

/* A backlog is of the past, where it has begun. */
START_TEST(test_backlog_of_what_runs)
{
	struct made *m = made_new(true, false);

	made_file(m, "a.conf", entry(0));
	made_pass(m, S);
	made_file(m, "a.conf",
		  made_entry(text, "r1", 0, 50 * S, "backlog = \"1s\";"));
	made_is(m, made_find(m, "r1")->id, "running");
	ck_assert_uint_eq(m->sessions, 1);
	ck_assert(!m->session[0].ended);
	made_free(m);
}
END_TEST

/* The receivers say only after its end that it began. */
START_TEST(test_short_and_told_late)
{
	struct made *m = made_new(false, false);
	unsigned id = made_add(m, 5 * S, 5 * S + S / 1000, "r1");

	m->now.utc += 6 * S;
	m->now.steady += 6 * S;
	schedule_step(m->s, m->now);
	made_is(m, id, "armed");
	ck_assert(!m->session[0].ended);
	ck_assert_int_gt(schedule_next(m->s), m->now.steady);
	schedule_began(m->s, id, m->now);
	schedule_ended(m->s, id, false, "time", m->now);
	made_is(m, id, "done");
	made_free(m);
}
END_TEST

SUITE_THREADS("schedule_twice", NULL, test_two_files, test_put_back,
	      test_backlog_of_what_runs, test_short_and_told_late)
