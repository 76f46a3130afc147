/* SPDX-License-Identifier: MIT */
/*
 * Two kinds of locks.  That of all groups is held for a few comparisons: which
 * group a block joins, and whether that group is complete.  A group's own lock is
 * held while a block is folded in, which takes as long as its bytes take to pass
 * a processor (5 ms for 64 MiB); writers of other groups go on meanwhile.  A
 * group ends when it is closed and nobody folds: whoever comes last of both
 * writes its tail and puts its parity blocks.
 *
 * A disk joins the oldest open group that has no block of it.  So groups end in
 * the order in which they begin, and with n disks of one speed and one parity
 * block each disk gets one parity block in n.
 */
#include "flow/output/parity_groups.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/crc32c.h"
#include "flow/memory/block_pool.h"
#include "store/parity/code.h"
#include "store/parity/parity.h"
#include "store/record/geometry.h"

struct parity_group {
	struct parity_group *next; /* begun later */
	struct block *row[PARITY_ROWS];
	int64_t since; /* steady ns */
	struct block_bars bars;
	unsigned members;
	unsigned folding; /* threads that fold a member in */
	bool closed;	  /* no more members */
	struct index_record member[PARITY_MEMBERS];
	char *lines;
	size_t lines_bytes;

	pthread_mutex_t fold; /* protects `bytes` and the data of the rows */
	uint64_t bytes;	      /* of the longest member so far */
};

struct parity_groups {
	struct parity_groups_args a;
	/* Steady ns when the oldest group is old; INT64_MAX: none is open.
	 * Relaxed: a late look costs a moment. */
	_Atomic int64_t due;
	_Atomic uint64_t groups, members, without;

	pthread_mutex_t lock; /* protects the fields below, and the groups */
	struct parity_group *open, **last;
	bool over;
};

uint32_t
parity_groups_extra(void)
{
	return (uint32_t)parity_tail_bytes(PARITY_MEMBERS) + GEOMETRY_PAGE;
}

int
parity_groups_make(struct parity_groups **groups,
		   const struct parity_groups_args *args)
{
	struct parity_groups *g = calloc(1, sizeof *g);

	if (!g)
		return -ENOMEM;
	g->a = *args;
	g->last = &g->open;
	atomic_init(&g->due, INT64_MAX);
	pthread_mutex_init(&g->lock, NULL);
	*groups = g;
	return 0;
}

static void
group_free(struct parity_group *p)
{
	pthread_mutex_destroy(&p->fold);
	free(p->lines);
	free(p);
}

static void
rows_put_back(struct parity_group *p)
{
	for (unsigned i = 0; i < PARITY_ROWS; i++) {
		if (p->row[i])
			block_pool_put(p->row[i]);
	}
}

void
parity_groups_free(struct parity_groups *g)
{
	if (!g)
		return;
	parity_groups_end(g);
	pthread_mutex_destroy(&g->lock);
	free(g);
}

struct parity_groups_counts
parity_groups_counts(const struct parity_groups *g)
{
	return (struct parity_groups_counts){ .groups = g->groups,
					      .members = g->members,
					      .without = g->without };
}

/* ---- a group begins ---------------------------------------------------- */

/* Makes a group whose parity blocks are taken; NULL: none is free. */
static struct parity_group *
group_make(const struct parity_groups *g)
{
	struct parity_group *p = calloc(1, sizeof *p);

	if (!p)
		return NULL;
	pthread_mutex_init(&p->fold, NULL);
	for (unsigned i = 0; i < g->a.rows; i++) {
		p->row[i] = block_pool_take(g->a.pool, 0);
		if (p->row[i])
			continue;
		rows_put_back(p);
		group_free(p);
		return NULL;
	}
	p->since = clock_steady();
	return p;
}

static void
due_set(struct parity_groups *g)
{
	atomic_store_explicit(&g->due,
			      g->open ? g->open->since + g->a.age : INT64_MAX,
			      memory_order_relaxed);
}

/* Returns the group that a block of this disk joins, or NULL.  Caller holds the
 * lock. */
static struct parity_group *
group_for(struct parity_groups *g, unsigned disk)
{
	struct parity_group *p = g->open;

	while (p && block_bars_has(&p->bars, disk))
		p = p->next;
	if (p || g->a.disks(g->a.arg) <= g->a.rows)
		return p;
	p = group_make(g);
	if (!p)
		return NULL;
	*g->last = p;
	g->last = &p->next;
	due_set(g);
	return p;
}

/* ---- a group ends ------------------------------------------------------ */

/* Closes a group.  True if nobody folds, so that the caller ends it.  Caller
 * holds the lock. */
static bool
group_close(struct parity_groups *g, struct parity_group *p)
{
	struct parity_group **at = &g->open;

	while (*at != p)
		at = &(*at)->next;
	*at = p->next;
	if (!p->next)
		g->last = at;
	p->closed = true;
	due_set(g);
	return !p->folding;
}

static struct block_parity *
parity_make(const struct parity_group *p)
{
	struct block_parity *parity;

	parity = calloc(1, sizeof *parity + p->lines_bytes + 1);
	if (!parity)
		return NULL;
	parity->group = p->member[0].number;
	parity->bytes = p->bytes;
	parity->bars = p->bars;
	parity->lines_bytes = p->lines_bytes;
	if (p->lines_bytes)
		memcpy(parity->lines, p->lines, p->lines_bytes);
	return parity;
}

/* Makes row number `row` a block to be written: its data, then its tail, then
 * zeros up to the end of the page. */
static int
row_seal(const struct parity_groups *g, const struct parity_group *p,
	 unsigned row)
{
	struct block *b = p->row[row];
	const struct parity_record r = { .group = p->member[0].number,
					 .bytes = p->bytes,
					 .members = p->members,
					 .crc = crc32c(0, b->data, p->bytes),
					 .row = (uint16_t)row,
					 .rows = (uint16_t)g->a.rows };

	b->parity = parity_make(p);
	if (!b->parity)
		return -ENOMEM;
	parity_pack(b->data + p->bytes, &r, p->member);
	b->bytes = p->bytes + parity_tail_bytes(p->members);
	b->used = b->slots;
	b->number = r.group;
	memset(b->data + b->bytes, 0, -b->bytes % GEOMETRY_PAGE);
	block_close(b);
	block_seal(b);
	return 0;
}

/* Ends a closed group, into which nobody folds. */
static void
group_end(struct parity_groups *g, struct parity_group *p)
{
	struct block *b[PARITY_ROWS];
	unsigned n = 0;

	for (unsigned i = 0; i < g->a.rows; i++) {
		if (row_seal(g, p, i))
			block_pool_put(p->row[i]);
		else
			b[n++] = p->row[i];
	}
	atomic_fetch_add(n ? &g->members : &g->without, p->members);
	atomic_fetch_add(&g->groups, 1);
	if (n)
		g->a.put(g->a.arg, b, n);
	group_free(p);
}

/* ---- members ----------------------------------------------------------- */

/* Memory that runs out costs lines, which the member's own disk has too. */
static void
lines_take(struct parity_group *p, const char *lines)
{
	size_t bytes = lines ? strlen(lines) : 0;
	char *grown = bytes ? realloc(p->lines, p->lines_bytes + bytes) : NULL;

	if (!grown)
		return;
	memcpy(grown + p->lines_bytes, lines, bytes);
	p->lines = grown;
	p->lines_bytes += bytes;
}

/* True if no disk is left for a further member.  Caller holds the lock. */
static bool
is_complete(const struct parity_groups *g, const struct parity_group *p)
{
	return p->members == PARITY_MEMBERS ||
	       p->members + g->a.rows >= g->a.disks(g->a.arg);
}

/* Joins a group, whose parity the caller then folds the block into; NULL: there
 * is none.  *column: its place.  *closed: it is complete with this block. */
static struct parity_group *
join(struct parity_groups *g, struct block *b, const struct index_record *r,
     const char *lines, unsigned disk, unsigned *column)
{
	struct parity_group *p = NULL;

	pthread_mutex_lock(&g->lock);
	if (b->grouped) {
		for (p = g->open; p && p->member[0].number + 1 != b->grouped;)
			p = p->next;
		if (p)
			block_bars_add(&p->bars, disk);
		pthread_mutex_unlock(&g->lock);
		return NULL;
	}
	if (!g->over)
		p = group_for(g, disk);
	if (p) {
		*column = p->members++;
		p->member[*column] = *r;
		b->grouped = p->member[0].number + 1;
		block_bars_add(&p->bars, disk);
		lines_take(p, lines);
		p->folding++;
		if (is_complete(g, p))
			group_close(g, p);
	} else if (!g->over) {
		atomic_fetch_add(&g->without, 1);
	}
	pthread_mutex_unlock(&g->lock);
	return p;
}

static void
fold(const struct parity_groups *g, struct parity_group *p,
     const struct block *b, unsigned column)
{
	uint64_t bytes = block_bytes(b);
	uint8_t *row[PARITY_ROWS];

	pthread_mutex_lock(&p->fold);
	for (unsigned i = 0; i < g->a.rows; i++) {
		row[i] = p->row[i]->data;
		if (p->bytes < bytes)
			memset(row[i] + p->bytes, 0, bytes - p->bytes);
	}
	if (p->bytes < bytes)
		p->bytes = bytes;
	parity_add(row, g->a.rows, column, b->data, bytes);
	pthread_mutex_unlock(&p->fold);
}

void
parity_groups_add(struct parity_groups *g, struct block *b,
		  const struct index_record *r, const char *lines,
		  unsigned disk)
{
	unsigned column = 0;
	struct parity_group *p = join(g, b, r, lines, disk, &column);
	bool last;

	if (!p)
		return;
	fold(g, p, b, column);
	pthread_mutex_lock(&g->lock);
	last = --p->folding == 0 && p->closed;
	pthread_mutex_unlock(&g->lock);
	if (last)
		group_end(g, p);
}

/* Closes the oldest group if it was begun before this time.  Returns it if the
 * caller has to end it. */
static bool
oldest_close(struct parity_groups *g, int64_t before, struct parity_group **end)
{
	struct parity_group *p;

	*end = NULL;
	pthread_mutex_lock(&g->lock);
	p = g->open;
	if (p && p->since > before)
		p = NULL;
	if (p && group_close(g, p))
		*end = p;
	pthread_mutex_unlock(&g->lock);
	return p != NULL;
}

static void
close_before(struct parity_groups *g, int64_t before)
{
	struct parity_group *end;

	while (oldest_close(g, before, &end)) {
		if (end)
			group_end(g, end);
	}
}

void
parity_groups_look(struct parity_groups *g, int64_t now)
{
	if (now >= atomic_load_explicit(&g->due, memory_order_relaxed))
		close_before(g, now - g->a.age);
}

void
parity_groups_end(struct parity_groups *g)
{
	pthread_mutex_lock(&g->lock);
	g->over = true;
	pthread_mutex_unlock(&g->lock);
	close_before(g, INT64_MAX);
}
