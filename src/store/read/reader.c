/* SPDX-License-Identifier: MIT */
/*
 * A pool of buffers and of threads for each disk, the readers that share it,
 * the pieces of blocks that lie in the buffers, read-ahead, and reader_get().
 *
 * Pieces are found by block and by cell of a fixed grid over the block.  One
 * cell may have several pieces that do not overlap, because a reader that jumps
 * asks for less than a whole cell.
 *
 * A reader is what a pool knows of one recording: its folders, chunks and
 * pieces.  If pieces are in flight when the reader is closed, the disks'
 * threads own them and the reader; the last one frees it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "store/record/block.h"
#include "store/read/reader_priv.h"
#include "store/recording/recording_priv.h"

/* ---- letting go ---------------------------------------------------------- */

static void
reader_free(struct reader *r)
{
	for (unsigned i = 0; r->part && i < r->pool->disks; i++) {
		if (r->part[i].dir >= 0)
			close(r->part[i].dir);
		sums_clear(&r->part[i].sums);
		pthread_mutex_destroy(&r->part[i].sums_lock);
	}
	if (r->timer > 0)
		close(r->timer);
	free(r->part);
	free(r);
}

/* Drops a reference of a reader.  The last one frees it.  Leaves the pool
 * locked. */
static void
reader_leave(struct reader *r)
{
	if (--r->refs == 0)
		reader_free(r);
}

/* Wakes the first call that waits for a buffer. */
static void
reader_pool_wake(struct reader_pool *pool)
{
	if (pool->call)
		pthread_cond_signal(&pool->call->news);
}

/* ---- pieces -------------------------------------------------------------- */

static unsigned
bucket(const struct reader *r, uint64_t number, uint64_t at)
{
	return (unsigned)((number * 31 + at / r->pool->piece_bytes) %
			  READER_BUCKETS);
}

/* Returns the piece that holds this byte of a block, or NULL. */
static struct reader_piece *
reader_piece_find(struct reader *r, uint64_t number, uint64_t at)
{
	struct reader_piece *p = r->bucket[bucket(r, number, at)];

	while (p &&
	       (p->number != number || at < p->at || at - p->at >= p->bytes))
		p = p->next;
	return p;
}

/* Returns where the next piece begins that lies in the same cell of the grid,
 * or `end` if there is none. */
static uint64_t
reader_piece_next(struct reader *r, uint64_t number, uint64_t at, uint64_t end)
{
	struct reader_piece *p = r->bucket[bucket(r, number, at)];

	for (; p; p = p->next) {
		if (p->number == number && p->at > at && p->at < end)
			end = p->at;
	}
	return end;
}

/* Wakes calls that wait for this piece. */
static void
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

/* Frees the buffer of the piece least needed.  `ahead`: also one that was read
 * ahead and is about to be used.  False if there is none. */
static bool
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

/* Moves the waiting requests of a piece that was read ahead to the queue
 * reader_disk::now: a caller waits for it. */
static void
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

/*
 * Takes a free buffer, which must exist, and asks a disk for bytes [at, end) of
 * a block, which lie within one cell of the grid.  `now`: goes before
 * everything read ahead.  Returns NULL if there is no memory or no such folder.
 */
static struct reader_piece *
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

/* Returns where the cell of the grid ends that holds byte `at`: pieces never
 * cross cells. */
static uint64_t
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

static void
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

/* Notes that a caller reads at this place.  True if that is a jump. */
static bool
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

/* ---- beginning and ending a cursor --------------------------------------- */

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

/* ---- the pool ------------------------------------------------------------ */

/*
 * A pool's memory and threads, and how they begin and end.
 *
 * The memory is cut into one buffer per piece, each with the caller's head
 * before it and a page behind it.  A piece that does not begin at a page of its
 * file is read with all the pages that it touches, so that it too can be read
 * past the page cache.
 *
 * | head | page-aligned: skew, piece, rest of its last page | head | ...
 *
 * The pool belongs to its maker, its readers and the disks' threads; the last
 * one frees it.  So the maker waits only briefly for threads: half a second.
 *
 * Calls that find no buffer queue up.  While any waits, nobody else gets a
 * buffer, and nothing is read ahead.  Callers give lent stretches back soon,
 * and requests in flight are bounded over all disks; so the queue moves,
 * however little memory there is.
 */

enum { MEMORY = 64 << 20, PATIENCE_S = 10, HUGE = 2 << 20 };

static void
pool_free(struct reader_pool *pool)
{
	for (unsigned i = 0; i < pool->disks; i++)
		pthread_cond_destroy(&pool->disk[i].work);
	if (pool->memory)
		munmap(pool->memory, pool->memory_bytes);
	pthread_mutex_destroy(&pool->lock);
	pthread_cond_destroy(&pool->ended);
	free(pool->request);
	free(pool->piece);
	free(pool->disk);
	free(pool);
}

void
reader_pool_drop(struct reader_pool *pool)
{
	bool last = --pool->refs == 0;

	pthread_mutex_unlock(&pool->lock);
	if (last)
		pool_free(pool);
}

/* Gives the memory back to the kernel, unless a disk still uses some of it. */
static void
pool_rest(struct reader_pool *pool)
{
	if (!pool->used)
		madvise(pool->memory, pool->memory_bytes, MADV_DONTNEED);
}

void
reader_pool_leave(struct reader_pool *pool)
{
	int64_t until = clock_steady() + NS_SECOND / 2;
	struct timespec at = { .tv_sec = until / NS_SECOND,
			       .tv_nsec = until % NS_SECOND };
	int err = 0;

	pthread_mutex_lock(&pool->lock);
	pool->stop = true;
	for (unsigned i = 0; i < pool->disks; i++)
		pthread_cond_broadcast(&pool->disk[i].work);
	while (pool->threads && !err)
		err = pthread_cond_timedwait(&pool->ended, &pool->lock, &at);
	reader_pool_drop(pool);
}

static void
size_pieces(struct reader_pool *pool, const struct reader_pool_args *a)
{
	uint64_t memory = a->memory ? a->memory : MEMORY;

	pool->request_bytes = READER_REQUEST;
	pool->piece_bytes = reader_up(a->piece ? a->piece : 1, READER_REQUEST);
	pool->head = reader_up(a->head, READER_PAGE);
	pool->stride = pool->head + pool->piece_bytes + READER_PAGE;
	pool->pieces = READER_LEAST;
	if (memory / pool->stride > READER_LEAST)
		pool->pieces = (unsigned)(memory / pool->stride);
	pool->memory_bytes = reader_up(pool->stride * pool->pieces, HUGE);
}

/* Maps the buffers.  The kernel supplies a page at its first use, so a short
 * recording costs little memory. */
static int
make_memory(struct reader_pool *pool)
{
	pool->memory = mmap(NULL, pool->memory_bytes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (pool->memory == MAP_FAILED) {
		pool->memory = NULL;
		return -ENOMEM;
	}
	madvise(pool->memory, pool->memory_bytes, MADV_HUGEPAGE);
	return 0;
}

static int
make_pieces(struct reader_pool *pool)
{
	/* One more, as a piece need not begin at a page. */
	size_t each = pool->piece_bytes / pool->request_bytes + 1;

	pool->piece = calloc(pool->pieces, sizeof *pool->piece);
	pool->request = calloc(pool->pieces * each, sizeof *pool->request);
	if (!pool->piece || !pool->request)
		return -ENOMEM;
	for (unsigned i = pool->pieces; i-- > 0;) {
		struct reader_piece *p = &pool->piece[i];

		p->buffer = pool->memory + i * pool->stride + pool->head;
		p->request = pool->request + i * each;
		p->next = pool->free;
		pool->free = p;
	}
	return 0;
}

static int
make_disks(struct reader_pool *pool, unsigned n)
{
	uint64_t requests =
	    pool->pieces * (pool->piece_bytes / pool->request_bytes);

	pool->disk = calloc(n + 1, sizeof *pool->disk);
	if (!pool->disk)
		return -ENOMEM;
	for (; pool->disks < n; pool->disks++) {
		struct reader_disk *d = &pool->disk[pool->disks];

		d->pool = pool;
		d->now.tail = &d->now.first;
		d->soon.tail = &d->soon.first;
		pthread_cond_init(&d->work, NULL);
		d->depth = READER_DEPTH;
		if (requests / (2 * n) < READER_DEPTH)
			d->depth = (unsigned)(requests / (2 * n));
		if (!d->depth)
			d->depth = 1;
	}
	return 0;
}

int
reader_pool_make(struct reader_pool **pool, const struct reader_pool_args *a)
{
	struct reader_pool *p = calloc(1, sizeof *p);
	pthread_condattr_t steady;
	int err;

	if (!p)
		return -ENOMEM;
	p->shared = true;
	p->refs = 1;
	p->patience = a->patience ? a->patience : PATIENCE_S * NS_SECOND;
	p->ring = reader_ring_can();
	pthread_condattr_init(&steady);
	pthread_condattr_setclock(&steady, CLOCK_MONOTONIC);
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->ended, &steady);
	pthread_condattr_destroy(&steady);
	size_pieces(p, a);
	err = make_memory(p);
	if (!err)
		err = make_pieces(p);
	if (!err)
		err = make_disks(p, a->disks);
	if (err)
		pool_free(p);
	else
		*pool = p;
	return err;
}

void
reader_pool_facts(struct reader_pool *pool, uint64_t *bytes, unsigned *hang)
{
	int64_t now = clock_steady();

	*hang = 0;
	pthread_mutex_lock(&pool->lock);
	*bytes = pool->used * pool->piece_bytes;
	for (unsigned i = 0; i < pool->disks; i++)
		*hang += reader_disk_hangs(&pool->disk[i], now);
	pthread_mutex_unlock(&pool->lock);
}

bool
reader_pool_hangs(struct reader_pool *pool, unsigned disk)
{
	bool hangs;

	pthread_mutex_lock(&pool->lock);
	hangs = reader_disk_hangs(&pool->disk[disk], clock_steady());
	pthread_mutex_unlock(&pool->lock);
	return hangs;
}

/* ---- readers ------------------------------------------------------------- */

/* Drops all pieces, also those that the caller did not put. */
static void
drop_all(struct reader *r)
{
	for (unsigned i = 0; i < r->pool->pieces; i++) {
		struct reader_piece *p = &r->pool->piece[i];

		if (p->reader != r)
			continue;
		p->users = 0;
		reader_piece_drop(p);
	}
}

void
reader_close(struct reader *r)
{
	struct reader_pool *pool;

	if (!r)
		return;
	pool = r->pool;
	pthread_mutex_lock(&pool->lock);
	r->closed = true;
	drop_all(r);
	reader_chunk_close(r);
	reader_leave(r);
	if (pool->shared) {
		if (!--pool->readers)
			pool_rest(pool);
		reader_pool_drop(pool);
	} else {
		pthread_mutex_unlock(&pool->lock);
		reader_pool_leave(pool);
	}
}

static int
make_parts(struct reader *r)
{
	r->part = calloc(r->pool->disks + 1, sizeof *r->part);
	if (!r->part)
		return -ENOMEM;
	for (unsigned i = 0; i < r->pool->disks; i++) {
		r->part[i].dir = -1;
		pthread_mutex_init(&r->part[i].sums_lock, NULL);
	}
	return 0;
}

static int
find_pool(struct reader *r, const struct reader_args *a)
{
	const struct reader_pool_args own = {
		.disks = r->rec->disks->n,
		.memory = a->memory,
		.piece = a->piece,
		.head = a->head,
		.patience = a->patience,
	};
	int err;

	r->pool = a->pool;
	if (r->pool) {
		pthread_mutex_lock(&r->pool->lock);
		r->pool->refs++;
		r->pool->readers++;
		pthread_mutex_unlock(&r->pool->lock);
		return 0;
	}
	err = reader_pool_make(&r->pool, &own);
	if (!err)
		r->pool->shared = false;
	return err;
}

int
reader_open(struct reader **reader, struct recording *rec,
	    const struct reader_args *a)
{
	struct reader *r = calloc(1, sizeof *r);
	int err;

	if (!r)
		return -ENOMEM;
	r->rec = rec;
	memcpy(r->name, rec->name, sizeof r->name);
	r->refs = 1;
	r->verify = a->verify;
	err = find_pool(r, a);
	if (err) {
		free(r);
		return err;
	}
	err = make_parts(r);
	if (a->timer > 0)
		r->timer = fcntl(a->timer, F_DUPFD_CLOEXEC, 3);
	if (!err && r->timer < 0)
		err = -errno;
	if (err)
		reader_close(r);
	else
		*reader = r;
	return err;
}

void
reader_watch(struct reader *r)
{
	struct reader_pool *pool = r->pool;
	int64_t now = clock_steady();

	pthread_mutex_lock(&pool->lock);
	for (unsigned i = 0; i < pool->disks; i++)
		r->rec->part[i].hangs = reader_disk_hangs(&pool->disk[i], now);
	pthread_mutex_unlock(&pool->lock);
}

void
reader_exchange(struct reader *r, struct recording *fresh)
{
	pthread_mutex_lock(&r->pool->lock);
	recording_exchange(r->rec, fresh);
	pthread_mutex_unlock(&r->pool->lock);
}

void
reader_facts(struct reader *r, struct reader_facts *f)
{
	struct reader_pool *pool = r->pool;
	int64_t now = clock_steady();

	pthread_mutex_lock(&pool->lock);
	*f = (struct reader_facts){ .bytes = r->bytes };
	for (unsigned i = 0; i < pool->disks; i++)
		f->hang += reader_disk_hangs(&pool->disk[i], now);
	pthread_mutex_unlock(&pool->lock);
}

/* ---- getting and putting ------------------------------------------------- */

/*
 * reader_get(): gives what is wanted now.  If it is not in a buffer, it is
 * requested before everything that is read ahead, and waited for.  A waiting
 * call holds no buffer and keeps nothing that it saw of the recording: it looks
 * the block up again afterwards.  A call that finds no buffer joins the pool's
 * queue, and only the first of the queue may take a buffer that becomes free.
 */

static void
queue_up(struct reader_call *h)
{
	struct reader_call **link = &h->cursor->reader->pool->call;

	if (h->queued)
		return;
	while (*link)
		link = &(*link)->next;
	h->next = NULL;
	h->queued = true;
	*link = h;
}

static void
step_out(struct reader_call *h)
{
	struct reader_pool *pool = h->cursor->reader->pool;
	struct reader_call **link = &pool->call;

	if (!h->queued)
		return;
	while (*link != h)
		link = &(*link)->next;
	*link = h->next;
	h->queued = false;
	reader_pool_wake(pool); /* there may be a buffer for the next one,
				   too */
}

/* True if a buffer is free for this call; else it joins the queue. */
static bool
find_buffer(struct reader_call *h)
{
	struct reader_pool *pool = h->cursor->reader->pool;

	if ((!pool->call || pool->call == h) &&
	    (pool->free || reader_piece_evict(pool, true)))
		return true;
	queue_up(h);
	return false;
}

/* True if every buffer is held by a disk that hangs. */
static bool
is_stuck(struct reader_pool *pool, int64_t now)
{
	for (unsigned i = 0; i < pool->pieces; i++) {
		struct reader_piece *p = &pool->piece[i];

		if (!p->reader || p->users || !p->left ||
		    !reader_disk_hangs(p->disk, now))
			return false;
	}
	return true;
}

/* Requests a piece from its disk.  After a jump it is no longer than needed,
 * rounded to pages or, with verify, to quanta of checksums. */
static struct reader_piece *
ask_now(struct reader_call *h)
{
	struct reader_cursor *cursor = h->cursor;
	struct reader *r = cursor->reader;
	uint64_t end = reader_grid_end(r, h->b, h->at), from;
	uint64_t unit = cursor->managed ? READER_PAGE : READER_ALIGN;
	struct reader_piece *p;

	if (r->verify)
		unit = BLOCK_QUANTUM;
	if (h->jumped && h->bytes && h->bytes < end - h->at &&
	    reader_up(h->at + h->bytes, unit) < end)
		end = reader_up(h->at + h->bytes, unit);
	from = h->jumped || r->verify ? reader_down(h->at, unit) : h->at;
	end = reader_piece_next(r, h->number, h->at, end);
	p = reader_piece_ask(r, h->b, from, end, true);
	if (!p)
		return NULL;
	p->ahead = cursor; /* until it is given */
	cursor->ahead++;
	if (cursor->next_number == p->number && cursor->next_at < end)
		cursor->next_at = end;
	return p;
}

/* Gives a bad stretch: up to the end of the piece, or of the block if it has no
 * disk. */
static int
give_bad(struct reader_call *h, int err)
{
	uint64_t end = h->b->disk < 0
			   ? h->b->record.bytes
			   : reader_grid_end(h->cursor->reader, h->b, h->at);

	*h->v = (struct reader_view){ .at = h->at,
				      .bytes = end - h->at,
				      .err = err };
	return 0;
}

static void
note_hang(struct reader_call *h, bool hangs)
{
	struct recording *rec = h->cursor->reader->rec;

	rec->part[h->b->disk].hangs = hangs;
}

static int
give(struct reader_call *h, struct reader_piece *p)
{
	struct reader *r = h->cursor->reader;
	struct reader_view *v = h->v;
	uint64_t end;

	note_hang(h, p->disk->hangs);
	*v = (struct reader_view){ .at = h->at, .piece = p };
	v->err = reader_piece_stretch(p, h->at, &end);
	v->bytes = end - h->at;
	if (h->bytes && v->bytes > h->bytes)
		v->bytes = h->bytes;
	if (!v->err)
		v->data = p->data + (h->at - p->at);
	p->users++;
	p->used = ++r->pool->turn;
	p->used_at = h->cursor->used;
	if (p->ahead)
		p->ahead->ahead--;
	p->ahead = NULL;
	return 0;
}

/* Gives up: the disk hangs, or all buffers are held by disks that do. */
static int
give_up(struct reader_call *h, struct reader_piece *p)
{
	if (p && !p->users)
		reader_piece_drop(p);
	give_bad(h, -ETIMEDOUT);
	reader_cursor_read_ahead(h->cursor);
	return 0;
}

/* Returns 0, or -EAGAIN: not there yet. */
static int
get_piece(struct reader_call *h, int64_t now)
{
	struct reader *r = h->cursor->reader;
	struct reader_pool *pool = r->pool;
	bool hangs = reader_disk_hangs(&pool->disk[h->b->disk], now);
	struct reader_piece *p = reader_piece_find(r, h->number, h->at);

	if (p)
		reader_piece_hurry(p);
	if (!p && !hangs && find_buffer(h)) {
		p = ask_now(h);
		step_out(h);
		if (!p)
			return give_bad(h, -ENOENT);
	}
	if (p)
		p->users++; /* keeps read-ahead from taking its buffer */
	if (!hangs)
		reader_cursor_read_ahead(h->cursor);
	if (p)
		p->users--;
	if (p && !p->left)
		return give(h, p);
	if (hangs) {
		note_hang(h, true);
		return give_up(h, p);
	}
	return p || !is_stuck(pool, now) ? -EAGAIN : give_up(h, p);
}

/* Returns the steady time at which to look again without any news. */
static int64_t
patience_end(const struct reader_call *h)
{
	const struct reader_pool *pool = h->cursor->reader->pool;
	const struct reader_disk *d = &pool->disk[h->b->disk];

	return (d->in_flight ? d->progress_at : clock_steady()) +
	       pool->patience + 1;
}

static struct timespec
timespec_of(int64_t ns)
{
	return (struct timespec){ .tv_sec = ns / NS_SECOND,
				  .tv_nsec = ns % NS_SECOND };
}

static void
set_timer(const struct reader_call *h)
{
	struct reader *r = h->cursor->reader;
	const struct itimerspec at = { .it_value =
					   timespec_of(patience_end(h)) };

	r->asked = true;
	if (r->timer)
		timerfd_settime(r->timer, TFD_TIMER_ABSTIME, &at, NULL);
}

/* Looks the block up in the recording as it is now.  Returns 0, or -ENODATA: it
 * has no such data. */
static int
find_block(struct reader_call *h)
{
	const struct recording *rec = h->cursor->reader->rec;

	if (h->number >= rec->blocks)
		return -ENODATA;
	h->b = &rec->block[h->number];
	if (h->b->record.kind != INDEX_BLOCK || h->at >= h->b->record.bytes)
		return -ENODATA;
	return 0;
}

/* Returns 0, -EAGAIN or -ENODATA. */
static int
try(struct reader_call *h, int64_t now)
{
	int err = find_block(h);

	if (err)
		return err;
	return h->b->disk < 0 ? give_bad(h, -ENOENT) : get_piece(h, now);
}

/* Waits for news of piece `p` (or of a buffer, if NULL), or until it is time to
 * look again. */
static void
wait_for(struct reader_call *h, const struct reader_piece *p)
{
	struct reader *r = h->cursor->reader;
	struct reader_call **link = &r->waiting;
	int64_t end = patience_end(h);
	struct timespec at = timespec_of(end < h->until ? end : h->until);
	pthread_condattr_t steady;

	pthread_condattr_init(&steady);
	pthread_condattr_setclock(&steady, CLOCK_MONOTONIC);
	pthread_cond_init(&h->news, &steady);
	pthread_condattr_destroy(&steady);
	h->piece = p;
	h->next_waiting = r->waiting;
	r->waiting = h;
	pthread_cond_timedwait(&h->news, &r->pool->lock, &at);
	while (*link != h)
		link = &(*link)->next_waiting;
	*link = h->next_waiting;
	pthread_cond_destroy(&h->news);
}

static int
wait(struct reader_call *h)
{
	struct reader *r = h->cursor->reader;
	int64_t now = clock_steady();
	int err;

	while ((err = try(h, now)) == -EAGAIN) {
		if (now >= h->until) {
			set_timer(h);
			return -ETIMEDOUT;
		}
		wait_for(h, reader_piece_find(r, h->number, h->at));
		now = clock_steady();
	}
	return err;
}

int
reader_get(struct reader_cursor *cursor, uint64_t number, uint64_t at,
	   uint64_t bytes, struct reader_view *v, int64_t until)
{
	struct reader *r = cursor->reader;
	struct reader_call h = {
		.cursor = cursor,
		.number = number,
		.at = at,
		.bytes = bytes,
		.v = v,
		.until = until,
	};
	int err;

	pthread_mutex_lock(&r->pool->lock);
	r->asked = false;
	err = find_block(&h);
	if (!err) {
		if (h.b->disk >= 0)
			h.jumped = reader_cursor_follow(cursor, number, at);
		err = wait(&h);
		step_out(&h);
	}
	if (!err) {
		cursor->number = number;
		cursor->at = v->at + v->bytes;
	}
	pthread_mutex_unlock(&r->pool->lock);
	return err;
}

/* True if the piece is not needed any more.  A pool with a single cursor drops
 * a piece once all of it was given. */
static bool
is_done(const struct reader_pool *pool, const struct reader_piece *p)
{
	bool alone = !pool->cursors || !pool->cursors->next;

	return !p->known || p->bads || (alone && p->given >= p->bytes);
}

void
reader_put(struct reader *r, struct reader_view *v)
{
	struct reader_piece *p = v->piece;

	if (!p)
		return;
	pthread_mutex_lock(&r->pool->lock);
	p->given += v->bytes;
	if (--p->users)
		;
	else if (is_done(r->pool, p))
		reader_piece_drop(p);
	else
		reader_pool_wake(r->pool);
	pthread_mutex_unlock(&r->pool->lock);
	v->piece = NULL;
}
