/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CLI_EXPORT_MAP_H
#define SPATE_CLI_EXPORT_MAP_H

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

#include "store/read/cube.h"

/*
 * A presence map tells which items of an exported cube file are data.  It is
 * one JSON object:
 *
 *   {"missing":[
 *    {"channel":3,"times":[2,5]},
 *    {"channel":1,"times":[7,7],"bytes":[[1432,2864]]},
 *    {"channel":2,"times":[8,8],"unknown":true}],
 *    "spate":1,"recording":NAME,"file":FILE,"times":[2,9],"channels":[0,3],
 *    "item_bytes":4465152,"whole":26,"part":2,"absent":4}
 *
 * An entry without "bytes" lacks the whole item; "bytes" lists offsets and
 * lengths within the item; "unknown" means that something is missing and it is
 * not known what.  Items that are not listed are complete.
 */
struct export_map {
	unsigned first, channels;
	uint64_t item_bytes;

	/* Used by the functions below; the counts may be read. */
	FILE *to;
	/*
	 * for each channel: the first time of the present stretch of absent
	 * items
	 */
	uint64_t *since;
	const char *between;
	uint64_t whole, part, absent; /* counts of items */
};

/*
 * Begins a map; the fields down to item_bytes must be set.  The descriptor
 * stays the caller's.  Returns 0 or -ENOMEM.
 */
int map_begin(struct export_map *m, int fd);

/*
 * Notes an absent item. map_absent() and map_item() are called once for each
 * item, for each channel in order of time.
 */
void map_absent(struct export_map *m, unsigned channel, uint64_t time);
/* Notes an item that is there; `lacking` bytes at its end could not be read. */
void map_item(struct export_map *m, unsigned channel, uint64_t time,
	      const struct cube_item *item, uint64_t lacking);

/*
 * Ends the map, with `last` as its last time.  Adds the keys of `head`, and
 * takes it over.  Returns 0 or -errno.
 */
int map_end(struct export_map *m, uint64_t last, json_t *head);

/* Closes an unfinished map and frees its memory. */
void map_drop(struct export_map *m);

#endif
