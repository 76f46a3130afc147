/* SPDX-License-Identifier: MIT */
#ifndef SPATE_TESTS_MADE_LIST_H
#define SPATE_TESTS_MADE_LIST_H

#include <fcntl.h>

#include "lib/made.h"

/*
 * Recordings beside MADE_NAME, of empty chunks: `n` records on each of the
 * disks of a mask, with the end that the daemon writes.
 */
void made_put(struct made *m, unsigned disk, const char *name,
	      const char *file);

json_t *made_tail(unsigned chunks, unsigned subs);

enum { MADE_ENDED = 1, MADE_OPEN = 2 /* its folders stay open */ };

void made_other(struct made *m, const char *name, unsigned mask, unsigned n,
		int how);

/* As made_begin, without MADE_NAME. */
void made_bare(struct made *m);

#endif
