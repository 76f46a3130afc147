/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_MEMORY_HOT_PAGES_H
#define SPATE_FLOW_MEMORY_HOT_PAGES_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Hot pages: the code that runs for every packet, the stacks of the threads
 * that run it, and the memory for packets.  Where they are locked, no other
 * program's hunger for memory can make a receiver wait for a disk.
 */

/* Locks the code of this program, of its libraries and of plugins that are
 * loaded, in pages as they are used.  Where that is refused, a line of the log
 * says so once, unless `told`: then one has named the limit already. */
void hot_pages_lock_code(bool told);

/* Writes a zero to the beginning of each page, so that the kernel gives it
 * memory. */
void hot_pages_touch(void *at, uint64_t bytes);

/* Locks the upper part of the calling thread's stack, which is all that a
 * receiver uses.  Returns 0 or -errno. */
int hot_pages_lock_stack(void);

#endif
