/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FUSE_TREE_INFO_H
#define SPATE_FUSE_TREE_INFO_H

#include <stddef.h>
#include <stdint.h>

struct opened_set;
struct record;
struct view_choice;

/*
 * An info is the text of .info/<name>.json: everything that `spate info --json`
 * says of a stored recording, and what the mount adds:
 *
 *   "views":{"file":"r1.vdif","by_thread":"by-thread/r1","strip":0,
 *            "fill":"stored"},
 *   "read_from_disks":0,"read_from_memory":0,
 *   "unreadable_bytes":0,"filled_bytes":0
 *
 * For a recording that cannot be opened it has what `spate ls --json` says, and
 * why.
 */
struct info_counts {
	uint64_t disks, memory, unreadable, filled; /* bytes */
};

/*
 * Gets the counts of bytes that readers got since the recording was opened; all
 * 0 if no reader had it open lately.
 */
void info_counts(struct opened_set *set, const char *name,
		 struct info_counts *c);

struct info_about {
	struct record *record;
	const struct view_choice *choice; /* strip and fill, as mounted */
	char file[256];			  /* file in the root; "": none */
};

/*
 * Opens the recording and makes the text; the caller frees *text.  Returns 0;
 * -ENOENT; -EIO: its disks do not answer; -ENOMEM.
 */
int info_text(struct opened_set *set, const struct info_about *about,
	      const struct info_counts *c, char **text, uint64_t *bytes);

#endif
