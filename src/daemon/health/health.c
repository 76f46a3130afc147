/* SPDX-License-Identifier: MIT */
/*
 * A link is broken when its count did not grow for PATIENCE although the link
 * before it brought something meanwhile.  PATIENCE is long enough for senders
 * that pause between heaps, and for a disk that writes 64 MiB at 20 MB/s; an
 * alarm still comes within five seconds.  Syncs come every `durable` (5 s), so
 * the last link has that time, too.
 *
 * A disk that hangs with a block makes nothing durable either, and the last sync
 * was before the last block: without more care that link would break first.  So
 * the time in which blocks wait and no disk takes one counts for the write link
 * alone; the two that depend on it stand still.
 */
#include "daemon/health/health.h"

#include "contract/log.h"

#define PATIENCE (INT64_C(7) * NS_SECOND / 2)
#define DOUBT	 (INT64_C(3) * NS_SECOND / 2)

void
health_begin(struct health *h, int64_t now, int64_t sync)
{
	*h = (struct health){ .sync = sync, .at = now };
	for (int i = 0; i < HEALTH_LINKS; i++)
		h->link[i].since = now;
}

/* ns that count since the link last went on. */
static int64_t
part_silent(const struct health_part *p, int64_t now)
{
	return now - p->since - p->stood;
}

/* Returns whether the link broke or became whole.  `grew`: its count did;
 * `idle`: it had nothing to do. */
static bool
part_look(struct health_part *p, bool grew, bool idle, int64_t patience,
	  int64_t now)
{
	bool was = p->broken;

	if (grew)
		p->broken = false;
	else if (!idle && part_silent(p, now) > patience)
		p->broken = true;
	if (grew || (idle && !p->broken)) {
		p->since = now;
		p->stood = 0;
	}
	return p->broken != was;
}

unsigned
health_look(struct health *h, const struct health_counts *c, int64_t now)
{
	/* Write first: place and durable depend on it. */
	static const enum health_link order[HEALTH_LINKS] = {
		HEALTH_WRITE, HEALTH_ARRIVE, HEALTH_PLACE, HEALTH_DURABLE
	};
	const struct health_counts *last = &h->last;
	const struct {
		bool grew, idle;
		int64_t more;
	} is[HEALTH_LINKS] = {
		[HEALTH_ARRIVE] = { c->datagrams != last->datagrams, false, 0 },
		[HEALTH_PLACE] = { c->placed != last->placed,
				   c->datagrams == last->datagrams, 0 },
		[HEALTH_WRITE] = { c->written != last->written,
				   !c->waiting && c->lost == last->lost, 0 },
		[HEALTH_DURABLE] = { c->durable != last->durable,
				     c->bytes == c->durable, h->sync },
	};
	bool stalls = !is[HEALTH_WRITE].grew && !is[HEALTH_WRITE].idle;
	unsigned changed = 0;

	for (unsigned i = 0; i < HEALTH_LINKS; i++) {
		enum health_link link = order[i];
		struct health_part *p = &h->link[link];
		/* While no disk writes, memory fills up: nothing is placed any
		 * more, and nothing becomes durable. */
		bool depends = link == HEALTH_PLACE || link == HEALTH_DURABLE;
		bool hit = depends && h->link[HEALTH_WRITE].broken;

		if (depends && stalls)
			p->stood += now - h->at;
		if (part_look(p, is[link].grew, is[link].idle || hit,
			      PATIENCE + is[link].more, now))
			changed |= 1u << link;
	}
	h->last = *c;
	h->at = now;
	return changed;
}

bool
health_doubts(const struct health *h, enum health_link link, int64_t now)
{
	int64_t more = link == HEALTH_DURABLE ? h->sync : 0;

	return !h->link[link].broken &&
	       part_silent(&h->link[link], now) > DOUBT + more;
}

bool
health_is_well(const struct health *h)
{
	for (int i = 0; i < HEALTH_LINKS; i++) {
		if (h->link[i].broken)
			return false;
	}
	return true;
}

const char *
health_name(enum health_link link)
{
	static const char *const name[] = { "arrive", "place", "write",
					    "durable" };

	return name[link];
}

const char *
health_why(enum health_link link)
{
	static const char *const why[] = {
		"no packet comes",
		"packets come, but none of them is stored",
		"blocks wait, but no disk takes one",
		"disks take blocks, but do not make them durable",
	};

	return why[link];
}

const char *
health_well(enum health_link link)
{
	static const char *const well[] = {
		"packets come",
		"packets are stored",
		"disks take blocks",
		"what disks take is durable",
	};

	return well[link];
}
