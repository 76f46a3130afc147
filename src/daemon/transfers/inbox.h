/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_TRANSFERS_INBOX_H
#define SPATE_DAEMON_TRANSFERS_INBOX_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/fault.h"

/*
 * The inbox is where copies of recordings come in that other spates send
 * (wire/wire_copy.h): it listens, and has a thread for each connection.
 * The event loop's thread.
 */
struct daemon;
struct inbox;

/* Listens, where the configuration has it; else *inbox is NULL, which all
 * below take for one where nothing ever comes.  0 or -errno with a fault. */
int inbox_open(struct inbox **inbox, struct daemon *d, struct fault *fault);

/* Moves on what is there; whenever the loop turns. */
void inbox_step(struct inbox *inbox, int64_t now);

/* Takes nothing more, and ends what is on its way as interrupted; inbox_busy()
 * is false when that is done, but for threads that look at disks for longer
 * than a moment. */
void inbox_stop(struct inbox *inbox);
bool inbox_busy(const struct inbox *inbox);

/* Is it on its way here?  Also one whose folder is not made yet. */
bool inbox_has(const struct inbox *inbox, const char *name);

/* One whose blocks come in; good until mapping_end.  False: there is none. */
struct mapping_of;
bool inbox_find(struct inbox *inbox, const char *name, struct mapping_of *of);

/* Ends one, of that name or number, as interrupted.  0; -ENOENT: there is
 * none. */
int inbox_end(struct inbox *inbox, const char *name);

/*
 * What comes in just now: an array of {"id","name","from","state","why",
 * "stream","format","bytes","total","there","chunks","rate","connections",
 * "start"}.  A new reference.
 */
json_t *inbox_json(const struct inbox *inbox);

/* False: a thread of it hangs with a disk, and has to be left alone. */
bool inbox_close(struct inbox *inbox);

#endif
