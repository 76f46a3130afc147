/* SPDX-License-Identifier: MIT */
/*
 * Sources are a fair measure of load: the ports of one stream mostly bring the
 * same rate.  Ports of different streams need not, but nothing better is known
 * when a stream begins, and intakes do not move afterwards.
 */
#include "daemon/sessions/crew.h"

#include <errno.h>
#include <stdlib.h>

/* Deals all CPUs out in turn: fills `cpu` with those of receiver `i` of `n`.
 * With fewer CPUs than receivers, each CPU serves several.  Returns how many
 * `cpu` has. */
static unsigned
cpus_deal(const struct option_counts *all, unsigned i, unsigned n,
	  uint32_t *cpu)
{
	unsigned got = 0;

	if (!all->n)
		return 0;
	if (all->n < n) {
		cpu[0] = all->count[i % all->n];
		return 1;
	}
	for (unsigned k = i; k < all->n; k += n)
		cpu[got++] = all->count[k];
	return got;
}

int
crew_start(struct crew *crew, const struct setup_options *o)
{
	uint32_t *cpu = calloc(o->receiver_cpus.n + 1, sizeof *cpu);
	unsigned n = o->receivers;
	int err = cpu ? 0 : -ENOMEM;

	crew->member = calloc(n, sizeof *crew->member);
	if (!crew->member)
		err = -ENOMEM;
	for (unsigned i = 0; i < n && !err; i++) {
		struct receiver_args args = {
			.priority = (int)o->receiver_priority,
			.cpu = cpu,
			.cpus = cpus_deal(&o->receiver_cpus, i, n, cpu)
		};

		err = receiver_start(&crew->member[i].receiver, &args);
		crew->n += !err;
	}
	free(cpu);
	return err;
}

void
crew_stop(struct crew *crew)
{
	for (unsigned i = 0; i < crew->n; i++)
		receiver_stop(crew->member[i].receiver);
	free(crew->member);
	*crew = (struct crew){ 0 };
}

static bool
is_better(const struct crew_member *a, const struct crew_member *b,
	  const void *group)
{
	if (group && (a->group == group) != (b->group == group))
		return a->group != group;
	return a->sources < b->sources;
}

struct crew_member *
crew_add(struct crew *crew, const void *group, unsigned sources)
{
	struct crew_member *least = &crew->member[crew->turn % crew->n];

	for (unsigned i = 0; i < crew->n; i++) {
		struct crew_member *m =
		    &crew->member[(crew->turn + i) % crew->n];

		if (is_better(m, least, group))
			least = m;
	}
	crew->turn = (unsigned)(least - crew->member + 1) % crew->n;
	least->sources += sources;
	if (group)
		least->group = group;
	return least;
}

void
crew_remove(struct crew_member *member, unsigned sources)
{
	member->sources -= sources;
}

bool
crew_moves(struct crew *crew)
{
	bool all = true;

	for (unsigned i = 0; i < crew->n; i++) {
		struct crew_member *m = &crew->member[i];
		int64_t beat = receiver_beat(m->receiver);

		all &= beat != m->beat;
		m->beat = beat;
	}
	return all;
}
