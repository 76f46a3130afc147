/* SPDX-License-Identifier: MIT */
#ifndef SPATE_TESTS_SCRATCH_H
#define SPATE_TESTS_SCRATCH_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/suite.h"

/* A scratch is a folder of a test's own, gone when the test is done. */
struct scratch {
	char path[64];
};

void scratch_make(struct scratch *s);
void scratch_remove(struct scratch *s);

/* "<scratch>/<name>", good until the next call but three. */
const char *scratch_path(const struct scratch *s, const char *name);

#endif
