/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_SESSIONS_RECEIVERS_H
#define SPATE_DAEMON_SESSIONS_RECEIVERS_H

#include <stdbool.h>

#include "daemon/conf/setup.h"
#include "flow/receive/receiver.h"

/*
 * The receivers are all receiver threads, with the load of each.  A new intake
 * (the sockets that one thread reads) goes to the thread with the fewest
 * sources.  The event loop's thread.
 */
struct receivers_member {
	struct receiver *receiver;
	unsigned sources;  /* sources (sockets) given to it */
	const void *group; /* group of the last intake given to it */
	int64_t beat; /* its last pass, as receivers_move saw it; ns, steady */
};

struct receivers {
	struct receivers_member *member;
	unsigned n;
	/* where the next search begins, so that equals take turns */
	unsigned turn;
};

/* Starts the receiver threads.  Returns 0 or -errno; call receivers_stop in
 * either case. */
int receivers_start(struct receivers *receivers,
		    const struct setup_options *options);
void
receivers_stop(struct receivers *receivers); /* after every intake is done */

/* Returns the receiver for an intake of `sources` sources: the one with the
 * fewest.  Intakes of one `group`, added one after the other, go to different
 * receivers as far as there are enough; NULL: no group. */
struct receivers_member *receivers_add(struct receivers *receivers,
				       const void *group, unsigned sources);
/* Takes the load of an intake, which is done, off its receiver. */
void receivers_remove(struct receivers_member *member, unsigned sources);

/* True if every receiver thread has made a turn since the last call.  Call
 * it at most four times a second, since an idle receiver turns ten times a
 * second. */
bool receivers_move(struct receivers *receivers);

#endif
