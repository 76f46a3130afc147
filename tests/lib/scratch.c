/* SPDX-License-Identifier: MIT */
#include "lib/scratch.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>

void
scratch_make(struct scratch *s)
{
	snprintf(s->path, sizeof s->path, "/tmp/spate-test-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(s->path));
}

static int
remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
	(void)st;
	(void)kind;
	(void)at;
	return remove(path);
}

void
scratch_remove(struct scratch *s)
{
	ck_assert_int_eq(nftw(s->path, remove_one, 16, FTW_DEPTH | FTW_PHYS),
			 0);
}

const char *
scratch_path(const struct scratch *s, const char *name)
{
	static char path[4][256];
	static unsigned turn;
	char *p = path[turn++ % 4];

	snprintf(p, sizeof path[0], "%s/%s", s->path, name);
	return p;
}
