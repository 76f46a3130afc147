/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FUSE_TREE_MEASURE_H
#define SPATE_FUSE_TREE_MEASURE_H

#include <stddef.h>
#include <stdint.h>

#include "fuse/tree/tree.h"
#include "store/read/open_recordings.h"
#include "store/view/view.h"

/*
 * Facts that only an open recording can tell.  The recording is opened for it,
 * which waits for its disks, at most for the set's patience.  It stays open for
 * some seconds, for the next request.
 */
struct measured {
	uint64_t bytes;
	int64_t end_ns;
};

/*
 * Returns how a file is shown: strip and fill as mounted, as far as they apply
 * to it.  Readers of the file use the same choice.
 */
struct view_choice measure_choice(const struct view_choice *mounted,
				  const struct tree_file *f,
				  enum heap_store store);

/*
 * Measures a file as a reader gets it now.  Returns 0; -ENOENT: it is not
 * there; -ESTALE: another recording has its name by now; -EINVAL: it has no
 * such thread or time; -EIO.
 */
int measure_file(struct open_recordings *set, const struct view_choice *mounted,
		 const struct tree_file *f, struct measured *m);

/*
 * Lists the VDIF threads of all substreams, sorted; the caller frees *list.
 * Returns as measure_file().
 */
struct measured_thread {
	unsigned sub, thread;
};
int measure_threads(struct open_recordings *set, const struct tree_file *f,
		    struct measured_thread **list, size_t *n);

struct open_recordings;

struct record;

struct view_choice;

/*
 * An info is the text of .info/<name>.json: everything that `spate info --json`
 * says of a stored recording, and what the mount adds:
 *
 *   "views":{"file":"r1.vdif","by_thread":"by-thread/r1","strip":0,
 *            "fill":"stored"},
 *   "read_from_disks":0,"read_from_memory":0,
 *   "unreadable_bytes":0,"filled_bytes":0,"healed":0,"damaged_bytes":0
 *
 * For a recording that cannot be opened it has what `spate ls --json` says, and
 * why.
 */
struct info_counts {
	uint64_t disks, memory, unreadable, filled; /* bytes */
	uint64_t healed;  /* blocks that were computed from parity */
	uint64_t damaged; /* bytes; see open_recording_counts */
};

/*
 * Gets the counts of bytes that readers got since the recording was opened; all
 * 0 if no reader had it open lately.
 */
void info_counts(struct open_recordings *set, const char *name,
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
int info_text(struct open_recordings *set, const struct info_about *about,
	      const struct info_counts *c, char **text, uint64_t *bytes);

#endif
