/* SPDX-License-Identifier: MIT */
#ifndef SPATE_TESTS_SUITE_H
#define SPATE_TESTS_SUITE_H

#include <check.h>
#include <stdlib.h>

/*
 * Check notes each assertion that holds in a file, so that it can tell behind
 * which one a test crashed: that was most of the time of tests with loops.
 * With a sanitizer, what crashes tells more.
 */
#define _mark_point(file, line) ((void)0)

/*
 * SUITE(name, test_a, test_b, ...) is the whole main() of a unit test: one
 * suite with one case of START_TEST functions.  CK_FORK=no eases debugging.
 */
#define SUITE(name, ...)                                                       \
	int main(void)                                                         \
	{                                                                      \
		const TTest *const tests[] = { __VA_ARGS__ };                  \
		Suite *suite = suite_create(name);                             \
		TCase *tcase = tcase_create(name);                             \
		SRunner *runner;                                               \
		int failed;                                                    \
                                                                               \
		tcase_set_timeout(tcase, 120);                                 \
		for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)      \
			tcase_add_test(tcase, tests[i]);                       \
		suite_add_tcase(suite, tcase);                                 \
		runner = srunner_create(suite);                                \
		srunner_run_all(runner, CK_ENV);                               \
		failed = srunner_ntests_failed(runner);                        \
		srunner_free(runner);                                          \
		return failed ? EXIT_FAILURE : EXIT_SUCCESS;                   \
	}

#endif
