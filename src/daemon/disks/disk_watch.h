/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_DISKS_DISK_WATCH_H
#define SPATE_DAEMON_DISKS_DISK_WATCH_H

#include <stdbool.h>

#include "contract/option.h"
#include "store/disk/disk.h"

/*
 * The disk watch is a thread that looks which disks are there: whenever
 * something is mounted or unmounted, and every DISK_WATCH_SECONDS.  A path that
 * does not answer holds up only this thread.
 */
enum { DISK_WATCH_SECONDS = 5, DISK_WATCH_EXTRA = 256 };

/* A path and what the disk watch found there. */
struct disk_watch_disk {
	char *path;
	bool mount; /* found by a wildcard, which only takes mount points */
	bool there;
	/* same folder as another path in the list; `there` is then false */
	bool twin;
	struct disk_id id;
};

struct disk_watch_list {
	struct disk_watch_disk *disk;
	unsigned n;
};

struct disk_watch;

/* Starts the thread.  `changed` is called on it when disk_watch_take has news.
 * Copies the patterns.  Returns 0 or -errno. */
int disk_watch_start(struct disk_watch **watch,
		     const struct option_texts *patterns,
		     void (*changed)(void *arg), void *arg);

/* Ends the thread; leaves it behind if a path does not answer within 1 s. */
void disk_watch_stop(struct disk_watch *watch);

/* Replaces the patterns.  Returns 0; or -ENOMEM, and the old ones stay. */
int disk_watch_patterns(struct disk_watch *watch,
			const struct option_texts *patterns);

/* Adds one more path to look at. */
void disk_watch_add(struct disk_watch *watch, const char *path);

/* Returns true if anything changed since the last call; *list is then the whole
 * list, which the caller frees with disk_watch_clear. */
bool disk_watch_take(struct disk_watch *watch, struct disk_watch_list *list);
/* Frees the entries of a list. */
void disk_watch_clear(struct disk_watch_list *list);

#endif
