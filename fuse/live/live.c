/* SPDX-License-Identifier: MIT */
/*
 * Shows recordings that grow beyond their indexes.  Blocks in the daemon's
 * memory behind the visible end are remembered in the recording
 * (store/recording/recording.h).  Blocks below the daemon's floor that no index
 * has were lost.
 *
 *   indexes    |########|##.#|
 *   memory              .    |  ###.####|
 *                       ^    floor      ^ the visible end
 *                       lost
 *
 * The order of reading matters.  A block goes from memory to an index, never
 * the other way, and the floor lies behind blocks that are in an index.  So the
 * page of the shared memory and the floor are read first, then the indexes.  A
 * block that is in neither is on its way: it was written and is not durable
 * yet.  If a reader wants just that block, the daemon is asked (verb `map`),
 * makes its disks sync, and the recording is looked at again.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "fuse/live/live_priv.h"
#include "store/recording/recording.h"

#define MOMENT (200 * NS_MS) /* longest wait for the daemon's first answer */
/* least time between two requests for missed blocks */
#define MISSED NS_SECOND

enum { BATCH = 64 };

/* ---- names ---------------------------------------------------------- */

struct live_name *
live_find(struct live *l, const char *name)
{
	struct live_name *n = l->names;

	while (n && strcmp(n->name, name) != 0)
		n = n->next;
	return n;
}

void
live_wake(struct live *l)
{
	eventfd_write(l->wake, 1);
}

/*
 * Returns the name, added if it is new, and notes that it was wanted now.
 * Called with the lock; NULL: no memory.
 */
static struct live_name *
follow(struct live *l, const char *name)
{
	struct live_name *n = live_find(l, name);

	if (!n) {
		n = calloc(1, sizeof *n);
		if (!n || strlen(name) >= sizeof n->name || live_talk(l)) {
			free(n);
			return NULL;
		}
		strcpy(n->name, name);
		n->next = l->names;
		l->names = n;
		live_wake(l);
	}
	n->wanted_ns = clock_steady();
	return n;
}

/*
 * A short look at what the daemon knows of a recording.  It holds the memory
 * until live_memory_put().
 */
struct glimpse {
	struct live_memory *memory; /* NULL: no shared memory */
	uint64_t id, floor;
	bool known;
};

/* Called with the lock. */
static struct glimpse
glimpse_of(struct live *l, const struct live_name *n)
{
	struct glimpse g = { 0 };

	if (!n || !n->known)
		return g;
	g.memory = live_memory_get(l->memory);
	g.id = n->id;
	g.floor = n->floor;
	g.known = true;
	return g;
}

/*
 * Follows a recording, and waits up to MOMENT for the daemon's first answer
 * about it.
 */
static struct glimpse
glimpse(struct live *l, const char *name)
{
	int64_t until = clock_steady() + MOMENT;
	const struct timespec at = { .tv_sec = until / NS_SECOND,
				     .tv_nsec = until % NS_SECOND };
	struct live_name *n;
	struct glimpse g;
	int err = 0;

	pthread_mutex_lock(&l->lock);
	n = follow(l, name);
	while (n && !n->answered && !n->waited && !err &&
	       clock_steady() >= l->retry_ns) {
		err = pthread_cond_timedwait(&l->news, &l->lock, &at);
		n = live_find(l, name);
	}
	if (n)
		n->waited = true;
	g = glimpse_of(l, n);
	pthread_mutex_unlock(&l->lock);
	return g;
}

/* ---- a look at the index ----------------------------------------------- */

/* Index records to be remembered with one call. */
struct batch {
	struct recording *rec;
	struct index_record record[BATCH];
	size_t n;
	int err;
};

static void
batch_remember(struct batch *b)
{
	int err = recording_remember(b->rec, b->record, b->n);

	if (err < 0)
		b->err = err;
	b->n = 0;
}

static void
batch_add(struct batch *b, const struct map_block *found)
{
	if (b->n + 2 > BATCH)
		batch_remember(b);
	b->record[b->n++] = found->record;
	if (found->gap)
		b->record[b->n++] = index_gap(&found->record, found->gap);
}

/*
 * Remembers the blocks in memory from the visible end on.  The page has as many
 * entries as blocks, or a few more: looking at each entry takes less than
 * asking for every number that may be there.
 */
static void
see(const struct glimpse *g, struct batch *b)
{
	const struct map_page *page = g->memory->page;
	size_t blocks;

	recording_blocks(b->rec, &blocks);
	for (uint32_t i = 0; i < page->entries; i++) {
		const struct map_entry *e = &page->entry[i];
		struct map_block found;

		/*
		 * The entry may be changing just now; map_page_find() checks
		 * it.
		 */
		if (e->recording == g->id && e->number >= blocks &&
		    map_page_find(page, g->id, e->number, &found) &&
		    found.record.number >= blocks)
			batch_add(b, &found);
	}
	batch_remember(b);
}

/*
 * Gives blocks below the floor up as lost if no index has them; not while a
 * disk hangs, because its index may have more than was read.
 */
static void
settle(struct recording *rec, const struct glimpse *g)
{
	if (g->known && !recording_hangs(rec))
		recording_settle(rec, g->floor);
}

static int
look(void *arg, struct recording *rec)
{
	const struct recording_facts *f = recording_facts(rec);
	struct batch b = { .rec = rec };
	struct glimpse g;

	if (f->state != RECORDING_LIVE || strcmp(f->made_by, "spate") != 0)
		return 0;
	g = glimpse(arg, f->name);
	if (g.memory)
		see(&g, &b);
	settle(rec, &g);
	live_memory_put(g.memory);
	return b.err;
}

/* ---- copying -------------------------------------------------------- */

static bool
copy_block(const struct glimpse *g, uint64_t number, uint64_t at,
	   uint64_t bytes, void *to)
{
	struct map_block b;

	return map_page_find(g->memory->page, g->id, number, &b) &&
	       b.record.number == number &&
	       map_page_copy(&b, g->memory->arena, at, bytes, to);
}

/*
 * Has the daemon asked at once, because a reader misses a block that is not
 * below the floor.  Called with the lock.
 */
static void
miss(struct live *l, struct live_name *n, uint64_t number)
{
	int64_t now = clock_steady();

	l->facts.missed++;
	if (!n || number < n->floor || now - n->asked_ns < MISSED ||
	    n->due_ns <= now)
		return;
	n->due_ns = now;
	live_wake(l);
}

static bool
copy(void *arg, const char *name, uint64_t number, uint64_t at, uint64_t bytes,
     void *to)
{
	struct live *l = arg;
	struct glimpse g;
	bool done;

	pthread_mutex_lock(&l->lock);
	g = glimpse_of(l, live_find(l, name));
	pthread_mutex_unlock(&l->lock);
	if (!g.memory)
		return false;
	done = copy_block(&g, number, at, bytes, to);
	live_memory_put(g.memory);
	pthread_mutex_lock(&l->lock);
	if (done)
		l->facts.copied += bytes;
	else
		miss(l, live_find(l, name), number);
	pthread_mutex_unlock(&l->lock);
	return done;
}

struct opened_hooks
live_hooks(struct live *l)
{
	return (struct opened_hooks){ .arg = l, .copy = copy, .look = look };
}

/* ---- opening and closing ----------------------------------------------- */

int
live_open(struct live **live, const char *socket)
{
	struct live *l = calloc(1, sizeof *l);
	pthread_condattr_t how;

	if (!l)
		return -ENOMEM;
	l->refs = 1;
	l->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	l->socket = strdup(socket);
	pthread_mutex_init(&l->lock, NULL);
	pthread_condattr_init(&how);
	pthread_condattr_setclock(&how, CLOCK_MONOTONIC);
	pthread_cond_init(&l->news, &how);
	pthread_condattr_destroy(&how);
	if (l->wake < 0 || !l->socket) {
		int err = l->wake < 0 ? -errno : -ENOMEM;

		live_drop(l);
		return err;
	}
	*live = l;
	return 0;
}

void
live_drop(struct live *l)
{
	struct live_name *n;
	bool last;

	pthread_mutex_lock(&l->lock);
	last = --l->refs == 0;
	pthread_mutex_unlock(&l->lock);
	if (!last)
		return;
	while ((n = l->names)) {
		l->names = n->next;
		free(n);
	}
	if (l->wake >= 0)
		close(l->wake);
	pthread_cond_destroy(&l->news);
	pthread_mutex_destroy(&l->lock);
	free(l->socket);
	free(l);
}

void
live_close(struct live *l)
{
	int64_t until = clock_steady() + NS_SECOND;
	const struct timespec at = { .tv_sec = until / NS_SECOND,
				     .tv_nsec = until % NS_SECOND };
	int err = 0;

	if (!l)
		return;
	pthread_mutex_lock(&l->lock);
	l->closing = true;
	live_wake(l);
	while (l->running && !err)
		err = pthread_cond_timedwait(&l->news, &l->lock, &at);
	pthread_mutex_unlock(&l->lock);
	live_drop(l);
}

void
live_facts(struct live *l, struct live_facts *f)
{
	pthread_mutex_lock(&l->lock);
	*f = l->facts;
	f->connected = l->connected;
	f->shares = l->memory != NULL;
	f->recordings = 0;
	for (const struct live_name *n = l->names; n; n = n->next)
		f->recordings++;
	pthread_mutex_unlock(&l->lock);
}
