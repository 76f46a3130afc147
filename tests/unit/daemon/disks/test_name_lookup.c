/* SPDX-License-Identifier: MIT */
/* Where a name is, also beside a disk that does not answer. */
#include <semaphore.h>
#include <unistd.h>

static int lookup_access(const char *path, int mode);

#define access lookup_access
#include "daemon/disks/name_lookup.c"
#undef access

#include "lib/suite.h"

static sem_t held, go;

/* There are r1 in the layout vbs on /a, r2 in that of Mark6 on /b; /hung does
 * not answer before it is told to. */
static int
lookup_access(const char *path, int mode)
{
	ck_assert_int_eq(mode, F_OK);
	if (!strncmp(path, "/hung/", 6)) {
		sem_post(&held);
		sem_wait(&go);
		return -1;
	}
	return strcmp(path, "/a/r1") && strcmp(path, "/b/r2.spate") ? -1 : 0;
}

START_TEST(test_where)
{
	const struct name_lookup_disks disks = { .path = { "/a", "/b" },
						 .n = 2 };
	bool has[DISK_SET_MOST];
	struct name_lookup *s;

	ck_assert_int_eq(name_lookup_start(&s), 0);
	ck_assert_uint_eq(name_lookup_find(s, &disks, "r1", has), 2);
	ck_assert(has[0] && !has[1]);
	ck_assert_uint_eq(name_lookup_find(s, &disks, "r2", has), 2);
	ck_assert(!has[0] && has[1]);
	ck_assert_uint_eq(name_lookup_find(s, &disks, "r3", has), 2);
	ck_assert(!has[0] && !has[1]);
	name_lookup_stop(s);
}
END_TEST

START_TEST(test_hung)
{
	const struct name_lookup_disks disks = {
		.path = { "/a", "/hung", "/b" }, .n = 3
	};
	const struct name_lookup_disks good = { .path = { "/a" }, .n = 1 };
	bool has[DISK_SET_MOST];
	unsigned n = 0;
	struct name_lookup *s;

	sem_init(&held, 0, 0);
	sem_init(&go, 0, 0);
	ck_assert_int_eq(name_lookup_start(&s), 0);
	ck_assert_uint_eq(name_lookup_find(s, &disks, "r1", has), 1);
	ck_assert(has[0]);
	sem_wait(&held); /* it was asked, and came back without */
	/* Others are asked meanwhile, and it is not asked twice. */
	for (unsigned i = 0; i < 100; i++) {
		ck_assert_uint_eq(name_lookup_find(s, &good, "r1", has), 1);
		ck_assert(has[0]);
		ck_assert_uint_eq(name_lookup_find(s, &disks, "r1", has), 1);
	}
	ck_assert_int_lt(sem_trywait(&held), 0);
	for (int i = 0; i < LAYOUTS; i++)
		sem_post(&go);
	while (n != 3) {
		for (int i = 0; i < LAYOUTS; i++)
			sem_post(&go);
		n = name_lookup_find(s, &disks, "r1", has);
		usleep(1000);
	}
	ck_assert(has[0] && !has[1]);
	name_lookup_stop(s);
}
END_TEST

/* As many disks hang as there are threads: others are not asked any more, until
 * one answers. */
START_TEST(test_many_hang)
{
	struct name_lookup_disks disks = { .n = 1 };
	const struct name_lookup_disks good = { .path = { "/a" }, .n = 1 };
	bool has[DISK_SET_MOST];
	char path[20];
	unsigned n = 0;
	struct name_lookup *s;

	sem_init(&held, 0, 0);
	sem_init(&go, 0, 0);
	disks.path[0] = path;
	ck_assert_int_eq(name_lookup_start(&s), 0);
	for (unsigned i = 0; i < LOOKERS; i++) {
		snprintf(path, sizeof path, "/hung/%u", i);
		ck_assert_uint_eq(name_lookup_find(s, &disks, "r1", has), 0);
		sem_wait(&held);
	}
	ck_assert_uint_eq(name_lookup_find(s, &good, "r1", has), 0);
	for (int i = 0; i < LAYOUTS * LOOKERS; i++)
		sem_post(&go);
	while (!n) {
		n = name_lookup_find(s, &good, "r1", has);
		usleep(1000);
	}
	ck_assert(has[0]);
	name_lookup_stop(s);
}
END_TEST

/* Also one that is not there answers. */
START_TEST(test_folder)
{
	struct disk_looked found;
	struct name_lookup *s;

	ck_assert_int_eq(name_lookup_start(&s), 0);
	ck_assert(name_lookup_answers(s, "/"));
	ck_assert(name_lookup_answers(s, "/there/is/none"));
	/* What it said is known without asking it again. */
	ck_assert(name_lookup_remote(s, "none://there", &found));
	ck_assert_int_lt(found.err, 0);
	name_lookup_stop(s);
}
END_TEST

START_TEST(test_end)
{
	const struct name_lookup_disks disks = { .path = { "/hung" }, .n = 1 };
	bool has[DISK_SET_MOST];
	struct name_lookup *s;

	sem_init(&held, 0, 0);
	sem_init(&go, 0, 0);
	ck_assert_int_eq(name_lookup_start(&s), 0);
	ck_assert_uint_eq(name_lookup_find(s, &disks, "r1", has), 0);
	name_lookup_stop(s); /* it is left behind, as its disk is */
}
END_TEST

SUITE_THREADS("name_lookup", NULL, test_where, test_hung, test_many_hang,
	      test_folder, test_end)
