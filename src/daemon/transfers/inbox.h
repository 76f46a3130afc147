/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_TRANSFERS_INBOX_H
#define SPATE_DAEMON_TRANSFERS_INBOX_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/fault.h"

/*
 * The inbox receives copies of recordings from other spates (wire/copy.h):
 * it listens, and runs one thread per connection.  Only the event loop's thread
 * calls these functions.
 */
struct recorder;
struct inbox;

/*
 * Opens the inbox and listens if the configuration has one; else *inbox is
 * NULL, which all functions below accept.  0, or -errno with a fault;
 * inbox_close() frees it in either case.
 */
int inbox_open(struct inbox **inbox, struct recorder *r, struct fault *fault);

/*
 * Advances all copies; called in each turn of the event loop.  `now` is steady
 * ns.
 */
void inbox_step(struct inbox *inbox, int64_t now);

/*
 * Accepts nothing more, and ends all copies as interrupted.  inbox_busy() turns
 * false when that is done; it waits only briefly for threads that are still
 * looking at disks.
 */
void inbox_stop(struct inbox *inbox);
bool inbox_busy(const struct inbox *inbox);

/*
 * Tells whether a copy of that name is coming in, even if its folder is not
 * made yet.
 */
bool inbox_has(const struct inbox *inbox, const char *name);

/*
 * Finds the copy of that name whose blocks come in, for daemon/sessions'
 * live tap (shared memory for mounts); valid until live_tap_end().  False:
 * there is none.
 */
struct live_tap_of;
bool inbox_find(struct inbox *inbox, const char *name, struct live_tap_of *of);

/*
 * Ends the copy of that name or number, as interrupted.  0, or -ENOENT: there
 * is none.
 */
int inbox_end(struct inbox *inbox, const char *name);

/*
 * Returns the copies that come in now: an array of {"id", "name", "from",
 * "state", "why", "stream", "format", "bytes", "total", "there", "chunks",
 * "told", "packets", "rate", "connections", "start"}.  A new reference.
 */
json_t *inbox_json(const struct inbox *inbox);

/*
 * Frees the inbox.  False if one of its threads hangs with a disk: then the
 * inbox is left behind.
 */
bool inbox_close(struct inbox *inbox);

#endif
