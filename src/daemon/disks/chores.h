/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_DISKS_CHORES_H
#define SPATE_DAEMON_DISKS_CHORES_H

#include <jansson.h>

#include "base/fault.h"
#include "daemon/disks/fleet.h"
#include "daemon/requests/server.h"
#include "store/disk/layout.h"

/*
 * Chores are what is done to recordings on the disks for a client: removals,
 * and marks of protection.  One thread does them, one after the other, after
 * everybody else's I/O and with a rest behind each file, so that a recording
 * does not notice.  Who asked need not stay: what was begun is ended.
 *
 * The event loop's thread calls these.
 */
struct chores;

enum chore_kind { CHORE_LOOK, CHORE_REMOVE, CHORE_PROTECT, CHORE_UNPROTECT };

struct chore {
	enum chore_kind kind;
	char name[LAYOUT_FILE];
	bool force;
	struct server_ticket ticket;
	struct disks disks; /* its own */

	/* When it is done. */
	int err;
	json_t *result; /* NULL: a fault */
	struct fault fault;
	struct chore *next;
};

/* `done` is called when one is; from their thread.  0 or -errno. */
int chores_start(struct chores **chores, void (*done)(void *arg), void *arg);

/* The one that is being done is cut short, the others are not begun; a thread
 * that hangs on a disk is left behind. */
void chores_stop(struct chores *chores);

/* Takes a copy of it, and the disks of the fleet that are there.  0 or
 * -ENOMEM. */
int chores_add(struct chores *chores, const struct chore *chore,
	       const struct fleet *fleet);

/* One that is done, in their order; NULL: none.  chore_free is the caller's. */
struct chore *chores_take(struct chores *chores);
void chore_free(struct chore *chore);

#endif
