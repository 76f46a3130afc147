/* SPDX-License-Identifier: MIT */
/*
 * Computes parity.  The blocks of a group are held until it is complete, where
 * the pool that they come from has room (block_pool_roomy), and then encoded at
 * once: each byte passes a processor one time.  Where blocks are few, those
 * that are written are folded in and freed by the next writer that begins or
 * ends a block: so parity takes no block from a receiver that needs it.  A
 * group whose blocks are held needs no parity blocks until it is complete; if
 * none is free then, it waits for the next that is written, or, when blocks are
 * few, is given up.
 *
 * Only writers compute: the event loop says that the end has come, and they see
 * that in their rounds.
 *
 * There are two kinds of locks.  The lock of all groups is held for a few
 * comparisons.  A group's own is held while bytes are folded in; writers of
 * other groups go on meanwhile.  A group ends when it is closed and nobody
 * folds: the thread that closes it, or the last one that folds, writes its tail
 * and puts its parity blocks.
 *
 * Which disk gets the parity is chosen when a group begins, in turns, and that
 * disk gives it no member.  If it were left to whoever is late, the disk that
 * writes parity would stay behind all others, and write nothing else.  A disk
 * joins the oldest open group that has no block of it.  A disk that is slower
 * than the others is in few groups: the oldest of OPEN ends without it, as soon
 * as another is wanted.
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

enum { OPEN = 3 }; /* groups that take members, at most */

struct parity_group {
	struct parity_group *next;	/* begun later; in one of the lists */
	struct block *row[PARITY_ROWS]; /* NULL: not taken yet */
	int64_t since;			/* steady ns */
	struct block_bars bars;		/* disks that have a member */
	struct block_bars parity_disks; /* disks that are to have its parity */
	unsigned members;
	unsigned folding; /* threads that fold, or are about to */
	bool closed;	  /* no more members */
	bool failed;	  /* there was no parity block for it */
	struct index_record member[PARITY_MEMBERS], gap[PARITY_MEMBERS];
	unsigned gaps;			    /* before members */
	struct block *held[PARITY_MEMBERS]; /* NULL: folded in already */
	char *lines;
	size_t lines_bytes;

	pthread_mutex_t
	    fold;	/* protects the fields below, and the rows' data */
	uint64_t bytes; /* of parity so far */
	uint32_t crc[PARITY_ROWS];
	bool summed; /* `crc` is that of the rows */
};

struct parity_list {
	struct parity_group *first, **last;
};

struct parity_groups {
	struct parity_groups_args a;
	/* Steady ns when the oldest group is old; INT64_MAX: none is open.
	 * Relaxed: a late look costs a moment. */
	_Atomic int64_t due;
	/* Groups that are not freed yet, open or not.  Sequentially consistent:
	 * either parity_groups_end() sees the last of them go, or that sees
	 * `over`. */
	atomic_uint alive;
	atomic_bool over;
	_Atomic uint64_t groups, members, unprotected;
	/* Blocks that are held, and closed groups that wait; relaxed, as
	 * `due`. */
	_Atomic unsigned holds, waiting_groups;

	pthread_mutex_t lock; /* protects the fields below, and the groups */
	struct parity_list open;
	unsigned opens;
	struct parity_list waiting; /* closed; no parity block was free */
	uint64_t turn[BLOCK_DISKS]; /* when a disk last was to have parity */
	uint64_t turns;
};

uint32_t
parity_groups_extra(void)
{
	return (uint32_t)PARITY_TAIL_MOST + GEOMETRY_PAGE;
}

int
parity_groups_make(struct parity_groups **groups,
		   const struct parity_groups_args *args)
{
	struct parity_groups *g = calloc(1, sizeof *g);

	if (!g)
		return -ENOMEM;
	g->a = *args;
	g->open.last = &g->open.first;
	g->waiting.last = &g->waiting.first;
	atomic_init(&g->due, INT64_MAX);
	pthread_mutex_init(&g->lock, NULL);
	*groups = g;
	return 0;
}

/* ---- lists --------------------------------------------------------------- */

static void
list_add(struct parity_list *l, struct parity_group *p)
{
	p->next = NULL;
	*l->last = p;
	l->last = &p->next;
}

static void
list_remove(struct parity_list *l, struct parity_group *p)
{
	struct parity_group **at = &l->first;

	while (*at != p)
		at = &(*at)->next;
	*at = p->next;
	if (!p->next)
		l->last = at;
}

/* ---- counts, and freeing ------------------------------------------------- */

static void
rows_put_back(struct parity_group *p)
{
	for (unsigned i = 0; i < PARITY_ROWS; i++) {
		if (p->row[i])
			block_pool_put(p->row[i]);
		p->row[i] = NULL;
	}
}

/* Frees a group that is in no list, and what it still has.  Whoever waits for
 * the end may return the pools and drop the output as soon as the last group is
 * not alive; so this is the last that a group does. */
static void
group_free(struct parity_groups *g, struct parity_group *p)
{
	for (unsigned i = 0; i < p->members; i++) {
		if (!p->held[i])
			continue;
		block_drop(p->held[i]);
		atomic_fetch_sub(&g->holds, 1);
	}
	rows_put_back(p);
	pthread_mutex_destroy(&p->fold);
	free(p->lines);
	free(p);
	if (atomic_fetch_sub(&g->alive, 1) == 1 && atomic_load(&g->over))
		g->a.ended(g->a.arg);
}

/* Gives a group up: its blocks are recorded without parity. */
static void
group_give_up(struct parity_groups *g, struct parity_group *p)
{
	atomic_fetch_add(&g->unprotected, p->members);
	group_free(g, p);
}

struct parity_groups_counts
parity_groups_counts(const struct parity_groups *g)
{
	return (struct parity_groups_counts){ .groups = g->groups,
					      .members = g->members,
					      .unprotected = g->unprotected };
}

/* ---- a group begins ---------------------------------------------------- */

static void
due_set(struct parity_groups *g)
{
	const struct parity_group *p = g->open.first;

	int64_t due = p ? p->since + g->a.age : INT64_MAX;

	if (p && g->over)
		due = INT64_MIN;
	atomic_store_explicit(&g->due, due, memory_order_relaxed);
}

/* Chooses disks for the parity of a new group, which gets a member of `disk`:
 * those whose turn was the longest ago.  A disk that comes late has one turn,
 * as the others. */
static void
disks_keep(struct parity_groups *g, struct parity_group *p,
	   const struct block_bars *disks, unsigned disk)
{
	for (unsigned n = 0; n < g->a.rows; n++) {
		unsigned least = disk;

		for (unsigned i = 0; i < BLOCK_DISKS; i++) {
			if (i == disk || !block_bars_has(disks, i) ||
			    block_bars_has(&p->parity_disks, i))
				continue;
			if (least == disk || g->turn[i] < g->turn[least])
				least = i;
		}
		block_bars_add(&p->parity_disks, least);
		g->turn[least] = ++g->turns;
	}
}

static bool
may_join(const struct parity_group *p, unsigned disk)
{
	return !block_bars_has(&p->bars, disk) &&
	       !block_bars_has(&p->parity_disks, disk);
}

/* Returns the group that a block of this disk joins, or NULL.  Caller holds the
 * lock. */
static struct parity_group *
group_for(struct parity_groups *g, unsigned disk)
{
	struct parity_group *p = g->open.first;
	struct block_bars disks;

	while (p && !may_join(p, disk))
		p = p->next;
	if (p || g->a.disks(g->a.arg, &disks) <= g->a.rows)
		return p;
	p = calloc(1, sizeof *p);
	if (!p)
		return NULL;
	pthread_mutex_init(&p->fold, NULL);
	p->since = clock_steady();
	disks_keep(g, p, &disks, disk);
	list_add(&g->open, p);
	g->opens++;
	atomic_fetch_add(&g->alive, 1);
	due_set(g);
	return p;
}

/* ---- folding ------------------------------------------------------------- */

/* Takes parity blocks for a group that has none.  False: not enough are
 * free. */
static bool
rows_take(const struct parity_groups *g, struct parity_group *p)
{
	for (unsigned i = 0; i < g->a.rows && !p->row[0]; i++) {
		unsigned at = g->a.rows - 1 - i;

		p->row[at] = block_pool_take(g->a.pool, 0);
		if (p->row[at])
			continue;
		rows_put_back(p);
		return false;
	}
	return true;
}

/* Takes the members that are held out of a group; returns how many. */
static unsigned
held_take(struct parity_groups *g, struct parity_group *p,
	  struct parity_data *data, struct block **b)
{
	unsigned n = 0;

	pthread_mutex_lock(&g->lock);
	for (unsigned i = 0; i < p->members; i++) {
		if (!p->held[i])
			continue;
		b[n] = p->held[i];
		p->held[i] = NULL;
		data[n] =
		    (struct parity_data){ i, b[n]->data, block_bytes(b[n]) };
		n++;
	}
	pthread_mutex_unlock(&g->lock);
	return n;
}

/* Encodes members into rows that have nothing yet, or adds them. */
static void
fold(const struct parity_groups *g, struct parity_group *p,
     const struct parity_data *data, unsigned n)
{
	uint8_t *row[PARITY_ROWS];
	uint64_t bytes = p->bytes;

	for (unsigned i = 0; i < n; i++)
		bytes = data[i].bytes > bytes ? data[i].bytes : bytes;
	for (unsigned i = 0; i < g->a.rows; i++)
		row[i] = p->row[i]->data;
	p->summed = !p->bytes;
	if (p->summed) {
		parity_encode(row, g->a.rows, p->crc, data, n, bytes);
		p->bytes = bytes;
		return;
	}
	for (unsigned i = 0; i < g->a.rows; i++)
		memset(row[i] + p->bytes, 0, bytes - p->bytes);
	p->bytes = bytes;
	for (unsigned i = 0; i < n; i++)
		parity_add(row, g->a.rows, data[i].column, data[i].data,
			   data[i].bytes);
}

/* Closes a group.  Caller holds the lock. */
static void
group_close(struct parity_groups *g, struct parity_group *p)
{
	list_remove(&g->open, p);
	g->opens--;
	p->closed = true;
	due_set(g);
}

/* Folds in what a group holds, and frees it.  Without parity blocks for that
 * the group has failed, and takes no more members: they would have no
 * parity. */
static void
held_fold(struct parity_groups *g, struct parity_group *p)
{
	struct parity_data data[PARITY_MEMBERS];
	struct block *b[PARITY_MEMBERS];
	unsigned n;

	pthread_mutex_lock(&p->fold);
	n = held_take(g, p, data, b);
	if (n && !rows_take(g, p))
		p->failed = true;
	if (n && !p->failed)
		fold(g, p, data, n);
	for (unsigned i = 0; i < n; i++)
		block_drop(b[i]);
	if (p->failed) {
		pthread_mutex_lock(&g->lock);
		if (!p->closed)
			group_close(g, p);
		pthread_mutex_unlock(&g->lock);
	}
	pthread_mutex_unlock(&p->fold);
	atomic_fetch_sub(&g->holds, n);
}

/* ---- a group ends ------------------------------------------------------ */

static struct block_parity *
parity_make(const struct parity_group *p)
{
	struct block_parity *parity;

	parity = calloc(1, sizeof *parity + p->lines_bytes + 1);
	if (!parity)
		return NULL;
	parity->group = p->member[0].number;
	parity->bytes = p->bytes;
	parity->members = p->members;
	parity->bars = p->bars;
	parity->lines_bytes = p->lines_bytes;
	if (p->lines_bytes)
		memcpy(parity->lines, p->lines, p->lines_bytes);
	return parity;
}

/* Makes row number `row` a block to be written: its data, then its tail, then
 * zeros up to the end of the page. */
static void
row_seal(const struct parity_groups *g, const struct parity_group *p,
	 struct block_parity *parity, unsigned row)
{
	struct index_record record[2 * PARITY_MEMBERS];
	struct block *b = p->row[row];
	struct parity_record r = { .group = p->member[0].number,
				   .bytes = p->bytes,
				   .members = p->members,
				   .gaps = p->gaps,
				   .crc = p->crc[row],
				   .row = (uint16_t)row,
				   .rows = (uint16_t)g->a.rows };

	if (!p->summed)
		r.crc = crc32c(0, b->data, p->bytes);
	b->parity = parity;
	memcpy(record, p->member, p->members * sizeof *record);
	memcpy(record + p->members, p->gap, p->gaps * sizeof *record);
	parity_pack(b->data + p->bytes, &r, record);
	b->bytes = p->bytes + parity_tail_bytes(&r);
	b->used = b->slots;
	b->number = r.group;
	memset(b->data + b->bytes, 0, -b->bytes % GEOMETRY_PAGE);
	block_close(b);
	block_seal(b);
}

/* Puts the parity blocks of a group that is folded, and frees it. */
static void
rows_put(struct parity_groups *g, struct parity_group *p)
{
	struct block_parity *parity = parity_make(p);
	struct block *b[PARITY_ROWS];

	if (!parity) {
		group_give_up(g, p);
		return;
	}
	atomic_init(&parity->holders, g->a.rows);
	for (unsigned i = 0; i < g->a.rows; i++) {
		row_seal(g, p, parity, i);
		b[i] = p->row[i];
		p->row[i] = NULL;
	}
	atomic_fetch_add(&g->members, p->members);
	atomic_fetch_add(&g->groups, 1);
	g->a.put(g->a.arg, b, g->a.rows);
	group_free(g, p);
}

/* Ends a closed group, into which nobody folds.  If no parity block is free for
 * it and `wait`, it waits. */
static void
group_end(struct parity_groups *g, struct parity_group *p, bool wait)
{
	if (!p->failed && !p->row[0] && !rows_take(g, p) && wait) {
		pthread_mutex_lock(&g->lock);
		atomic_fetch_add(&g->waiting_groups, 1);
		list_add(&g->waiting, p);
		pthread_mutex_unlock(&g->lock);
		return;
	}
	held_fold(g, p);
	if (p->failed)
		group_give_up(g, p);
	else
		rows_put(g, p);
}

/* Lets go of a group that this thread has folded into, or was about to. */
static void
group_leave(struct parity_groups *g, struct parity_group *p)
{
	bool last;

	pthread_mutex_lock(&g->lock);
	last = --p->folding == 0 && p->closed;
	pthread_mutex_unlock(&g->lock);
	if (last)
		group_end(g, p, true);
}

/* Returns a member that a group holds, with `written` one whose write is over; or
 * NULL.  Caller holds the lock. */
static const struct block *
held_one(const struct parity_group *p, bool written)
{
	for (unsigned i = 0; i < p->members; i++) {
		const struct block *b = p->held[i];

		/* A block that is written has no other holder. */
		if (b && (!written || atomic_load(&b->holders) == 1))
			return b;
	}
	return NULL;
}

/* Takes the first group that waits out of its list, if it need not wait any
 * longer: parity blocks are free, or (*few) blocks of data are few. */
static struct parity_group *
waiting_take(struct parity_groups *g, bool *few)
{
	struct parity_group *p;

	pthread_mutex_lock(&g->lock);
	p = g->waiting.first;
	*few = p && !block_pool_roomy(held_one(p, false)->pool);
	if (p && !*few && block_pool_free_blocks(g->a.pool) < g->a.rows)
		p = NULL;
	if (p) {
		list_remove(&g->waiting, p);
		atomic_fetch_sub(&g->waiting_groups, 1);
	}
	pthread_mutex_unlock(&g->lock);
	return p;
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
	struct block_bars disks;
	unsigned n = g->a.disks(g->a.arg, &disks);

	if (p->members == PARITY_MEMBERS || p->members + g->a.rows >= n)
		return true;
	for (unsigned i = 0; i < BLOCK_DISKS; i++) {
		if (block_bars_has(&disks, i) && may_join(p, i))
			return false;
	}
	return true;
}

/* Keeps the parity of an open group away from one more disk.  Caller holds the
 * lock. */
static void
group_bar(struct parity_groups *g, uint64_t number, unsigned disk)
{
	for (struct parity_group *p = g->open.first; p; p = p->next) {
		if (p->member[0].number == number)
			block_bars_add(&p->bars, disk);
	}
}

/* Makes a block a member of a group, which holds it; NULL: there is none. */
static struct parity_group *
join(struct parity_groups *g, struct block *b, const struct index_record *r,
     const char *lines, unsigned disk)
{
	struct parity_group *p = NULL;

	if (g->over)
		return NULL;
	if (b->grouped) {
		group_bar(g, b->grouped - 1, disk);
		return NULL;
	}
	p = group_for(g, disk);
	if (!p) {
		atomic_fetch_add(&g->unprotected, 1);
		b->grouped = UINT64_MAX;
		return NULL;
	}
	p->member[p->members] = *r;
	if (b->gap)
		p->gap[p->gaps++] = index_gap(r, (uint32_t)b->gap);
	p->held[p->members++] = b;
	block_hold(b);
	atomic_fetch_add(&g->holds, 1);
	b->grouped = p->member[0].number + 1;
	block_bars_add(&p->bars, disk);
	lines_take(p, lines);
	p->folding++;
	if (is_complete(g, p))
		group_close(g, p);
	return p;
}

/* Returns an open group that holds a block which is written and of which its
 * pool has few, for this thread to fold; NULL: there is none. */
static struct parity_group *
open_take(struct parity_groups *g)
{
	struct parity_group *p;

	pthread_mutex_lock(&g->lock);
	for (p = g->open.first; p; p = p->next) {
		const struct block *b = held_one(p, true);

		if (b && !block_pool_roomy(b->pool))
			break;
	}
	if (p)
		p->folding++;
	pthread_mutex_unlock(&g->lock);
	return p;
}

void
parity_groups_relieve(struct parity_groups *g)
{
	struct parity_group *p;
	bool few;

	while (atomic_load(&g->holds) && (p = open_take(g))) {
		held_fold(g, p);
		group_leave(g, p);
	}
	while (atomic_load(&g->waiting_groups) && (p = waiting_take(g, &few)))
		group_end(g, p, !few);
}

/* Closes the oldest group if it was begun before this time, or there are too
 * many, or the end has come. */
static bool
oldest_end(struct parity_groups *g, int64_t before)
{
	struct parity_group *p;

	pthread_mutex_lock(&g->lock);
	p = g->open.first;
	if (p && p->since > before && g->opens <= OPEN && !g->over)
		p = NULL;
	if (p) {
		p->folding++;
		group_close(g, p);
	}
	pthread_mutex_unlock(&g->lock);
	if (p)
		group_leave(g, p);
	return p != NULL;
}

void
parity_groups_add(struct parity_groups *g, struct block *b,
		  const struct index_record *r, const char *lines,
		  unsigned disk)
{
	struct parity_group *p;

	pthread_mutex_lock(&g->lock);
	p = join(g, b, r, lines, disk);
	pthread_mutex_unlock(&g->lock);
	if (p)
		group_leave(g, p);
	oldest_end(g, INT64_MIN);
	parity_groups_relieve(g);
}

void
parity_groups_look(struct parity_groups *g, int64_t now)
{
	if (now >= atomic_load_explicit(&g->due, memory_order_relaxed)) {
		while (oldest_end(g, now - g->a.age))
			;
	}
	parity_groups_relieve(g);
}

bool
parity_groups_end(struct parity_groups *g)
{
	pthread_mutex_lock(&g->lock);
	atomic_store(&g->over, true);
	due_set(g);
	pthread_mutex_unlock(&g->lock);
	return atomic_load(&g->alive) == 0;
}

void
parity_groups_give_up(struct parity_groups *g)
{
	struct parity_list gone = { .last = &gone.first };
	struct parity_group *p, *next;

	pthread_mutex_lock(&g->lock);
	while ((p = g->waiting.first)) {
		list_remove(&g->waiting, p);
		list_add(&gone, p);
		atomic_fetch_sub(&g->waiting_groups, 1);
	}
	for (p = g->open.first; p; p = next) {
		next = p->next;
		group_close(g, p);
		if (!p->folding)
			list_add(&gone, p);
	}
	pthread_mutex_unlock(&g->lock);
	while ((p = gone.first)) {
		list_remove(&gone, p);
		group_give_up(g, p);
	}
}

void
parity_groups_free(struct parity_groups *g)
{
	if (!g)
		return;
	parity_groups_give_up(g);
	pthread_mutex_destroy(&g->lock);
	free(g);
}
