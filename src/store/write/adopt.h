/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_WRITE_ADOPT_H
#define SPATE_STORE_WRITE_ADOPT_H

#include <stddef.h>
#include <stdint.h>

#include "store/record/index.h"
#include "store/disk/layout_map.h"

/*
 * To adopt is to give those blocks of a disk their records that a crash cut
 * short: they are whole, the metadata says all about them, and the round that
 * would have put them in the index never came.  No byte of theirs is read.
 *
 * What was on its way to the disk is not whole, and is left: recover can make
 * something of it.
 */
struct adopt_args {
	int dir; /* the recording's folder */
	const struct layout_map *map;
	const char *text; /* the metadata */
	size_t bytes;
	const struct index_record *record; /* that the index has */
	size_t records;
	uint64_t below; /* numbers from here on are somebody else's */
};

struct adopted {
	struct index_record *record; /* malloc'ed; gaps too, to be appended in
					this order */
	size_t n;
	uint64_t next; /* above all numbers that it or the metadata tell of */
	uint64_t
	    torn; /* the first that was begun and is not whole; else next */
};

/* 0 or -ENOMEM. */
int adopt_find(const struct adopt_args *args, struct adopted *adopted);
void adopt_clear(struct adopted *adopted);

#endif
