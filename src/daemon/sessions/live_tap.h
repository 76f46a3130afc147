/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_SESSIONS_LIVE_TAP_H
#define SPATE_DAEMON_SESSIONS_LIVE_TAP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "daemon/loop/server.h"

/*
 * A live tap shows a recording that is being made to clients on this machine,
 * such as a mount, which read it from shared memory (flow/memory/shm_page.h).
 * It has a tap (a reader's window on the recording's blocks) as long as clients
 * ask for it:
 *
 *   live_tap_ask --> SHOWN --> no client asked for LIVE_TAP_PATIENCE, all
 *                    ^  |      clients left, or the recording has ended
 *                    +--+      --> the tap is freed, the live tap removed
 *                live_tap_ask
 *
 * The event loop's thread.
 */
struct recorder;
struct output;
struct block_pool;
struct live_tap;

#define LIVE_TAP_PATIENCE (10 * NS_SECOND)

/* All live taps.  If memory cannot be shared, `page` is NULL and live taps have
 * no taps. */
struct live_taps {
	struct shm_page *page;
	struct live_tap *list;
	int64_t stepped; /* ns, steady */
};

/* The recording to show; `id` is unique. */
struct live_tap_of {
	unsigned id;
	struct output *output; /* the caller holds it until live_tap_end */
	struct block_pool *pool;
	bool copied; /* an incoming copy: packet numbers are the sender's */
};

/* Makes the shared page.  Without it clients see only durable blocks, and a
 * warning is logged. */
void live_taps_open(struct recorder *r);
/* Removes all live taps; the page itself stays until daemon_finish. */
void live_taps_close(struct recorder *r);

/* Removes live taps without clients, once a second.  The event loop calls it
 * every turn. */
void live_taps_step(struct recorder *r, int64_t now);

/* Shows the recording to this client for LIVE_TAP_PATIENCE.  Returns 0 or
 * -errno. */
int live_tap_ask(struct recorder *r, const struct live_tap_of *of,
		 struct server_ticket ticket, int64_t now);

/* Removes the live tap of a recording that ends, because its memory is needed;
 * does nothing if there is none. */
void live_tap_end(struct recorder *r, unsigned id);

#endif
