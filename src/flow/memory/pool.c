/* SPDX-License-Identifier: MIT */
/*
 * The arena, and the stocks in it.  extents.c knows which stock has which
 * piece; arena.c allocates the memory itself.
 *
 *   arena  |stock A: b0 b1 b2 ...|  free  |stock B: b0 b1|     free      |
 */
#include "flow/memory/pool_priv.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/units.h"
#include "flow/memory/arena.h"
#include "flow/memory/extents.h"

enum { PAGE = 4096 };

struct pool {
	struct arena arena;
	uint64_t limit; /* bytes that may be borrowed */

	pthread_mutex_t lock; /* guards the fields below */
	struct extents extents;
	struct stock *stocks;
	uint64_t borrowed;
};

static uint64_t
round_up(uint64_t n, uint64_t to)
{
	return (n + to - 1) / to * to;
}

/* Linux grants more memory than the machine has and kills the daemon later;
 * refuse in time. */
int
pool_fits(uint64_t bytes, struct fault *fault)
{
	uint64_t ram =
	    (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
	char want[UNITS_TEXT], is[UNITS_TEXT];

	if (bytes <= ram / 10 * 9)
		return 0;
	fault_set(fault, -ENOMEM, "no-memory", "cannot have %s of memory",
		  units_show_bytes(want, bytes));
	fault_why(fault, "this machine has %s", units_show_bytes(is, ram));
	fault_hint(fault, "set `memory` to at most nine tenths of that");
	return -ENOMEM;
}

int
pool_make(struct pool **pool, uint64_t bytes, struct fault *fault)
{
	const struct arena_way way = { .node = -1 };

	return pool_make_way(pool, bytes, &way, fault);
}

int
pool_make_way(struct pool **pool, uint64_t bytes, const struct arena_way *way,
	      struct fault *fault)
{
	struct pool *p;
	char text[UNITS_TEXT];
	int err = pool_fits(bytes, fault);

	if (err)
		return err;
	p = calloc(1, sizeof *p);
	if (!p)
		return fault_set(fault, -ENOMEM, "no-memory", "out of memory");
	pthread_mutex_init(&p->lock, NULL);
	p->limit = bytes;
	err = arena_make(&p->arena, round_up(bytes, ARENA_PAGE), way);
	if (err) {
		fault_set(fault, err, "no-memory", "cannot have %s of memory",
			  units_show_bytes(text, round_up(bytes, ARENA_PAGE)));
		fault_why(fault, "%s", strerror(-err));
		fault_hint(fault, "set `memory` lower, or free some");
		pool_free(p);
		return err;
	}
	p->extents = (struct extents){ p->arena.at, p->arena.bytes, NULL };
	*pool = p;
	return 0;
}

void
pool_free(struct pool *p)
{
	if (!p)
		return;
	arena_free(&p->arena);
	pthread_mutex_destroy(&p->lock);
	free(p);
}

struct pool_facts
pool_facts(struct pool *p)
{
	struct pool_facts f = { .bytes = p->limit,
				.pages = p->arena.pages,
				.locked = p->arena.locked,
				.shared = p->arena.file.fd >= 0 };

	pthread_mutex_lock(&p->lock);
	f.borrowed = p->borrowed;
	pthread_mutex_unlock(&p->lock);
	return f;
}

const void *
pool_arena(const struct pool *p, uint64_t *bytes)
{
	*bytes = p->arena.bytes;
	return p->arena.at;
}

int
pool_arena_fd(const struct pool *p)
{
	return p->arena.file.fd;
}

uint64_t
pool_need(const struct stock_args *args)
{
	return args->blocks *
	       (round_up((uint64_t)args->slots * args->slot_bytes, PAGE) +
		round_up(args->extra, PAGE));
}

static uint64_t
block_need(const struct stock_args *args)
{
	struct stock_args one = *args;

	one.blocks = 1;
	return pool_need(&one);
}

/* Number of such blocks that would fit now. */
static uint64_t
room_for(const struct pool *p, const struct stock_args *args)
{
	uint64_t each = block_need(args);
	uint64_t room = extents_room(&p->extents, each);
	uint64_t left = (p->limit - p->borrowed) / each;

	return room < left ? room : left;
}

static int
stock_link(struct pool *p, struct stock *s)
{
	if (s->bytes > p->limit - p->borrowed ||
	    extents_take(&p->extents, s, s->a.blocks, block_need(&s->a),
			 stock_place) < 0)
		return -ENOMEM;
	s->next = p->stocks;
	p->stocks = s;
	p->borrowed += s->bytes;
	return 0;
}

/* Writes "; r1 has 1.2 GiB, r2 has 300 MiB": as many stocks as fit in the
 * text. */
static void
show_borrowers(const struct pool *p, char *text, size_t room)
{
	char bytes[UNITS_TEXT];
	size_t at = 0;

	text[0] = '\0';
	for (const struct stock *s = p->stocks; s && at < room; s = s->next)
		at += (size_t)snprintf(text + at, room - at, "%s%s has %s",
				       at ? ", " : "; ", s->who,
				       units_show_bytes(bytes, s->bytes));
}

/* Explains why a stock was refused.  Call under the lock. */
static int
borrow_fault(const struct pool *p, const struct stock *s, struct fault *fault)
{
	char need[UNITS_TEXT], has[UNITS_TEXT], left[UNITS_TEXT], who[160];
	uint64_t room = room_for(p, &s->a);
	unsigned least = 2 * s->a.subs + 2;

	show_borrowers(p, who, sizeof who);
	fault_set(fault, -ENOMEM, "no-memory",
		  "not enough memory for %u blocks of %s: %s are needed",
		  s->a.blocks, s->who, units_show_bytes(need, s->bytes));
	fault_why(fault, "`memory` is %s, of which %s are free%s",
		  units_show_bytes(has, p->limit),
		  units_show_bytes(left, p->limit - p->borrowed), who);
	if (room >= least)
		fault_hint(fault,
			   "`blocks` = %llu of the stream would fit now; or "
			   "raise `memory`, lower the stream's `block`, or "
			   "stop another recording",
			   (unsigned long long)room);
	else
		fault_hint(fault, "raise `memory`, lower the stream's `block` "
				  "or `blocks`, or stop another recording");
	return -ENOMEM;
}

int
pool_borrow(struct pool *p, struct stock **stock, const struct stock_args *args,
	    struct fault *fault)
{
	struct stock *s;
	int err = stock_new(&s, p, args);

	if (err)
		return fault_set(fault, err, "no-memory", "out of memory");
	pthread_mutex_lock(&p->lock);
	err = stock_link(p, s);
	if (err)
		borrow_fault(p, s, fault);
	pthread_mutex_unlock(&p->lock);
	if (err) {
		stock_free(s);
		return err;
	}
	stock_fill(s);
	*stock = s;
	return 0;
}

int
pool_borrow_later(struct pool *p, struct stock **stock,
		  const struct stock_args *args, struct fault *fault)
{
	struct stock *s;
	int err = stock_new(&s, p, args);

	if (err)
		return fault_set(fault, err, "no-memory", "out of memory");
	if (s->bytes > p->limit) {
		pthread_mutex_lock(&p->lock);
		err = borrow_fault(p, s, fault);
		pthread_mutex_unlock(&p->lock);
		stock_free(s);
		return err;
	}
	*stock = s;
	return 0;
}

int
pool_fill(struct stock *s)
{
	struct pool *p = s->pool;
	int err;

	if (s->filled)
		return 0;
	pthread_mutex_lock(&p->lock);
	err = stock_link(p, s);
	pthread_mutex_unlock(&p->lock);
	if (!err)
		stock_fill(s);
	return err;
}

void
pool_cut(struct stock *s, struct block *home)
{
	uint64_t each = block_need(&s->a);
	struct pool *p = s->pool;

	pthread_mutex_lock(&p->lock);
	for (; home; home = home->next) {
		if (extents_cut(&p->extents, home->data, each) < 0)
			continue;
		s->bytes -= each;
		p->borrowed -= each;
	}
	pthread_mutex_unlock(&p->lock);
}

void
pool_take_back(struct stock *s)
{
	struct pool *p = s->pool;
	struct stock **at;

	pthread_mutex_lock(&p->lock);
	for (at = &p->stocks; *at != s; at = &(*at)->next)
		;
	*at = s->next;
	extents_give(&p->extents, s);
	p->borrowed -= s->bytes;
	pthread_mutex_unlock(&p->lock);
	stock_free(s);
}
