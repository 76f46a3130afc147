/* SPDX-License-Identifier: MIT */
/*
 * All clients of one recording share one tap: they see the same, and every tap
 * is one more to look at for each block.
 *
 * While a client looks, blocks are synced sooner (output_hurry).  Else the
 * oldest block that is not durable would be up to `durable` (5 s) old, which is
 * more than the memory holds.  A sync costs every disk a moment, so there is
 * one a second, however often clients ask, and none while the recording is
 * short of memory and its disks are busy enough.
 *
 * The tap shows no block that was sealed before it was opened.  Until those are
 * durable, clients see the recording end before them, so syncs may follow each
 * other after BEFORE_PAUSE: a block may have been with a writer during the
 * first one.
 */
#include "daemon/sessions/live_tap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "daemon/sessions/recorder.h"
#include "flow/memory/shm_page.h"
#include "flow/memory/tap.h"
#include "flow/memory/arena.h"

#define PAUSE	     NS_SECOND
#define BEFORE_PAUSE (50 * NS_MS)

/* A client connection that asked for the live tap. */
struct user {
	uint64_t client;
	int64_t until;	   /* ns, steady */
	struct user *next; /* live_tap::users */
};

struct live_tap {
	unsigned id;
	struct output *output; /* held */
	struct tap *tap;       /* NULL: memory cannot be shared */
	int64_t hurried;       /* ns, steady: last output_hurry */
	uint64_t begin;	       /* blocks below are older than the tap */
	struct user *users;
	struct live_tap *next; /* live_taps::list */
};

void
live_taps_open(struct recorder *r)
{
	uint64_t bytes;
	const void *arena = arena_memory(r->arena, &bytes);
	int err = arena_fd(r->arena) < 0
		      ? 0
		      : shm_page_make(&r->live_taps.page, arena, bytes);

	if (err)
		log_line(LEVEL_WARN, NULL,
			 "no page for live readers: %s; they read from disk",
			 strerror(-err));
}

static void
users_free(struct live_tap *m)
{
	struct user *u;

	while ((u = m->users)) {
		m->users = u->next;
		free(u);
	}
}

/* Removes *at from the list and frees it. */
static void
live_tap_free(struct live_tap **at)
{
	struct live_tap *m = *at;

	*at = m->next;
	users_free(m);
	output_tap_close(m->output, m->tap);
	output_drop(m->output);
	free(m);
}

static struct live_tap **
find(struct recorder *r, unsigned id)
{
	struct live_tap **at = &r->live_taps.list;

	while (*at && (*at)->id != id)
		at = &(*at)->next;
	return at;
}

void
live_tap_end(struct recorder *r, unsigned id)
{
	struct live_tap **at = find(r, id);

	if (*at)
		live_tap_free(at);
}

/* Keeps the page: daemon_finish frees it when every block is back in its
 * arena. */
void
live_taps_close(struct recorder *r)
{
	while (r->live_taps.list)
		live_tap_free(&r->live_taps.list);
}

static void
users_step(struct recorder *r, struct live_tap *m, int64_t now)
{
	struct user **at = &m->users, *u;

	while ((u = *at)) {
		const struct server_ticket t = { .client = u->client };

		if (now < u->until && server_waits(r->server, t)) {
			at = &u->next;
			continue;
		}
		*at = u->next;
		free(u);
	}
}

void
live_taps_step(struct recorder *r, int64_t now)
{
	struct live_tap **at = &r->live_taps.list;

	if (now - r->live_taps.stepped < NS_SECOND)
		return;
	r->live_taps.stepped = now;
	while (*at) {
		users_step(r, *at, now);
		if ((*at)->users)
			at = &(*at)->next;
		else
			live_tap_free(at);
	}
}

/* Makes a live tap and adds it to the list.  Returns 0 or -errno. */
static int
live_tap_make(struct recorder *r, const struct live_tap_of *of)
{
	struct live_tap *m = calloc(1, sizeof *m);
	int err = 0;

	if (!m)
		return -ENOMEM;
	if (r->live_taps.page)
		err = output_tap_open(of->output, of->pool, &m->tap);
	if (err) {
		free(m);
		return err;
	}
	if (m->tap)
		tap_show(m->tap, r->live_taps.page, of->id);
	m->id = of->id;
	m->output = of->output;
	output_over(of->output, &m->begin);
	output_hold(m->output);
	m->next = r->live_taps.list;
	r->live_taps.list = m;
	return 0;
}

static int
user_add(struct live_tap *m, uint64_t client, int64_t until)
{
	struct user *u = m->users;

	while (u && u->client != client)
		u = u->next;
	if (!u) {
		u = calloc(1, sizeof *u);
		if (!u)
			return -ENOMEM;
		u->client = client;
		u->next = m->users;
		m->users = u;
	}
	u->until = until;
	return 0;
}

static void
hurry(struct live_tap *m, const struct block_pool *pool, int64_t now)
{
	uint64_t floor;

	output_floor(m->output, m->begin, &floor, NULL, 0);
	if (now - m->hurried < (floor < m->begin ? BEFORE_PAUSE : PAUSE) ||
	    !block_pool_plenty(pool))
		return;
	m->hurried = now;
	output_hurry(m->output, now);
}

int
live_tap_ask(struct recorder *r, const struct live_tap_of *of,
	     struct server_ticket ticket, int64_t now)
{
	struct live_tap **at = find(r, of->id);
	int err = *at ? 0 : live_tap_make(r, of);

	if (err)
		return err;
	at = find(r, of->id);
	err = user_add(*at, ticket.client, now + LIVE_TAP_PATIENCE);
	if (!err)
		hurry(*at, of->pool, now);
	return err;
}
