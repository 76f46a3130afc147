/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_FINISH_INDEX_ORPHANS_H
#define SPATE_STORE_FINISH_INDEX_ORPHANS_H

#include <stddef.h>
#include <stdint.h>

#include "store/record/index.h"
#include "store/disk/layout.h"

/*
 * Finds blocks that lost their index records in a crash: the data is whole and
 * the metadata describes it, but the sync round that would have added it to the
 * index did not happen.  To adopt a block is to give it its record.  No data is
 * read.  A block that was still being written is not whole and is left alone;
 * `spate recover` may make something of it.
 */
struct index_orphans_args {
	int dir; /* the recording's folder */
	const struct layout_plan *plan;
	const char *text; /* the metadata, its lines */
	size_t bytes;
	const struct index_record *record; /* records that the index has */
	size_t records;
	uint64_t below; /* blocks with this number or above are not adopted */
};

struct index_orphans {
	struct index_record *record; /* malloc'ed; gaps too, to be appended in
					this order */
	size_t n;
	uint64_t next; /* above every number in the index or the metadata */
	uint64_t
	    torn; /* number of the first block that was begun but is not whole;
		     else next */
};

/* Finds the blocks to adopt; the caller ends with index_orphans_clear().
 * Returns 0 or -ENOMEM. */
int index_orphans_find(const struct index_orphans_args *args,
		       struct index_orphans *orphans);
void index_orphans_clear(struct index_orphans *orphans);

#endif
