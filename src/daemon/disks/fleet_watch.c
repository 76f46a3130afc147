/* SPDX-License-Identifier: MIT */
/*
 * Disks that do not answer, as the event loop sees them; writer_disk.c handles
 * a single one.  This file looks at all disks together: the blocks of a hung
 * disk go to others only when another disk takes blocks, and are given up only
 * when none does and a recording is to end.
 *
 * While blocks wait and no disk takes any, memory lasts for seconds.  So all
 * failed disks are probed together, at once, after 1 s, and then every 2 s,
 * whatever the writers' own timers say.  If the cause lay outside the disks (no
 * descriptors were left), they all come back.
 */
#include "base/clock.h"
#include "daemon/disks/fleet.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PROBE_MOST (2 * NS_SECOND)

unsigned
fleet_takers(const struct fleet *f)
{
	unsigned n = 0;

	for (unsigned i = 0; i < f->n; i++)
		n += f->disk[i].writer && writer_takes(f->disk[i].writer);
	return n;
}

bool
fleet_leaves(const struct fleet *f)
{
	for (unsigned i = 0; i < f->n; i++) {
		struct writer_facts facts = { 0 };

		if (!f->disk[i].leaving || !f->disk[i].writer)
			continue;
		writer_facts(f->disk[i].writer, &facts);
		if (facts.state != WRITER_HUNG)
			return true;
	}
	return false;
}

static void
left_probe(struct fleet *f, int64_t now)
{
	if (!queue_length(f->a.queue) || now < f->probe_at)
		return;
	for (unsigned i = 0; i < f->n; i++) {
		if (fleet_writer(f, i))
			writer_retry(fleet_writer(f, i));
	}
	f->probe_gap = f->probe_gap ? 2 * f->probe_gap : NS_SECOND;
	if (f->probe_gap > PROBE_MOST)
		f->probe_gap = PROBE_MOST;
	f->probe_at = now + f->probe_gap;
}

void
fleet_watch(struct fleet *f, int64_t now)
{
	for (unsigned i = 0; i < f->n; i++) {
		if (f->disk[i].writer)
			writer_watch(f->disk[i].writer, now);
	}
	if (!fleet_takers(f)) {
		left_probe(f, now);
		return;
	}
	f->probe_at = f->probe_gap = 0;
	for (unsigned i = 0; i < f->n; i++) {
		if (f->disk[i].writer)
			writer_relieve(f->disk[i].writer);
	}
}

bool
fleet_works(const struct fleet *f)
{
	for (unsigned i = 0; i < f->n; i++) {
		struct writer_facts facts;

		if (!fleet_writer(f, i))
			continue;
		writer_facts(fleet_writer(f, i), &facts);
		if (writer_works(&facts))
			return true;
	}
	return false;
}

/* Counts the queue's blocks of output `o` as lost, and puts blocks of other
 * recordings back.  Looks at each block once: blocks put meanwhile are behind
 * them. */
static void
waiting_lose(struct queue *queue, struct output *o)
{
	for (unsigned n = queue_length(queue); n; n--) {
		struct block *b = queue_rest(queue);

		if (!b)
			return;
		if (b->session != o && queue_put(queue, b, false) == 0)
			continue;
		output_seal(b->session, b);
		output_lost(b->session, b);
	}
}

void
fleet_abandon(struct fleet *f, struct output *o)
{
	waiting_lose(f->a.queue, o);
	for (unsigned i = 0; i < f->n; i++) {
		if (f->disk[i].writer)
			writer_abandon(f->disk[i].writer, o);
	}
}

/* True if the disk takes part and does not hang. */
static bool
is_usable(const struct fleet *fleet, unsigned i)
{
	struct writer_facts f;

	if (!fleet_writer(fleet, i))
		return false;
	writer_facts(fleet_writer(fleet, i), &f);
	return f.state != WRITER_HUNG;
}

int
fleet_disks(const struct fleet *fleet, struct disks *disks)
{
	disks->disk = calloc(fleet->n + 1, sizeof *disks->disk);
	if (!disks->disk)
		return -ENOMEM;
	for (unsigned i = 0; i < fleet->n; i++) {
		const struct disk *from = &fleet->disk[i].disk;

		if (!is_usable(fleet, i))
			continue;
		disks->disk[disks->n] = (struct disk){
			.path = strdup(from->path),
			.mount = from->mount,
			.fd = -1,
		};
		if (!disks->disk[disks->n].path)
			return -ENOMEM;
		disks->n++;
	}
	return 0;
}
