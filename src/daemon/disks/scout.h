/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_DISKS_SCOUT_H
#define SPATE_DAEMON_DISKS_SCOUT_H

#include <stdbool.h>

#include "contract/option.h"
#include "store/disk/disk.h"

/*
 * The scout is a thread that looks which disks are there: whenever something is
 * mounted or unmounted, and every SCOUT_SECONDS.  A path that does not answer
 * holds up only the scout.
 */
enum { SCOUT_SECONDS = 5, SCOUT_EXTRA = 256 };

/* A path and what the scout found there. */
struct scout_disk {
	char *path;
	bool mount; /* found by a wildcard, which only takes mount points */
	bool there;
	/* same folder as another path in the list; `there` is then false */
	bool twin;
	struct disk_id id;
};

struct scout_list {
	struct scout_disk *disk;
	unsigned n;
};

struct scout;

/* Starts the thread.  `changed` is called on it when scout_take has news.
 * Copies the patterns.  Returns 0 or -errno. */
int scout_start(struct scout **scout, const struct option_texts *patterns,
		void (*changed)(void *arg), void *arg);

/* Ends the thread; leaves it behind if a path does not answer within 1 s. */
void scout_stop(struct scout *scout);

/* Replaces the patterns.  Returns 0; or -ENOMEM, and the old ones stay. */
int scout_patterns(struct scout *scout, const struct option_texts *patterns);

/* Adds one more path to look at. */
void scout_add(struct scout *scout, const char *path);

/* Returns true if anything changed since the last call; *list is then the whole
 * list, which the caller frees with scout_clear. */
bool scout_take(struct scout *scout, struct scout_list *list);
/* Frees the entries of a list. */
void scout_clear(struct scout_list *list);

#endif
