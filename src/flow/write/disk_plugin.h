/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_WRITE_DISK_PLUGIN_H
#define SPATE_FLOW_WRITE_DISK_PLUGIN_H

#include "contract/write.h"
#include "flow/write/writes_in_flight.h"
#include "store/disk/disk.h"

/*
 * A way is a write plugin that is opened for one disk.  The configuration lists
 * the plugins in order of preference; the first one that works on the disk is
 * used, found by writing a page to a file without a name.  Some files cannot be
 * written past the page cache, whatever the disk can do: a second way
 * (`beside`) is opened for those.
 *
 * Only the disk's thread calls these functions.
 */

/* A write plugin as it is configured. */
struct writer_way {
	const struct write_ops *ops;
	const void *options;
};

/* An opened instance of a plugin. */
struct way {
	const struct writer_way *is; /* NULL: not open */
	struct write_state *state;
	struct flight flight;
};

struct ways_args {
	const char *disk;	      /* its path, for the log */
	const struct writer_way *way; /* the plugins, preferred first */
	unsigned n;
	const void *arena; /* memory of all blocks, see write_args */
	size_t arena_bytes;
	struct beat *beat; /* heartbeat of the disk, or NULL */
};

struct ways {
	struct ways_args a;
	struct host host;
	struct way main, beside;
	const struct writer_way *told; /* the plugin that was logged last */
};

void ways_init(struct ways *w, const struct ways_args *args);
void ways_finish(struct ways *w);

/* Chooses the plugin, or tests that the chosen one still works.  Logs a line if
 * the choice changes.  0 or -errno; after an error no plugin is open. */
int ways_probe(struct ways *w, const struct disk *disk);

/* Flags for opening files: O_DIRECT if the chosen plugin wants it, else 0. */
int ways_flags(const struct ways *w);

/* Returns in *way the plugin for a file that was opened with O_DIRECT
 * (`direct`) or without, and opens it if needed.  0 or -errno. */
int ways_for(struct ways *w, bool direct, struct way **way);

#endif
