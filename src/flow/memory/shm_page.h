/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_MEMORY_SHM_PAGE_H
#define SPATE_FLOW_MEMORY_SHM_PAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "store/record/block.h"

/*
 * A page publishes which blocks are in the arena to other processes that read a
 * recording while it is made (live readers, such as spatefs).  They map the
 * arena read-only (memfile.h) and find blocks by store/record/shm_blocks.h.
 *
 *   SEALED -- shm_page_show --> shown -- it goes home: shm_page_hide --> FREE
 *
 * A block is shown if a tap of its recording asks for it (tap_show), and stays
 * shown until it returns to its pool, whether or not the tap keeps it.  The
 * recorder never waits for live readers.
 */
struct shm_page;

/* Makes the page for an arena of `bytes`.  Returns 0 or -errno: the page cannot
 * be shared. */
int shm_page_make(struct shm_page **page, const void *arena, uint64_t bytes);

/* Frees the page.  Every block must be back in its pool. */
void shm_page_free(struct shm_page *m);

/* Read-only descriptor of the page, to give to a live reader; the page owns
 * it. */
int shm_page_fd(const struct shm_page *m);
uint64_t shm_page_bytes(const struct shm_page *m);

/* Shows a sealed block that the caller holds; `recording` is the ID by which
 * live readers know its recording, and `r` the block's index record.  Does
 * nothing if the block is shown already, or if no entry is free.  One thread at
 * a time per block. */
struct index_record;
void shm_page_show(struct shm_page *m, uint64_t recording, struct block *b,
		   const struct index_record *r);

/* Hides a block; a reader that copies it just now notices afterwards.  The last
 * holder calls it, before the block returns to its pool. */
void shm_page_hide(struct block *b);

#endif
