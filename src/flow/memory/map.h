/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_MEMORY_MAP_H
#define SPATE_FLOW_MEMORY_MAP_H

#include <stdbool.h>
#include <stdint.h>

#include "contract/block.h"

/*
 * A map shows which blocks are in the arena to others, who have that memory to
 * read (memfile.h): what they see is store/record/map_page.h.
 *
 *   SEALED ---- map_show ----> shown ---- it goes home: map_hide ----> FREE
 *
 * A block is shown if a tap of its recording says so (tap_show), and then until
 * it goes home, be it that the tap keeps it longer or not at all.  Nobody waits
 * for those who look.
 */
struct map;

/* Of this arena.  0, or -errno: its page cannot be shared. */
int map_make(struct map **map, const void *arena, uint64_t bytes);

/* Every block is home. */
void map_free(struct map *m);

/* The page for others, who can only read it; the map's. */
int map_fd(const struct map *m);
uint64_t map_bytes(const struct map *m);

/* A sealed block that the caller holds, of the recording that others know by
 * this ID.  Not again one that is shown; not where there is no entry for it.
 * One thread at a time for a block. */
void map_show(struct map *m, uint64_t recording, struct block *b);

/* Nobody sees it any more, and who copies just now will find out.  Its last
 * holder; before it is anybody else's. */
void map_hide(struct block *b);

#endif
