/* SPDX-License-Identifier: MIT */
#ifndef SPATE_TESTS_SUITE_H
#define SPATE_TESTS_SUITE_H

#include <check.h>
#include <stdbool.h>
#include <stdlib.h>

/*
 * Check notes each assertion that holds in a file, so that it can tell behind
 * which one a test crashed: that was most of the time of tests with loops.
 * With a sanitizer, what crashes tells more.
 */
#define _mark_point(file, line) ((void)0)

/* Sanitizers make some tests ten times slower: those do less where it is set,
 * unless there is time. */
#ifndef __has_feature
#define __has_feature(feature) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) ||           \
    __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif

/* How often a test tries more of the same, as another seed of a storm: few times
 * with a sanitizer, unless scripts/test has --long. */
static inline unsigned
suite_times(unsigned few, unsigned most)
{
	return SANITIZED && !getenv("SPATE_LONG") ? few : most;
}

/*
 * A suite of one source file.  can, where there is one, returns NULL, or why
 * the suite cannot run on this machine.
 */
struct suite {
	const char *name;
	const TTest *const *tests;
	size_t n;
	bool threads; /* it may start them */
	const char *(*can)(void);
	struct suite *next;
};

/* Adds s to what main() of tests/lib/suite.c runs. */
void suite_add(struct suite *s);

extern bool suite_threads; /* a suite that runs may start them */

/*
 * SUITE(name, test_a, test_b, ...) makes a suite with one case of START_TEST
 * functions: name is that of the file, test_NAME.c.  CK_FORK=no eases
 * debugging.
 *
 * SUITE_THREADS is for a file whose tests start threads, themselves or through
 * what they call: scripts/test gives these alone to the thread sanitizer, and
 * in any other suite pthread_create() aborts, so that none is forgotten.  Its
 * can is NULL for a suite that runs on every machine.
 */
#define SUITE(name, ...) SUITE_OF_FILE(name, false, NULL, __VA_ARGS__)
#define SUITE_THREADS(name, can, ...)                                          \
	SUITE_OF_FILE(name, true, can, __VA_ARGS__)
#define SUITE_OF_FILE(name, threads, can, ...)                                 \
	__attribute__((constructor)) static void suite_of_file(void)           \
	{                                                                      \
		const TTest *const suite_all[] = { __VA_ARGS__ };              \
		static const TTest *suite_tests[64];                           \
		static struct suite suite_this = {                             \
			name, suite_tests, 0, threads, can, NULL               \
		};                                                             \
                                                                               \
		_Static_assert(sizeof suite_all <= sizeof suite_tests,         \
			       "too many tests");                              \
		for (size_t suite_i = 0;                                       \
		     suite_i < sizeof suite_all / sizeof *suite_all;           \
		     suite_i++)                                                \
			suite_tests[suite_i] = suite_all[suite_i];             \
		suite_this.n = sizeof suite_all / sizeof *suite_all;           \
		suite_add(&suite_this);                                        \
	}

#endif
