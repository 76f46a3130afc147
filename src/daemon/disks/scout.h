/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_DISKS_SCOUT_H
#define SPATE_DAEMON_DISKS_SCOUT_H

#include <stdbool.h>

#include "contract/option.h"
#include "store/disk/disk.h"

/*
 * The scout is a thread that looks which disks are there: whenever something
 * is mounted or unmounted on this machine, and every SCOUT_SECONDS.  A path
 * that does not answer holds up the scout, and nobody else.
 */
enum { SCOUT_SECONDS = 5, SCOUT_EXTRA = 256 };

struct scout_disk {
	char *path;
	bool mount; /* found by a wildcard: a file system is mounted there */
	bool there;
	bool twin; /* its folder is in the list by another path; then it is
		      not there */
	struct disk_id id;
};

struct scout_list {
	struct scout_disk *disk;
	unsigned n;
};

struct scout;

/* `changed` is called, on its thread, when there is something new.  The
 * patterns are copied.  0 or -errno. */
int scout_start(struct scout **scout, const struct option_texts *patterns,
		void (*changed)(void *arg), void *arg);

/* Does not wait for a path that does not answer. */
void scout_stop(struct scout *scout);

/* Others from now on.  0 or -ENOMEM: then it looks for those that it had. */
int scout_patterns(struct scout *scout, const struct option_texts *patterns);

/* One more path to look at. */
void scout_add(struct scout *scout, const char *path);

/* True where something changed since the last time: the list is then all that
 * there is, and the caller's to clear. */
bool scout_take(struct scout *scout, struct scout_list *list);
void scout_clear(struct scout_list *list);

#endif
