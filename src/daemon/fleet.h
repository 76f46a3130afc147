/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_FLEET_H
#define SPATE_DAEMON_FLEET_H

#include <stdbool.h>

#include "flow/writer.h"
#include "store/disk.h"

/*
 * The fleet is all disks, each with its writer.  A disk is known by its
 * number, which stays its own for as long as the daemon runs, so that what a
 * recording has on it can be counted under that number: there is room for
 * FLEET_MOST from the beginning.  The event loop's thread.
 */
enum { FLEET_MOST = 256 };

struct fleet_args {
	struct queue *queue;
	const struct writer_way *way;
	unsigned ways;
	const void *arena; /* what blocks lie in, or NULL */
	uint64_t arena_bytes;
	unsigned files;		    /* chunks that all may have open together */
	void (*changed)(void *arg); /* as writer_args has it */
	void *arg;
};

struct fleet_disk {
	struct disk disk;
	struct writer *writer; /* NULL: it was dropped */

	/* The last second. */
	uint64_t written;
	double rate; /* bytes per second */
};

struct fleet {
	struct fleet_args a;
	struct fleet_disk disk[FLEET_MOST];
	unsigned n;
	unsigned files; /* of each */
	int64_t sampled;
};

/* Starts a writer for each of these, and closes them.  0 or -errno;
 * fleet_stop in either case. */
int fleet_start(struct fleet *fleet, struct disks *disks,
		const struct fleet_args *args);

/* After every output has ended, and the queue was drained.  False: there are
 * disks that do not answer; their threads use the queue, the pool and what
 * the writers were started with for as long as the process lives. */
bool fleet_stop(struct fleet *fleet);

/* How many have a writer. */
unsigned fleet_writers(const struct fleet *fleet);

/* Of number `i`; NULL: it was dropped. */
struct writer *fleet_writer(const struct fleet *fleet, unsigned i);
const char *fleet_path(const struct fleet *fleet, unsigned i);

/* ---- fleet_watch.c: disks that do not answer -------------------------- */

/* Looks at all of them; done by fleet_step. */
void fleet_watch(struct fleet *fleet, int64_t now);

/* How many take blocks, and answer. */
unsigned fleet_takers(const struct fleet *fleet);

/* None does, and this output is to end: what waits for them is lost. */
void fleet_abandon(struct fleet *fleet, struct output *output);

/* Looks at all of them, once a second. */
void fleet_step(struct fleet *fleet, int64_t now);

#endif
