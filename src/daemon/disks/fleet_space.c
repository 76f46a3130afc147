/* SPDX-License-Identifier: MIT */
/*
 * Folders on one file system share its space, which is counted once, and all of
 * them fill it.
 *
 * All disks get full at the same time, because blocks go to disks in proportion
 * to their free space (flow/output/disk_choice.h).  So one forecast serves for all
 * together.
 */
#include "daemon/disks/fleet.h"

static void
facts_of(const struct fleet *f, unsigned i, struct writer_facts *facts)
{
	*facts = (struct writer_facts){ .state = WRITER_MISSING };
	if (fleet_writer(f, i))
		writer_facts(f->disk[i].writer, facts);
}

/* True if the disk's free space counts. */
static bool
counts(const struct writer_facts *facts)
{
	return facts->state <= WRITER_FULL;
}

/* True if a disk before `i` is on the same file system and counts. */
static bool
is_counted(const struct fleet *f, unsigned i, dev_t device)
{
	struct writer_facts facts;

	for (unsigned k = 0; k < i && device; k++) {
		facts_of(f, k, &facts);
		if (counts(&facts) && facts.device == device)
			return true;
	}
	return false;
}

void
fleet_space(const struct fleet *f, struct fleet_space *s)
{
	*s = (struct fleet_space){ .forecast = -1 };
	for (unsigned i = 0; i < f->n; i++) {
		struct writer_facts facts;

		facts_of(f, i, &facts);
		s->written += facts.written;
		if (!fleet_writer(f, i) || !counts(&facts))
			continue;
		s->disks++;
		s->untried += !facts.space.total;
		s->rate += f->disk[i].minute;
		if (is_counted(f, i, facts.device))
			continue;
		s->total += facts.space.total;
		s->free += facts.space.free;
	}
	if (s->rate > 0)
		s->forecast = (double)s->free / s->rate;
}

/* The best speed each disk has shown, because an average is less than the disk
 * can do: it had little to write, or small blocks.  Folders that share a disk
 * count as if each had its own, since no recording should be refused by a
 * guess. */
double
fleet_speed(const struct fleet *f)
{
	double speed = 0;

	for (unsigned i = 0; i < f->n; i++) {
		struct writer_facts facts;

		facts_of(f, i, &facts);
		if (!fleet_writer(f, i) || !counts(&facts))
			continue;
		if (facts.written < FLEET_SHOWN || !f->disk[i].fastest)
			return 0;
		speed += f->disk[i].fastest;
	}
	return speed;
}

double
fleet_forecast(const struct fleet *f, unsigned i)
{
	struct writer_facts of, facts;
	double rate = 0;

	facts_of(f, i, &of);
	for (unsigned k = 0; k < f->n; k++) {
		facts_of(f, k, &facts);
		if (k == i || (of.device && facts.device == of.device))
			rate += f->disk[k].minute;
	}
	return rate > 0 && counts(&of) ? (double)of.space.free / rate : -1;
}
