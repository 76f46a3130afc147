/* SPDX-License-Identifier: MIT */
/*
 * The file of a block, which the first of its disk's threads opens that comes
 * to it: twice, to be read past the page cache, and through it.  The latter is
 * for what the former cannot: file systems that have none of it, the end of
 * an odd file, packets that lie apart, and stretches around a broken sector,
 * of which the kernel tells only that there is one.
 *
 * A file that is in memory anyhow is read from there.
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

/* ---- the list of them ---------------------------------------------------- */

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

/* The one that was opened first, of those that no piece has. */
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

/* Who jumps comes back to it; unless there is trouble, which may be over
 * then. */
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

/* As in linux/mman.h, which older systems do not have whole. */
struct cache_range {
	uint64_t at, bytes;
};
struct cache_pages {
	uint64_t cached, dirty, writeback, evicted, recently_evicted;
};
enum { SYS_CACHESTAT = 451 };

/* Most of it; since Linux 6.5 the kernel tells. */
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
	/* Something that is no file of it lies in its place. */
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

/* ---- reading through the page cache --------------------------------------- */

/* Bytes of a request from `at` of it on: how many came, 0 at the end, or
 * -errno. */
static ssize_t
read_some(const struct reader_request *q, uint32_t at, uint32_t bytes)
{
	const struct reader_chunk *c = q->piece->chunk;
	struct stride stride = { c->offset, c->prefix, c->payload };
	uint64_t from = q->offset + at;
	ssize_t got;

	if (!c->prefix) /* its offset is the file's then */
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

/* Some of it cannot be read: in small steps, around that; but a disk may take
 * half a minute for each that fails. */
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
