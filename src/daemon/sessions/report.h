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
json_t *report_info(struct session *s);
/* {"end":{..}}, the last line of the metadata */
json_t *report_tail(struct session *s);
/* Return one disk (DISK in verbs.h) and all disks. */
json_t *report_disk(const struct fleet *fleet, unsigned i);
json_t *report_disks(const struct fleet *fleet);
/* All disks together; a file system that several share counts once. */
json_t *report_space(const struct fleet *fleet);
/* Return a stream, as `streams` lists it, and `memory` of `status`. */
json_t *report_stream(const struct stream *s);
json_t *report_memory(struct pool *pool);

/* Fills the catalogue's entry for a session that runs or has just ended. */
void report_entry(struct session *s, struct entry *e);

/* Returns a UTC time in ns as text; null for 0. */
json_t *report_time(int64_t ns);
/* Returns how many packets of a run were lost, by the numbers in its blocks;
 * see store/recording/loss.h. */
uint64_t report_run_lost(const struct output_run *r);
/* Returns how many lost packets of a substream no block accounts for; they
 * count with its newest run.  Call it without output::lock. */
uint64_t report_outside(struct session *s, unsigned sub);
/* Return the UTC ns of a run's first and last packet: the data's own time if it
 * has one, else the time of arrival. */
int64_t report_run_first(const struct output_run *r);
int64_t report_run_last(const struct output_run *r);

/* Adds to `to` (INFO, or the end of the metadata) where packets came from and
 * were lost: `sources`, `kernel`, `subs` and `silent`. */
void report_from(struct session *s, json_t *to);

/* Logs one line at the end: how the recording went. */
void report_summary(struct session *s);

#endif
