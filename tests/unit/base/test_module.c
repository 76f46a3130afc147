/* SPDX-License-Identifier: MIT */
/* Loads the plugins of tests/unit/modules, most of them broken on purpose. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/module.h"
#include "lib/suite.h"

#define FOLDER "tests/unit/modules/.libs" /* in the build tree */

static struct fault fault;

static void
use_test_plugins(void)
{
	const char *build = getenv("top_builddir");

	ck_assert_int_eq(chdir(build ? build : "."), 0);
	setenv("SPATE_PLUGINS", FOLDER, 1);
	memset(&fault, 0, sizeof fault);
}

static void
check_refused(const char *name, const char *why)
{
	const struct write_ops *ops = NULL;
	char what[128];

	use_test_plugins();
	ck_assert_int_eq(module_write(name, &ops, &fault), -EINVAL);
	ck_assert_ptr_null(ops);
	ck_assert_str_eq(fault.code, "conf");
	snprintf(what, sizeof what, "cannot use the plugin %s/write-%s.so",
		 FOLDER, name);
	ck_assert_str_eq(fault.what, what);
	ck_assert_str_eq(fault.why, why);
}

START_TEST(a_good_one)
{
	const struct write_ops *ops, *again;
	int err;

	use_test_plugins();
	err = module_write("whole", &ops, &fault);
	ck_assert_msg(err == 0, "%s: %s", fault.what, fault.why);
	ck_assert_ptr_null(fault.code);
	ck_assert_str_eq(ops->head.name, "whole");
	ck_assert_uint_eq(ops->head.flags, WRITE_NOTHING);
	ck_assert_str_eq(ops->head.options[0].name, "depth");
	ck_assert_ptr_nonnull(ops->open);
	ck_assert_ptr_nonnull(ops->close);
	ck_assert_ptr_null(ops->reap);
	ck_assert_ptr_null(ops->finish);
	/* Loaded once: it stays even when its folder is gone. */
	setenv("SPATE_PLUGINS", "/nonexistent", 1);
	ck_assert_int_eq(module_write("whole", &again, &fault), 0);
	ck_assert_ptr_eq(ops, again);
}
END_TEST

START_TEST(broken_ones)
{
	check_refused("old", "it has ABI number 2, and this is 1");
	check_refused("tiny", "it declares 8 bytes, less than its head");
	check_refused("alias", "it calls itself 'other'");
	check_refused("mute", "it exports no spate_write");
	check_refused("stray", "its option far is outside of the 8 bytes of "
			       "its options");
}
END_TEST

START_TEST(missing_callbacks)
{
	const struct receive_ops *receive;
	const struct format_ops *format;

	check_refused("bare", "it lacks what every write plugin must have: "
			      "open, close");
	ck_assert_int_eq(module_receive("none", &receive, &fault), -EINVAL);
	ck_assert_str_eq(fault.why, "it lacks what every receive plugin must "
				    "have: open, sources, fd, receive, counts, "
				    "close");
	ck_assert_int_eq(module_format("none", &format, &fault), -EINVAL);
	ck_assert_str_eq(fault.why, "it lacks what every format plugin must "
				    "have: shape, extension, parse, stamp");
}
END_TEST

/* What lies behind the declared struct is not the plugin's callback. */
START_TEST(a_smaller_struct)
{
	check_refused("short", "it lacks what every write plugin must have: "
			       "close");
}
END_TEST

START_TEST(not_there)
{
	const struct write_ops *ops;

	use_test_plugins();
	ck_assert_int_eq(module_write("hole", &ops, &fault), -ENOENT);
	ck_assert_str_eq(fault.code, "not-found");
	ck_assert_str_eq(fault.what, "there is no write plugin 'hole'");
	ck_assert_str_eq(fault.why, "looked in " FOLDER);
	ck_assert_str_eq(fault.hint, "there are alias, bare, mute, old, short, "
				     "stray, tiny, whole");
	/* Of another kind, and names that would lead elsewhere. */
	ck_assert_int_eq(module_write("none", &ops, &fault), -ENOENT);
	ck_assert_int_eq(module_write("", &ops, &fault), -ENOENT);
	ck_assert_int_eq(module_write("x/../../write-whole", &ops, &fault),
			 -ENOENT);
}
END_TEST

START_TEST(several_folders)
{
	const struct write_ops *ops;

	use_test_plugins();
	setenv("SPATE_PLUGINS", "/nonexistent::" FOLDER, 1);
	ck_assert_int_eq(module_write("whole", &ops, &fault), 0);
	setenv("SPATE_PLUGINS", "", 1);
	ck_assert_int_eq(module_write("bare", &ops, &fault), -ENOENT);
	ck_assert_str_eq(fault.hint, "name the folder of the plugins in "
				     "SPATE_PLUGINS");
}
END_TEST

START_TEST(no_library_at_all)
{
	char place[] = "/tmp/test_module.XXXXXX";
	char path[64];
	const struct write_ops *ops;
	FILE *file;

	ck_assert_ptr_nonnull(mkdtemp(place));
	snprintf(path, sizeof path, "%s/write-text.so", place);
	file = fopen(path, "w");
	fputs("this is no library", file);
	fclose(file);
	setenv("SPATE_PLUGINS", place, 1);
	ck_assert_int_eq(module_write("text", &ops, &fault), -EINVAL);
	ck_assert_str_eq(fault.code, "conf");
	ck_assert_str_ne(fault.why, "");
	unlink(path);
	rmdir(place);
}
END_TEST

/* Unset, the plugins of this build tree are found from where we run. */
START_TEST(of_the_build_tree)
{
	const struct write_ops *ops;

	unsetenv("SPATE_PLUGINS");
	ck_assert_int_eq(module_write("hole", &ops, &fault), -ENOENT);
	ck_assert_ptr_nonnull(
	    strstr(fault.why, "/tests/unit/../../plugins/.libs"));
}
END_TEST

static void *
load_whole(void *arg)
{
	const struct write_ops *ops = NULL;
	struct fault f;

	(void)arg;
	return module_write("whole", &ops, &f) ? NULL : (void *)ops;
}

START_TEST(by_many_threads)
{
	pthread_t thread[8];
	void *ops, *first = NULL;

	use_test_plugins();
	for (int i = 0; i < 8; i++)
		pthread_create(&thread[i], NULL, load_whole, NULL);
	for (int i = 0; i < 8; i++) {
		pthread_join(thread[i], &ops);
		ck_assert_ptr_nonnull(ops);
		ck_assert_ptr_eq(ops, first ? first : ops);
		first = ops;
	}
}
END_TEST

SUITE_THREADS("module", NULL, a_good_one, broken_ones, missing_callbacks,
	      a_smaller_struct, not_there, several_folders, no_library_at_all,
	      of_the_build_tree, by_many_threads)
