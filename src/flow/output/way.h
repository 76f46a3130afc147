/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_OUTPUT_WAY_H
#define SPATE_FLOW_OUTPUT_WAY_H

#include "contract/write.h"
#include "flow/output/flight.h"
#include "store/disk/disk.h"

/*
 * Ways are the write plugins that a disk may be written with, in the order of
 * preference.  The first that works there is taken, found out by writing a
 * page to a file that has no name.  Some files cannot be written past the page
 * cache, whatever the disk can do: for those a second way is kept beside it.
 *
 * The disk's thread only.
 */
struct writer_way {
	const struct write_ops *ops;
	const void *options;
};

/* One that is open. */
struct way {
	const struct writer_way *is; /* NULL: it is not */
	struct write_state *state;
	struct flight flight;
};

struct ways_args {
	const char *disk; /* the path, for the log */
	const struct writer_way *way;
	unsigned n;
	const void *arena; /* see write_args */
	size_t arena_bytes;
	struct beat *beat; /* or NULL */
};

struct ways {
	struct ways_args a;
	struct host host;
	struct way main, beside;
	const struct writer_way *told; /* which one the log knows of */
};

void ways_init(struct ways *w, const struct ways_args *args);
void ways_finish(struct ways *w);

/* Chooses, or looks whether what was chosen still works.  One line of the log
 * where that changes.  0 or -errno: then none is open. */
int ways_probe(struct ways *w, const struct disk *disk);

/* O_DIRECT where the chosen one wants it. */
int ways_flags(const struct ways *w);

/* That for a file which was opened so (direct), or not; -errno: there is
 * none. */
int ways_for(struct ways *w, bool direct, struct way **way);

#endif
