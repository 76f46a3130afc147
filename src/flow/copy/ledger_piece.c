/* SPDX-License-Identifier: MIT */
/*
 * Pieces become blocks.  They come over several connections, in any order, and
 * are read to their place in the block.  A piece is a quantum, the unit of a
 * block's checksums; so the checksum that came with it, and was verified while
 * its bytes were in the CPU's cache, is the one that is kept.
 */
#include "flow/copy/ledger_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/crc32c.h"
#include "flow/memory/brought.h"
#include "flow/memory/pool.h"

_Static_assert((int)COPY_PIECE == (int)BLOCK_QUANTUM, "a piece is a quantum");

static uint32_t
piece_bytes(const struct ledger_entry *e, uint32_t piece)
{
	uint64_t left = e->record.bytes - (uint64_t)piece * COPY_PIECE;

	return left < COPY_PIECE ? (uint32_t)left : COPY_PIECE;
}

/* ---- wanted ------------------------------------------------------------- */

/* Finds the next stretch of wanted pieces, from a piece on; false: there is
 * none. */
static bool
stretch(const struct ledger_entry *e, uint32_t from, struct copy_want *w)
{
	uint32_t n = ledger_pieces(e), to;

	if (e->is == IS_WANTED) {
		*w = (struct copy_want){ e->record.number, from, n - from };
		return from < n;
	}
	if (e->is != IS_COMING)
		return false;
	while (from < n && e->piece[from] == PIECE_CAME)
		from++;
	for (to = from; to < n && e->piece[to] != PIECE_CAME; to++)
		;
	*w = (struct copy_want){ e->record.number, from, to - from };
	return from < n;
}

unsigned
ledger_wants(struct ledger *l, size_t *at, struct copy_want *want,
	     unsigned most)
{
	unsigned n = 0;

	pthread_mutex_lock(&l->lock);
	for (; *at < l->n; ++*at) {
		const struct ledger_entry *e = &l->entry[*at];
		uint32_t from = 0;

		if (e->leaves)
			continue;

		/* All stretches of a block go into one list, except of a block
		 * with more of them than fit. */
		if (n && most - n < ledger_pieces(e))
			break;
		while (n < most && stretch(e, from, &want[n]))
			from = want[n].first + want[n].pieces, n++;
	}
	pthread_mutex_unlock(&l->lock);
	return n;
}

/* ---- coming ------------------------------------------------------------- */

static const char *
piece_check(const struct ledger_entry *e, const struct ledger_piece *p)
{
	if (!e)
		return "a piece of a block that was never told";
	if (e->is != IS_WANTED && e->is != IS_COMING)
		return "a piece of a block that is not wanted";
	if (p->piece >= ledger_pieces(e) ||
	    p->bytes != piece_bytes(e, p->piece))
		return "a piece with a wrong length";
	if (e->piece && e->piece[p->piece] != PIECE_NONE)
		return "a piece that came already";
	return NULL;
}

int
ledger_piece(struct ledger *l, struct ledger_piece *p, const char **why)
{
	struct ledger_entry *e;
	int err = 0;

	pthread_mutex_lock(&l->lock);
	e = ledger_find(l, p->number);
	*why = piece_check(e, p);
	if (*why) {
		err = -EBADMSG;
	} else if (!e->b) {
		err = -EAGAIN;
	} else {
		e->piece[p->piece] = PIECE_COMES;
		p->to = e->b->data + (uint64_t)p->piece * COPY_PIECE;
	}
	pthread_mutex_unlock(&l->lock);
	return err;
}

bool
ledger_lend(struct ledger *l, uint64_t number, struct block *b)
{
	struct ledger_entry *e;
	bool lent;

	pthread_mutex_lock(&l->lock);
	e = ledger_find(l, number);
	lent = e && e->is == IS_WANTED;
	if (lent) {
		e->piece = calloc(ledger_pieces(e), 1);
		lent = e->piece;
	}
	if (lent) {
		e->b = b;
		e->is = IS_COMING;
	}
	pthread_mutex_unlock(&l->lock);
	return lent;
}

/* ---- landed ------------------------------------------------------------- */

static bool
is_whole(const struct ledger_entry *e)
{
	return !memchr(e->piece, PIECE_NONE, ledger_pieces(e)) &&
	       !memchr(e->piece, PIECE_COMES, ledger_pieces(e));
}

/* Joins the checksums of the pieces to that of the block. */
static uint32_t
sum(const struct ledger_entry *e)
{
	uint32_t shift = crc32c_shift(COPY_PIECE), crc = 0;

	for (uint32_t i = 0; i < ledger_pieces(e); i++) {
		if (e->b->sum[i].bytes < COPY_PIECE)
			shift = crc32c_shift(e->b->sum[i].bytes);
		crc = crc32c_join(shift, crc, e->b->sum[i].crc);
	}
	return crc;
}

static struct brought *
bring(const struct ledger_entry *e)
{
	struct brought *to = malloc(sizeof *to + e->lines_bytes);

	if (!to)
		return NULL;
	to->record = e->record;
	to->lines_bytes = e->lines_bytes;
	if (e->lines_bytes)
		memcpy(to->lines, e->lines, e->lines_bytes);
	return to;
}

static void
dress(struct block *b, const struct ledger_entry *e)
{
	const struct index_record *r = &e->record;

	b->bytes = r->bytes;
	b->filled = r->present;
	b->missing = r->missing;
	b->run = r->run;
	b->sub = r->sub;
	b->first = r->first;
	b->base = e->base;
	b->gap = e->gap;
	b->first_ns = e->arrival_ns ? e->arrival_ns : r->first_ns;
	b->last_ns = r->last_ns;
	b->used = 0;
	b->summed = r->bytes;
	/* A recording without checksums is copied without them. */
	b->quantum = r->flags & INDEX_SUMMED ? BLOCK_QUANTUM : 0;
	block_close(b);
}

/* Ends a block whose pieces have all come. */
static int
complete(struct ledger *l, struct ledger_entry *e, struct block **whole)
{
	const struct index_record *r = &e->record;

	if (r->flags & INDEX_SUMMED && sum(e) != r->crc) {
		ledger_unlend(e);
		e->is = IS_WANTED;
		return -EBADMSG;
	}
	e->b->brought = bring(e);
	if (!e->b->brought) {
		ledger_unlend(e);
		e->is = IS_WANTED;
		return -ENOMEM;
	}
	dress(e->b, e);
	*whole = e->b;
	e->b = NULL;
	ledger_unlend(e);
	e->is = IS_WRITING;
	l->facts.writing++;
	return 0;
}

int
ledger_landed(struct ledger *l, const struct ledger_piece *p,
	      const uint32_t *crc, struct block **whole)
{
	struct ledger_entry *e;
	int err = 0;

	*whole = NULL;
	pthread_mutex_lock(&l->lock);
	e = ledger_find(l, p->number); /* an entry never goes away */
	e->piece[p->piece] = crc ? PIECE_CAME : PIECE_NONE;
	if (crc) {
		e->b->sum[p->piece] = (struct block_sum){ *crc, p->bytes };
		l->facts.came_bytes += p->bytes;
		if (is_whole(e))
			err = complete(l, e, whole);
	}
	pthread_mutex_unlock(&l->lock);
	return err;
}

void
ledger_forget(struct ledger *l)
{
	pthread_mutex_lock(&l->lock);
	for (size_t i = 0; i < l->n; i++) {
		if (l->entry[i].is != IS_COMING)
			continue;
		ledger_unlend(&l->entry[i]);
		l->entry[i].is = IS_WANTED;
	}
	pthread_mutex_unlock(&l->lock);
}

/* ---- settled ------------------------------------------------------------ */

static void
durable(struct ledger *l, struct ledger_entry *e)
{
	if (e->is != IS_DURABLE) {
		l->facts.durable++;
		l->facts.durable_bytes += e->record.bytes;
		l->facts.packets += e->record.present;
		l->facts.writing -= e->is == IS_WRITING;
	}
	e->is = IS_DURABLE;
	free(e->lines);
	e->lines = NULL;
	e->lines_bytes = 0;
}

static void
lost(struct ledger *l, struct ledger_entry *e)
{
	if (e->is != IS_WRITING)
		return;
	e->is = IS_WANTED;
	l->facts.writing--;
	l->facts.lost++;
}

void
ledger_settled(void *arg, const struct index_record *r, int err)
{
	struct ledger *l = arg;
	struct ledger_entry *e;

	pthread_mutex_lock(&l->lock);
	e = ledger_find(l, r->number);
	if (e && err)
		lost(l, e);
	else if (e)
		durable(l, e);
	pthread_mutex_unlock(&l->lock);
}
