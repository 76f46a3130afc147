/* SPDX-License-Identifier: MIT */
#ifndef SPATE_TESTS_CONTRACT_FORMATS_H
#define SPATE_TESTS_CONTRACT_FORMATS_H

#include <dlfcn.h>
#include <glob.h>
#include <stdio.h>

#include "contract/format.h"
#include "lib/suite.h"

/* Calls back with every plugin in the folders of $SPATE_PLUGINS. */
static inline void
each_format(void (*check)(const struct format_ops *ops, const char *file))
{
	const char *folder = getenv("SPATE_PLUGINS");
	char pattern[4096];
	glob_t found;

	ck_assert_msg(folder, "SPATE_PLUGINS is not set");
	snprintf(pattern, sizeof pattern, "%s/format-*.so", folder);
	ck_assert_int_eq(glob(pattern, 0, NULL, &found), 0);
	for (size_t i = 0; i < found.gl_pathc; i++) {
		void *object = dlopen(found.gl_pathv[i], RTLD_NOW);

		ck_assert_msg(object, "%s", dlerror());
		check(dlsym(object, "spate_format"), found.gl_pathv[i]);
	}
	globfree(&found);
}

#endif
