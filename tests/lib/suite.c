/* SPDX-License-Identifier: MIT */
/*
 * main() of every unit and contract test: runs the suites of all files that
 * are linked, or with CK_RUN_SUITE the one of that name; CK_RUN_CASE and
 * CK_FORK are Check's own.  Ends with 77 where nothing of it can run here.
 */
#include "lib/suite.h"

#include <stdio.h>
#include <string.h>

static struct suite *first;
bool suite_threads;

void
suite_add(struct suite *s)
{
	s->next = first;
	first = s;
}

static Suite *
suite_make(const struct suite *s)
{
	Suite *suite = suite_create(s->name);
	TCase *tcase = tcase_create(s->name);

	tcase_set_timeout(tcase, 120);
	for (size_t i = 0; i < s->n; i++)
		tcase_add_test(tcase, s->tests[i]);
	suite_add_tcase(suite, tcase);
	return suite;
}

int
main(void)
{
	const char *only = getenv("CK_RUN_SUITE");
	SRunner *runner = srunner_create(NULL);
	unsigned run = 0, skipped = 0;
	int failed;

	for (struct suite *s = first; s; s = s->next) {
		const char *why = NULL;

		if (only && strcmp(only, s->name))
			continue;
		if (s->can)
			why = s->can();
		if (why) {
			printf("SKIP: %s: %s\n", s->name, why);
			skipped++;
			continue;
		}
		suite_threads = suite_threads || s->threads;
		srunner_add_suite(runner, suite_make(s));
		run++;
	}
	if (run)
		srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	if (!run && !skipped)
		printf("no suite is named %s\n", only ? only : "anything");
	return run ? failed > 0 : skipped ? 77 : 1;
}
