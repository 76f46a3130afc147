/* SPDX-License-Identifier: MIT */
/*
 * Each event of a packet is drawn from a hash of (seed, kind of event,
 * packet).  A generator with state would tie one kind of event to another; this
 * way a stream with loss and one with loss and swaps lose the same packets.
 *
 * One packet at a time is held back.  A draw that would hold another one
 * meanwhile has no effect, so `swapped` counts packets that each came late by
 * exactly the number of packets that overtook them.
 */
#include <stddef.h>

#include "cli/gen/gen_plan.h"
#include "cli/gen/mix.h"

enum fate { LOSE = 1, DOUBLE, HOLD, DISTANCE };

static uint64_t
draw(const struct gen_plan *p, enum fate fate, uint64_t packet)
{
	return mix64(mix64(p->chances.seed + fate) ^ packet);
}

static bool
happens(const struct gen_plan *p, enum fate fate, double chance,
	uint64_t packet)
{
	if (chance <= 0)
		return false;
	return (double)(draw(p, fate, packet) >> 11) < chance * 0x1p53;
}

static bool
is_guarded(const struct gen_plan *p, uint64_t packet)
{
	return packet < GEN_GUARD || p->packets - packet <= GEN_GUARD;
}

void
gen_plan_init(struct gen_plan *p, const struct gen_chances *chances,
	      uint64_t packets)
{
	*p = (struct gen_plan){ .chances = *chances, .packets = packets };
	if (!p->chances.displace)
		p->chances.displace = 1;
}

void
gen_plan_end(struct gen_plan *p, uint64_t packets)
{
	if (p->packets > packets)
		p->packets = packets;
}

static bool
send(struct gen_plan *p, uint64_t *packet, uint64_t which)
{
	p->last = which;
	p->sent++;
	*packet = which;
	return true;
}

/*
 * Tells whether the held packet must go now: enough packets have passed it, or
 * the guarded end begins.
 */
static bool
is_due(const struct gen_plan *p)
{
	return p->behind && (p->passed == p->behind || p->next >= p->packets ||
			     is_guarded(p, p->next));
}

static bool
release(struct gen_plan *p, uint64_t *packet)
{
	p->swapped += p->passed > 0;
	p->behind = 0;
	return send(p, packet, p->held);
}

static void
hold(struct gen_plan *p, uint64_t packet)
{
	p->held = packet;
	p->passed = 0;
	p->behind =
	    1 + (uint32_t)(draw(p, DISTANCE, packet) % p->chances.displace);
}

/* Tells whether this packet is sent now, and counts what happens to it. */
static bool
is_sent(struct gen_plan *p, uint64_t packet)
{
	if (is_guarded(p, packet))
		return true;
	if (happens(p, LOSE, p->chances.loss, packet)) {
		p->lost++;
		return false;
	}
	if (happens(p, DOUBLE, p->chances.duplicate, packet)) {
		p->duplicated++;
		p->again = true;
		return true;
	}
	if (p->behind || !happens(p, HOLD, p->chances.reorder, packet))
		return true;
	hold(p, packet);
	return false;
}

bool
gen_plan_next(struct gen_plan *p, uint64_t *packet)
{
	if (p->again) {
		p->again = false;
		return send(p, packet, p->last);
	}
	while (p->next < p->packets) {
		if (is_due(p))
			return release(p, packet);
		if (is_sent(p, p->next++)) {
			p->passed++;
			return send(p, packet, p->next - 1);
		}
	}
	return is_due(p) ? release(p, packet) : false;
}
