/* SPDX-License-Identifier: MIT */
/*
 * The cache of a pool: pieces of blocks in buffers, and the cursors that decide
 * which pieces to read ahead.
 *
 * Pieces are found by block and by cell of a fixed grid over the block.  One
 * cell may have several pieces that do not overlap, because a reader that jumps
 * asks for less than a whole cell.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/clock.h"
#include "store/read/reader_priv.h"
#include "store/recording/recording_priv.h"

/* ---- pieces -------------------------------------------------------------- */

static unsigned
bucket(const struct reader *r, uint64_t number, uint64_t at)
{
	return (unsigned)((number * 31 + at / r->pool->piece_bytes) %
			  READER_BUCKETS);
}

struct reader_piece *
reader_piece_find(struct reader *r, uint64_t number, uint64_t at)
{
	struct reader_piece *p = r->bucket[bucket(r, number, at)];

	while (p &&
	       (p->number != number || at < p->at || at - p->at >= p->bytes))
		p = p->next;
	return p;
}

uint64_t
reader_piece_next(struct reader *r, uint64_t number, uint64_t at, uint64_t end)
{
	struct reader_piece *p = r->bucket[bucket(r, number, at)];

	for (; p; p = p->next) {
		if (p->number == number && p->at > at && p->at < end)
			end = p->at;
	}
	return end;
}

void
reader_piece_wake(const struct reader_piece *p)
{
	struct reader_call *call = p->reader->waiting;

	for (; call; call = call->next_waiting) {
		if (call->piece == p)
			pthread_cond_signal(&call->news);
	}
}

static void
forget(struct reader_piece *p)
{
	struct reader *r = p->reader;
	struct reader_piece **link = &r->bucket[bucket(r, p->number, p->at)];

	if (!p->known)
		return;
	while (*link != p)
		link = &(*link)->next;
	*link = p->next;
	p->known = false;
	reader_piece_wake(p);
	if (p->ahead)
		p->ahead->ahead--;
	p->ahead = NULL;
}

static void
give_back(struct reader_piece *p)
{
	struct reader *r = p->reader;
	struct reader_pool *pool = r->pool;

	reader_chunk_put(r, p->chunk);
	p->chunk = NULL;
	p->reader = NULL;
	p->next = pool->free;
	pool->free = p;
	pool->used--;
	reader_leave(r);
	reader_pool_wake(pool);
}

void
reader_piece_drop(struct reader_piece *p)
{
	forget(p);
	if (p->left)
		p->left -= reader_disk_unask(p->disk, p);
	if (!p->left && !p->users)
		give_back(p);
}

enum { IDLE_MS = 2000 };

#define NS_MS INT64_C(1000000)

/* True if a cursor was not used for a while: its read-ahead may be taken. */
static bool
is_idle(const struct reader_cursor *cursor, int64_t now)
{
	return now - cursor->used > IDLE_MS * NS_MS;
}

/*
 * Order in which pieces lose their buffers: GIVEN, read as often as they are
 * long; IDLE, read ahead for a cursor that is no longer used; HALF, read in
 * part; AHEAD, about to be read.  HALF counts as GIVEN when unused for OLD_MS.
 * Read-ahead takes no buffer from HALF or AHEAD.  Among equals the one used
 * longest ago goes first; of AHEAD the farthest one.
 */
enum { GIVEN, IDLE, HALF, AHEAD, OLD_MS = 500 };

static unsigned
worth(const struct reader_piece *p, int64_t now)
{
	if (p->ahead)
		return is_idle(p->ahead, now) ? IDLE : AHEAD;
	if (p->given >= p->bytes)
		return GIVEN;
	return now - p->used_at > OLD_MS * NS_MS ? GIVEN : HALF;
}

static bool
is_needed_less(const struct reader_piece *p, const struct reader_piece *q,
	       int64_t now)
{
	unsigned a = worth(p, now), b = worth(q, now);

	if (a != b)
		return a < b;
	return a == AHEAD ? p->used > q->used : p->used < q->used;
}

bool
reader_piece_evict(struct reader_pool *pool, bool ahead)
{
	struct reader_piece *least = NULL;
	int64_t now = clock_steady();

	for (unsigned i = 0; i < pool->pieces; i++) {
		struct reader_piece *p = &pool->piece[i];

		if (p->reader && p->known && !p->left && !p->users &&
		    (!least || is_needed_less(p, least, now)))
			least = p;
	}
	if (!least || (worth(least, now) >= HALF && !ahead))
		return false;
	reader_piece_drop(least);
	return true;
}

/* Cuts a piece into requests for whole pages of the file. */
static void
cut_pages(struct reader_piece *p, uint64_t from)
{
	uint64_t first = reader_down(from, READER_PAGE), at = first;
	uint64_t end = from + p->bytes, last = reader_up(end, READER_PAGE);
	uint64_t most = p->disk->pool->request_bytes;

	p->data = p->buffer + (from - first);
	for (p->requests = 0; at < last; at += most) {
		struct reader_request *q = &p->request[p->requests++];
		uint64_t to = last - at < most ? last : at + most;
		uint64_t skip = at < from ? from - at : 0;

		*q = (struct reader_request){
			.piece = p,
			.offset = at,
			.bytes = (uint32_t)(to - at),
			.skip = (uint32_t)skip,
			.want = (uint32_t)((to < end ? to : end) - at - skip),
			.to = p->buffer + (at - first),
		};
	}
}

/* Cuts a piece whose packets have something before each, in the manner of
 * stride_read(). */
static void
cut_stride(struct reader_piece *p)
{
	uint64_t most = p->disk->pool->request_bytes;

	p->data = p->buffer;
	p->requests = 0;
	for (uint64_t at = 0; at < p->bytes; at += most) {
		uint64_t left = p->bytes - at;
		uint32_t bytes = (uint32_t)(left < most ? left : most);

		p->request[p->requests++] = (struct reader_request){
			.piece = p,
			.offset = p->at + at,
			.bytes = bytes,
			.want = bytes,
			.to = p->buffer + at,
		};
	}
}

static void
ask_disk(struct reader_piece *p, bool now)
{
	if (p->chunk->prefix)
		cut_stride(p);
	else
		cut_pages(p, p->chunk->offset + p->at);
	p->left = p->unread = p->requests;
	for (unsigned i = 0; i < p->requests; i++)
		reader_disk_ask(p->disk, &p->request[i], now);
}

void
reader_piece_hurry(struct reader_piece *p)
{
	unsigned waiting;

	if (p->now || !p->left)
		return;
	p->now = true;
	waiting = reader_disk_unask(p->disk, p);
	/* Threads have taken the first ones already. */
	for (unsigned i = p->requests - waiting; i < p->requests; i++)
		reader_disk_ask(p->disk, &p->request[i], true);
}

/* Duplicates the descriptor of a recording's folder on a disk for the disk's
 * threads: a thread that was left behind may outlive the original. */
static bool
open_part(struct reader *r, int disk)
{
	struct reader_part *part = &r->part[disk];
	int dir = r->rec->foreign ? r->rec->disks->disk[disk].fd
				  : r->rec->part[disk].dir;

	if (part->dir < 0 && dir >= 0)
		part->dir = fcntl(dir, F_DUPFD_CLOEXEC, 3);
	return part->dir >= 0;
}

static void
take_buffer(struct reader *r, struct reader_piece *p)
{
	struct reader_pool *pool = r->pool;

	pool->free = p->next;
	pool->used++;
	p->reader = r;
	r->refs++;
}

struct reader_piece *
reader_piece_ask(struct reader *r, const struct recording_block *b, uint64_t at,
		 uint64_t end, bool now)
{
	struct reader_pool *pool = r->pool;
	struct reader_piece *p = pool->free;
	unsigned i = bucket(r, b->record.number, at);
	struct reader_disk *d = &pool->disk[b->disk];

	if (!open_part(r, b->disk) || (!d->threads && reader_disk_start(d)))
		return NULL;
	p->chunk = reader_chunk_get(r, b);
	if (!p->chunk)
		return NULL;
	take_buffer(r, p);
	p->disk = d;
	p->number = b->record.number;
	p->at = at;
	p->bytes = end - at;
	p->bads = p->users = 0;
	p->given = 0;
	p->ahead = NULL;
	p->now = now;
	p->used = ++pool->turn;
	p->used_at = clock_steady();
	r->bytes += p->bytes;
	p->known = true;
	p->next = r->bucket[i];
	r->bucket[i] = p;
	ask_disk(p, now);
	return p;
}

/* ---- good and bad -------------------------------------------------------- */

/* Notes that bytes of a piece are bad.  If there are more than READER_BADS
 * stretches, the whole piece counts as bad. */
void
reader_piece_bad(struct reader_piece *p, uint64_t at, uint64_t bytes, int err)
{
	struct reader_bad *last = p->bads ? &p->bad[p->bads - 1] : NULL;

	if (!bytes)
		return;
	if (last && last->err == err && last->at + last->bytes == at) {
		last->bytes += bytes;
	} else if (p->bads < READER_BADS) {
		p->bad[p->bads++] = (struct reader_bad){ at, bytes, err };
	} else {
		p->bad[0] = (struct reader_bad){ p->at, p->bytes, err };
		p->bads = 1;
	}
}

int
reader_piece_stretch(const struct reader_piece *p, uint64_t at, uint64_t *end)
{
	*end = p->at + p->bytes;
	for (unsigned i = 0; i < p->bads; i++) {
		const struct reader_bad *bad = &p->bad[i];

		if (at >= bad->at && at - bad->at < bad->bytes) {
			*end = bad->at + bad->bytes;
			return bad->err;
		}
		if (bad->at > at && bad->at < *end)
			*end = bad->at;
	}
	return 0;
}

void
reader_request_end(struct reader_request *q)
{
	struct reader_piece *p = q->piece;

	if (--p->left)
		return;
	reader_piece_wake(p);
	if (!p->known && !p->users)
		give_back(p);
	else
		reader_pool_wake(p->reader->pool);
}

/* ---- cursors ------------------------------------------------------------- */

/*
 * Read-ahead.  What is wanted now goes before everything read ahead.
 * Read-ahead goes from block to block along the cursor as far as buffers
 * permit, so as many disks are busy as there are blocks in the window.  A disk
 * that hangs gets no further requests.
 *
 *   read            wanted              next
 *   ... |  passed  |  view  |  ahead  |  not asked for yet ...
 *                            <------->
 *                              window
 *
 * All cursors of a pool that read ahead get the same share of its buffers.  A
 * cursor that is unused for two seconds loses its share, and what it read ahead
 * is taken first when buffers are short: an open file that nobody reads costs
 * no memory.
 */

enum {
	SHARE_MS = 50, /* a computed share is valid this long */
};

static bool
looks_ahead(const struct reader_cursor *cursor, int64_t now)
{
	return (cursor->window || cursor->sequential) && !is_idle(cursor, now);
}

/* Returns how many pieces each cursor may read ahead. */
static unsigned
share(struct reader_pool *pool)
{
	int64_t now = clock_steady();
	unsigned n = 0;

	if (pool->share && now - pool->shared_at < SHARE_MS * NS_MS)
		return pool->share;
	for (struct reader_cursor *cursor = pool->cursors; cursor;
	     cursor = cursor->next)
		n += looks_ahead(cursor, now);
	pool->share = pool->pieces / (n ? n : 1);
	pool->shared_at = now;
	return pool->share;
}

static unsigned
window(const struct reader_cursor *cursor)
{
	unsigned most = share(cursor->reader->pool);

	/* Keep a quarter for other threads that read the same file a little
	 * behind this one. */
	if (cursor->managed)
		most -= most / 4;
	return cursor->sequential || cursor->window > most ? most
							   : cursor->window;
}

static bool
is_on_way(const struct reader_cursor *cursor, const struct recording_block *b)
{
	return b->record.kind == INDEX_BLOCK && b->disk >= 0 &&
	       (cursor->sub < 0 || b->record.sub == cursor->sub);
}

/* Moves the next place to read ahead to a block that has data there.  NULL: the
 * end. */
static const struct recording_block *
next_block(struct reader_cursor *cursor)
{
	const struct recording *rec = cursor->reader->rec;

	while (cursor->next_number < cursor->end &&
	       cursor->next_number < rec->blocks) {
		const struct recording_block *b =
		    &rec->block[cursor->next_number];

		if (is_on_way(cursor, b) && cursor->next_at < b->record.bytes)
			return b;
		cursor->next_number++;
		cursor->next_at = 0;
	}
	return NULL;
}

uint64_t
reader_grid_end(const struct reader *r, const struct recording_block *b,
		uint64_t at)
{
	uint64_t piece = r->pool->piece_bytes;
	uint64_t end = reader_down(at, piece) + piece;

	return end < b->record.bytes ? end : b->record.bytes;
}

static bool
ask_ahead(struct reader_cursor *cursor, const struct recording_block *b,
	  uint64_t *end)
{
	struct reader *r = cursor->reader;
	struct reader_pool *pool = r->pool;
	struct reader_piece *p =
	    reader_piece_find(r, b->record.number, cursor->next_at);

	if (p)
		*end = p->at + p->bytes;
	if (p || reader_disk_hangs(&pool->disk[b->disk], clock_steady()))
		return true;
	if (pool->call || (!pool->free && !reader_piece_evict(pool, false)))
		return false;
	*end = reader_piece_next(r, b->record.number, cursor->next_at, *end);
	p = reader_piece_ask(r, b, cursor->next_at, *end, false);
	if (!p)
		return false;
	p->ahead = cursor;
	cursor->ahead++;
	return true;
}

/*
 * True if the next place is as far ahead of the caller as it may be.  A cursor
 * that closely follows another finds everything read already, and must not read
 * on beyond it.
 */
static bool
is_far(const struct reader_cursor *cursor, const struct recording_block *b,
       unsigned most)
{
	const struct recording *rec = cursor->reader->rec;
	uint64_t from;

	if (!cursor->managed || cursor->sub < 0 ||
	    cursor->number >= rec->blocks)
		return false;
	from = rec->block[cursor->number].offset + cursor->at;
	return b->offset + cursor->next_at >
	       from + most * cursor->reader->pool->piece_bytes;
}

void
reader_cursor_read_ahead(struct reader_cursor *cursor)
{
	unsigned most = window(cursor);
	const struct recording_block *b;

	while (cursor->ahead < most && (b = next_block(cursor)) &&
	       !is_far(cursor, b, most)) {
		uint64_t end =
		    reader_grid_end(cursor->reader, b, cursor->next_at);

		if (!ask_ahead(cursor, b, &end))
			return;
		cursor->next_at = end;
	}
}

static void
drop_ahead(struct reader_cursor *cursor)
{
	struct reader_pool *pool = cursor->reader->pool;

	for (unsigned i = 0; i < pool->pieces && cursor->ahead; i++) {
		struct reader_piece *p = &pool->piece[i];

		if (p->reader && p->known && p->ahead == cursor)
			reader_piece_drop(p);
	}
}

/* ---- following a cursor -------------------------------------------------- */

/* True if this place directly follows what was read last. */
static bool
is_next(const struct reader_cursor *cursor, uint64_t number, uint64_t at)
{
	const struct recording *rec = cursor->reader->rec;

	if (number == cursor->number)
		return at == cursor->at;
	if (at || cursor->number >= rec->blocks || number < cursor->number ||
	    cursor->at < rec->block[cursor->number].record.bytes)
		return false;
	for (uint64_t i = cursor->number + 1; i < number; i++) {
		if (is_on_way(cursor, &rec->block[i]))
			return false;
	}
	return true;
}

/* Has read-ahead begin at the caller's place, if it was behind that or not
 * begun. */
static bool
follow_managed(struct reader_cursor *cursor, uint64_t number, uint64_t at)
{
	if (!cursor->window)
		return true;
	if (cursor->next_number == UINT64_MAX || cursor->next_number < number ||
	    (cursor->next_number == number && cursor->next_at < at)) {
		cursor->next_number = number;
		cursor->next_at = at;
	}
	return false;
}

bool
reader_cursor_follow(struct reader_cursor *cursor, uint64_t number, uint64_t at)
{
	struct reader *r = cursor->reader;
	struct reader_piece *p = reader_piece_find(r, number, at);
	bool jumped;

	cursor->used = clock_steady();
	if (cursor->managed)
		return follow_managed(cursor, number, at);
	/* A `sequential` cursor asks again for what it waits for; that is no
	 * jump. */
	jumped = !is_next(cursor, number, at);
	if (!jumped && !cursor->sequential)
		cursor->window = cursor->window ? 2 * cursor->window : 1;
	if (jumped && (!p || p->ahead != cursor)) {
		drop_ahead(cursor);
		cursor->window = 0;
		cursor->next_number = number;
		cursor->next_at = at;
	}
	if (cursor->window > r->pool->pieces)
		cursor->window = r->pool->pieces;
	return jumped && !cursor->sequential;
}

/* ---- called from outside ------------------------------------------------- */

void
reader_cursor_begin(struct reader_cursor *cursor, struct reader *r, int sub)
{
	struct reader_pool *pool = r->pool;

	*cursor = (struct reader_cursor){
		.reader = r, .sub = sub, .end = UINT64_MAX, .number = UINT64_MAX
	};
	pthread_mutex_lock(&pool->lock);
	cursor->next = pool->cursors;
	pool->cursors = cursor;
	pthread_mutex_unlock(&pool->lock);
}

void
reader_cursor_end(struct reader_cursor *cursor)
{
	struct reader_pool *pool = cursor->reader->pool;
	struct reader_cursor **link = &pool->cursors;

	pthread_mutex_lock(&pool->lock);
	drop_ahead(cursor);
	while (*link != cursor)
		link = &(*link)->next;
	*link = cursor->next;
	pool->share = 0;
	pthread_mutex_unlock(&pool->lock);
}

void
reader_cursor_set_ahead(struct reader_cursor *cursor, uint64_t bytes)
{
	struct reader_pool *pool = cursor->reader->pool;
	uint64_t pieces = (bytes + pool->piece_bytes - 1) / pool->piece_bytes;
	bool looked;

	pthread_mutex_lock(&pool->lock);
	looked = cursor->window > 0;
	cursor->window =
	    pieces < pool->pieces ? (unsigned)pieces : pool->pieces;
	cursor->used = clock_steady();
	if (!pieces)
		drop_ahead(cursor);
	if (!pieces)
		cursor->next_number = UINT64_MAX;
	if (looked != (cursor->window > 0))
		pool->share = 0;
	pthread_mutex_unlock(&pool->lock);
}
