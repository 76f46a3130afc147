/* SPDX-License-Identifier: MIT */
/*
 * The file of a block, opened by the first disk thread that needs it: once to
 * be read past the page cache (O_DIRECT), and once through it.  Reads go
 * through the page cache if O_DIRECT cannot: on file systems without it, at the
 * end of a file of odd length, for packets that do not lie back to back, and
 * around a broken sector, of which the kernel tells only that there is one.  A
 * file that is mostly in the page cache already is read from there.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/ease.h"
#include "store/read/reader_priv.h"
#include "store/recording/recording_priv.h"

/*
 * ---- the list of chunks ----------------------------------------------------
 */

static struct reader_chunk *
make(struct reader *r, const struct recording_block *b)
{
	struct reader_chunk *c = calloc(1, sizeof *c);
	struct recording_where where;

	if (!c || recording_where(r->rec, b, &where)) {
		free(c);
		return NULL;
	}
	c->record = b->record;
	c->disk = b->disk;
	memcpy(c->file, where.file, sizeof c->file);
	c->offset = where.offset;
	c->links = where.links;
	c->prefix = r->rec->before;
	c->payload = r->rec->shape.payload;
	c->fd = c->direct = -1;
	pthread_mutex_init(&c->lock, NULL);
	return c;
}

struct reader_chunk *
reader_chunk_get(struct reader *r, const struct recording_block *b)
{
	struct reader_chunk *c = r->chunk;

	while (c &&
	       (c->record.number != b->record.number || c->disk != b->disk))
		c = c->next;
	if (!c) {
		c = make(r, b);
		if (!c)
			return NULL;
		c->next = r->chunk;
		r->chunk = c;
	} else if (!c->users) {
		r->pool->spare--;
	}
	c->users++;
	return c;
}

static void
take_away(struct reader *r, struct reader_chunk *c)
{
	struct reader_chunk **link = &r->chunk;

	while (*link != c)
		link = &(*link)->next;
	*link = c->next;
	if (c->fd >= 0)
		close(c->fd);
	if (c->direct >= 0)
		close(c->direct);
	pthread_mutex_destroy(&c->lock);
	free(c->sum);
	free(c);
}

/* Returns the chunk that was opened first among those that no piece uses. */
static struct reader_chunk *
oldest(const struct reader *r)
{
	struct reader_chunk *found = NULL;

	for (struct reader_chunk *c = r->chunk; c; c = c->next) {
		if (!c->users)
			found = c;
	}
	return found;
}

/* Keeps a shared pool's chunk open for readers that jump; but not one with
 * trouble, which may be over at the next opening. */
void
reader_chunk_put(struct reader *r, struct reader_chunk *c)
{
	if (--c->users)
		return;
	if (!r->pool->shared || r->closed || c->fd < 0 || c->damaged)
		take_away(r, c);
	else if (r->pool->spare < READER_SPARE)
		r->pool->spare++;
	else
		take_away(r, oldest(r));
}

void
reader_chunk_close(struct reader *r)
{
	struct reader_chunk *c = r->chunk, *next;

	for (; c; c = next) {
		next = c->next;
		if (c->users)
			continue;
		r->pool->spare--;
		take_away(r, c);
	}
}

/* ---- opening ------------------------------------------------------------- */

/* As in linux/mman.h; older headers lack it. */
struct cache_range {
	uint64_t at, bytes;
};
struct cache_pages {
	uint64_t cached, dirty, writeback, evicted, recently_evicted;
};
enum { SYS_CACHESTAT = 451 };

/* True if half of the chunk or more is in the page cache.  Needs cachestat() of
 * Linux 6.5. */
static bool
is_cached(const struct reader_chunk *c)
{
	struct cache_range range = { c->offset, c->record.bytes };
	struct cache_pages pages = { 0 };

	return !syscall(SYS_CACHESTAT, c->fd, &range, &pages, 0) &&
	       pages.cached * READER_PAGE >= c->record.bytes / 2;
}

static void
open_file(struct reader_piece *p, struct reader_chunk *c)
{
	int dir = p->reader->part[c->disk].dir;
	struct reader_pool *pool = p->reader->pool;
	bool eased;

	c->fd = disk_open_at(dir, c->file, O_RDONLY, c->links);
	/* Something else lies in the chunk's place. */
	if (c->fd == -EISDIR || c->fd == -ESPIPE || c->fd == -EXDEV)
		c->fd = -ENOENT;
	if (c->fd < 0)
		return;
	eased = ease_file(c->fd);
	pthread_mutex_lock(&pool->lock);
	p->lane->eased = eased;
	pthread_mutex_unlock(&pool->lock);
	if (!c->prefix && !is_cached(c))
		c->direct =
		    disk_open_at(dir, c->file, O_RDONLY | O_DIRECT, c->links);
}

int
reader_chunk_open(struct reader_piece *p)
{
	struct reader_chunk *c = p->chunk;
	int fd;

	pthread_mutex_lock(&c->lock);
	if (!c->opened)
		open_file(p, c);
	c->opened = true;
	if (!c->checked && p->reader->verify && c->fd >= 0)
		reader_sums_find(p->reader, c);
	c->checked = true;
	fd = c->direct >= 0 ? c->direct : c->fd;
	if (c->prefix || c->fd < 0 || c->damaged)
		fd = -1;
	pthread_mutex_unlock(&c->lock);
	return fd;
}

/*
 * ---- reading through the page cache ---------------------------------------
 */

/* Reads bytes of a request from byte `at` of it on.  Returns how many, 0 at the
 * end of the file, or -errno. */
static ssize_t
read_some(const struct reader_request *q, uint32_t at, uint32_t bytes)
{
	const struct reader_chunk *c = q->piece->chunk;
	struct stride stride = { c->offset, c->prefix, c->payload };
	uint64_t from = q->offset + at;
	ssize_t got;

	if (!c->prefix) /* then q->offset counts from the file's beginning */
		stride.offset = 0;
	do
		got = stride_read(c->fd, &stride, q->to + at, bytes, from);
	while (got < 0 && errno == EINTR);
	return got < 0 ? -errno : got;
}

static void
tell_bad(struct reader_request *q, uint32_t at, uint32_t bytes, int err)
{
	struct reader_piece *p = q->piece;
	struct reader_pool *pool = p->lane->pool;
	uint64_t place = (uint64_t)(q->to + at - p->data) + p->at;

	pthread_mutex_lock(&pool->lock);
	reader_piece_bad(p, place, bytes, err);
	pthread_mutex_unlock(&pool->lock);
}

/*
 * Reads in small steps around what cannot be read.  It gives up after
 * READER_FAILS steps that fail, because a disk may take half a minute for each.
 */
static void
read_around(struct reader_request *q, uint32_t at, uint32_t end, int err)
{
	unsigned fails = 0;
	ssize_t got;

	while (at < end && fails < READER_FAILS) {
		uint32_t step = READER_STEP - (q->offset + at) % READER_STEP;

		if (step > end - at)
			step = end - at;
		got = read_some(q, at, step);
		if (got < 0) {
			err = (int)got;
			fails++;
			tell_bad(q, at, step, err);
			got = step;
		}
		if (!got)
			err = -ENODATA;
		if (!got)
			break;
		at += (uint32_t)got;
	}
	tell_bad(q, at, end - at, err);
}

void
reader_chunk_rest(struct reader_request *q, int64_t got)
{
	const struct reader_chunk *c = q->piece->chunk;
	uint32_t end = q->skip + q->want;
	uint32_t at = got > (int64_t)q->skip ? (uint32_t)got : q->skip;

	if (c->fd < 0 || c->damaged) {
		tell_bad(q, q->skip, q->want, c->damaged ? -EBADMSG : c->fd);
		return;
	}
	while (at < end) {
		got = read_some(q, at, end - at);
		if (got < 0)
			read_around(q, at, end, (int)got);
		else if (!got)
			tell_bad(q, at, end - at, -ENODATA);
		if (got <= 0)
			return;
		at += (uint32_t)got;
	}
}
