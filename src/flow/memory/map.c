/* SPDX-License-Identifier: MIT */
/*
 * The page of a map: what is written into it, and when.  Why a reader can rely
 * on it is argued in store/record/map_page.c; this is the other half:
 *
 *   sealer    map_show    what stands in the entry, then generation + 1
 *                         (release): even
 *   anybody   map_hide    generation + 1 (release): odd.  The block is not home
 *                         yet, so nobody else touches it
 *             go_home     the stock's lock is given: a release
 *   receiver  stock_take  the stock's lock is taken, a fence (release), and
 *                         then the memory is written anew
 *
 * So whatever somebody writes into the block, the odd generation was stored
 * before it, with a release between the two.  The same holds of an entry that
 * is used again: who takes it has loaded the odd generation (acquire), and has
 * a fence (release) before what he writes.
 *
 * It costs a store for each block that is shown, under no lock, and nothing for
 * others, or for packets.  To show one takes a lock, so that two sealers do not
 * take the same entry; only for recordings that somebody looks at.
 *
 * Entries are plenty, and taken by hash, so it hardly ever happens that there is
 * none; then the block is not shown, and read from disk.
 */
#include "flow/memory/map.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "flow/memory/leaf_priv.h"
#include "flow/memory/memfile.h"
#include "store/record/map_page.h"

enum { LEAST = 1 << 10, MOST = 1 << 15, EACH = 1 << 20 /* of the arena */ };

struct map {
	struct memfile file;
	struct map_page *page; /* of the file */
	const uint8_t *arena;
	pthread_mutex_t lock; /* over who takes an entry */
};

static uint32_t
entries_of(uint64_t arena_bytes)
{
	uint32_t n = LEAST;

	while (n < MOST && n < arena_bytes / EACH)
		n *= 2;
	return n;
}

/* Which also touches all of it. */
static void
page_fill(struct map_page *p, uint32_t entries, uint64_t arena_bytes)
{
	memcpy(p->magic, MAP_PAGE_MAGIC, sizeof p->magic);
	p->version = MAP_PAGE_VERSION;
	p->entries = entries;
	p->arena_bytes = arena_bytes;
	for (uint32_t i = 0; i < entries; i++)
		atomic_init(&p->entry[i].generation, 1);
}

int
map_make(struct map **map, const void *arena, uint64_t bytes)
{
	struct map *m = calloc(1, sizeof *m);
	uint32_t entries = entries_of(bytes);
	size_t size = sizeof *m->page + entries * sizeof m->page->entry[0];
	int err;

	if (!m)
		return -ENOMEM;
	pthread_mutex_init(&m->lock, NULL);
	m->arena = arena;
	err = memfile_make(&m->file, "spate-map", size, false);
	if (!err && m->file.fd < 0)
		err = -ENOTSUP;
	if (err) {
		map_free(m);
		return err;
	}
	m->page = m->file.at;
	page_fill(m->page, entries, bytes);
	/* Like the arena; one that may not be locked is seldom swapped. */
	mlock(m->page, size);
	*map = m;
	return 0;
}

void
map_free(struct map *m)
{
	if (!m)
		return;
	memfile_free(&m->file);
	pthread_mutex_destroy(&m->lock);
	free(m);
}

int
map_fd(const struct map *m)
{
	return m->file.fd;
}

uint64_t
map_bytes(const struct map *m)
{
	return m->file.bytes;
}

/* Under the lock; NULL: there is none. */
static struct map_entry *
entry_take(struct map *m, uint64_t recording, uint64_t number)
{
	uint32_t first = map_page_first(m->page, recording, number);

	for (uint32_t i = 0; i < MAP_PAGE_PROBES; i++) {
		struct map_entry *e =
		    &m->page->entry[(first + i) & (m->page->entries - 1)];

		if (atomic_load_explicit(&e->generation, memory_order_acquire) &
		    1)
			return e;
	}
	return NULL;
}

void
map_show(struct map *m, uint64_t recording, struct block *b)
{
	struct index_record r;
	struct map_entry *e;

	if (b->shown)
		return;
	r = leaf_record(b->session, b);
	pthread_mutex_lock(&m->lock);
	e = entry_take(m, recording, b->number);
	if (e) {
		atomic_thread_fence(memory_order_release);
		e->recording = recording;
		e->number = b->number;
		e->at = (uint64_t)(b->data - m->arena);
		e->base = b->base;
		e->gap = (uint32_t)b->gap;
		index_pack(e->record, &r);
		atomic_fetch_add_explicit(&e->generation, 1,
					  memory_order_release);
	}
	pthread_mutex_unlock(&m->lock);
	b->shown = e;
}

void
map_hide(struct block *b)
{
	if (!b->shown)
		return;
	atomic_fetch_add_explicit(&b->shown->generation, 1,
				  memory_order_release);
	b->shown = NULL;
}
