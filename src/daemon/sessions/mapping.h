/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_SESSIONS_MAPPING_H
#define SPATE_DAEMON_SESSIONS_MAPPING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "daemon/loop/server.h"

/*
 * A mapping is a recording being made that clients on this machine read from
 * shared memory (flow/memory/map.h), such as a mount.  It has a tap (a reader's
 * window on the recording's blocks) as long as clients ask for it:
 *
 *   mapping_ask --> MAPPED --> no client asked for MAPPING_PATIENCE, all
 *                    ^  |      clients left, or the recording has ended
 *                    +--+      --> the tap is freed, the mapping removed
 *                mapping_ask
 *
 * The event loop's thread.
 */
struct recorder;
struct output;
struct block_pool;
struct mapping;

#define MAPPING_PATIENCE (10 * NS_SECOND)

/* All mappings.  If memory cannot be shared, `map` is NULL and mappings have no
 * taps. */
struct mappings {
	struct map *map;
	struct mapping *list;
	int64_t stepped; /* ns, steady */
};

/* The recording to map; `id` is unique. */
struct mapping_of {
	unsigned id;
	struct output *output; /* the caller holds it until mapping_end */
	struct block_pool *pool;
	bool copied; /* an incoming copy: packet numbers are the sender's */
};

/* Makes the shared page.  Without it clients see only durable blocks, and a
 * warning is logged. */
void mappings_open(struct recorder *r);
/* Removes all mappings; the map itself stays until daemon_finish. */
void mappings_close(struct recorder *r);

/* Removes mappings without clients, once a second.  The event loop calls it
 * every turn. */
void mappings_step(struct recorder *r, int64_t now);

/* Maps the recording for this client for MAPPING_PATIENCE.  Returns 0 or
 * -errno. */
int mapping_ask(struct recorder *r, const struct mapping_of *of,
		struct server_ticket ticket, int64_t now);

/* Removes the mapping of a recording that ends, because its memory is needed;
 * does nothing if it is not mapped. */
void mapping_end(struct recorder *r, unsigned id);

#endif
