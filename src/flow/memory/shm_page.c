/* SPDX-License-Identifier: MIT */
/*
 * The page for live readers: entries, and when each is written.
 * store/record/shm_blocks.c argues why a reader can rely on it; this is the
 * writer's half:
 *
 *   writer    shm_page_show  fills the entry, then generation + 1
 *                         (release): even
 *   last      shm_page_hide  generation + 1 (release): odd.  The block is not
 *   holder                free yet, so no other thread touches it
 *             block_free  the pool's lock is released; where the memory goes
 *                         to another pool, the arena's is taken and released
 *   receiver  block_pool_take: the pool's lock is taken (and before it the
 *                         arena's, for memory that comes from it), then a
 *                         release fence, and then the memory is written anew
 *
 * So the odd generation is stored before anything new is written into the
 * block, with a release between the two.  The same holds for an entry that is
 * reused: the thread that takes it has loaded the odd generation (acquire), and
 * issues a release fence before it writes the fields.
 *
 * The cost is one store per shown block, under no lock, and nothing per packet.
 * Showing a block takes a lock, so that two writers do not take the same entry;
 * that happens only for recordings that have a live reader.
 *
 * Entries are plenty and found by hash, so running out is rare; a block without
 * an entry is not shown, and live readers take it from disk.
 */
#include "flow/memory/shm_page.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "flow/memory/memfile.h"
#include "store/record/shm_blocks.h"

enum {
	LEAST = 1 << 10,
	MOST = 1 << 15,
	EACH = 1 << 20 /* bytes of arena per entry */
};

struct shm_page {
	struct memfile file;
	struct shm_blocks *page; /* file.at */
	const uint8_t *arena;
	pthread_mutex_t lock; /* serializes shm_page_show; entries are emptied
				 without it */
};

static uint32_t
entries_of(uint64_t arena_bytes)
{
	uint32_t n = LEAST;

	while (n < MOST && n < arena_bytes / EACH)
		n *= 2;
	return n;
}

/* Writes the head and all generations, which touches every page. */
static void
page_fill(struct shm_blocks *p, uint32_t entries, uint64_t arena_bytes)
{
	memcpy(p->magic, SHM_BLOCKS_MAGIC, sizeof p->magic);
	p->version = SHM_BLOCKS_VERSION;
	p->entries = entries;
	p->arena_bytes = arena_bytes;
	for (uint32_t i = 0; i < entries; i++)
		atomic_init(&p->entry[i].generation, 1);
}

int
shm_page_make(struct shm_page **page, const void *arena, uint64_t bytes)
{
	struct shm_page *m = calloc(1, sizeof *m);
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
		shm_page_free(m);
		return err;
	}
	m->page = m->file.at;
	page_fill(m->page, entries, bytes);
	/* Locked like the arena.  Failing is harmless: a page in constant use
	 * is seldom swapped. */
	mlock(m->page, size);
	*page = m;
	return 0;
}

void
shm_page_free(struct shm_page *m)
{
	if (!m)
		return;
	memfile_free(&m->file);
	pthread_mutex_destroy(&m->lock);
	free(m);
}

int
shm_page_fd(const struct shm_page *m)
{
	return m->file.fd;
}

uint64_t
shm_page_bytes(const struct shm_page *m)
{
	return m->file.bytes;
}

/* Finds a free entry for this block.  NULL: all its probes are taken.  Call
 * under the lock. */
static struct shm_entry *
entry_take(struct shm_page *m, uint64_t recording, uint64_t number)
{
	uint32_t first = shm_blocks_first(m->page, recording, number);

	for (uint32_t i = 0; i < SHM_BLOCKS_PROBES; i++) {
		struct shm_entry *e =
		    &m->page->entry[(first + i) & (m->page->entries - 1)];

		if (atomic_load_explicit(&e->generation, memory_order_acquire) &
		    1)
			return e;
	}
	return NULL;
}

void
shm_page_show(struct shm_page *m, uint64_t recording, struct block *b,
	      const struct index_record *r)
{
	struct shm_entry *e;

	if (b->shown)
		return;
	pthread_mutex_lock(&m->lock);
	e = entry_take(m, recording, b->number);
	if (e) {
		atomic_thread_fence(memory_order_release);
		e->recording = recording;
		e->number = b->number;
		e->at = (uint64_t)(b->data - m->arena);
		e->base = b->base;
		e->gap = (uint32_t)b->gap;
		index_pack(e->record, r);
		atomic_fetch_add_explicit(&e->generation, 1,
					  memory_order_release);
	}
	pthread_mutex_unlock(&m->lock);
	b->shown = e;
}

void
shm_page_hide(struct block *b)
{
	if (!b->shown)
		return;
	atomic_fetch_add_explicit(&b->shown->generation, 1,
				  memory_order_release);
	b->shown = NULL;
}
