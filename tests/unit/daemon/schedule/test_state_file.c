/* SPDX-License-Identifier: MIT */
/* A file that is whole at any time, on a disk that fails at times. */
#include <string.h>

#include "daemon/schedule/state_file.c"
#include "lib/scratch.h"
#include "lib/suite.h"

static char got[1 << 20];

static const char *
file_text(const char *path)
{
	int fd = open(path, O_RDONLY);
	ssize_t n = fd < 0 ? 0 : read(fd, got, sizeof got - 1);

	if (fd >= 0)
		close(fd);
	got[n] = 0;
	return fd < 0 ? NULL : got;
}

/* Only whole ones are ever there, and the last one in the end. */
START_TEST(test_last)
{
	struct scratch dir;
	struct state_file *s;
	char text[64], folder[128];

	scratch_make(&dir);
	snprintf(folder, sizeof folder, "%s/made", dir.path);
	ck_assert_int_eq(state_file_start(&s, folder, "x"), 0);
	for (unsigned i = 0; i < 2000; i++) {
		char *all = malloc(10010);
		const char *is;

		memset(all, 'a' + (int)(i % 26), 10000);
		snprintf(all + 10000, 10, "%u", i);
		state_file_write(s, all);
		is = file_text(scratch_path(&dir, "made/x"));
		if (!is)
			continue;
		ck_assert_uint_gt(strlen(is), 10000);
		ck_assert_uint_eq(strspn(is, (char[2]){ is[0], 0 }), 10000);
	}
	ck_assert(state_file_stop(s));
	snprintf(text, sizeof text, "%d", 1999);
	ck_assert_str_eq(file_text(scratch_path(&dir, "made/x")) + 10000, text);
	ck_assert_ptr_null(file_text(scratch_path(&dir, "made/x.new")));
	scratch_remove(&dir);
}
END_TEST

/* Where a file is in the place of its folder it cannot; then it can. */
START_TEST(test_again)
{
	struct scratch dir;
	struct state_file *s;
	char folder[128];

	scratch_make(&dir);
	snprintf(folder, sizeof folder, "%s/made", dir.path);
	close(open(folder, O_WRONLY | O_CREAT, 0644));
	ck_assert_int_eq(state_file_start(&s, folder, "x"), 0);
	state_file_write(s, strdup("one"));
	state_file_write(s, NULL);
	usleep(100000);
	ck_assert_int_eq(unlink(folder), 0);
	state_file_write(s, strdup("two"));
	ck_assert(state_file_stop(s));
	ck_assert_str_eq(file_text(scratch_path(&dir, "made/x")), "two");

	/* It does not wait at the end for what cannot be. */
	ck_assert_int_eq(state_file_start(&s, "/dev/null/x", "x"), 0);
	state_file_write(s, strdup("three"));
	ck_assert(state_file_stop(s));
	ck_assert(state_file_stop(NULL));
	scratch_remove(&dir);
}
END_TEST

/* At the end a text is tried once more that waits for its next turn. */
START_TEST(test_end)
{
	struct scratch dir;
	struct state_file *s;
	char folder[128];

	scratch_make(&dir);
	snprintf(folder, sizeof folder, "%s/made", dir.path);
	close(open(folder, O_WRONLY | O_CREAT, 0644));
	ck_assert_int_eq(state_file_start(&s, folder, "x"), 0);
	state_file_write(s, strdup("one"));
	usleep(100000);
	ck_assert_int_eq(unlink(folder), 0);
	ck_assert(state_file_stop(s));
	ck_assert_str_eq(file_text(scratch_path(&dir, "made/x")), "one");
	scratch_remove(&dir);
}
END_TEST

SUITE_THREADS("state_file", NULL, test_last, test_again, test_end)
