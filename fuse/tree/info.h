/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FUSE_TREE_INFO_H
#define SPATE_FUSE_TREE_INFO_H

#include <stddef.h>
#include <stdint.h>

struct opened_set;
struct record;
struct view_choice;

/*
 * An info is the text that .info/<name>.json has: all that `spate info --json`
 * says of a recording that is stored, and what the mount knows of it:
 *
 *   "views":{"file":"r1.vdif","by_thread":"by-thread/r1","strip":0,
 *            "fill":"stored"},
 *   "read_from_disks":0,"read_from_memory":0,
 *   "unreadable_bytes":0,"filled_bytes":0
 *
 * Of one that cannot be opened it says what `spate ls --json` does, and why.
 */
struct info_counts {
	uint64_t disks, memory, unreadable, filled; /* bytes */
};

/* What became of reading it; all 0 where nobody did lately. */
void info_counts(struct opened_set *set, const char *name,
		 struct info_counts *c);

struct info_about {
	struct record *record;
	const struct view_choice *choice; /* as it is mounted */
	char file[256];			  /* in the root; empty: none */
};

/* Opens it for that: *text is malloc'ed.  0; -ENOENT; -EIO: its disks do not
 * answer; -ENOMEM. */
int info_text(struct opened_set *set, const struct info_about *about,
	      const struct info_counts *c, char **text, uint64_t *bytes);

#endif
