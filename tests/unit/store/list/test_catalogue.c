/* SPDX-License-Identifier: MIT */
/* What a catalogue finds out by itself, with how much reading, and what it
 * says of it. */
#include "config.h"

#include <errno.h>
#include <time.h>

#include "store/list/catalogue.h"
#include "lib/made_list.h"
#include "lib/suite.h"

static struct made m;
static struct catalogue *c;

static void
begin(void)
{
	made_bare(&m);
	ck_assert_int_eq(catalogue_make(&c), 0);
	for (unsigned i = 0; i < MADE_DISKS; i++)
		ck_assert_int_eq(catalogue_join(c, m.disks.disk[i].path, false),
				 0);
}

static void
finish(void)
{
	catalogue_free(c);
	made_finish(&m);
}

static uint64_t
entries(void)
{
	struct catalogue_facts f;

	catalogue_facts(c, &f);
	return f.work.entries;
}

static size_t
recordings(void)
{
	struct catalogue_facts f;

	catalogue_facts(c, &f);
	return f.recordings;
}

static enum entry_state
state(const char *name)
{
	struct entry e;

	return catalogue_find(c, name, &e) ? (int)e.state : -1;
}

/* Behind the grain of time with which a folder tells that it has changed. */
static void
settle(void)
{
	for (unsigned i = 0; i < MADE_DISKS; i++) {
		const struct timespec past[2] = { { 1000, 0 }, { 1000, i } };

		ck_assert_int_eq(futimens(m.disks.disk[i].fd, past), 0);
	}
}

START_TEST(builds)
{
	struct catalogue_facts f;

	begin();
	catalogue_facts(c, &f);
	ck_assert_uint_eq(f.disks, 3);
	ck_assert_uint_eq(f.listed, 0);
	made_other(&m, "a", 7, 2, MADE_ENDED);
	made_other(&m, "b", 2, 2, MADE_ENDED);
	made_other(&m, "i", 2, 2, 0);
	catalogue_pass(c);
	catalogue_facts(c, &f);
	ck_assert_uint_eq(f.listed, 3);
	ck_assert_uint_eq(f.recordings, 3);
	ck_assert_uint_eq(f.unread, 0);
	ck_assert_uint_eq(f.work.entries, 3);
	ck_assert_uint_eq(f.work.whole, 1);
	ck_assert_int_eq(state("a"), ENTRY_COMPLETE);
	ck_assert_int_eq(state("i"), ENTRY_INTERRUPTED);
	ck_assert(!catalogue_find(c, "x", NULL));
	catalogue_pass(c);
	ck_assert_uint_eq(entries(), 3);
	finish();
}
END_TEST

/* Only what is new is read; what is gone goes. */
START_TEST(keeps_up)
{
	begin();
	made_other(&m, "a", 7, 2, MADE_ENDED);
	settle();
	catalogue_pass(c);
	made_other(&m, "b", 6, 2, MADE_ENDED);
	catalogue_pass(c);
	ck_assert_uint_eq(entries(), 2);
	ck_assert_int_eq(state("b"), ENTRY_COMPLETE);
	for (unsigned i = 0; i < MADE_DISKS; i++)
		renameat(m.disks.disk[i].fd, "b", m.disks.disk[i].fd, "_b");
	catalogue_pass(c);
	ck_assert_uint_eq(recordings(), 1);
	ck_assert(!catalogue_find(c, "b", NULL));
	finish();
}
END_TEST

/* What was made in the moment in which a folder was listed is not missed,
 * though the folder's time says nothing of it. */
START_TEST(same_tick)
{
	struct timespec now[2];

	begin();
	clock_gettime(CLOCK_REALTIME, &now[0]);
	now[1] = now[0];
	for (unsigned i = 0; i < MADE_DISKS; i++)
		futimens(m.disks.disk[i].fd, now);
	catalogue_pass(c);
	made_other(&m, "a", 1, 1, MADE_ENDED);
	futimens(m.disks.disk[0].fd, now);
	catalogue_pass(c);
	ck_assert_int_eq(state("a"), ENTRY_COMPLETE);
	finish();
}
END_TEST

START_TEST(disk_comes_and_goes)
{
	char away[512];
	struct entry e;

	begin();
	made_other(&m, "a", 3, 2, MADE_ENDED);
	made_other(&m, "b", 2, 2, MADE_ENDED);
	settle();
	snprintf(away, sizeof away, "%s.away", m.disks.disk[1].path);
	ck_assert_int_eq(rename(m.disks.disk[1].path, away), 0);
	catalogue_pass(c);
	ck_assert_uint_eq(recordings(), 1);
	ck_assert(catalogue_find(c, "a", &e));
	ck_assert_uint_eq(e.absent, 2);
	ck_assert(catalogue_has(c, "a", m.disks.disk[0].path));
	ck_assert(!catalogue_has(c, "a", m.disks.disk[1].path));
	ck_assert(!catalogue_has(c, "a", "/nowhere"));
	ck_assert(!catalogue_has(c, "x", m.disks.disk[0].path));
	ck_assert_int_eq(rename(away, m.disks.disk[1].path), 0);
	catalogue_pass(c);
	ck_assert_uint_eq(recordings(), 2);
	ck_assert(catalogue_find(c, "a", &e));
	ck_assert_uint_eq(e.absent, 0);
	catalogue_leave(c, m.disks.disk[1].path);
	catalogue_pass(c);
	ck_assert_uint_eq(recordings(), 1);
	ck_assert_int_eq(catalogue_join(c, m.disks.disk[1].path, false), 0);
	catalogue_pass(c);
	ck_assert_uint_eq(recordings(), 2);
	finish();
}
END_TEST

/* Who records keeps count; the disks say where, and what came of it. */
START_TEST(live)
{
	struct entry e = { .name = "a",
			   .state = ENTRY_LIVE,
			   .counted = true,
			   .packets = 77,
			   .subs = 1 };

	begin();
	ck_assert_int_eq(catalogue_live(c, &e), 0);
	made_other(&m, "a", 5, 2, MADE_OPEN);
	catalogue_pass(c);
	ck_assert(catalogue_find(c, "a", &e));
	ck_assert_int_eq(e.state, ENTRY_LIVE);
	ck_assert_uint_eq(e.packets, 77);
	ck_assert(entry_has(&e, 2));
	made_end(&m, 4);
	catalogue_pass(c);
	ck_assert_uint_eq(state("a"), ENTRY_LIVE);
	catalogue_touch(c, "a");
	catalogue_pass(c);
	ck_assert_uint_eq(state("a"), ENTRY_COMPLETE);
	finish();
}
END_TEST

/* What is written to just now is only seen to be. */
START_TEST(live_not_counted)
{
	struct catalogue_facts f;
	struct entry e;

	begin();
	catalogue_count_no_live(c);
	made_other(&m, "a", 5, 2, MADE_OPEN);
	made_other(&m, "i", 5, 2, 0);
	catalogue_pass(c);
	ck_assert(catalogue_find(c, "a", &e));
	ck_assert_int_eq(e.state, ENTRY_LIVE);
	ck_assert(!e.counted);
	ck_assert_str_eq(e.extension, "vdif");
	ck_assert_int_eq(state("i"), ENTRY_INTERRUPTED);
	catalogue_facts(c, &f);
	ck_assert_uint_eq(f.work.whole, 1);
	made_end(&m, 4);
	catalogue_pass(c);
	ck_assert_int_eq(state("a"), ENTRY_COMPLETE);
	finish();
}
END_TEST

/* It came to nothing, on no disk. */
START_TEST(live_and_gone)
{
	struct entry e = { .name = "a", .state = ENTRY_LIVE };

	begin();
	catalogue_live(c, &e);
	catalogue_pass(c);
	ck_assert_uint_eq(recordings(), 1);
	catalogue_touch(c, "a");
	catalogue_pass(c);
	ck_assert_uint_eq(recordings(), 0);
	finish();
}
END_TEST

/* Whoever ends one that another daemon began, or mends it, tells nobody. */
START_TEST(others)
{
	begin();
	made_other(&m, "a", 1, 2, MADE_OPEN);
	made_other(&m, "i", 2, 2, 0);
	settle();
	catalogue_pass(c);
	ck_assert_int_eq(state("a"), ENTRY_LIVE);
	catalogue_pass(c);
	ck_assert_uint_eq(entries(), 3); /* i once, a twice */
	made_end(&m, 2);
	usleep(20000);
	made_put(&m, 1, "i", "i.removing");
	catalogue_pass(c);
	ck_assert_int_eq(state("a"), ENTRY_COMPLETE);
	ck_assert_int_eq(state("i"), ENTRY_REMOVING);
	finish();
}
END_TEST

/* When the folders of a recording were changed, as they say. */
static void
age(const char *name, time_t when)
{
	const struct timespec past[2] = { { when, 0 }, { when, 0 } };

	for (unsigned i = 0; i < MADE_DISKS; i++)
		utimensat(m.disks.disk[i].fd, name, past, 0);
}

static void
rename_all(const char *from, const char *to)
{
	for (unsigned i = 0; i < MADE_DISKS; i++)
		renameat(m.disks.disk[i].fd, from, m.disks.disk[i].fd, to);
}

/* The name is on the same disks, and the recording another. */
START_TEST(anew)
{
	begin();
	made_other(&m, "a", 7, 2, MADE_ENDED);
	made_other(&m, "b", 7, 1, MADE_ENDED);
	age("a", 1000);
	age("b", 2000);
	settle();
	catalogue_pass(c);
	ck_assert_uint_eq(entries(), 2);
	rename_all("a", "_a");
	made_other(&m, "a", 7, 1, MADE_ENDED);
	age("a", 3000);
	catalogue_pass(c);
	ck_assert_uint_eq(entries(), 3);
	catalogue_pass(c);
	ck_assert_uint_eq(entries(), 3);
	finish();
}
END_TEST

/* Somebody protects it just then: no disk's folder tells. */
START_TEST(changed_a_moment_ago)
{
	struct entry e;

	begin();
	made_other(&m, "a", 7, 2, MADE_ENDED);
	made_other(&m, "b", 7, 2, MADE_ENDED);
	age("b", 1000);
	settle();
	catalogue_pass(c);
	usleep(20000);
	made_put(&m, 1, "a", "a.protect");
	made_put(&m, 1, "b", "b.protect");
	catalogue_pass(c);
	ck_assert(catalogue_find(c, "a", &e) && e.protected);
	ck_assert(catalogue_find(c, "b", &e) && !e.protected);
	ck_assert_uint_eq(entries(), 3);
	finish();
}
END_TEST

/* In a folder of its own, and growing without a sign. */
START_TEST(foreign_file)
{
	uint8_t frame[MADE_PAYLOAD];
	struct entry e;
	uint64_t was;
	int fd;

	begin();
	settle();
	catalogue_pass(c);
	ck_assert_int_eq(mkdirat(m.disks.disk[1].fd, "f", 0755), 0);
	fd = openat(m.disks.disk[1].fd, "f/f.00000000",
		    O_CREAT | O_WRONLY | O_APPEND, 0644);
	for (unsigned i = 0; i < 100; i++) {
		made_frame(&m, i, frame);
		ck_assert_int_eq(write(fd, frame, sizeof frame), sizeof frame);
	}
	catalogue_pass(c);
	ck_assert(catalogue_find(c, "f", &e) && e.foreign);
	ck_assert_uint_eq(e.packets, 100);
	was = e.stamp;
	made_frame(&m, 100, frame);
	ck_assert_int_eq(write(fd, frame, sizeof frame), sizeof frame);
	close(fd);
	catalogue_pass(c);
	ck_assert(catalogue_find(c, "f", &e));
	ck_assert_uint_eq(e.packets, 101);
	ck_assert_uint_eq(e.stamp, was);
	age("f", 1000);
	catalogue_pass(c);
	was = entries();
	catalogue_pass(c);
	ck_assert_uint_eq(entries(), was);
	finish();
}
END_TEST

START_TEST(unnamed)
{
	struct catalogue_facts f;

	begin();
	ck_assert_int_eq(mkdirat(m.disks.disk[0].fd, "a\nb", 0755), 0);
	ck_assert_int_eq(mkdirat(m.disks.disk[1].fd, "a\nb", 0755), 0);
	ck_assert_int_eq(mkdirat(m.disks.disk[1].fd, "a b", 0755), 0);
	ck_assert_int_eq(mkdirat(m.disks.disk[1].fd, ".a", 0755), 0);
	for (int i = 0; i < 2; i++) {
		catalogue_pass(c);
		catalogue_facts(c, &f);
		ck_assert_uint_eq(f.unnamed, 2);
	}
	ck_assert_int_eq(unlinkat(m.disks.disk[0].fd, "a\nb", AT_REMOVEDIR), 0);
	catalogue_pass(c);
	catalogue_facts(c, &f);
	ck_assert_uint_eq(f.unnamed, 1);
	ck_assert_uint_eq(f.recordings, 0);
	finish();
}
END_TEST

static void
note(void *arg, const struct entry *e)
{
	strcat(arg, e->name);
}

START_TEST(each)
{
	struct catalogue_facts was, is;
	char names[64] = "";

	begin();
	made_other(&m, "b", 7, 1, MADE_ENDED);
	made_other(&m, "a", 7, 1, MADE_ENDED);
	age("a", 1000);
	age("b", 1000);
	settle();
	catalogue_pass(c);
	catalogue_each(c, note, names);
	ck_assert_str_eq(names, "ab");
	catalogue_facts(c, &was);
	catalogue_pass(c);
	catalogue_facts(c, &is);
	ck_assert_uint_eq(is.changes, was.changes);
	catalogue_forget(c, "a");
	catalogue_facts(c, &is);
	ck_assert_uint_ne(is.changes, was.changes);
	finish();
}
END_TEST

static size_t
page(const struct catalogue_query *q, char *last, char *first)
{
	char *text = catalogue_page(c, q, last);
	json_t *list = json_loads(text, 0, NULL);
	size_t n = json_array_size(list);

	ck_assert_ptr_nonnull(list);
	first[0] = '\0';
	if (n)
		strcpy(first, json_string_value(
				  json_array_get(json_array_get(list, 0), 0)));
	json_decref(list);
	free(text);
	return n;
}

START_TEST(pages)
{
	static const char *const ones[] = { "s1*", "s03" };
	char last[LAYOUT_FILE], first[LAYOUT_FILE], name[8];
	struct catalogue_query q = { .most = 8 };

	begin();
	for (int i = 19; i >= 0; i--) {
		snprintf(name, sizeof name, "s%02d", i);
		made_other(&m, name, 1, 0, MADE_ENDED);
	}
	catalogue_pass(c);
	ck_assert_uint_eq(page(&q, last, first), 8);
	ck_assert_str_eq(first, "s00");
	ck_assert_str_eq(last, "s07");
	q.after = last;
	ck_assert_uint_eq(page(&q, last, first), 8);
	ck_assert_str_eq(first, "s08");
	ck_assert_uint_eq(page(&q, last, first), 4);
	ck_assert_str_eq(first, "s16");
	ck_assert_str_eq(last, "");
	q = (struct catalogue_query){ "s02a", ones, 2, 11 };
	ck_assert_uint_eq(page(&q, last, first), 11);
	ck_assert_str_eq(first, "s03");
	ck_assert_str_eq(last, "");
	finish();
}
END_TEST

/* Work grows with what is new, not with what is there. */
START_TEST(many)
{
	enum { MANY = 1000 };
	struct catalogue_facts f;
	char name[16];

	begin();
	for (int i = 0; i < MANY; i++) {
		snprintf(name, sizeof name, "scan%04d", i);
		made_other(&m, name, 1, 0, MADE_ENDED);
	}
	settle();
	catalogue_pass(c);
	catalogue_facts(c, &f);
	ck_assert_uint_eq(f.recordings, MANY);
	ck_assert_uint_eq(f.unread, 0);
	ck_assert_uint_eq(f.work.entries, MANY);
	ck_assert_uint_eq(f.work.whole, 0);
	made_other(&m, "new", 3, 1, MADE_ENDED);
	catalogue_touch(c, "new");
	ck_assert(catalogue_pending(c, "new"));
	catalogue_pass(c);
	ck_assert(!catalogue_pending(c, "new"));
	ck_assert_uint_eq(entries(), MANY + 1);
	finish();
}
END_TEST

SUITE("catalogue", builds, keeps_up, same_tick, disk_comes_and_goes, live,
      live_not_counted, live_and_gone, others, anew, changed_a_moment_ago,
      foreign_file, unnamed, each, pages, many)
