/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_REQUESTS_REPORT_H
#define SPATE_DAEMON_REQUESTS_REPORT_H

#include <jansson.h>

#include "daemon/sessions/session.h"
#include "store/list/entry.h"

/*
 * What the daemon says of its things, as JSON with the keys of verbs.h, and
 * in the log.  All return new references, NULL without memory; the event
 * loop's thread.
 */
json_t *report_info(struct session *s);
json_t *report_tail(struct session *s); /* {"end":{..}} for the metadata */
json_t *report_disk(const struct fleet *fleet, unsigned i);
json_t *report_disks(const struct fleet *fleet);
/* Of all disks together, file systems counted once. */
json_t *report_space(const struct fleet *fleet);
json_t *report_stream(const struct stream *s);
json_t *report_memory(struct pool *pool);

/* What the catalogue keeps of one that runs. */
void report_entry(struct session *s, struct entry *e);

/* null for 0. */
json_t *report_time(int64_t ns);
/* Packets that were lost of it, as its blocks tell; see store/recording/loss.h. */
uint64_t report_run_lost(const struct output_run *r);
/* And those that no block tells of, of a substream: they count with its
 * newest run.  Not under output::lock. */
uint64_t report_outside(struct session *s, unsigned sub);
int64_t report_run_first(const struct output_run *r);
int64_t report_run_last(const struct output_run *r);

/* Adds to INFO, or to the end, where it all came from, and what died on the
 * way: `sources`, `kernel` and, where there are several substreams, `subs`
 * and `silent`. */
void report_from(struct session *s, json_t *to);

/* One line in the log: how the recording went. */
void report_summary(struct session *s);

#endif
