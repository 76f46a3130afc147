/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CLI_EXPORT_MAP_H
#define SPATE_CLI_EXPORT_MAP_H

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

#include "store/read/cube.h"

/*
 * A presence map says what of a file of cubes is data.  It is one object of
 * JSON:
 *
 *   {"missing":[
 *    {"channel":3,"times":[2,5]},
 *    {"channel":1,"times":[7,7],"bytes":[[1432,2864]]},
 *    {"channel":2,"times":[8,8],"unknown":true}],
 *    "spate":1,"recording":NAME,"file":FILE,"times":[2,9],"channels":[0,3],
 *    "item_bytes":4465152,"whole":26,"part":2,"absent":4}
 *
 * An entry without "bytes" (of the item: offset and length) lacks its items
 * wholly; with "unknown", something is missing and nobody knows what.  What
 * is named nowhere is there.
 */
struct export_map {
	unsigned first, channels;
	uint64_t item_bytes;

	/* Its own; the counts are for all to read. */
	FILE *to;
	uint64_t *since; /* of each channel: the first time of a stretch of
			    absent items */
	const char *between;
	uint64_t whole, part, absent; /* items */
};

/* With the fields down to item_bytes set; the descriptor stays the caller's.
 * 0 or -ENOMEM. */
int map_begin(struct export_map *m, int fd);

/* For each channel in the order of times, each once. */
void map_absent(struct export_map *m, unsigned channel, uint64_t time);
/* `lacking` bytes at the end of the item could not be read. */
void map_item(struct export_map *m, unsigned channel, uint64_t time,
	      const struct cube_item *item, uint64_t lacking);

/* All up to the last time is told; `head` is taken over.  0 or -errno. */
int map_end(struct export_map *m, uint64_t last, json_t *head);
void map_drop(struct export_map *m);

#endif
