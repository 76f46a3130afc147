/* SPDX-License-Identifier: MIT */
/* A sorted list, mostly extended at its end, searched by bisection.  A block
 * that is told again, on a new connection, has to be the same as before: else
 * it is another recording. */
#include "flow/copy/copy_blocks.h"

#include <errno.h>
#include <jansson.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/crc32c.h"
#include "flow/memory/block_record.h"
#include "flow/memory/block_pool.h"
#include "store/disk/layout.h"

enum entry_is { IS_WANTED, IS_COMING, IS_WRITING, IS_DURABLE, IS_LEFT };
enum piece_is { PIECE_NONE, PIECE_COMES, PIECE_CAME };

struct block_entry {
	struct index_record record;
	uint64_t base;
	int64_t arrival_ns;
	uint32_t gap;
	enum entry_is is;
	bool leaves; /* the sender cannot read the block */
	/* The memory was taken back: pieces are dropped, until the block is
	 * listed as wanted again. */
	bool yields;
	uint32_t lines_bytes;
	char *lines;	 /* NULL: none, or the block is durable */
	struct block *b; /* memory of the block, in state COMING */
	uint8_t *piece;	 /* piece_is of each piece, in state COMING */
};

struct copy_blocks {
	struct copy_blocks_args a;
	atomic_uint holders;
	pthread_mutex_t lock;	   /* protects the fields below */
	struct block_entry *entry; /* ascending by number */
	size_t n, room;
	/* Ascending by number: blocks that were here before. */
	struct index_record *there;
	size_t theres, there_room;
	struct copy_blocks_facts facts;
	unsigned landing; /* pieces that are being received */
	/* Steady ns, when a piece last came, or a block was written. */
	int64_t moved;
};

static uint32_t
pieces_of(const struct block_entry *e)
{
	return (uint32_t)((e->record.bytes + COPY_PIECE - 1) / COPY_PIECE);
}

int
copy_blocks_make(struct copy_blocks **blocks,
		 const struct copy_blocks_args *args)
{
	struct copy_blocks *l = calloc(1, sizeof *l);

	if (!l)
		return -ENOMEM;
	l->a = *args;
	atomic_init(&l->holders, 1);
	pthread_mutex_init(&l->lock, NULL);
	*blocks = l;
	return 0;
}

void
copy_blocks_hold(struct copy_blocks *l)
{
	atomic_fetch_add_explicit(&l->holders, 1, memory_order_relaxed);
}

/* Frees the memory of a block and of its pieces' states; the caller sets the
 * state. */
static void
unlend(struct block_entry *e)
{
	if (e->b)
		block_pool_put(e->b);
	free(e->piece);
	e->b = NULL;
	e->piece = NULL;
}

void
copy_blocks_drop(struct copy_blocks *l)
{
	if (atomic_fetch_sub_explicit(&l->holders, 1, memory_order_acq_rel) !=
	    1)
		return;
	for (size_t i = 0; i < l->n; i++) {
		unlend(&l->entry[i]);
		free(l->entry[i].lines);
	}
	pthread_mutex_destroy(&l->lock);
	free(l->entry);
	free(l->there);
	free(l);
}

/* ---- the list ----------------------------------------------------------- */

/* Returns the index of the number's entry, or where it would be inserted. */
static size_t
place_of(const struct copy_blocks *l, uint64_t number)
{
	size_t from = 0, to = l->n;

	while (from < to) {
		size_t mid = from + (to - from) / 2;

		if (l->entry[mid].record.number < number)
			from = mid + 1;
		else
			to = mid;
	}
	return from;
}

/* Returns the entry of a block; NULL: the block was not told.  Caller holds the
 * lock. */
static struct block_entry *
entry_find(struct copy_blocks *l, uint64_t number)
{
	size_t at = place_of(l, number);

	return at < l->n && l->entry[at].record.number == number ? &l->entry[at]
								 : NULL;
}

static struct block_entry *
insert(struct copy_blocks *l, uint64_t number)
{
	size_t at = place_of(l, number), room = l->room;
	struct block_entry *grown = l->entry;

	if (l->n == room) {
		room = room ? 2 * room : 64;
		grown = realloc(grown, room * sizeof *grown);
		if (!grown)
			return NULL;
		l->entry = grown;
		l->room = room;
	}
	memmove(&grown[at + 1], &grown[at], (l->n - at) * sizeof *grown);
	l->n++;
	grown[at] = (struct block_entry){ .record.number = number };
	return &grown[at];
}

/* ---- what is there ------------------------------------------------------ */

int
copy_blocks_there(struct copy_blocks *l, const struct index_record *r)
{
	struct index_record *grown = l->there;

	if (l->theres == l->there_room) {
		size_t room = l->there_room ? 2 * l->there_room : 64;

		grown = realloc(grown, room * sizeof *grown);
		if (!grown)
			return -ENOMEM;
		l->there = grown;
		l->there_room = room;
	}
	grown[l->theres++] = *r;
	return 0;
}

static int
by_number(const void *key, const void *of)
{
	const struct index_record *a = key, *b = of;

	return a->number < b->number ? -1 : a->number > b->number;
}

static bool
is_same(const struct index_record *a, const struct index_record *b)
{
	uint8_t x[INDEX_BYTES], y[INDEX_BYTES];

	index_pack(x, a);
	index_pack(y, b);
	return !memcmp(x, y, sizeof x);
}

/* ---- what is told ------------------------------------------------------- */

static bool
begins(const char *line, size_t bytes, const char *with)
{
	size_t n = strlen(with);

	return bytes > n && !memcmp(line, with, n);
}

/* True if a line says something of this block, and nothing else. */
static bool
line_good(const char *line, size_t bytes, uint64_t number)
{
	json_t *object;
	bool good;

	if (!begins(line, bytes, "{\"block\":") &&
	    !begins(line, bytes, "{\"descriptor\":") &&
	    !begins(line, bytes, "{\"control\":"))
		return false;
	object = json_loadb(line, bytes, JSON_REJECT_DUPLICATES, NULL);
	good = json_is_object(object);
	if (good && line[2] == 'b')
		good = json_integer_value(json_object_get(object, "block")) ==
		       (json_int_t)number;
	json_decref(object);
	return good;
}

static bool
lines_good(const struct copy_told *t, uint64_t number)
{
	const char *at = t->lines, *end = at + t->lines_bytes, *newline;

	while (at < end) {
		newline = memchr(at, '\n', (size_t)(end - at));
		if (!newline || !line_good(at, (size_t)(newline - at), number))
			return false;
		at = newline + 1;
	}
	return true;
}

static const char *
check(const struct copy_blocks *l, const struct index_record *r, uint32_t gap)
{
	if (r->kind != INDEX_BLOCK || r->number >= LAYOUT_CHUNKS)
		return "a record that is of no block";
	if (!r->bytes || r->bytes > l->a.block_most)
		return "a block of an impossible length";
	if (r->sub >= l->a.subs)
		return "a block of a substream that is not there";
	if (gap && (!r->number || r->first < gap))
		return "a gap that begins before the recording";
	return NULL;
}

static int
add(struct copy_blocks *l, const struct index_record *r,
    const struct copy_told *t, const char **why)
{
	struct block_entry *e;
	struct index_record *there = NULL;
	char *lines = NULL;

	if (l->theres)
		there = bsearch(r, l->there, l->theres, sizeof *r, by_number);
	if (there && !is_same(there, r)) {
		*why = "a block that is here with other contents";
		return -EBADMSG;
	}
	if (!there && t->lines_bytes) {
		lines = malloc(t->lines_bytes);
		if (!lines)
			return -ENOMEM;
		memcpy(lines, t->lines, t->lines_bytes);
	}
	e = insert(l, r->number);
	if (!e) {
		free(lines);
		return -ENOMEM;
	}
	e->record = *r;
	e->base = t->base;
	e->arrival_ns = t->arrival_ns;
	e->gap = t->gap;
	e->is = there ? IS_DURABLE : IS_WANTED;
	e->lines = lines;
	e->lines_bytes = lines ? t->lines_bytes : 0;
	l->facts.told++;
	l->facts.bytes += r->bytes;
	if (!there)
		return 0;
	l->facts.there++;
	l->facts.there_bytes += r->bytes;
	l->facts.durable++;
	l->facts.durable_bytes += r->bytes;
	l->facts.packets += r->present;
	return 0;
}

int
copy_blocks_tell(struct copy_blocks *l, const struct copy_told *told,
		 const char **why)
{
	const struct block_entry *e;
	struct index_record r;
	int err = 0;

	*why = NULL;
	if (index_unpack(&r, told->record))
		*why = "a record with a wrong checksum";
	else
		*why = check(l, &r, told->gap);
	if (!*why && !lines_good(told, r.number))
		*why = "a line of metadata that is of no block";
	if (*why)
		return -EBADMSG;
	pthread_mutex_lock(&l->lock);
	e = entry_find(l, r.number);
	if (!e) {
		err = add(l, &r, told, why);
	} else if (!is_same(&e->record, &r)) {
		*why = "a block that was told otherwise before";
		err = -EBADMSG;
	}
	pthread_mutex_unlock(&l->lock);
	return err;
}

const char *
copy_blocks_leave(struct copy_blocks *l, uint64_t number)
{
	struct block_entry *e;

	pthread_mutex_lock(&l->lock);
	e = entry_find(l, number);
	if (e)
		e->leaves = true;
	pthread_mutex_unlock(&l->lock);
	return e ? NULL : "a block left out that was never told";
}

void
copy_blocks_left(struct copy_blocks *l)
{
	pthread_mutex_lock(&l->lock);
	for (size_t i = 0; i < l->n; i++) {
		struct block_entry *e = &l->entry[i];

		if (!e->leaves || (e->is != IS_WANTED && e->is != IS_COMING) ||
		    (e->piece && memchr(e->piece, PIECE_COMES, pieces_of(e))))
			continue;
		unlend(e);
		e->is = IS_LEFT;
		l->facts.left++;
	}
	pthread_mutex_unlock(&l->lock);
}

/* ---- what it adds up to ------------------------------------------------- */

void
copy_blocks_digest(struct copy_blocks *l, struct copy_digest *digest)
{
	*digest = (struct copy_digest){ 0 };
	pthread_mutex_lock(&l->lock);
	for (size_t i = 0; i < l->n; i++) {
		const struct index_record *r = &l->entry[i].record;

		if (l->entry[i].is == IS_DURABLE)
			copy_digest_add(digest, r->number, r->bytes, r->crc,
					crc32c);
	}
	pthread_mutex_unlock(&l->lock);
}

void
copy_blocks_facts(struct copy_blocks *l, struct copy_blocks_facts *facts)
{
	pthread_mutex_lock(&l->lock);
	*facts = l->facts;
	pthread_mutex_unlock(&l->lock);
}

/* ---- pieces become blocks ---------------------------------------------- */

/*
 * Pieces become blocks.  They come over several connections, in any order, and
 * are read to their place in the block.  A piece is a quantum, the unit of a
 * block's checksums; so the checksum that came with it, and was verified while
 * its bytes were in the CPU's cache, is the one that is kept.
 */

_Static_assert((int)COPY_PIECE == (int)BLOCK_QUANTUM, "a piece is a quantum");

static uint32_t
piece_bytes(const struct block_entry *e, uint32_t piece)
{
	uint64_t left = e->record.bytes - (uint64_t)piece * COPY_PIECE;

	return left < COPY_PIECE ? (uint32_t)left : COPY_PIECE;
}

/* ---- wanted ------------------------------------------------------------- */

/* Finds the next stretch of wanted pieces, from a piece on; false: there is
 * none. */
static bool
stretch(const struct block_entry *e, uint32_t from, struct copy_want *w)
{
	uint32_t n = pieces_of(e), to;

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
copy_blocks_wants(struct copy_blocks *l, size_t *at, struct copy_want *want,
		  unsigned most)
{
	unsigned n = 0;

	pthread_mutex_lock(&l->lock);
	for (; *at < l->n; ++*at) {
		struct block_entry *e = &l->entry[*at];
		uint32_t from = 0;

		if (e->leaves)
			continue;

		/* All stretches of a block go into one list, except of a block
		 * with more of them than fit. */
		if (n && most - n < pieces_of(e))
			break;
		e->yields = false;
		while (n < most && stretch(e, from, &want[n]))
			from = want[n].first + want[n].pieces, n++;
	}
	pthread_mutex_unlock(&l->lock);
	return n;
}

/* ---- coming ------------------------------------------------------------- */

#define STILL (NS_SECOND / 20) /* nothing moved for so long */
/* The same, until a block before the one that waits yields, too. */
#define STUCK (2 * NS_SECOND)

static const char *
piece_check(const struct block_entry *e, const struct copy_piece *p)
{
	if (!e)
		return "a piece of a block that was never told";
	if (e->is != IS_WANTED && e->is != IS_COMING)
		return "a piece of a block that is not wanted";
	if (p->piece >= pieces_of(e) || p->bytes != piece_bytes(e, p->piece))
		return "a piece with a wrong length";
	if (e->piece && e->piece[p->piece] != PIECE_NONE)
		return "a piece that came already";
	return NULL;
}

int
copy_blocks_piece(struct copy_blocks *l, struct copy_piece *p, const char **why)
{
	struct block_entry *e;
	int err = 0;

	pthread_mutex_lock(&l->lock);
	e = entry_find(l, p->number);
	*why = piece_check(e, p);
	p->to = NULL;
	if (*why) {
		err = -EBADMSG;
	} else if (!e->b) {
		err = e->yields ? 0 : -EAGAIN;
	} else {
		l->landing++;
		e->piece[p->piece] = PIECE_COMES;
		p->to = e->b->data + (uint64_t)p->piece * COPY_PIECE;
	}
	pthread_mutex_unlock(&l->lock);
	return err;
}

int
copy_blocks_lend(struct copy_blocks *l, uint64_t number, struct block *b)
{
	struct block_entry *e;
	int err = -EALREADY;

	pthread_mutex_lock(&l->lock);
	e = entry_find(l, number);
	if (e && e->is == IS_WANTED && !e->yields) {
		e->piece = calloc(pieces_of(e), 1);
		err = e->piece ? 0 : -ENOMEM;
	}
	if (!err) {
		e->b = b;
		e->is = IS_COMING;
	}
	pthread_mutex_unlock(&l->lock);
	return err;
}

/* ---- landed ------------------------------------------------------------- */

static bool
is_whole(const struct block_entry *e)
{
	return !memchr(e->piece, PIECE_NONE, pieces_of(e)) &&
	       !memchr(e->piece, PIECE_COMES, pieces_of(e));
}

/* Joins the checksums of the pieces to that of the block. */
static uint32_t
sum(const struct block_entry *e)
{
	uint32_t shift = crc32c_shift(COPY_PIECE), crc = 0;

	for (uint32_t i = 0; i < pieces_of(e); i++) {
		if (e->b->sum[i].bytes < COPY_PIECE)
			shift = crc32c_shift(e->b->sum[i].bytes);
		crc = crc32c_join(shift, crc, e->b->sum[i].crc);
	}
	return crc;
}

static struct copied_record *
bring(const struct block_entry *e)
{
	struct copied_record *to = malloc(sizeof *to + e->lines_bytes);

	if (!to)
		return NULL;
	to->record = e->record;
	to->lines_bytes = e->lines_bytes;
	if (e->lines_bytes)
		memcpy(to->lines, e->lines, e->lines_bytes);
	return to;
}

static void
dress(struct block *b, const struct block_entry *e)
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
complete(struct copy_blocks *l, struct block_entry *e, struct block **whole)
{
	const struct index_record *r = &e->record;

	if (r->flags & INDEX_SUMMED && sum(e) != r->crc) {
		unlend(e);
		e->is = IS_WANTED;
		return -EBADMSG;
	}
	e->b->brought = bring(e);
	if (!e->b->brought) {
		unlend(e);
		e->is = IS_WANTED;
		return -ENOMEM;
	}
	dress(e->b, e);
	*whole = e->b;
	e->b = NULL;
	unlend(e);
	e->is = IS_WRITING;
	l->facts.writing++;
	return 0;
}

int
copy_blocks_landed(struct copy_blocks *l, const struct copy_piece *p,
		   const uint32_t *crc, struct block **whole)
{
	struct block_entry *e;
	int err = 0;

	*whole = NULL;
	pthread_mutex_lock(&l->lock);
	e = entry_find(l, p->number); /* an entry never goes away */
	l->landing--;
	l->moved = clock_steady();
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

bool
copy_blocks_yield(struct copy_blocks *l, uint64_t number)
{
	int64_t now = clock_steady();
	bool yielded = false;

	pthread_mutex_lock(&l->lock);
	if (!l->facts.writing && !l->landing && now - l->moved > STILL) {
		for (size_t i = l->n; i-- && !yielded;) {
			struct block_entry *e = &l->entry[i];

			if (e->is != IS_COMING || e->record.number == number)
				continue;
			if (e->record.number < number && now - l->moved < STUCK)
				continue;
			unlend(e);
			e->is = IS_WANTED;
			e->yields = yielded = true;
			l->moved = now;
		}
	}
	pthread_mutex_unlock(&l->lock);
	return yielded;
}

void
copy_blocks_forget(struct copy_blocks *l)
{
	pthread_mutex_lock(&l->lock);
	for (size_t i = 0; i < l->n; i++) {
		if (l->entry[i].is != IS_COMING)
			continue;
		unlend(&l->entry[i]);
		l->entry[i].is = IS_WANTED;
	}
	pthread_mutex_unlock(&l->lock);
}

/* ---- settled ------------------------------------------------------------ */

static void
durable(struct copy_blocks *l, struct block_entry *e)
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
lost(struct copy_blocks *l, struct block_entry *e)
{
	if (e->is != IS_WRITING)
		return;
	e->is = IS_WANTED;
	l->facts.writing--;
	l->facts.lost++;
}

void
copy_blocks_settled(void *arg, const struct index_record *r, int err)
{
	struct copy_blocks *l = arg;
	struct block_entry *e;

	pthread_mutex_lock(&l->lock);
	e = entry_find(l, r->number);
	l->moved = clock_steady();
	if (e && err)
		lost(l, e);
	else if (e)
		durable(l, e);
	pthread_mutex_unlock(&l->lock);
}
