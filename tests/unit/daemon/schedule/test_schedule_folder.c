/* SPDX-License-Identifier: MIT */
/* Files of the schedule that come, change, break and go. */
#include <errno.h>
#include <sys/stat.h>

#include "lib/made_schedule.h"

static char text[512], more[512];

static void
files_say(const struct made *m, const char *file, const char *error,
	  unsigned scans)
{
	json_t *all = schedule_json(m->s, true, m->now.utc), *f;
	const char *is = NULL;
	bool found = false;
	size_t i;

	json_array_foreach(json_object_get(all, "files"), i, f) {
		if (strcmp(json_string_value(json_object_get(f, "file")), file))
			continue;
		found = true;
		is = json_string_value(json_object_get(f, "error"));
		ck_assert_int_eq(
		    json_integer_value(json_object_get(f, "scans_n")), scans);
	}
	ck_assert(found);
	ck_assert_msg(error ? is && strstr(is, error) : !is, "%s says %s", file,
		      is ? is : "nothing");
	json_decref(all);
}

START_TEST(test_comes_and_goes)
{
	struct made *m = made_new(true, false);

	made_file(m, "a.conf", made_entry(text, "r1", 60 * S, 30 * S, ""));
	ck_assert_ptr_nonnull(made_find(m, "r1"));
	made_is(m, made_find(m, "r1")->id, "waiting");
	files_say(m, "a.conf", NULL, 1);
	made_pass(m, 55 * S);
	made_is(m, made_find(m, "r1")->id, "armed");

	/* An editor that writes beside and renames. */
	made_scan_file(m, ".a.conf.new",
		       made_entry(text, "r1", 120 * S, 30 * S, ""));
	schedule_look(m->s, m->now);
	made_is(m, made_find(m, "r1")->id, "armed");
	ck_assert_int_eq(
	    renameat(AT_FDCWD, scratch_path(&m->scratch, ".a.conf.new"),
		     AT_FDCWD, scratch_path(&m->scratch, "a.conf")),
	    0);
	schedule_look(m->s, m->now);
	made_is(m, made_find(m, "r1")->id, "waiting");
	ck_assert(m->session[0].ended);
	ck_assert_int_eq(made_find(m, "r1")->start, TEN + 120 * S);

	made_unlink(m, "a.conf");
	made_pass(m, 3 * S);
	ck_assert_ptr_null(made_find(m, "r1"));
	made_pass(m, 200 * S);
	ck_assert_uint_eq(m->sessions, 1);
	made_free(m);
}
END_TEST

START_TEST(test_not_ours)
{
	static const char *const names[] = {
		".a.conf",	   "a.conf~",	 "#a.conf#",   ".#a.conf",
		".a.conf.swp",	   "a.conf.tmp", "a.conf.swx", "a.txt",
		"a.conf.dpkg-new", ".conf",
	};
	struct made *m = made_new(true, false);

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		made_file(m, names[i],
			  made_entry(text, "r1", 60 * S, 30 * S, ""));
	made_pass(m, 30 * S);
	ck_assert_uint_eq(schedule_scans(m->s)->n, 0);
	made_free(m);
}
END_TEST

/* What has the name of a file but is none has no scans, and says so. */
START_TEST(test_no_files)
{
	struct made *m = made_new(true, true);

	ck_assert_int_eq(mkdir(scratch_path(&m->scratch, "d.conf"), 0755), 0);
	ck_assert_int_eq(mkfifo(scratch_path(&m->scratch, "f.conf"), 0644), 0);
	ck_assert_int_eq(symlink("f.txt", scratch_path(&m->scratch, "l.conf")),
			 0);
	made_file(m, "f.txt", made_entry(text, "r1", 600 * S, 30 * S, ""));
	made_pass(m, 30 * S);
	files_say(m, "d.conf", "d.conf is a folder, and has no scans", 0);
	files_say(m, "f.conf", "f.conf is a pipe, and has no scans", 0);
	files_say(m, "l.conf", NULL, 1);
	/* A link to nothing is as good as removed, but says so. */
	made_unlink(m, "f.txt");
	made_pass(m, 30 * S);
	files_say(m, "l.conf", "l.conf is a link to nothing", 0);
	ck_assert_uint_eq(schedule_scans(m->s)->n, 0);
	made_pass(m, 30 * S);
	files_say(m, "l.conf", "l.conf is a link to nothing", 0);
	made_file(m, "f.txt", made_entry(text, "r1", 600 * S, 30 * S, ""));
	made_unlink(m, "f.conf");
	made_pass(m, 30 * S);
	files_say(m, "l.conf", NULL, 1);
	made_unlink(m, "l.conf");
	ck_assert_int_eq(rmdir(scratch_path(&m->scratch, "d.conf")), 0);
	made_pass(m, 30 * S);
	ck_assert_uint_eq(schedule_scans(m->s)->n, 0);
	json_t *all = schedule_json(m->s, true, m->now.utc);
	ck_assert_uint_eq(json_array_size(json_object_get(all, "files")), 0);
	json_decref(all);
	made_free(m);
}
END_TEST

/* One that cannot be parsed changes nothing, and says so. */
START_TEST(test_last_good)
{
	struct made *m = made_new(true, true);

	made_file(m, "a.conf", made_entry(text, "r1", 600 * S, 30 * S, ""));
	made_file(m, "a.conf", "r1 : { stream = \"s\"; start =");
	files_say(m, "a.conf", "a.conf:1: syntax error", 1);
	made_is(m, made_find(m, "r1")->id, "waiting");
	/* And after the daemon has been away. */
	made_restart(m);
	files_say(m, "a.conf", "a.conf:1: syntax error", 1);
	ck_assert_ptr_nonnull(made_find(m, "r1"));
	made_is(m, made_find(m, "r1")->id, "waiting");
	made_pass(m, 605 * S);
	made_is(m, made_find(m, "r1")->id, "running");
	made_file(m, "a.conf", made_entry(text, "r1", 600 * S, 60 * S, ""));
	files_say(m, "a.conf", NULL, 1);
	ck_assert_int_eq(m->session[0].stop, STEADY0 + 660 * S);
	made_free(m);
}
END_TEST

/* One that was put there as another user's, and then given to us. */
START_TEST(test_may_be_read)
{
	struct made *m = made_new(true, false);
	const char *path = scratch_path(&m->scratch, "a.conf");

	ck_assert_int_eq(chmod(m->folder, 0755), 0);
	made_scan_file(m, "a.conf", made_entry(text, "r1", HOUR, 60 * S, ""));
	ck_assert_int_eq(chmod(path, 0), 0);
	if (!geteuid())
		ck_assert_int_eq(seteuid(65534), 0); /* may read anything */
	schedule_look(m->s, m->now);
	files_say(m, "a.conf", "cannot read the configuration", 0);
	if (!getuid())
		ck_assert_int_eq(seteuid(0), 0);
	ck_assert_int_eq(chmod(path, 0644), 0);
	made_pass(m, 11 * S);
	ck_assert_ptr_nonnull(made_find(m, "r1"));
	files_say(m, "a.conf", NULL, 1);
	made_free(m);
}
END_TEST

/* Half of it can be parsed; but somebody is writing. */
START_TEST(test_half_written)
{
	struct made *m = made_new(true, false);
	int fd;

	made_file(m, "a.conf", made_entry(text, "r1", 0, 600 * S, ""));
	made_is(m, made_find(m, "r1")->id, "running");
	fd = open(scratch_path(&m->scratch, "a.conf"), O_WRONLY | O_TRUNC);
	schedule_look(m->s, m->now);
	made_entry(more, "r0", 60 * S, 30 * S, "");
	ck_assert_int_gt(write(fd, more, strlen(more)), 0);
	schedule_look(m->s, m->now);
	made_pass(m, 5 * S);
	ck_assert_ptr_null(made_find(m, "r0"));
	made_is(m, made_find(m, "r1")->id, "running");
	ck_assert_int_gt(write(fd, text, strlen(text)), 0);
	close(fd);
	schedule_look(m->s, m->now);
	ck_assert_ptr_nonnull(made_find(m, "r0"));
	made_is(m, made_find(m, "r1")->id, "running");
	ck_assert_uint_eq(m->sessions, 1);
	ck_assert(!m->session[0].ended);
	made_free(m);
}
END_TEST

START_TEST(test_edited_while_it_runs)
{
	struct made *m = made_new(true, false);
	unsigned id;

	made_file(m, "a.conf", made_entry(text, "r1", 0, 60 * S, ""));
	id = made_find(m, "r1")->id;
	made_pass(m, 30 * S);
	made_set_clock(m, HOUR); /* which is none of its business */
	made_file(m, "a.conf", made_entry(text, "r1", 0, 90 * S, ""));
	made_is(m, id, "running");
	ck_assert_int_eq(m->session[0].stop, STEADY0 + 90 * S);
	made_file(m, "a.conf", made_entry(text, "r1", 0, 40 * S, ""));
	ck_assert_int_eq(m->session[0].stop, STEADY0 + 40 * S);
	/* A slip leaves it alone. */
	made_file(m, "a.conf", made_entry(text, "r1", 0, 0, ""));
	made_is(m, id, "running");
	files_say(m, "a.conf", "a.conf:1: its duration is no time", 1);
	made_pass(m, 11 * S);
	made_is(m, id, "done");
	ck_assert_uint_eq(m->sessions, 1);
	made_free(m);
}
END_TEST

/* Taken out of its file it ends; with its file it goes on, and is known again
 * when that comes back. */
START_TEST(test_removed_while_it_runs)
{
	struct made *m = made_new(true, false);
	unsigned id;

	made_file(m, "a.conf", made_entry(text, "r1", 0, 60 * S, ""));
	id = made_find(m, "r1")->id;
	made_unlink(m, "a.conf");
	made_pass(m, 20 * S);
	made_is(m, id, "running");
	made_file(m, "a.conf", text);
	made_is(m, id, "running");
	ck_assert_uint_eq(m->sessions, 1);
	ck_assert(!schedule_find(m->s, id)->gone);
	made_unlink(m, "a.conf");
	made_pass(m, 41 * S);
	made_is(m, id, "done");
	/* And is not done again. */
	made_file(m, "a.conf", text);
	made_pass(m, 5 * S);
	ck_assert_uint_eq(m->sessions, 1);

	m->now.utc = TEN;
	made_set_clock(m, 0);
	made_file(m, "b.conf", made_entry(text, "r2", 0, 900 * S, ""));
	id = made_find(m, "r2")->id;
	made_is(m, id, "running");
	made_file(m, "b.conf", made_entry(text, "r3", 600 * S, 900 * S, ""));
	made_is(m, id, "cancelled");
	ck_assert(m->session[1].ended);
	made_free(m);
}
END_TEST

/* An editor that removes it first: what is armed stays so. */
START_TEST(test_removed_for_a_moment)
{
	struct made *m = made_new(true, false);

	made_file(m, "a.conf", made_entry(text, "r1", 5 * S, 60 * S, ""));
	made_is(m, made_find(m, "r1")->id, "armed");
	made_unlink(m, "a.conf");
	made_pass(m, S / 2);
	made_file(m, "a.conf", text);
	made_pass(m, 3 * S);
	made_is(m, made_find(m, "r1")->id, "armed");
	ck_assert_uint_eq(m->sessions, 1);
	ck_assert(!m->session[0].ended);
	made_free(m);
}
END_TEST

/* One that stands twice in a file ends with that. */
START_TEST(test_removed_twice)
{
	struct made *m = made_new(true, false);
	struct fault fault = { 0 };
	char twice[1024];
	json_t *removed;
	unsigned id;

	made_entry(text, "r1", 0, 60 * S, "");
	snprintf(twice, sizeof twice,
		 "scans = ( { name = \"r1\"; %s, "
		 "{ name = \"r1\"; %s );",
		 strchr(text, '{') + 1, strchr(text, '{') + 1);
	for (char *c = twice; (c = strstr(c, "};"));)
		c[1] = ' ';
	made_file(m, "a.conf", twice);
	ck_assert_uint_eq(m->sessions, 1);
	ck_assert_uint_eq(schedule_scans(m->s)->n, 2);
	id = m->session[0].scan;
	made_is(m, id, "running");
	ck_assert_int_eq(
	    schedule_remove(m->s, "a.conf", &removed, m->now, &fault), 0);
	json_decref(removed);
	made_is(m, id, "cancelled");
	ck_assert(m->session[0].ended);
	made_free(m);
}
END_TEST

/* As on NFS: nobody says when it was written. */
START_TEST(test_settled)
{
	struct made *m = made_new(true, false);
	struct stat st;

	made_scan_file(m, "a.conf", made_entry(text, "r1", HOUR, 60 * S, ""));
	ck_assert_int_eq(stat(scratch_path(&m->scratch, "a.conf"), &st), 0);
	m->now.utc = st.st_mtim.tv_sec * S + st.st_mtim.tv_nsec + S;
	m->now.steady += 11 * S;
	schedule_step(m->s, m->now);
	ck_assert_uint_eq(schedule_scans(m->s)->n, 0);
	made_pass(m, S / 2);
	ck_assert_uint_eq(schedule_scans(m->s)->n, 0);
	made_pass(m, S);
	ck_assert_uint_eq(schedule_scans(m->s)->n, 1);
	made_free(m);
}
END_TEST

START_TEST(test_moved)
{
	struct made *m = made_new(true, false);
	unsigned id;

	made_file(m, "a.conf", made_entry(text, "r1", 0, 60 * S, ""));
	id = made_find(m, "r1")->id;
	ck_assert_int_eq(rename(scratch_path(&m->scratch, "a.conf"),
				scratch_path(&m->scratch, "b.conf")),
			 0);
	schedule_look(m->s, m->now);
	ck_assert_uint_eq(made_find(m, "r1")->id, id);
	ck_assert_str_eq(made_find(m, "r1")->file, "b.conf");
	made_pass(m, 15 * S);
	made_is(m, id, "running");
	ck_assert_uint_eq(m->sessions, 1);
	files_say(m, "b.conf", NULL, 1);
	made_free(m);
}
END_TEST

START_TEST(test_add_text)
{
	struct made *m = made_new(true, false);
	struct fault fault = { 0 };
	struct scan_list list;
	struct schedule_text t = { .file = "a.conf", .text = text };
	json_t *removed;

	made_entry(text, "r1", 60 * S, 60 * S, "");
	ck_assert_int_eq(schedule_check_text(m->s, &t, &list, &fault), 0);
	ck_assert_uint_eq(list.n, 1);
	scan_list_clear(&list);
	ck_assert_uint_eq(schedule_scans(m->s)->n, 0);
	ck_assert_int_eq(schedule_add_text(m->s, &t, m->now, &fault), 0);
	made_is(m, made_find(m, "r1")->id, "waiting");
	schedule_look(m->s, m->now);
	made_is(m, made_find(m, "r1")->id, "waiting");
	ck_assert_int_eq(schedule_add_text(m->s, &t, m->now, &fault), -EEXIST);
	t.replace = true;
	made_entry(text, "r2", 60 * S, 60 * S, "");
	ck_assert_int_eq(schedule_add_text(m->s, &t, m->now, &fault), 0);
	ck_assert_ptr_null(made_find(m, "r1"));
	made_is(m, made_find(m, "r2")->id, "waiting");

	t.text = "r1 : {";
	ck_assert_int_eq(schedule_add_text(m->s, &t, m->now, &fault), -EINVAL);
	made_is(m, made_find(m, "r2")->id, "waiting");
	t.text = text;
	t.file = "../x.conf";
	ck_assert_int_eq(schedule_add_text(m->s, &t, m->now, &fault), -EINVAL);
	t.file = ".x.conf";
	ck_assert_int_eq(schedule_add_text(m->s, &t, m->now, &fault), -EINVAL);
	t.file = "x";
	ck_assert_int_eq(schedule_add_text(m->s, &t, m->now, &fault), -EINVAL);

	ck_assert_int_eq(
	    schedule_remove(m->s, "a.conf", &removed, m->now, &fault), 0);
	ck_assert_uint_eq(json_array_size(removed), 1);
	json_decref(removed);
	ck_assert_ptr_null(made_find(m, "r2"));
	ck_assert_int_lt(access(scratch_path(&m->scratch, "a.conf"), F_OK), 0);
	made_free(m);
}
END_TEST

/* The same name at another time is another scan; at the same it is refused,
 * and comes back when the first one goes. */
START_TEST(test_same_name)
{
	struct made *m = made_new(true, false);
	unsigned other;

	made_file(m, "a.conf",
		  "l = ( { name = \"r1\"; stream = \"s\"; duration = 60;"
		  "  start = \"2026-11-20T11:00:00Z\"; },\n"
		  "{ name = \"r1\"; stream = \"s\"; duration = 60;"
		  "  start = \"2026-11-20T12:00:00Z\"; } );");
	ck_assert_uint_eq(schedule_scans(m->s)->n, 2);
	made_is(m, schedule_scans(m->s)->scan[0]->id, "waiting");
	made_is(m, schedule_scans(m->s)->scan[1]->id, "waiting");
	made_file(m, "b.conf", made_entry(text, "r1", HOUR, 30 * S, ""));
	other = schedule_scans(m->s)->scan[1]->id;
	made_is(m, other, "refused");
	ck_assert_str_eq(schedule_find(m->s, other)->why,
			 "a.conf:1 is the same scan");
	made_unlink(m, "a.conf");
	made_pass(m, 3 * S);
	made_is(m, other, "waiting");
	made_free(m);
}
END_TEST

/* A thousand of a file, again and again. */
START_TEST(test_thousand)
{
	struct made *m = made_new(true, true);
	char *all, name[32];
	size_t bytes;
	FILE *f = open_memstream(&all, &bytes);

	for (int i = 0; i < 1000; i++) {
		snprintf(name, sizeof name, "n%04d", i);
		fputs(made_entry(text, name, HOUR + i * 60 * S, 30 * S, ""), f);
	}
	fclose(f);
	for (int i = 0; i < 3; i++)
		made_file(m, "a.conf", all);
	free(all);
	files_say(m, "a.conf", NULL, 1000);
	ck_assert_uint_eq(schedule_scans(m->s)->n, 1000);
	ck_assert_uint_eq(schedule_scans(m->s)->scan[0]->id, 1);
	made_restart(m);
	ck_assert_uint_eq(schedule_scans(m->s)->n, 1000);
	ck_assert_uint_eq(schedule_scans(m->s)->scan[999]->id, 1000);
	made_free(m);
}
END_TEST

START_TEST(test_refused)
{
	struct made *m = made_new(true, false);

	made_file(
	    m, "a.conf",
	    "a : { stream = \"new\"; duration = 60;"
	    "  start = \"2026-11-20T11:00:00Z\"; };\n"
	    "b : { action = \"relay\"; stream = \"s\"; duration = 60;"
	    "  to = \"foo://c:1\"; start = \"2026-11-20T11:00:00Z\"; };\n"
	    "c : { stream = \"s\"; start = 7; };\n"
	    "d : { stream = \"s\"; send = \"foo://c:1\";\n"
	    "  start = \"2026-11-20T13:00:00Z\"; duration = \"1m\"; };\n");
	/* A recording is made all the same, and says that it is not sent. */
	made_is(m, made_find(m, "d")->id, "waiting");
	ck_assert_str_eq(made_find(m, "d")->unsent, "there is no foo");
	made_is(m, made_find(m, "a")->id, "refused");
	made_is(m, made_find(m, "b")->id, "refused");
	ck_assert_str_eq(made_find(m, "b")->why, "there is no foo");
	made_is(m, made_find(m, "c")->id, "refused");
	/* The configuration was read again. */
	m->streams = "s,new";
	schedule_changed(m->s);
	schedule_step(m->s, m->now);
	made_is(m, made_find(m, "a")->id, "waiting");
	made_is(m, made_find(m, "b")->id, "refused");
	made_is(m, made_find(m, "c")->id, "refused");
	made_pass(m, HOUR + 30 * S);
	made_is(m, made_find(m, "a")->id, "running");
	ck_assert_uint_eq(m->sessions, 1);
	made_free(m);
}
END_TEST

/* How often names are compared: the linker has every strcmp go here. */
static unsigned compared;

int __real_strcmp(const char *a, const char *b);
int __wrap_strcmp(const char *a, const char *b);

int
__wrap_strcmp(const char *a, const char *b)
{
	compared++;
	return __real_strcmp(a, b);
}

/* A file of thousands takes the place of another one with other names, or
 * times, or none: not everybody is compared with everybody. */
START_TEST(many_are_changed)
{
	enum { MANY = 3000 };
	struct made *m = made_new(true, true);
	char *whole = malloc(MANY * 512), entry[512];
	const struct scan_list *all;

	for (int round = 0; round < 4; round++) {
		char *at = whole;

		*at = '\0';
		for (int i = 0; i < MANY && round < 3; i++) {
			char name[32];

			snprintf(name, sizeof name, "r%d_%d", round / 2,
				 MANY - i);
			made_entry(entry, name, HOUR + (i * 10 + round % 2) * S,
				   5 * S, "");
			at = stpcpy(at, entry);
		}
		compared = 0;
		made_file(m, "a.conf", whole);
		ck_assert_uint_le(compared, 200 * MANY);
		all = schedule_scans(m->s);
		ck_assert_uint_eq(all->n, round < 3 ? MANY : 0);
	}
	made_free(m);
	free(whole);
}
END_TEST

SUITE_THREADS("schedule_folder", NULL, many_are_changed, test_may_be_read,
	      test_comes_and_goes, test_not_ours, test_no_files, test_last_good,
	      test_half_written, test_edited_while_it_runs,
	      test_removed_while_it_runs, test_removed_for_a_moment,
	      test_removed_twice, test_settled, test_moved, test_add_text,
	      test_same_name, test_thousand, test_refused)
