/* SPDX-License-Identifier: MIT */
/*
 * Sources are a fair measure of load: the ports of one stream mostly bring the
 * same rate.  Ports of different streams need not, but nothing better is known
 * when a stream begins, and intakes do not move afterwards.
 */
#include "daemon/sessions/receivers.h"

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
receivers_start(struct receivers *receivers, const struct setup_options *o)
{
	uint32_t *cpu = calloc(o->receiver_cpus.n + 1, sizeof *cpu);
	unsigned n = o->receivers;
	int err = cpu ? 0 : -ENOMEM;

	receivers->member = calloc(n, sizeof *receivers->member);
	if (!receivers->member)
		err = -ENOMEM;
	for (unsigned i = 0; i < n && !err; i++) {
		struct receiver_args args = {
			.priority = (int)o->receiver_priority,
			.cpu = cpu,
			.cpus = cpus_deal(&o->receiver_cpus, i, n, cpu)
		};

		err = receiver_start(&receivers->member[i].receiver, &args);
		receivers->n += !err;
	}
	free(cpu);
	return err;
}

void
receivers_stop(struct receivers *receivers)
{
	for (unsigned i = 0; i < receivers->n; i++)
		receiver_stop(receivers->member[i].receiver);
	free(receivers->member);
	*receivers = (struct receivers){ 0 };
}

static bool
is_better(const struct receivers_member *a, const struct receivers_member *b,
	  const void *group)
{
	if (group && (a->group == group) != (b->group == group))
		return a->group != group;
	return a->sources < b->sources;
}

struct receivers_member *
receivers_add(struct receivers *receivers, const void *group, unsigned sources)
{
	struct receivers_member *least =
	    &receivers->member[receivers->turn % receivers->n];

	for (unsigned i = 0; i < receivers->n; i++) {
		struct receivers_member *m =
		    &receivers->member[(receivers->turn + i) % receivers->n];

		if (is_better(m, least, group))
			least = m;
	}
	receivers->turn =
	    (unsigned)(least - receivers->member + 1) % receivers->n;
	least->sources += sources;
	if (group)
		least->group = group;
	return least;
}

void
receivers_remove(struct receivers_member *member, unsigned sources)
{
	member->sources -= sources;
}

bool
receivers_move(struct receivers *receivers)
{
	bool all = true;

	for (unsigned i = 0; i < receivers->n; i++) {
		struct receivers_member *m = &receivers->member[i];
		int64_t beat = receiver_beat(m->receiver);

		all &= beat != m->beat;
		m->beat = beat;
	}
	return all;
}
