/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_VERIFY_H
#define SPATE_STORE_VERIFY_H

#include "store/recording.h"

/*
 * Verify holds a recording's chunks against its indexes: every block has its
 * chunk, of the length that the index says, once; no chunk is without a
 * record; numbers are whole; no block begins before the one before it in its
 * substream ends; indexes have no torn tail.  In rows it walks the packets of
 * every heap; of cubes it checks that they are items, and that their holes
 * are on record.
 *
 * Each thing found wrong is one call of `found`, with a sentence.  Returns
 * how many there were, or -errno.  `progress` (or NULL) hears of each block.
 */
struct verify_hooks {
	void (*found)(void *arg, const char *sentence);
	void (*progress)(void *arg, size_t done, size_t of);
	void *arg;
	uint64_t *heaps, *incomplete; /* set to those in rows; or NULL */
};

int verify(struct recording *rec, const struct disks *disks,
	   const struct verify_hooks *hooks);

#endif
