/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_SESSIONS_REPORT_H
#define SPATE_DAEMON_SESSIONS_REPORT_H

#include <jansson.h>

#include "daemon/sessions/session.h"
#include "store/list/entry.h"

/*
 * Reports of the daemon's state: as JSON with the keys of verbs.h, and as log
 * lines.  Functions that return JSON return a new reference, or NULL without
 * memory.  The event loop's thread.
 */

/* Returns `info` of a recording.  `kernel`: its counters now, for who asks for
 * many recordings; NULL: they are read. */
json_t *report_info(struct session *s, const struct kernel *kernel);
/* The same, but only the keys of INFO_BRIEF. */
json_t *report_brief(struct session *s);

/* {"end":{..}}, the last line of the metadata */
json_t *report_tail(struct session *s);
/* Return one disk (DISK in verbs.h) and all disks. */
json_t *report_disk(const struct disk_set *set, unsigned i);
json_t *report_disks(const struct disk_set *set);
/* All disks together; a file system that several share counts once. */
json_t *report_space(const struct disk_set *set);
/* Return streams, as `streams` lists them, and `memory` of `status`. */
struct recorder;
json_t *report_streams(struct recorder *r, struct stream *const *stream,
		       unsigned n);
json_t *report_memory(struct arena *arena);

/* Fills the catalogue's entry for a session that runs or has just ended. */
void report_entry(struct session *s, struct entry *e);

/*
 * Totals of each stream that was recorded since the daemon started.  A
 * recording counts from report_began() on, which leaves out what earlier
 * processes stored in one that is resumed; report_ended() keeps the counts of a
 * session that is about to be freed.  report_totals_free() ends it all.
 */
void report_began(struct session *s);
void report_ended(struct recorder *r, struct session *s);

/* Notes the losses of a recording in its strip: every second, and when it has
 * ended. */
void report_sample(struct session *s, int64_t now);
void report_totals_free(struct recorder *r);

/* Returns a UTC time in ns as text; null for 0. */
json_t *report_time(int64_t ns);

/* Logs one line at the end: how the recording went. */
void report_summary(struct session *s);

#endif
