/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_SESSIONS_MAPPING_H
#define SPATE_DAEMON_SESSIONS_MAPPING_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/requests/server.h"

/*
 * A mapping is a recording that is read while it is made, by clients who look
 * into its memory (flow/memory/map.h).  It has a tap as long as somebody asks for it:
 *
 *   mapping_ask --> MAPPED --> nobody asked for MAPPING_PATIENCE, or all who
 *                    ^  |      did have gone, or the recording has ended
 *                    +--+      --> its tap is freed, and it is gone
 *                mapping_ask
 *
 * The event loop's thread.
 */
struct daemon;
struct output;
struct stock;
struct mapping;

#define MAPPING_PATIENCE INT64_C(10000000000)

/* All of them; where memory cannot be shared there is no map, and they are
 * without taps. */
struct mappings {
	struct map *map;
	struct mapping *list;
	int64_t stepped; /* steady */
};

/* What is mapped: by this ID, which no other has. */
struct mapping_of {
	unsigned id;
	struct output *output; /* held by the caller, until mapping_end */
	struct stock *stock;
	bool copied; /* its numbers are those of another recorder */
};

/* Without a map there are only durable blocks; that is said in the log. */
void mappings_open(struct daemon *d);
void mappings_close(struct daemon *d);

/* Lets go of what nobody asks for, every second; whenever the loop turns. */
void mappings_step(struct daemon *d, int64_t now);

/* Whoever has this ticket reads it for a while from now on.  0 or -errno. */
int mapping_ask(struct daemon *d, const struct mapping_of *of,
		struct server_ticket ticket, int64_t now);

/* It ends, and its memory is wanted for others; also one that is not mapped. */
void mapping_end(struct daemon *d, unsigned id);

#endif
