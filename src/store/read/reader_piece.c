/* SPDX-License-Identifier: MIT */
/*
 * Pieces are found by block and by cell of a fixed grid over the block.  One
 * cell may have several pieces that do not overlap, because a reader that jumps
 * asks for less than a whole cell.
 */
#include "config.h"

#include <fcntl.h>
#include <string.h>

#include "base/clock.h"
#include "store/read/reader_priv.h"
#include "store/recording/recording_priv.h"

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
reader_piece_news(const struct reader_piece *p)
{
	struct reader_wish *wish = p->reader->waiting;

	for (; wish; wish = wish->next_waiting) {
		if (wish->piece == p)
			pthread_cond_signal(&wish->news);
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
	reader_piece_news(p);
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
	reader_pool_news(pool);
}

void
reader_piece_drop(struct reader_piece *p)
{
	forget(p);
	if (p->left)
		p->left -= reader_lane_unask(p->lane, p);
	if (!p->left && !p->users)
		give_back(p);
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
		return reader_way_idles(p->ahead, now) ? IDLE : AHEAD;
	if (p->given >= p->bytes)
		return GIVEN;
	return now - p->used_at > OLD_MS * INT64_C(1000000) ? GIVEN : HALF;
}

static bool
is_missed_less(const struct reader_piece *p, const struct reader_piece *q,
	       int64_t now)
{
	unsigned a = worth(p, now), b = worth(q, now);

	if (a != b)
		return a < b;
	return a == AHEAD ? p->used > q->used : p->used < q->used;
}

bool
reader_piece_miss(struct reader_pool *pool, bool ahead)
{
	struct reader_piece *least = NULL;
	int64_t now = clock_steady();

	for (unsigned i = 0; i < pool->pieces; i++) {
		struct reader_piece *p = &pool->piece[i];

		if (p->reader && p->known && !p->left && !p->users &&
		    (!least || is_missed_less(p, least, now)))
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
	uint64_t most = p->lane->pool->request_bytes;

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
	uint64_t most = p->lane->pool->request_bytes;

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
ask_lane(struct reader_piece *p, bool now)
{
	if (p->chunk->prefix)
		cut_stride(p);
	else
		cut_pages(p, p->chunk->offset + p->at);
	p->left = p->unread = p->requests;
	for (unsigned i = 0; i < p->requests; i++)
		reader_lane_ask(p->lane, &p->request[i], now);
}

void
reader_piece_hurry(struct reader_piece *p)
{
	unsigned waiting;

	if (p->now || !p->left)
		return;
	p->now = true;
	waiting = reader_lane_unask(p->lane, p);
	/* Threads have taken the first ones already. */
	for (unsigned i = p->requests - waiting; i < p->requests; i++)
		reader_lane_ask(p->lane, &p->request[i], true);
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
	struct reader_lane *l = &pool->lane[b->disk];

	if (!open_part(r, b->disk) || (!l->threads && reader_lane_start(l)))
		return NULL;
	p->chunk = reader_chunk_get(r, b);
	if (!p->chunk)
		return NULL;
	take_buffer(r, p);
	p->lane = l;
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
	ask_lane(p, now);
	return p;
}

/* ---- good and bad ------------------------------------------------------- */

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
	reader_piece_news(p);
	if (!p->known && !p->users)
		give_back(p);
	else
		reader_pool_news(p->reader->pool);
}
