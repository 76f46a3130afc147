/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_VERIFY_H
#define SPATE_STORE_VERIFY_H

#include "store/recording.h"

/*
 * Verify holds a recording's chunks against its indexes: every block has its
 * chunk, of the length that the index says, once; no chunk is without a
 * record; numbers are whole; indexes have no torn tail.
 *
 * Each thing found wrong is one call of `found`, with a sentence.  Returns
 * how many there were, or -errno.  `progress` (or NULL) hears of each block.
 */
struct verify_hooks {
	void (*found)(void *arg, const char *sentence);
	void (*progress)(void *arg, size_t done, size_t of);
	void *arg;
};

int verify(struct recording *rec, const struct disks *disks,
	   const struct verify_hooks *hooks);

#endif
