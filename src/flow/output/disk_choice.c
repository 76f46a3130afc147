/* SPDX-License-Identifier: MIT */
/*
 * Stride scheduling: a block costs bytes / space left on a disk's account, and
 * the disk that has spent least gets the next one.  All disks then lose the
 * same part of their space in the same time, whatever their sizes, and nobody
 * has to compute which will be full when.  Serving always the disk with the
 * most space was rejected: of three disks, the largest alone would do all the
 * work until it is level with the second.
 *
 * A disk that was busy, or away, is behind and gets what it missed, but no more
 * than CREDIT blocks of it: its free space makes up for the rest.
 *
 * Speed does not enter the account: a busy disk is not asked, so a faster one
 * gets more blocks where they are needed.  Only while memory is short a disk
 * that is more than twice as fast goes first, because it frees its block
 * sooner.
 */
#include "base/clock.h"
#include "flow/output/disk_choice.h"

#include <stddef.h>

enum { CREDIT = 4 };

void
choice_join(struct choices *all, struct choice *c)
{
	*c = (struct choice){ .pass = all->now, .next = all->all };
	all->all = c;
}

void
choice_leave(struct choices *all, struct choice *c)
{
	struct choice **at = &all->all;

	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
}

/* Free bytes of a disk, divided by the number of disks that share them. */
static double
space(const struct choices *all, const struct choice *c)
{
	unsigned sharers = 1;

	for (const struct choice *o = all->all; o; o = o->next)
		sharers += o != c && o->known && o->rank.device &&
			   o->rank.device == c->rank.device;
	return (double)c->rank.free / sharers;
}

/* ---- the bench ------------------------------------------------------- */

/* Returns a speed that about half of the other disks reach; 0: none is
 * known. */
static double
median(const struct choices *all, const struct choice *of)
{
	unsigned n = 0, below;
	double best = 0;

	for (const struct choice *c = all->all; c; c = c->next)
		n += c != of && c->rank.speed > 0;
	for (const struct choice *c = all->all; c; c = c->next) {
		if (c == of || c->rank.speed <= 0)
			continue;
		below = 0;
		for (const struct choice *o = all->all; o; o = o->next)
			below += o != of && o->rank.speed > 0 &&
				 o->rank.speed < c->rank.speed;
		if (below <= n / 2 && c->rank.speed > best)
			best = c->rank.speed;
	}
	return best;
}

static bool
is_slow(const struct choices *all, const struct choice *c)
{
	double speed = (double)c->rank.bytes * 1e9 / (double)c->rank.took;

	/* A benched disk stays slow after a short block, which takes under a
	 * second on any disk. */
	return (c->benched || c->rank.took > NS_SECOND) &&
	       speed * CHOICE_SLOW < median(all, c);
}

bool
choice_rank(struct choices *all, struct choice *c,
	    const struct choice_rank *rank, int64_t now)
{
	bool was = c->benched;

	c->rank = *rank;
	c->known = true;
	if (!rank->took)
		return false;
	c->benched = is_slow(all, c);
	if (c->benched)
		c->retry = now + CHOICE_RETRY;
	return c->benched != was;
}

/* True if the disk rests on the bench until `retry`. */
static bool
sits(const struct choice *c, int64_t now)
{
	return c->benched && now < c->retry;
}

static bool
all_sit(const struct choices *all)
{
	for (const struct choice *c = all->all; c; c = c->next) {
		if (!c->benched)
			return false;
	}
	return true;
}

/* ---- the choice ------------------------------------------------------ */

bool
choice_fit(const struct choices *all, const struct choice *c,
	   const struct choice_block *b)
{
	if (c->benched && !all_sit(all))
		return !b->tight && !c->rank.flight;
	/* A slow disk leaves its second block to the others: they will be idle
	 * before it could begin with it. */
	return !c->rank.flight || c->rank.speed * 2 > median(all, c);
}

static bool
much_faster(const struct choice *a, const struct choice *b)
{
	return b->rank.speed > 0 && a->rank.speed > 2 * b->rank.speed;
}

bool
choice_better(const struct choice *a, const struct choice *b,
	      const struct choice_block *block)
{
	bool sits_a = sits(a, block->now), sits_b = sits(b, block->now);

	if (sits_a != sits_b)
		return sits_b;
	if (block->tight && much_faster(a, b) != much_faster(b, a))
		return much_faster(a, b);
	return a->pass < b->pass;
}

void
choice_serve(struct choices *all, struct choice *c,
	     const struct choice_block *b)
{
	double left = space(all, c);
	double stride = c->known && left >= 1 ? (double)b->bytes / left : 0;

	/* A benched disk gets one block per rest; how long that takes
	 * decides. */
	if (c->benched)
		c->retry = b->now + CHOICE_RETRY;
	if (c->pass < all->now - CREDIT * stride)
		c->pass = all->now - CREDIT * stride;
	if (c->pass > all->now)
		all->now = c->pass;
	c->pass += stride;
}
