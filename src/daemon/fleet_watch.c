/* SPDX-License-Identifier: MIT */
/*
 * Disks that do not answer, as the event loop sees them; writer_watch.c says
 * what is done about one.  Here is what takes a look at all of them: blocks
 * are given away only when there is somebody to take them, and given up only
 * when nobody answers and a recording is to end.
 */
#include "daemon/fleet.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

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

void
fleet_watch(struct fleet *f, int64_t now)
{
	for (unsigned i = 0; i < f->n; i++) {
		if (f->disk[i].writer)
			writer_watch(f->disk[i].writer, now);
	}
	if (!fleet_takers(f))
		return;
	for (unsigned i = 0; i < f->n; i++) {
		if (f->disk[i].writer)
			writer_relieve(f->disk[i].writer);
	}
}

/* Those of other recordings may wait on.  Whatever is put meanwhile stays
 * behind them. */
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

/* One that hangs is as good as not there. */
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
