/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_SESSIONS_CREW_H
#define SPATE_DAEMON_SESSIONS_CREW_H

#include <stdbool.h>

#include "daemon/conf/setup.h"
#include "flow/receive/receiver.h"

/*
 * The crew is all receiver threads, and how much each has to do: whoever has
 * the fewest sources gets the next ones.  The event loop's thread.
 */
struct crew_member {
	struct receiver *receiver;
	unsigned sources;  /* that it was given */
	const void *group; /* whose intake it was given last */
	int64_t beat;	   /* as crew_moves saw it last */
};

struct crew {
	struct crew_member *member;
	unsigned n;
	unsigned turn; /* who is asked first, among equals */
};

/* 0 or -errno; crew_stop in either case. */
int crew_start(struct crew *crew, const struct setup_options *options);
void crew_stop(struct crew *crew); /* after every intake is done */

/* Who is to have an intake of so many sources: the least busy of them.  The
 * intakes of one group, given one after the other, go to as many as there are;
 * NULL: of none. */
struct crew_member *crew_add(struct crew *crew, const void *group,
			     unsigned sources);
void crew_remove(struct crew_member *member, unsigned sources);

/* Has every receiver got on since this was asked last?  Ask no more often
 * than four times a second. */
bool crew_moves(struct crew *crew);

#endif
