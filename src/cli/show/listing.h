/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CLI_SHOW_LISTING_H
#define SPATE_CLI_SHOW_LISTING_H

#include "cli/show/cli.h"
#include "store/list/entry.h"

/*
 * A listing is the recordings that match some patterns: what the daemon knows
 * of them, at once; without one, or with --disks, what is read from the disks
 * now.
 */
struct listing {
	struct entry *entry; /* by name */
	size_t n;
	struct disks disks;	     /* their paths, by the bits of entries */
	unsigned listed;	     /* of them: names are known */
	uint64_t recordings, unread; /* in all, matching or not */
	uint64_t free;
	double rate; /* bytes per second that are being written */
};

/* No patterns: all.  0 or -errno with a fault. */
int listing_get(struct listing *l, const struct cli *cli,
		const char *const *pattern, struct fault *fault);
void listing_clear(struct listing *l);

/* Where the daemon has not read everything yet, a line on stderr says so. */
void listing_warn(const struct listing *l, const struct cli *cli);

#endif
