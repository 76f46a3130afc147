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
disk_choice_join(struct disk_choices *all, struct disk_choice *c)
{
	*c = (struct disk_choice){ .spent = all->most_spent, .next = all->all };
	all->all = c;
}

void
disk_choice_leave(struct disk_choices *all, struct disk_choice *c)
{
	struct disk_choice **at = &all->all;

	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
}

/* Free bytes of a disk, divided by the number of disks that share them. */
static double
space(const struct disk_choices *all, const struct disk_choice *c)
{
	unsigned sharers = 1;

	for (const struct disk_choice *o = all->all; o; o = o->next)
		sharers += o != c && o->known && o->figures.device &&
			   o->figures.device == c->figures.device;
	return (double)c->figures.free / sharers;
}

/* ---- the bench ------------------------------------------------------- */

/* Returns a speed that about half of the other disks reach; 0: none is
 * known. */
static double
median(const struct disk_choices *all, const struct disk_choice *of)
{
	unsigned n = 0, below;
	double best = 0;

	for (const struct disk_choice *c = all->all; c; c = c->next)
		n += c != of && c->figures.speed > 0;
	for (const struct disk_choice *c = all->all; c; c = c->next) {
		if (c == of || c->figures.speed <= 0)
			continue;
		below = 0;
		for (const struct disk_choice *o = all->all; o; o = o->next)
			below += o != of && o->figures.speed > 0 &&
				 o->figures.speed < c->figures.speed;
		if (below <= n / 2 && c->figures.speed > best)
			best = c->figures.speed;
	}
	return best;
}

static bool
is_slow(const struct disk_choices *all, const struct disk_choice *c)
{
	double speed = (double)c->figures.bytes * 1e9 / (double)c->figures.took;

	/* A benched disk stays slow after a short block, which takes under a
	 * second on any disk. */
	return (c->benched || c->figures.took > NS_SECOND) &&
	       speed * DISK_SLOW < median(all, c);
}

bool
disk_choice_report(struct disk_choices *all, struct disk_choice *c,
		   const struct disk_figures *figures, int64_t now)
{
	bool was = c->benched;

	c->figures = *figures;
	c->known = true;
	if (!figures->took)
		return false;
	c->benched = is_slow(all, c);
	if (c->benched)
		c->retry = now + DISK_RETRY;
	return c->benched != was;
}

/* True if the disk rests on the bench until `retry`. */
static bool
sits(const struct disk_choice *c, int64_t now)
{
	return c->benched && now < c->retry;
}

static bool
all_sit(const struct disk_choices *all)
{
	for (const struct disk_choice *c = all->all; c; c = c->next) {
		if (!c->benched)
			return false;
	}
	return true;
}

/* ---- the choice ------------------------------------------------------ */

bool
disk_choice_fit(const struct disk_choices *all, const struct disk_choice *c,
		const struct disk_choice_block *b)
{
	if (c->benched && !all_sit(all))
		return !b->tight && !c->figures.in_flight;
	/* A slow disk leaves its second block to the others: they will be idle
	 * before it could begin with it. */
	return !c->figures.in_flight || c->figures.speed * 2 > median(all, c);
}

static bool
much_faster(const struct disk_choice *a, const struct disk_choice *b)
{
	return b->figures.speed > 0 && a->figures.speed > 2 * b->figures.speed;
}

bool
disk_choice_better(const struct disk_choice *a, const struct disk_choice *b,
		   const struct disk_choice_block *block)
{
	bool sits_a = sits(a, block->now), sits_b = sits(b, block->now);

	if (sits_a != sits_b)
		return sits_b;
	if (block->tight && much_faster(a, b) != much_faster(b, a))
		return much_faster(a, b);
	return a->spent < b->spent;
}

void
disk_choice_serve(struct disk_choices *all, struct disk_choice *c,
		  const struct disk_choice_block *b)
{
	double left = space(all, c);
	double stride = c->known && left >= 1 ? (double)b->bytes / left : 0;

	/* A benched disk gets one block after each rest.  The time that it takes
	 * decides whether it leaves the bench. */
	if (c->benched)
		c->retry = b->now + DISK_RETRY;
	if (c->spent < all->most_spent - CREDIT * stride)
		c->spent = all->most_spent - CREDIT * stride;
	if (c->spent > all->most_spent)
		all->most_spent = c->spent;
	c->spent += stride;
}
