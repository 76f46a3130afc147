/* SPDX-License-Identifier: MIT */
/*
 * Pieces are found by the block and the place in it where the grid has them;
 * there may be several of one place, of which none has what another has: one
 * who jumps asks for less than a whole one.
 */
#include "config.h"

#include <string.h>

#include "store/reader_priv.h"

static unsigned
bucket(const struct reader *r, uint64_t number, uint64_t at)
{
	return (unsigned)((number * 31 + at / r->piece_bytes) % READER_BUCKETS);
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

static void
forget(struct reader_piece *p)
{
	struct reader *r = p->lane->reader;
	struct reader_piece **link = &r->bucket[bucket(r, p->number, p->at)];

	if (!p->known)
		return;
	while (*link != p)
		link = &(*link)->next;
	*link = p->next;
	p->known = false;
	if (p->ahead)
		p->ahead->ahead--;
	p->ahead = NULL;
}

static void
give_back(struct reader_piece *p)
{
	struct reader *r = p->lane->reader;

	reader_chunk_put(r, p->chunk);
	p->chunk = NULL;
	p->next = r->free;
	r->free = p;
}

void
reader_piece_drop(struct reader_piece *p)
{
	forget(p);
	p->left -= reader_lane_unask(p->lane, p);
	if (!p->left && !p->users)
		give_back(p);
}

/* Rather what somebody has read than what is read ahead for him. */
static bool
is_missed_less(const struct reader_piece *p, const struct reader_piece *q)
{
	if (!p->ahead != !q->ahead)
		return !p->ahead;
	return p->used < q->used;
}

bool
reader_piece_miss(struct reader *r, bool ahead)
{
	struct reader_piece *least = NULL;

	for (unsigned i = 0; i < r->pieces; i++) {
		struct reader_piece *p = &r->piece[i];

		if (p->known && !p->left && !p->users &&
		    (!least || is_missed_less(p, least)))
			least = p;
	}
	if (!least || (least->ahead && !ahead))
		return false;
	reader_piece_drop(least);
	return true;
}

/* Pages of the file, request after request. */
static void
cut_pages(struct reader_piece *p, uint64_t from)
{
	uint64_t first = reader_down(from, READER_PAGE), at = first;
	uint64_t end = from + p->bytes, last = reader_up(end, READER_PAGE);
	uint64_t most = p->lane->reader->request_bytes;

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

/* Packets with something before each: as stride_read() has them. */
static void
cut_stride(struct reader_piece *p)
{
	uint64_t most = p->lane->reader->request_bytes;

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
	/* What goes before all others is put there from its end on. */
	for (unsigned i = 0; i < p->requests; i++)
		reader_lane_ask(
		    p->lane, &p->request[now ? p->requests - 1 - i : i], now);
}

struct reader_piece *
reader_piece_ask(struct reader *r, const struct recording_block *b, uint64_t at,
		 uint64_t end, bool now)
{
	struct reader_piece *p = r->free;
	unsigned i = bucket(r, b->record.number, at);
	struct reader_lane *l = &r->lane[b->disk];

	if (!p || (!l->threads && reader_lane_start(l)))
		return NULL;
	p->chunk = reader_chunk_get(r, b);
	if (!p->chunk)
		return NULL;
	r->free = p->next;
	p->lane = l;
	p->number = b->record.number;
	p->at = at;
	p->bytes = end - at;
	p->bads = p->users = 0;
	p->passed = false;
	p->ahead = NULL;
	p->used = ++r->turn;
	r->bytes += p->bytes;
	p->known = true;
	p->next = r->bucket[i];
	r->bucket[i] = p;
	ask_lane(p, now);
	return p;
}

/* ---- good and bad ------------------------------------------------------- */

/* Where there are too many of them, all is bad. */
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

	if (--p->left || p->known || p->users)
		return;
	give_back(p);
}
