/* SPDX-License-Identifier: MIT */
/* What is there, what comes and what goes; mounts are left to the flow
 * tests. */
#include "daemon/disks/disk_watch.c"

#include <sched.h>
#include <stdatomic.h>
#include <sys/stat.h>

#include "lib/scratch.h"
#include "lib/suite.h"

static struct scratch scratch;
static struct disk_watch *watch;
static struct disk_watch_list list;
static atomic_uint changes;

static void
changed(void *arg)
{
	(void)arg;
	atomic_fetch_add(&changes, 1);
}

static void
open_scout(const char *one, const char *two)
{
	static const char *text[2];
	static struct option_texts patterns;

	text[0] = one;
	text[1] = two;
	patterns = (struct option_texts){ text, two ? 2 : 1 };
	atomic_store(&changes, 0);
	list = (struct disk_watch_list){ 0 };
	ck_assert_int_eq(disk_watch_start(&watch, &patterns, changed, NULL), 0);
}

static void
close_scout(void)
{
	disk_watch_stop(watch);
	disk_watch_clear(&list);
	scratch_remove(&scratch);
}

/* Until it tells of something new; it is woken, so that nobody waits for its
 * seconds. */
static void
news(void)
{
	disk_watch_clear(&list);
	while (!disk_watch_take(watch, &list)) {
		worker_poke(watch->worker);
		sched_yield();
	}
}

START_TEST(folders_come_and_go)
{
	const char *path;

	scratch_make(&scratch);
	path = scratch_path(&scratch, "later");
	open_scout(path, NULL);
	news();
	ck_assert_uint_eq(list.n, 1);
	ck_assert_str_eq(list.disk[0].path, path);
	ck_assert(!list.disk[0].there);
	ck_assert(!list.disk[0].mount);

	ck_assert_int_eq(mkdir(path, 0755), 0);
	news();
	ck_assert(list.disk[0].there);
	ck_assert_uint_ne(list.disk[0].id.device, 0);

	ck_assert_int_eq(rmdir(path), 0);
	news();
	ck_assert(!list.disk[0].there);
	ck_assert_uint_eq(atomic_load(&changes), 3);
	close_scout();
}
END_TEST

/* What a wildcard finds counts only where it is mounted; and each path once,
 * whoever names it. */
START_TEST(what_is_told)
{
	char pattern[512];

	scratch_make(&scratch);
	snprintf(pattern, sizeof pattern, "%s/*", scratch.path);
	ck_assert_int_eq(mkdir(scratch_path(&scratch, "a"), 0755), 0);
	ck_assert_int_eq(mkdir(scratch_path(&scratch, "b"), 0755), 0);
	open_scout(pattern, "/proc///");
	news();
	ck_assert_uint_eq(list.n, 1);
	ck_assert_str_eq(list.disk[0].path, "/proc");
	ck_assert(list.disk[0].there);

	disk_watch_add(watch, scratch_path(&scratch, "b"));
	disk_watch_add(watch, scratch_path(&scratch, "b"));
	disk_watch_add(watch, "/proc");
	news();
	ck_assert_uint_eq(list.n, 2);
	ck_assert_str_eq(list.disk[1].path, scratch_path(&scratch, "b"));
	close_scout();
}
END_TEST

/* /proc is a mount point on every machine. */
START_TEST(mount_points_are_told)
{
	bool proc = false;

	scratch_make(&scratch);
	open_scout("/*", NULL);
	news();
	for (unsigned i = 0; i < list.n; i++) {
		ck_assert(list.disk[i].mount);
		ck_assert(list.disk[i].there);
		proc |= !strcmp(list.disk[i].path, "/proc");
	}
	ck_assert(proc);
	close_scout();
}
END_TEST

START_TEST(nothing_new_is_not_told)
{
	scratch_make(&scratch);
	open_scout(scratch.path, NULL);
	news();
	for (int i = 0; i < 100; i++) {
		worker_poke(watch->worker);
		sched_yield();
	}
	ck_assert_uint_eq(atomic_load(&changes), 1);
	ck_assert(!disk_watch_take(watch, &list));
	close_scout();
}
END_TEST

/* Each was told before the other came; the first in the list stays. */
START_TEST(one_folder_by_two_names)
{
	const char *a, *b;

	scratch_make(&scratch);
	a = scratch_path(&scratch, "a");
	b = scratch_path(&scratch, "b");
	open_scout(a, b);
	news();
	ck_assert_int_eq(mkdir(b, 0755), 0);
	news();
	ck_assert(!list.disk[0].there);
	ck_assert(list.disk[1].there);
	ck_assert_int_eq(symlink("b", a), 0);
	news();
	ck_assert_uint_eq(list.n, 2);
	ck_assert(list.disk[0].there);
	ck_assert(!list.disk[1].there);
	ck_assert(list.disk[1].twin);
	ck_assert_int_eq(unlink(a), 0);
	news();
	ck_assert(!list.disk[0].there);
	ck_assert(list.disk[1].there);
	ck_assert(!list.disk[1].twin);
	close_scout();
}
END_TEST

SUITE_THREADS("disk_watch", NULL, folders_come_and_go, one_folder_by_two_names,
	      what_is_told, mount_points_are_told, nothing_new_is_not_told)
