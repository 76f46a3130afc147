/* SPDX-License-Identifier: MIT */
/* What a daemon finds of the one before it, and a folder that comes late. */
#include <errno.h>
#include <sys/stat.h>

#include "lib/made_schedule.h"

static char text[512];

/* Every state is as it was, or goes on, when the daemon comes back. */
START_TEST(test_restart)
{
	struct made *m = made_new(true, true);
	unsigned id[8], typed;
	char *all;
	size_t bytes;
	FILE *f = open_memstream(&all, &bytes);
	struct fault fault = { 0 };
	json_t *removed;

	fputs(made_entry(text, "runs", 0, 600 * S, ""), f);
	fputs(made_entry(text, "ends", 0, 60 * S, ""), f);
	fputs(made_entry(text, "armed", 70 * S, 600 * S, ""), f);
	fputs(made_entry(text, "waits", HOUR, 60 * S, ""), f);
	fputs(made_entry(text, "missed", 120 * S, 60 * S, ""), f);
	fputs(made_entry(text, "off", 0, HOUR, ""), f);
	fputs(made_entry(text, "done", 0, 5 * S, ""), f);
	fputs(made_entry(text, "past", -HOUR, 60 * S, ""), f);
	fclose(f);
	made_file(m, "a.conf", all);
	free(all);
	typed = made_add(m, HOUR, 2 * HOUR, "typed");
	ck_assert_int_eq(schedule_remove(m->s, "off", &removed, m->now, &fault),
			 0);
	json_decref(removed);
	made_pass(m, 61 * S);
	for (int i = 0; i < 8; i++)
		id[i] = made_find(m, (const char *const[]){ "runs", "ends",
							    "armed", "waits",
							    "missed", "off",
							    "done", "past" }[i])
			    ->id;
	made_is(m, id[0], "running");
	made_is(m, id[1], "done");
	made_is(m, id[2], "armed");
	made_is(m, id[3], "waiting");
	made_is(m, id[4], "waiting");
	made_is(m, id[5], "cancelled");
	made_is(m, id[6], "done");
	made_is(m, id[7], "missed");

	/* It was away for four minutes. */
	m->now.utc += 240 * S;
	m->now.steady = 5 * S; /* the machine, too */
	made_restart(m);
	made_is(m, id[0], "running");
	ck_assert(made_session(m, id[0])->resume);
	ck_assert_int_eq(made_session(m, id[0])->stop, 5 * S + 299 * S);
	made_is(m, id[1], "done");
	made_is(m, id[2], "running");
	/* It may have begun, and the state file not have been written. */
	ck_assert(made_session(m, id[2])->resume);
	made_is(m, id[3], "waiting");
	made_is(m, id[4], "missed");
	made_is(m, id[5], "cancelled");
	made_is(m, id[6], "done");
	made_is(m, id[7], "missed");
	made_is(m, typed, "waiting");
	ck_assert_uint_eq(m->sessions, 2);

	/* And away until what ran was over. */
	m->now.utc += HOUR / 2;
	made_restart(m);
	made_is(m, id[0], "failed");
	made_is(m, id[2], "failed");
	ck_assert_uint_eq(m->sessions, 0);
	made_pass(m, HOUR);
	made_is(m, id[3], "done");
	made_is(m, typed, "running");
	made_free(m);
}
END_TEST

/* What ran goes on, though its file has gone meanwhile, or is not there yet. */
START_TEST(test_file_gone)
{
	struct made *m = made_new(true, true);
	unsigned id;

	made_file(m, "a.conf", made_entry(text, "r1", 0, 600 * S, ""));
	made_scan_file(m, "b.conf", made_entry(text, "r2", HOUR, 60 * S, ""));
	made_file(m, "b.conf", text);
	id = made_find(m, "r1")->id;
	made_pass(m, 5 * S);
	ck_assert_int_eq(unlink(scratch_path(&m->scratch, "a.conf")), 0);
	made_restart(m);
	made_is(m, id, "running");
	ck_assert(made_session(m, id)->resume);
	made_pass(m, S);
	made_file(m, "a.conf", made_entry(text, "r1", 0, 600 * S, ""));
	made_is(m, id, "running");
	ck_assert_uint_eq(m->sessions, 1);

	/* Without a folder there is nothing of it to come. */
	m->with_folder = false;
	made_restart(m);
	made_is(m, id, "running");
	ck_assert_ptr_null(made_find(m, "r2"));
	made_free(m);
}
END_TEST

START_TEST(test_state_damaged)
{
	struct made *m = made_new(true, true);
	char path[600];

	made_file(m, "a.conf", made_entry(text, "r1", 600 * S, 60 * S, ""));
	schedule_close(m->s);
	snprintf(path, sizeof path, "%s/schedule.json", m->state);
	ck_assert_int_eq(truncate(path, 100), 0);
	made_reopen(m);
	schedule_step(m->s, m->now);
	ck_assert_uint_eq(schedule_scans(m->s)->n, 1);
	schedule_close(m->s);
	made_reopen(m);
	ck_assert_int_eq(access(path, F_OK), 0);
	snprintf(path, sizeof path, "%s/schedule.json.bad", m->state);
	ck_assert_int_eq(access(path, F_OK), 0);
	made_free(m);
}
END_TEST

/* What has the name of the state file and is none does not hold the daemon. */
START_TEST(test_state_no_file)
{
	struct made *m = made_new(true, true);
	char path[600], bad[620];

	made_file(m, "a.conf", made_entry(text, "r1", 600 * S, 60 * S, ""));
	snprintf(path, sizeof path, "%s/schedule.json", m->state);
	snprintf(bad, sizeof bad, "%s.bad", path);
	for (int i = 0; i < 3; i++) {
		schedule_close(m->s);
		unlink(path);
		if (i == 0)
			ck_assert_int_eq(mkfifo(path, 0644), 0);
		else if (i == 1)
			ck_assert_int_eq(symlink("/dev/zero", path), 0);
		else
			ck_assert_int_eq(mkdir(path, 0755), 0);
		made_reopen(m);
		ck_assert(unlink(bad) == 0 || rmdir(bad) == 0);
	}
	made_free(m);
}
END_TEST

/* A folder that comes later, and one that goes for a while. */
START_TEST(test_folder_later)
{
	struct made *m = made_new(false, false);

	schedule_close(m->s);
	snprintf(m->folder, sizeof m->folder, "%s/sched", m->scratch.path);
	m->with_folder = true;
	made_reopen(m);
	made_pass(m, 15 * S);
	ck_assert_int_eq(mkdir(m->folder, 0755), 0);
	made_pass(m, 11 * S);
	made_file(m, "a.conf", made_entry(text, "r1", HOUR, 60 * S, ""));
	ck_assert_ptr_nonnull(made_find(m, "r1"));
	ck_assert_int_eq(rename(m->folder, scratch_path(&m->scratch, "away")),
			 0);
	schedule_look(m->s, m->now);
	made_pass(m, 25 * S);
	ck_assert_ptr_nonnull(made_find(m, "r1"));
	ck_assert_int_eq(rename(scratch_path(&m->scratch, "away"), m->folder),
			 0);
	made_pass(m, 11 * S);
	made_file(m, "a.conf", made_entry(text, "r2", HOUR, 60 * S, ""));
	ck_assert_ptr_nonnull(made_find(m, "r2"));
	ck_assert_ptr_null(made_find(m, "r1"));
	made_free(m);
}
END_TEST

/* A machine whose clock is an hour ahead, until somebody sets it. */
START_TEST(test_wrong_clock)
{
	struct made *m = made_new(false, true);
	unsigned runs = made_add(m, 0, 600 * S, "runs"), missed;

	made_is(m, runs, "running");
	missed = made_add(m, 100 * S, 600 * S, "missed");
	m->now.utc += 120 * S + HOUR;
	made_restart(m);
	made_is(m, runs, "failed");
	made_is(m, missed, "missed");
	made_set_clock(m, -HOUR);
	made_pass(m, S);
	made_is(m, runs, "running");
	ck_assert(made_session(m, runs)->resume);
	made_is(m, missed, "running");
	made_pass(m, 490 * S);
	made_is(m, runs, "done");
	made_is(m, missed, "done");
	made_free(m);
}
END_TEST

static bool away;

static bool
answers(void *arg, const char *folder)
{
	const struct made *m = arg;

	ck_assert_str_eq(folder, m->folder);
	return !away;
}

/* One whose server is away is not touched, by nobody: then what is in it could
 * not be seen, and is not. */
START_TEST(test_folder_hangs)
{
	const struct schedule_text file = { "b.conf", "", false };
	struct made *m = made_new(true, false);
	struct fault fault = { 0 };
	json_t *removed;

	schedule_close(m->s);
	m->hooks.answers = answers;
	made_reopen(m);
	made_file(m, "a.conf", made_entry(text, "r1", 60 * S, 60 * S, ""));
	away = true;
	made_file(m, "a.conf", made_entry(text, "r2", 60 * S, 60 * S, ""));
	made_pass(m, 21 * S);
	ck_assert_ptr_null(made_find(m, "r2"));
	ck_assert_int_eq(schedule_add_text(m->s, &file, m->now, &fault),
			 -ETIMEDOUT);
	ck_assert_int_lt(
	    schedule_remove(m->s, "a.conf", &removed, m->now, &fault), 0);
	ck_assert_int_eq(access(scratch_path(&m->scratch, "a.conf"), F_OK), 0);
	/* What is known of it goes on. */
	made_pass(m, 50 * S);
	made_is(m, made_find(m, "r1")->id, "running");
	away = false;
	made_pass(m, 11 * S);
	ck_assert_ptr_nonnull(made_find(m, "r2"));
	made_free(m);
}
END_TEST

SUITE_THREADS("schedule_restart", NULL, test_restart, test_file_gone,
	      test_state_damaged, test_state_no_file, test_folder_later,
	      test_wrong_clock, test_folder_hangs)
