/* SPDX-License-Identifier: MIT */
/* A sorted list, mostly extended at its end, searched by bisection.  A block
 * that is told again, on a new connection, has to be the same as before: else
 * it is another recording. */
#include "flow/copy/ledger_priv.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/crc32c.h"
#include "flow/memory/pool.h"
#include "store/disk/layout.h"

int
ledger_make(struct ledger **ledger, const struct ledger_args *args)
{
	struct ledger *l = calloc(1, sizeof *l);

	if (!l)
		return -ENOMEM;
	l->a = *args;
	atomic_init(&l->holders, 1);
	pthread_mutex_init(&l->lock, NULL);
	*ledger = l;
	return 0;
}

void
ledger_hold(struct ledger *l)
{
	atomic_fetch_add_explicit(&l->holders, 1, memory_order_relaxed);
}

void
ledger_unlend(struct ledger_entry *e)
{
	if (e->b)
		stock_put(e->b);
	free(e->piece);
	e->b = NULL;
	e->piece = NULL;
}

void
ledger_drop(struct ledger *l)
{
	if (atomic_fetch_sub_explicit(&l->holders, 1, memory_order_acq_rel) !=
	    1)
		return;
	for (size_t i = 0; i < l->n; i++) {
		ledger_unlend(&l->entry[i]);
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
place_of(const struct ledger *l, uint64_t number)
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

struct ledger_entry *
ledger_find(struct ledger *l, uint64_t number)
{
	size_t at = place_of(l, number);

	return at < l->n && l->entry[at].record.number == number ? &l->entry[at]
								 : NULL;
}

static struct ledger_entry *
insert(struct ledger *l, uint64_t number)
{
	size_t at = place_of(l, number), room = l->room;
	struct ledger_entry *grown = l->entry;

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
	grown[at] = (struct ledger_entry){ .record.number = number };
	return &grown[at];
}

/* ---- what is there ------------------------------------------------------ */

int
ledger_there(struct ledger *l, const struct index_record *r)
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
check(const struct ledger *l, const struct index_record *r, uint32_t gap)
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

static const char *
add(struct ledger *l, const struct index_record *r, const struct copy_told *t)
{
	struct ledger_entry *e;
	struct index_record *there = NULL;

	if (l->theres)
		there = bsearch(r, l->there, l->theres, sizeof *r, by_number);
	if (there && !is_same(there, r))
		return "a block that is here with other contents";
	e = insert(l, r->number);
	if (!e)
		return "more blocks than there is memory for";
	e->record = *r;
	e->base = t->base;
	e->arrival_ns = t->arrival_ns;
	e->gap = t->gap;
	e->is = there ? IS_DURABLE : IS_WANTED;
	if (!there && t->lines_bytes) {
		e->lines = malloc(t->lines_bytes);
		if (!e->lines) {
			e->is = IS_LEFT;
			return "more lines than there is memory for";
		}
		memcpy(e->lines, t->lines, t->lines_bytes);
		e->lines_bytes = t->lines_bytes;
	}
	l->facts.told++;
	l->facts.bytes += r->bytes;
	if (!there)
		return NULL;
	l->facts.there++;
	l->facts.there_bytes += r->bytes;
	l->facts.durable++;
	l->facts.durable_bytes += r->bytes;
	l->facts.packets += r->present;
	return NULL;
}

const char *
ledger_tell(struct ledger *l, const struct copy_told *told)
{
	const struct ledger_entry *e;
	struct index_record r;
	const char *why;

	if (index_unpack(&r, told->record))
		return "a record with a wrong checksum";
	why = check(l, &r, told->gap);
	if (!why && !lines_good(told, r.number))
		why = "a line of metadata that is of no block";
	if (why)
		return why;
	pthread_mutex_lock(&l->lock);
	e = ledger_find(l, r.number);
	if (!e)
		why = add(l, &r, told);
	else if (!is_same(&e->record, &r))
		why = "a block that was told otherwise before";
	pthread_mutex_unlock(&l->lock);
	return why;
}

const char *
ledger_leave(struct ledger *l, uint64_t number)
{
	struct ledger_entry *e;

	pthread_mutex_lock(&l->lock);
	e = ledger_find(l, number);
	if (e)
		e->leaves = true;
	pthread_mutex_unlock(&l->lock);
	return e ? NULL : "a block left out that was never told";
}

void
ledger_left(struct ledger *l)
{
	pthread_mutex_lock(&l->lock);
	for (size_t i = 0; i < l->n; i++) {
		struct ledger_entry *e = &l->entry[i];

		if (!e->leaves || (e->is != IS_WANTED && e->is != IS_COMING) ||
		    (e->piece &&
		     memchr(e->piece, PIECE_COMES, ledger_pieces(e))))
			continue;
		ledger_unlend(e);
		e->is = IS_LEFT;
		l->facts.left++;
	}
	pthread_mutex_unlock(&l->lock);
}

/* ---- what it adds up to ------------------------------------------------- */

void
ledger_digest(struct ledger *l, struct copy_digest *digest)
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
ledger_facts(struct ledger *l, struct ledger_facts *facts)
{
	pthread_mutex_lock(&l->lock);
	*facts = l->facts;
	pthread_mutex_unlock(&l->lock);
}
