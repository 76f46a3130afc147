/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_WRITE_TELLING_H
#define SPATE_STORE_WRITE_TELLING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/recording/recording.h"

/*
 * A telling is what the metadata of a recording says of each of its blocks, to
 * the letter: the lines that a copy of it needs, on whichever disk it puts the
 * block.  Those are of its holes, and of descriptors and control heaps that
 * were first seen in it.
 *
 * Which block the latter are of is told by the line that says that the block
 * was written, behind them.  Lines are found by place, and read when they are
 * asked for.  One thread, that of the recording.
 */
struct telling;

/* `rec` outlives it.  0 or -errno. */
int telling_make(struct telling **telling, struct recording *rec);
void telling_free(struct telling *t); /* NULL: nothing */

/* What was added, after recording_refresh().  0 or -errno. */
int telling_refresh(struct telling *t);

struct telling_block {
	uint64_t base;	    /* absolute sequence of its run's slot 0 */
	int64_t arrival_ns; /* of the first packet of its run; 0: unknown */
	uint32_t gap;	    /* slots before it without a packet */
	char *lines;	    /* malloc'ed; NULL: none */
	size_t bytes;	    /* of them, with newlines */
};

/* Of a block that the recording has.  0 or -errno. */
int telling_block(struct telling *t, const struct index_record *r,
		  struct telling_block *b);

/*
 * How it ends: false where it has no end record.  *lines, malloc'ed, is what
 * each disk says besides: who went on with it, and its last line; NULL without
 * memory.
 */
bool telling_end(const struct telling *t, struct index_record *end,
		 char **lines);

#endif
