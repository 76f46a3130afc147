/* SPDX-License-Identifier: MIT */
/*
 * Stride scheduling: a block costs a disk bytes / space left of its account,
 * and whoever has spent least is served.  All disks then lose the same part
 * of their space in the same time, whatever their sizes, and nobody has to
 * compute when which will be full.  Always the one with the most space was
 * rejected: of three disks, the largest alone would do all the work until it
 * is level with the second.
 *
 * A disk that was busy, or away, is behind and gets what it missed, but no
 * more than CREDIT blocks of it: then its space counts, which says the rest.
 *
 * Speed does not enter the account: a disk that is busy is not asked, so a
 * faster one gets more where that is needed.  Only while memory is short the
 * much faster one goes first, whose block is home sooner.
 */
#include "flow/output/choice.h"

#include <stddef.h>

enum { CREDIT = 4, SECOND = 1000000000 };

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

/* Its part of the space that it shares. */
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

/* The speed that half of the others have; 0: there are none. */
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

	/* Once it is, a short block does not make it fast. */
	return (c->benched || c->rank.took > SECOND) &&
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

/* On the bench, and it is not its time. */
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
	/* Who is slow leaves a second block to those who will be idle before
	 * it could be begun. */
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

	/* One try; what it takes decides. */
	if (c->benched)
		c->retry = b->now + CHOICE_RETRY;
	if (c->pass < all->now - CREDIT * stride)
		c->pass = all->now - CREDIT * stride;
	if (c->pass > all->now)
		all->now = c->pass;
	c->pass += stride;
}
