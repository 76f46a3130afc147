/* SPDX-License-Identifier: MIT */
/*
 * A pool of buffers and of threads for each disk, the readers that share it,
 * the pieces of blocks that lie in the buffers, read-ahead, and pool_get().
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
#include "store/read/pool_priv.h"
#include "store/recording/recording_priv.h"
#include "store/disk/file.h"

/* ---- letting go ---------------------------------------------------------- */

static void
reader_free(struct pool_reader *r)
{
	for (unsigned i = 0; r->part && i < r->pool->disks; i++) {
		if (r->part[i].dir >= 0)
			file_close(r->part[i].dir);
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
reader_leave(struct pool_reader *r)
{
	if (--r->refs == 0)
		reader_free(r);
}

/* Wakes the first call that waits for a buffer. */
static void
wake_first(struct pool *pool)
{
	if (pool->call)
		pthread_cond_signal(&pool->call->news);
}

/* ---- pieces -------------------------------------------------------------- */

static unsigned
bucket(const struct pool_reader *r, uint64_t number, uint64_t at)
{
	return (unsigned)((number * 31 + at / r->pool->piece_bytes) %
			  POOL_BUCKETS);
}

/* Returns the piece that holds this byte of a block, or NULL. */
static struct pool_piece *
piece_find(struct pool_reader *r, uint64_t number, uint64_t at)
{
	struct pool_piece *p = r->bucket[bucket(r, number, at)];

	while (p &&
	       (p->number != number || at < p->at || at - p->at >= p->bytes))
		p = p->next;
	return p;
}

/* Returns where the next piece begins that lies in the same cell of the grid,
 * or `end` if there is none. */
static uint64_t
piece_next(struct pool_reader *r, uint64_t number, uint64_t at, uint64_t end)
{
	struct pool_piece *p = r->bucket[bucket(r, number, at)];

	for (; p; p = p->next) {
		if (p->number == number && p->at > at && p->at < end)
			end = p->at;
	}
	return end;
}

/* Wakes calls that wait for this piece. */
static void
piece_wake(const struct pool_piece *p)
{
	struct pool_call *call = p->reader->waiting;

	for (; call; call = call->next_waiting) {
		if (call->piece == p)
			pthread_cond_signal(&call->news);
	}
}

static void
forget(struct pool_piece *p)
{
	struct pool_reader *r = p->reader;
	struct pool_piece **link = &r->bucket[bucket(r, p->number, p->at)];

	if (!p->known)
		return;
	while (*link != p)
		link = &(*link)->next;
	*link = p->next;
	p->known = false;
	piece_wake(p);
	if (p->ahead)
		p->ahead->ahead--;
	p->ahead = NULL;
}

static void
give_back(struct pool_piece *p)
{
	struct pool_reader *r = p->reader;
	struct pool *pool = r->pool;

	pool_chunk_put(r, p->chunk);
	p->chunk = NULL;
	p->reader = NULL;
	p->next = pool->free;
	pool->free = p;
	pool->used--;
	reader_leave(r);
	wake_first(pool);
}

void
pool_piece_drop(struct pool_piece *p)
{
	unsigned waiting = p->left ? pool_disk_unask(p->disk, p) : 0;

	forget(p);
	if (waiting) {
		p->left -= waiting;
		pool_chunk_done(p->chunk, waiting);
	}
	if (!p->left && !p->users)
		give_back(p);
}

enum { IDLE_MS = 2000 };

#define NS_MS INT64_C(1000000)

/* True if a position was not used for a while: its read-ahead may be taken. */
static bool
is_idle(const struct pool_position *position, int64_t now)
{
	return now - position->used > IDLE_MS * NS_MS;
}

/*
 * Order in which pieces lose their buffers: GIVEN, read as often as they are
 * long; IDLE, read ahead for a position that is no longer used; HALF, read in
 * part; AHEAD, about to be read.  HALF counts as GIVEN when unused for OLD_MS.
 * Read-ahead takes no buffer from HALF or AHEAD.  Among equals the one used
 * longest ago goes first; of AHEAD the farthest one.
 */
enum { GIVEN, IDLE, HALF, AHEAD, OLD_MS = 500 };

static unsigned
worth(const struct pool_piece *p, int64_t now)
{
	if (p->ahead)
		return is_idle(p->ahead, now) ? IDLE : AHEAD;
	if (p->given >= p->bytes)
		return GIVEN;
	return now - p->used_at > OLD_MS * NS_MS ? GIVEN : HALF;
}

/* True if p loses its buffer before q, which has the same worth. */
static bool
is_first(const struct pool_piece *p, const struct pool_piece *q, unsigned same)
{
	return same == AHEAD ? p->used > q->used : p->used < q->used;
}

/* Frees the buffer of the piece least needed.  `ahead`: also one that was read
 * ahead and is about to be used.  False if there is none. */
static bool
piece_evict(struct pool *pool, bool ahead)
{
	struct pool_piece *least = NULL;
	int64_t now = clock_steady();
	unsigned least_worth = AHEAD, n;

	for (unsigned i = 0; i < pool->pieces; i++) {
		struct pool_piece *p = &pool->piece[i];

		if (!p->reader || !p->known || p->left || p->users)
			continue;
		n = worth(p, now);
		if (!least || n < least_worth ||
		    (n == least_worth && is_first(p, least, n))) {
			least = p;
			least_worth = n;
		}
	}
	if (!least || (least_worth >= HALF && !ahead))
		return false;
	pool_piece_drop(least);
	return true;
}

/* Cuts a piece into requests for whole pages of the file. */
static void
cut_pages(struct pool_piece *p, uint64_t from)
{
	uint64_t first = pool_down(from, POOL_PAGE), at = first;
	uint64_t end = from + p->bytes, last = pool_up(end, POOL_PAGE);
	uint64_t most = p->disk->pool->request_bytes;

	p->data = p->buffer + (from - first);
	for (p->requests = 0; at < last; at += most) {
		struct pool_request *q = &p->request[p->requests++];
		uint64_t to = last - at < most ? last : at + most;
		uint64_t skip = at < from ? from - at : 0;

		*q = (struct pool_request){
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
cut_stride(struct pool_piece *p)
{
	uint64_t most = p->disk->pool->request_bytes;

	p->data = p->buffer;
	p->requests = 0;
	for (uint64_t at = 0; at < p->bytes; at += most) {
		uint64_t left = p->bytes - at;
		uint32_t bytes = (uint32_t)(left < most ? left : most);

		p->request[p->requests++] = (struct pool_request){
			.piece = p,
			.offset = p->at + at,
			.bytes = bytes,
			.want = bytes,
			.to = p->buffer + at,
		};
	}
}

static void
ask_disk(struct pool_piece *p, bool now)
{
	if (p->chunk->prefix)
		cut_stride(p);
	else
		cut_pages(p, p->chunk->offset + p->at);
	p->left = p->unread = p->requests;
	pool_chunk_ask(p->chunk, p->requests);
	for (unsigned i = 0; i < p->requests; i++)
		pool_disk_ask(p->disk, &p->request[i], now);
}

/* Moves the waiting requests of a piece that was read ahead to the queue
 * pool_disk::now: a caller waits for it. */
static void
piece_hurry(struct pool_piece *p)
{
	unsigned waiting;

	if (p->now || !p->left)
		return;
	p->now = true;
	waiting = pool_disk_unask(p->disk, p);
	/* Threads have taken the first ones already. */
	for (unsigned i = p->requests - waiting; i < p->requests; i++)
		pool_disk_ask(p->disk, &p->request[i], true);
}

/* Duplicates the descriptor of a recording's folder on a disk for the disk's
 * threads: a thread that was left behind may outlive the original. */
bool
pool_part_open(struct pool_reader *r, unsigned disk)
{
	struct pool_part *part = &r->part[disk];
	int dir = r->rec->foreign ? r->rec->disks->disk[disk].fd
				  : r->rec->part[disk].dir;

	if (part->dir < 0 && dir >= 0)
		part->dir = file_dup(dir);
	return part->dir >= 0;
}

/* Takes a free buffer, which must exist. */
static struct pool_piece *
take_buffer(struct pool_reader *r)
{
	struct pool *pool = r->pool;
	struct pool_piece *p = pool->free;

	pool->free = p->next;
	pool->used++;
	p->reader = r;
	r->refs++;
	return p;
}

/* Lets the disks that are there have half of the buffers in flight. */
static void
set_depths(struct pool *pool)
{
	uint64_t requests =
	    pool->pieces * (pool->piece_bytes / pool->request_bytes);
	uint64_t depth = pool->there ? requests / (2 * pool->there) : 0;

	depth = depth ? depth : 1;
	for (unsigned i = 0; i < pool->disks; i++) {
		struct pool_disk *d = &pool->disk[i];
		unsigned most = d->remote ? POOL_DEPTH_REMOTE : POOL_DEPTH;

		d->depth = depth < most ? (unsigned)depth : most;
	}
}

/*
 * Takes a free buffer, which must exist, and asks a disk for bytes [at, end) of
 * a block, which lie within one cell of the grid.  `now`: goes before
 * everything read ahead.  Returns NULL if there is no memory or no such folder.
 */
static struct pool_piece *
piece_ask(struct pool_reader *r, const struct recording_block *b, unsigned disk,
	  uint64_t at, uint64_t end, bool now)
{
	struct pool *pool = r->pool;
	unsigned i = bucket(r, b->record.number, at);
	struct pool_disk *d = &pool->disk[disk];
	struct pool_chunk *c;
	struct pool_piece *p;

	if (disk < pool->disks && !d->threads && pool_part_open(r, disk)) {
		d->remote = file_is_remote(r->part[disk].dir);
		set_depths(pool);
	}
	if ((disk < pool->disks && !pool_part_open(r, disk)) ||
	    (!d->threads && pool_disk_start(d)))
		return NULL;
	c = pool_chunk_get(r, b, disk);
	if (!c)
		return NULL;
	p = take_buffer(r);
	p->chunk = c;
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

/* Notes that bytes of a piece are bad.  If there are more than POOL_BADS
 * stretches, the whole piece counts as bad. */
void
pool_piece_bad(struct pool_piece *p, uint64_t at, uint64_t bytes, int err)
{
	struct pool_bad *last = p->bads ? &p->bad[p->bads - 1] : NULL;

	if (!bytes)
		return;
	if (last && last->err == err && last->at + last->bytes == at) {
		last->bytes += bytes;
	} else if (p->bads < POOL_BADS) {
		p->bad[p->bads++] = (struct pool_bad){ at, bytes, err };
	} else {
		p->bad[0] = (struct pool_bad){ p->at, p->bytes, err };
		p->bads = 1;
	}
}

int
pool_piece_stretch(const struct pool_piece *p, uint64_t at, uint64_t *end)
{
	*end = p->at + p->bytes;
	for (unsigned i = 0; i < p->bads; i++) {
		const struct pool_bad *bad = &p->bad[i];

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
pool_request_end(struct pool_request *q)
{
	struct pool_piece *p = q->piece;

	if (--p->left)
		return;
	piece_wake(p);
	if (!p->known && !p->users)
		give_back(p);
	else
		wake_first(p->reader->pool);
}

/* ---- positions ----------------------------------------------------------- */

/*
 * Read-ahead.  What is wanted now goes before everything read ahead.
 * Read-ahead goes from block to block along the position as far as buffers
 * permit, so as many disks are busy as there are blocks in the window.  A disk
 * that hangs gets no further requests.
 *
 *   read            wanted              next
 *   ... |  passed  |  view  |  ahead  |  not asked for yet ...
 *                            <------->
 *                              window
 *
 * All positions of a pool that read ahead get the same share of its buffers.  A
 * position that is unused for two seconds loses its share, and what it read
 * ahead is taken first when buffers are short: an open file that nobody reads
 * costs no memory.
 */

enum {
	SHARE_MS = 50, /* a computed share is valid this long */
};

static bool
looks_ahead(const struct pool_position *position, int64_t now)
{
	return (position->window || position->sequential) &&
	       !is_idle(position, now);
}

/* Returns how many pieces each position may read ahead. */
static unsigned
share(struct pool *pool)
{
	int64_t now = clock_steady();
	unsigned n = 0;

	if (pool->share && now - pool->shared_at < SHARE_MS * NS_MS)
		return pool->share;
	for (struct pool_position *position = pool->positions; position;
	     position = position->next)
		n += looks_ahead(position, now);
	pool->share = pool->pieces / (n ? n : 1);
	pool->shared_at = now;
	return pool->share;
}

static unsigned
window(const struct pool_position *position)
{
	unsigned most = share(position->reader->pool);

	/* Keep a quarter for other threads that read the same file a little
	 * behind this one. */
	if (position->managed)
		most -= most / 4;
	return position->sequential || position->window > most
		   ? most
		   : position->window;
}

static bool
is_on_way(const struct pool_position *position, const struct recording_block *b)
{
	return b->record.kind == INDEX_BLOCK && b->disk >= 0 &&
	       (position->sub < 0 || b->record.sub == position->sub);
}

/* Returns which disk gives a block: its own, or pool::disks, that is, its parity
 * group does. */
static unsigned
disk_for(const struct pool_reader *r, const struct recording_block *b,
	 int64_t now)
{
	struct pool *pool = r->pool;

	if (b->computed || (pool_disk_hangs(&pool->disk[b->disk], now) &&
			    recording_protects(r->rec, b->record.number)))
		return pool->disks;
	return (unsigned)b->disk;
}

/* Moves the next place to read ahead to a block that has data there.  NULL: the
 * end. */
static const struct recording_block *
next_block(struct pool_position *position)
{
	const struct recording *rec = position->reader->rec;

	while (position->next_number < position->end &&
	       position->next_number < rec->blocks) {
		const struct recording_block *b =
		    &rec->block[position->next_number];

		if (is_on_way(position, b) &&
		    position->next_at < b->record.bytes)
			return b;
		position->next_number++;
		position->next_at = 0;
	}
	return NULL;
}

/* Returns where the cell of the grid ends that holds byte `at`: pieces never
 * cross cells. */
static uint64_t
grid_end(const struct pool_reader *r, const struct recording_block *b,
	 uint64_t at)
{
	uint64_t piece = r->pool->piece_bytes;
	uint64_t end = pool_down(at, piece) + piece;

	return end < b->record.bytes ? end : b->record.bytes;
}

static bool
ask_ahead(struct pool_position *position, const struct recording_block *b,
	  uint64_t *end)
{
	struct pool_reader *r = position->reader;
	struct pool *pool = r->pool;
	int64_t now = clock_steady();
	unsigned disk = disk_for(r, b, now);
	bool hangs = pool_disk_hangs(&pool->disk[disk], now);
	struct pool_piece *p =
	    piece_find(r, b->record.number, position->next_at);

	if (p)
		*end = p->at + p->bytes;
	if (p || hangs)
		return true;
	if (pool->call || (!pool->free && !piece_evict(pool, false)))
		return false;
	*end = piece_next(r, b->record.number, position->next_at, *end);
	p = piece_ask(r, b, disk, position->next_at, *end, false);
	if (!p)
		return false;
	p->ahead = position;
	position->ahead++;
	return true;
}

/*
 * True if the next place is as far ahead of the caller as it may be.  A
 * position that closely follows another finds everything read already, and must
 * not read on beyond it.
 */
static bool
is_far(const struct pool_position *position, const struct recording_block *b,
       unsigned most)
{
	const struct recording *rec = position->reader->rec;
	uint64_t from;

	if (!position->managed || position->sub < 0 ||
	    position->number >= rec->blocks)
		return false;
	from = rec->block[position->number].offset + position->at;
	return b->offset + position->next_at >
	       from + most * position->reader->pool->piece_bytes;
}

static void
read_ahead(struct pool_position *position)
{
	unsigned most = window(position);
	const struct recording_block *b;

	while (position->ahead < most && (b = next_block(position)) &&
	       !is_far(position, b, most)) {
		uint64_t end = grid_end(position->reader, b, position->next_at);

		if (!ask_ahead(position, b, &end))
			return;
		position->next_at = end;
	}
}

static void
drop_ahead(struct pool_position *position)
{
	struct pool *pool = position->reader->pool;

	for (unsigned i = 0; i < pool->pieces && position->ahead; i++) {
		struct pool_piece *p = &pool->piece[i];

		if (p->reader && p->known && p->ahead == position)
			pool_piece_drop(p);
	}
}

/* ---- following a position ------------------------------------------------ */

/* True if this place directly follows what was read last. */
static bool
is_next(const struct pool_position *position, uint64_t number, uint64_t at)
{
	const struct recording *rec = position->reader->rec;

	if (number == position->number)
		return at == position->at;
	if (at || position->number >= rec->blocks ||
	    number < position->number ||
	    position->at < rec->block[position->number].record.bytes)
		return false;
	for (uint64_t i = position->number + 1; i < number; i++) {
		if (is_on_way(position, &rec->block[i]))
			return false;
	}
	return true;
}

/* Has read-ahead begin at the caller's place, if it was behind that or not
 * begun. */
static bool
follow_managed(struct pool_position *position, uint64_t number, uint64_t at)
{
	if (!position->window)
		return true;
	if (position->next_number == UINT64_MAX ||
	    position->next_number < number ||
	    (position->next_number == number && position->next_at < at)) {
		position->next_number = number;
		position->next_at = at;
	}
	return false;
}

/* Notes that a caller reads at this place.  True if that is a jump. */
static bool
position_follow(struct pool_position *position, uint64_t number, uint64_t at)
{
	struct pool_reader *r = position->reader;
	struct pool_piece *p = piece_find(r, number, at);
	bool jumped;

	position->used = clock_steady();
	if (position->managed)
		return follow_managed(position, number, at);
	/* A `sequential` position asks again for what it waits for; that is no
	 * jump. */
	jumped = !is_next(position, number, at);
	if (!jumped && !position->sequential)
		position->window = position->window ? 2 * position->window : 1;
	if (jumped && (!p || p->ahead != position)) {
		drop_ahead(position);
		position->window = 0;
		position->next_number = number;
		position->next_at = at;
	}
	if (position->window > r->pool->pieces)
		position->window = r->pool->pieces;
	return jumped && !position->sequential;
}

/* ---- beginning and ending a position ------------------------------------- */

void
pool_position_begin(struct pool_position *position, struct pool_reader *r,
		    int sub, enum pool_order order)
{
	struct pool *pool = r->pool;

	*position = (struct pool_position){
		.reader = r,
		.sub = sub,
		.end = UINT64_MAX,
		.number = UINT64_MAX,
		.sequential = order == POOL_SEQUENTIAL,
		.managed = order == POOL_MANAGED,
	};
	pthread_mutex_lock(&pool->lock);
	position->next = pool->positions;
	pool->positions = position;
	pthread_mutex_unlock(&pool->lock);
}

void
pool_position_end(struct pool_position *position)
{
	struct pool *pool = position->reader->pool;
	struct pool_position **link = &pool->positions;

	pthread_mutex_lock(&pool->lock);
	drop_ahead(position);
	while (*link != position)
		link = &(*link)->next;
	*link = position->next;
	pool->share = 0;
	pthread_mutex_unlock(&pool->lock);
}

void
pool_position_set_ahead(struct pool_position *position, uint64_t bytes)
{
	struct pool *pool = position->reader->pool;
	uint64_t pieces = (bytes + pool->piece_bytes - 1) / pool->piece_bytes;
	bool looked;

	pthread_mutex_lock(&pool->lock);
	looked = position->window > 0;
	position->window =
	    pieces < pool->pieces ? (unsigned)pieces : pool->pieces;
	position->used = clock_steady();
	if (!pieces)
		drop_ahead(position);
	if (!pieces)
		position->next_number = UINT64_MAX;
	if (looked != (position->window > 0))
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
pool_free(struct pool *pool)
{
	for (unsigned i = 0; pool->disk && i <= pool->disks; i++)
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
pool_drop(struct pool *pool)
{
	bool last = --pool->refs == 0;

	pthread_mutex_unlock(&pool->lock);
	if (last)
		pool_free(pool);
}

/* Gives the memory back to the kernel, unless a disk still uses some of it. */
static void
pool_rest(struct pool *pool)
{
	if (!pool->used)
		madvise(pool->memory, pool->memory_bytes, MADV_DONTNEED);
}

void
pool_leave(struct pool *pool)
{
	int64_t until = clock_steady() + NS_SECOND / 2;
	struct timespec at = { .tv_sec = until / NS_SECOND,
			       .tv_nsec = until % NS_SECOND };
	int err = 0;

	pthread_mutex_lock(&pool->lock);
	pool->stop = true;
	for (unsigned i = 0; i <= pool->disks; i++)
		pthread_cond_broadcast(&pool->disk[i].work);
	while (pool->threads && !err)
		err = pthread_cond_timedwait(&pool->ended, &pool->lock, &at);
	pool_drop(pool);
}

static void
size_pieces(struct pool *pool, const struct pool_args *a)
{
	uint64_t memory = a->memory ? a->memory : MEMORY;

	pool->request_bytes = POOL_REQUEST;
	pool->piece_bytes = pool_up(a->piece ? a->piece : 1, POOL_REQUEST);
	pool->head = pool_up(a->head, POOL_PAGE);
	pool->stride = pool->head + pool->piece_bytes + POOL_PAGE;
	pool->pieces = POOL_LEAST;
	if (memory / pool->stride > POOL_LEAST)
		pool->pieces = (unsigned)(memory / pool->stride);
	pool->memory_bytes = pool_up(pool->stride * pool->pieces, HUGE);
}

/* Maps the buffers.  The kernel supplies a page at its first use, so a short
 * recording costs little memory. */
static int
make_memory(struct pool *pool)
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
make_pieces(struct pool *pool)
{
	/* One more, as a piece need not begin at a page. */
	size_t each = pool->piece_bytes / pool->request_bytes + 1;

	pool->piece = calloc(pool->pieces, sizeof *pool->piece);
	pool->request = calloc(pool->pieces * each, sizeof *pool->request);
	if (!pool->piece || !pool->request)
		return -ENOMEM;
	for (unsigned i = pool->pieces; i-- > 0;) {
		struct pool_piece *p = &pool->piece[i];

		p->buffer = pool->memory + i * pool->stride + pool->head;
		p->request = pool->request + i * each;
		p->next = pool->free;
		pool->free = p;
	}
	return 0;
}

static int
make_disks(struct pool *pool, const struct pool_args *a)
{
	pool->disk = calloc(a->disks + 1, sizeof *pool->disk);
	if (!pool->disk)
		return -ENOMEM;
	pool->disks = a->disks;
	for (unsigned i = 0; i <= a->disks; i++) {
		struct pool_disk *d = &pool->disk[i];

		d->pool = pool;
		d->now.tail = &d->now.first;
		d->soon.tail = &d->soon.first;
		pthread_cond_init(&d->work, NULL);
	}
	pool->disk[a->disks].depth = POOL_HEALERS;
	pool->there = a->disks - a->spare;
	set_depths(pool);
	return 0;
}

void
pool_join(struct pool *pool)
{
	pthread_mutex_lock(&pool->lock);
	pool->there++;
	set_depths(pool);
	pthread_mutex_unlock(&pool->lock);
}

int
pool_make(struct pool **pool, const struct pool_args *a)
{
	struct pool *p = calloc(1, sizeof *p);
	pthread_condattr_t steady;
	int err;

	if (!p)
		return -ENOMEM;
	p->shared = true;
	p->refs = 1;
	p->patience = a->patience ? a->patience : PATIENCE_S * NS_SECOND;
	p->ring = pool_ring_can();
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
		err = make_disks(p, a);
	if (err)
		pool_free(p);
	else
		*pool = p;
	return err;
}

void
pool_facts(struct pool *pool, uint64_t *bytes, unsigned *hang)
{
	int64_t now = clock_steady();

	*hang = 0;
	pthread_mutex_lock(&pool->lock);
	*bytes = pool->used * pool->piece_bytes;
	for (unsigned i = 0; i < pool->disks; i++)
		*hang += pool_disk_hangs(&pool->disk[i], now);
	pthread_mutex_unlock(&pool->lock);
}

bool
pool_hangs(struct pool *pool, unsigned disk)
{
	bool hangs;

	pthread_mutex_lock(&pool->lock);
	hangs = pool_disk_hangs(&pool->disk[disk], clock_steady());
	pthread_mutex_unlock(&pool->lock);
	return hangs;
}

/* ---- readers ------------------------------------------------------------- */

/* Drops all pieces, also those that the caller did not put. */
static void
drop_all(struct pool_reader *r)
{
	for (unsigned i = 0; i < r->pool->pieces; i++) {
		struct pool_piece *p = &r->pool->piece[i];

		if (p->reader != r)
			continue;
		p->users = 0;
		pool_piece_drop(p);
	}
}

void
pool_reader_close(struct pool_reader *r)
{
	struct pool *pool;

	if (!r)
		return;
	pool = r->pool;
	pthread_mutex_lock(&pool->lock);
	r->closed = true;
	drop_all(r);
	pool_chunk_close(r);
	reader_leave(r);
	if (pool->shared) {
		if (!--pool->readers)
			pool_rest(pool);
		pool_drop(pool);
	} else {
		pthread_mutex_unlock(&pool->lock);
		pool_leave(pool);
	}
}

static int
make_parts(struct pool_reader *r)
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

/* Returns the number of disks that are open: one that comes later is another. */
static unsigned
open_disks(const struct recording *rec)
{
	unsigned n = 0;

	for (unsigned i = 0; i < rec->disks->n; i++)
		n += rec->disks->disk[i].fd >= 0;
	return n;
}

static int
find_pool(struct pool_reader *r, const struct pool_reader_args *a)
{
	const struct pool_args own = {
		.disks = r->rec->disks->n,
		.spare = r->rec->disks->n - open_disks(r->rec),
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
	err = pool_make(&r->pool, &own);
	if (!err)
		r->pool->shared = false;
	return err;
}

int
pool_reader_open(struct pool_reader **reader, struct recording *rec,
		 const struct pool_reader_args *a)
{
	struct pool_reader *r = calloc(1, sizeof *r);
	int err;

	if (!r)
		return -ENOMEM;
	r->rec = rec;
	memcpy(r->name, rec->name, sizeof r->name);
	r->refs = 1;
	r->verify = a->verify;
	r->live = a->live;
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
		pool_reader_close(r);
	else
		*reader = r;
	return err;
}

void
pool_reader_watch(struct pool_reader *r)
{
	struct pool *pool = r->pool;
	int64_t now = clock_steady();

	pthread_mutex_lock(&pool->lock);
	if (!pool->shared) {
		pool->there = open_disks(r->rec);
		set_depths(pool);
	}
	for (unsigned i = 0; i < pool->disks; i++)
		r->rec->part[i].hangs = pool_disk_hangs(&pool->disk[i], now);
	pthread_mutex_unlock(&pool->lock);
}

void
pool_reader_exchange(struct pool_reader *r, struct recording *fresh)
{
	pthread_mutex_lock(&r->pool->lock);
	recording_exchange(r->rec, fresh);
	pthread_mutex_unlock(&r->pool->lock);
}

void
pool_reader_facts(struct pool_reader *r, struct pool_reader_facts *f)
{
	struct pool *pool = r->pool;
	int64_t now = clock_steady();

	pthread_mutex_lock(&pool->lock);
	*f = (struct pool_reader_facts){
		.bytes = r->bytes,
		.live_bytes =
		    atomic_load_explicit(&r->live_bytes, memory_order_relaxed),
		.healed = r->healed,
		.damaged = r->damaged,
	};
	for (unsigned i = 0; i < pool->disks; i++)
		f->hang += pool_disk_hangs(&pool->disk[i], now);
	pthread_mutex_unlock(&pool->lock);
}

/* ---- getting and putting ------------------------------------------------- */

/*
 * pool_get(): gives what is wanted now.  If it is not in a buffer, it is
 * requested before everything that is read ahead, and waited for.  A waiting
 * call holds no buffer and keeps nothing that it saw of the recording: it looks
 * the block up again afterwards.  A call that finds no buffer joins the pool's
 * queue, and only the first of the queue may take a buffer that becomes free.
 */

static void
queue_up(struct pool_call *h)
{
	struct pool_call **link = &h->position->reader->pool->call;

	if (h->queued)
		return;
	while (*link)
		link = &(*link)->next;
	h->next = NULL;
	h->queued = true;
	*link = h;
}

static void
step_out(struct pool_call *h)
{
	struct pool *pool = h->position->reader->pool;
	struct pool_call **link = &pool->call;

	if (!h->queued)
		return;
	while (*link != h)
		link = &(*link)->next;
	*link = h->next;
	h->queued = false;
	wake_first(pool); /* there may be a buffer for the next one,
				   too */
}

/* True if a buffer is free for this call; else it joins the queue. */
static bool
find_buffer(struct pool_call *h)
{
	struct pool *pool = h->position->reader->pool;

	if ((!pool->call || pool->call == h) &&
	    (pool->free || piece_evict(pool, true)))
		return true;
	queue_up(h);
	return false;
}

/* True if every buffer is held by a disk that hangs. */
static bool
is_stuck(struct pool *pool, int64_t now)
{
	for (unsigned i = 0; i < pool->pieces; i++) {
		struct pool_piece *p = &pool->piece[i];

		if (!p->reader || p->users || !p->left ||
		    !pool_disk_hangs(p->disk, now))
			return false;
	}
	return true;
}

/* Requests a piece from its disk.  After a jump it is no longer than needed,
 * rounded to pages or, with verify, to quanta of checksums. */
static struct pool_piece *
ask_now(struct pool_call *h)
{
	struct pool_position *position = h->position;
	struct pool_reader *r = position->reader;
	uint64_t end = grid_end(r, h->b, h->at), from;
	uint64_t unit = position->managed ? POOL_PAGE : POOL_ALIGN;
	bool checks = r->verify || r->rec->parity.numbers;
	struct pool_piece *p;

	if (checks)
		unit = BLOCK_QUANTUM;
	if (h->jumped && h->bytes && h->bytes < end - h->at &&
	    pool_up(h->at + h->bytes, unit) < end)
		end = pool_up(h->at + h->bytes, unit);
	from = h->jumped || checks ? pool_down(h->at, unit) : h->at;
	end = piece_next(r, h->number, h->at, end);
	p = piece_ask(r, h->b, h->disk, from, end, true);
	if (!p)
		return NULL;
	p->ahead = position; /* until it is given */
	position->ahead++;
	if (position->next_number == p->number && position->next_at < end)
		position->next_at = end;
	return p;
}

/* Gives a bad stretch: up to the end of the piece, or of the block if it has no
 * disk. */
static int
give_bad(struct pool_call *h, int err)
{
	uint64_t end = h->b->disk < 0
			   ? h->b->record.bytes
			   : grid_end(h->position->reader, h->b, h->at);

	*h->v = (struct pool_stretch){ .at = h->at,
				       .bytes = end - h->at,
				       .err = err };
	return 0;
}

static void
note_hang(struct pool_call *h, bool hangs)
{
	struct recording *rec = h->position->reader->rec;

	if (!h->b->computed)
		rec->part[h->b->disk].hangs = hangs;
}

static int
give(struct pool_call *h, struct pool_piece *p)
{
	struct pool_reader *r = h->position->reader;
	struct pool_stretch *v = h->v;
	uint64_t end;

	if (h->disk < r->pool->disks)
		note_hang(h, p->disk->hangs);
	*v = (struct pool_stretch){ .at = h->at, .piece = p };
	v->err = pool_piece_stretch(p, h->at, &end);
	v->bytes = end - h->at;
	if (h->bytes && v->bytes > h->bytes)
		v->bytes = h->bytes;
	if (!v->err)
		v->data = p->data + (h->at - p->at);
	/* A thread set them before it ended the piece's requests.  Around bytes
	 * that cannot be read nothing was compared. */
	if (!p->bads && r->verify && p->chunk->quantum == BLOCK_QUANTUM)
		v->sum = p->chunk->sum;
	p->users++;
	p->used = ++r->pool->turn;
	p->used_at = h->position->used;
	if (p->ahead)
		p->ahead->ahead--;
	p->ahead = NULL;
	return 0;
}

/* Gives up: the disk hangs, or all buffers are held by disks that do. */
static int
give_up(struct pool_call *h, struct pool_piece *p)
{
	if (p && !p->users)
		pool_piece_drop(p);
	give_bad(h, -ETIMEDOUT);
	read_ahead(h->position);
	return 0;
}

/* Gives the group of a block as long as its disk was given, which did not answer:
 * else the first reader that finds the disk hanging would go away as the block
 * comes. */
static void
put_off(struct pool_call *h)
{
	int64_t patience = h->position->reader->pool->patience;

	if (h->patient && h->until < INT64_MAX - patience)
		h->until += patience;
	h->patient = false;
}

/* Returns 0, or -EAGAIN: not there yet. */
static int
get_piece(struct pool_call *h, int64_t now)
{
	struct pool_reader *r = h->position->reader;
	struct pool *pool = r->pool;
	struct pool_piece *p;
	bool hangs;

	h->disk = disk_for(r, h->b, now);
	hangs = pool_disk_hangs(&pool->disk[h->disk], now);
	p = piece_find(r, h->number, h->at); /* a hang found now drops pieces */
	if (h->disk == pool->disks && !h->b->computed) {
		note_hang(h, true);
		put_off(h);
	}
	/* A piece was asked of a disk that hangs, and its group gives it: ask
	 * for it anew. */
	if (p && p->left && !p->users && p->disk != &pool->disk[h->disk]) {
		pool_piece_drop(p);
		p = NULL;
	}
	if (p)
		piece_hurry(p);
	if (!p && !hangs && find_buffer(h)) {
		p = ask_now(h);
		step_out(h);
		if (!p)
			return give_bad(h, -ENOENT);
	}
	if (p)
		p->users++; /* keeps read-ahead from taking its buffer */
	if (!hangs)
		read_ahead(h->position);
	if (p)
		p->users--;
	if (p && !p->left)
		return give(h, p);
	if (hangs) {
		if (h->disk < pool->disks)
			note_hang(h, true);
		return give_up(h, p);
	}
	return p || !is_stuck(pool, now) ? -EAGAIN : give_up(h, p);
}

/* Returns the steady time at which to look again without any news. */
static int64_t
patience_end(const struct pool_call *h)
{
	const struct pool *pool = h->position->reader->pool;
	const struct pool_disk *d = &pool->disk[h->disk];

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
set_timer(const struct pool_call *h)
{
	struct pool_reader *r = h->position->reader;
	const struct itimerspec at = { .it_value =
					   timespec_of(patience_end(h)) };

	r->asked = true;
	if (r->timer)
		timerfd_settime(r->timer, TFD_TIMER_ABSTIME, &at, NULL);
}

/* Looks the block up in the recording as it is now.  Returns 0, or -ENODATA: it
 * has no such data. */
static int
find_block(struct pool_call *h)
{
	const struct recording *rec = h->position->reader->rec;

	if (h->number >= rec->blocks)
		return -ENODATA;
	h->b = &rec->block[h->number];
	if (h->b->record.kind != INDEX_BLOCK || h->at >= h->b->record.bytes)
		return -ENODATA;
	return 0;
}

/* Returns 0, -EAGAIN or -ENODATA. */
static int
try(struct pool_call *h, int64_t now)
{
	int err = find_block(h);

	if (err)
		return err;
	return h->b->disk < 0 ? give_bad(h, -ENOENT) : get_piece(h, now);
}

/* Waits for news of piece `p` (or of a buffer, if NULL), or until it is time to
 * look again. */
static void
wait_for(struct pool_call *h, const struct pool_piece *p)
{
	struct pool_reader *r = h->position->reader;
	struct pool_call **link = &r->waiting;
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
wait(struct pool_call *h)
{
	struct pool_reader *r = h->position->reader;
	int64_t now = clock_steady();
	int err;

	while ((err = try(h, now)) == -EAGAIN) {
		if (now >= h->until) {
			set_timer(h);
			return -ETIMEDOUT;
		}
		wait_for(h, piece_find(r, h->number, h->at));
		now = clock_steady();
	}
	return err;
}

int
pool_get(struct pool_position *position, uint64_t number, uint64_t at,
	 uint64_t bytes, struct pool_stretch *v, int64_t until)
{
	struct pool_reader *r = position->reader;
	struct pool_call h = {
		.position = position,
		.number = number,
		.at = at,
		.bytes = bytes,
		.v = v,
		.until = until,
		.patient = until - clock_steady() > r->pool->patience / 2,
	};
	int err;

	pthread_mutex_lock(&r->pool->lock);
	r->asked = false;
	err = find_block(&h);
	if (!err) {
		if (h.b->disk >= 0)
			h.jumped = position_follow(position, number, at);
		err = wait(&h);
		step_out(&h);
	}
	if (!err) {
		position->number = number;
		position->at = v->at + v->bytes;
	}
	pthread_mutex_unlock(&r->pool->lock);
	return err;
}

int
pool_get_live(struct pool_position *position, uint64_t number, uint64_t at,
	      uint64_t bytes, void *own, struct pool_stretch *v, int64_t until)
{
	struct pool_reader *r = position->reader;

	if (!r->live.copy ||
	    !r->live.copy(r->live.arg, r->name, number, at, bytes, own))
		return pool_get(position, number, at, bytes, v, until);
	atomic_fetch_add_explicit(&r->live_bytes, bytes, memory_order_relaxed);
	*v = (struct pool_stretch){ .data = own, .at = at, .bytes = bytes };
	return 0;
}

/* True if the piece is not needed any more.  A pool with a single position
 * drops a piece once all of it was given. */
static bool
is_done(const struct pool *pool, const struct pool_piece *p)
{
	bool alone = !pool->positions || !pool->positions->next;

	return !p->known || p->bads || (alone && p->given >= p->bytes);
}

void
pool_put(struct pool_reader *r, struct pool_stretch *v)
{
	struct pool_piece *p = v->piece;

	if (!p)
		return;
	pthread_mutex_lock(&r->pool->lock);
	p->given += v->bytes;
	if (--p->users)
		;
	else if (is_done(r->pool, p))
		pool_piece_drop(p);
	else
		wake_first(r->pool);
	pthread_mutex_unlock(&r->pool->lock);
	v->piece = NULL;
}
