/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_DISKS_CHORES_H
#define SPATE_DAEMON_DISKS_CHORES_H

#include <jansson.h>

#include "base/fault.h"
#include "daemon/disks/fleet.h"
#include "daemon/loop/server.h"
#include "store/disk/layout.h"

/*
 * Chores are jobs on finished recordings that a client asked for: removal, and
 * setting or clearing protection.  One thread does them one after the other, at
 * nice 19 and with a rest after each file, so that a recording does not notice.
 * A chore continues after its client disconnects.
 *
 * The event loop's thread calls these functions.
 */
struct chores;

/* LOOK only says what REMOVE would remove. */
enum chore_kind { CHORE_LOOK, CHORE_REMOVE, CHORE_PROTECT, CHORE_UNPROTECT };

struct chore {
	enum chore_kind kind;
	char name[LAYOUT_FILE];
	bool force;
	struct server_ticket ticket;
	struct disks disks; /* own copy, with descriptors of its own */

	/* Results, valid when it is done. */
	int err;
	json_t *result; /* NULL: see `fault` */
	struct fault fault;
	struct chore *next;
};

/* Starts the thread.  `done` is called on that thread after each chore.
 * Returns 0 or -errno. */
int chores_start(struct chores **chores, void (*done)(void *arg), void *arg);

/* Ends the thread: cuts short the current chore and drops the rest.  A thread
 * that hangs on a disk is left behind after 2 s. */
void chores_stop(struct chores *chores);

/* Queues a copy of `chore`, with the disks of the fleet that answer.  Returns 0
 * or -ENOMEM. */
int chores_add(struct chores *chores, const struct chore *chore,
	       const struct fleet *fleet);

/* Returns the next finished chore, in order, or NULL.  The caller frees it with
 * chore_free. */
struct chore *chores_take(struct chores *chores);
void chore_free(struct chore *chore);

#endif
