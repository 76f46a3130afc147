/* SPDX-License-Identifier: MIT */
/*
 * Sources are a fair measure of work: the ports of one stream mostly bring
 * the same each.  Between streams they need not be, but nothing better is
 * known when one begins, and intakes do not move afterwards.
 */
#include "daemon/crew.h"

#include <errno.h>
#include <stdlib.h>

int
crew_start(struct crew *crew, unsigned n)
{
	int err = 0;

	crew->member = calloc(n, sizeof *crew->member);
	if (!crew->member)
		return -ENOMEM;
	for (unsigned i = 0; i < n && !err; i++) {
		err = receiver_start(&crew->member[i].receiver, NULL);
		crew->n += !err;
	}
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

int
crew_add(struct crew *crew, struct intake *in, struct crew_member **member)
{
	struct crew_member *least = &crew->member[crew->turn % crew->n];
	int err;

	for (unsigned i = 0; i < crew->n; i++) {
		struct crew_member *m =
		    &crew->member[(crew->turn + i) % crew->n];

		if (m->sources < least->sources)
			least = m;
	}
	err = receiver_add(least->receiver, in);
	if (err)
		return err;
	crew->turn = (unsigned)(least - crew->member + 1) % crew->n;
	least->sources += in->sources;
	*member = least;
	return 0;
}

int
crew_remove(struct crew_member *member, struct intake *in)
{
	member->sources -= in->sources;
	return receiver_remove(member->receiver, in);
}
