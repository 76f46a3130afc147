/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_DISKS_HOUSEKEEPING_H
#define SPATE_DAEMON_DISKS_HOUSEKEEPING_H

#include <jansson.h>

#include "base/fault.h"
#include "daemon/disks/disk_set.h"
#include "daemon/loop/server.h"
#include "store/disk/layout.h"

/*
 * Housekeeping does jobs on finished recordings that clients asked for:
 * removal, and setting or clearing protection; and it writes quality files, also
 * of recordings that are being made.  One thread does them one after
 * the other, at nice 19 and with a rest after each file, so that a recording
 * does not notice.  A job continues after its client disconnects.
 *
 * The event loop's thread calls these functions.
 */
struct housekeeping;

/* LOOK only says what REMOVE would remove; QUALITY appends lines to the quality
 * file, and has no client. */
enum housekeeping_kind {
	HOUSEKEEPING_LOOK,
	HOUSEKEEPING_REMOVE,
	HOUSEKEEPING_PROTECT,
	HOUSEKEEPING_UNPROTECT,
	HOUSEKEEPING_QUALITY,
};

struct housekeeping_job {
	enum housekeeping_kind kind;
	char name[LAYOUT_FILE];
	bool force;
	char *lines; /* of QUALITY; free()d with the job */
	struct server_ticket ticket;
	struct disks disks; /* own copy, with descriptors of its own */

	/* Results, valid when it is done. */
	int err;
	json_t *result; /* NULL: see `fault` */
	struct fault fault;
	struct housekeeping_job *next;
};

/* Starts the thread.  `done` is called on that thread after each job.
 * Returns 0 or -errno. */
int housekeeping_start(struct housekeeping **h, void (*done)(void *arg),
		       void *arg);

/* Ends the thread: cuts short the current job and drops the rest, but for lines
 * of quality files.  A thread
 * that hangs on a disk is left behind after 2 s. */
void housekeeping_stop(struct housekeeping *h);

/* Queues a copy of `job`, whose lines it takes over even if it fails, with the disks of the disk set that answer.  Returns
 * 0; -EBUSY: too many lines of quality files wait; or -ENOMEM. */
int housekeeping_add(struct housekeeping *h, const struct housekeeping_job *job,
		     const struct disk_set *set);

/* Returns the next finished job, in order, or NULL.  The caller frees it with
 * housekeeping_free. */
struct housekeeping_job *housekeeping_take(struct housekeeping *h);
void housekeeping_free(struct housekeeping_job *job);

#endif
