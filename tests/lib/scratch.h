/* SPDX-License-Identifier: MIT */
#ifndef SPATE_TESTS_SCRATCH_H
#define SPATE_TESTS_SCRATCH_H

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/suite.h"

/* A scratch is a folder of a test's own, gone when the test is done. */
struct scratch {
	char path[64];
};

static inline void
scratch_make(struct scratch *s)
{
	snprintf(s->path, sizeof s->path, "/tmp/spate-test-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(s->path));
}

static inline int
scratch_remove_one(const char *path, const struct stat *st, int kind,
		   struct FTW *at)
{
	(void)st;
	(void)kind;
	(void)at;
	return remove(path);
}

static inline void
scratch_remove(struct scratch *s)
{
	ck_assert_int_eq(
	    nftw(s->path, scratch_remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
}

/* "<scratch>/<name>", good until the next call but three. */
static inline const char *
scratch_path(const struct scratch *s, const char *name)
{
	static char path[4][256];
	static unsigned turn;
	char *p = path[turn++ % 4];

	snprintf(p, sizeof path[0], "%s/%s", s->path, name);
	return p;
}

#endif
