/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CLI_SHOW_LISTING_H
#define SPATE_CLI_SHOW_LISTING_H

#include "cli/show/cli.h"
#include "store/list/entry.h"

/*
 * A listing is the list of recordings that match some patterns: from the
 * daemon, at once; without a daemon, or with --disks, read from the disks.
 */
struct listing {
	struct entry *entry; /* sorted by name */
	size_t n;
	/* paths only; an entry's bits are indexes into it */
	struct disks disks;
	unsigned listed; /* disks whose names are known */
	/* in all, matching or not; those known only by name */
	uint64_t recordings, unread;
	uint64_t free; /* bytes free on all disks */
	double rate;   /* bytes per second being written now */
};

/*
 * Fills a listing; no patterns: all recordings.  Returns 0, or -errno with a
 * fault.
 */
int listing_get(struct listing *l, const struct cli *cli,
		const char *const *pattern, struct fault *fault);
void listing_clear(struct listing *l);

/* Prints a line on stderr if the daemon has not read everything yet. */
void listing_warn(const struct listing *l, const struct cli *cli);

/* Prints the entries as a table on stdout; nothing if there are none. */
void listing_table(const struct listing *l, bool more);

/*
 * Prints one line: number and size of all, free space, and time until the disks
 * are full.
 */
void listing_total(const struct listing *l);

#endif
