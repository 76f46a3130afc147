/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_WRITE_DISK_WRITES_H
#define SPATE_FLOW_WRITE_DISK_WRITES_H

#include "contract/write.h"
#include "flow/write/writes_in_flight.h"
#include "store/disk/disk.h"

/*
 * The write plugin that is opened for one disk.  The configuration lists the
 * plugins in order of preference; the first one that works on the disk is used,
 * found by writing a page to a file without a name.
 *
 * Only the disk's thread calls these functions.
 */

/* A write plugin as it is configured. */
struct write_plugin {
	const struct write_ops *ops;
	const void *options;
};

/* The write plugin of disks that are remote (store/disk/remote.h): it hands
 * requests to the disk's plugin, as many as may be in flight. */
extern const struct write_plugin write_remotely;

/* An opened instance of a plugin. */
struct open_plugin {
	const struct write_plugin *is; /* NULL: not open */
	struct write_state *state;
	struct writes_in_flight writes;
};

struct disk_writes_args {
	const char *disk;		   /* its path, for the log */
	const struct write_plugin *plugin; /* the plugins, preferred first */
	unsigned n;
	const void *arena; /* memory of all blocks, see write_args */
	size_t arena_bytes;
	const _Atomic size_t *arena_ready;
	struct heartbeat *beat; /* heartbeat of the disk, or NULL */
};

struct disk_writes {
	struct disk_writes_args a;
	struct host host;
	struct open_plugin main;
	const struct write_plugin *told; /* the plugin that was logged last */
};

void disk_writes_init(struct disk_writes *w,
		      const struct disk_writes_args *args);
void disk_writes_finish(struct disk_writes *w);

/* Chooses the plugin, or tests that the chosen one still works.  Logs a line if
 * the choice changes.  0 or -errno; after an error no plugin is open. */
int disk_writes_probe(struct disk_writes *w, const struct disk *disk);

/* Flags for opening files: O_DIRECT if the chosen plugin wants it, else 0. */
int disk_writes_flags(const struct disk_writes *w);

#endif
