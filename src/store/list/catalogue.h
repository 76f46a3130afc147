/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_LIST_CATALOGUE_H
#define SPATE_STORE_LIST_CATALOGUE_H

#include "store/list/entry.h"

/*
 * A catalogue keeps an entry for every recording on some disks, and notices by
 * itself when they change:
 *
 *   a disk's folder changed, or a disk came or went     its names are listed
 *   a name is new on a disk, or gone                    its entry is read
 *   a recording is live or incomplete, and its folder   its entry is read
 *   changed
 *   a folder was replaced by one of the same name, or   its entry is read
 *   changed within the last minute
 *   catalogue_touch() was called                        its entry is read first
 *
 * Changes by hand in the folder of a recording that is complete for longer are
 * not seen.  Nothing relies on a catalogue being right: opening or removing a
 * recording looks at the disks.
 *
 * One thread, the catalogue thread, calls catalogue_pass(), reads the disks
 * and may have to wait for them.  All other threads get at once what is known.
 */
struct catalogue;

/* Totals of a catalogue. */
struct catalogue_facts {
	/* disks; those whose names were listed at least once, also if they were
	 * not there */
	unsigned disks, listed;
	size_t recordings, unread;
	size_t unnamed;	  /* folders whose names no recording can have */
	uint64_t changes; /* counts changes of entries that were read */
	struct entry_work work;
};

/* Selects entries: names after `after` that match one of the patterns. */
struct catalogue_query {
	const char *after; /* NULL: from the first name on */
	/* patterns of fnmatch(3); none: all names */
	const char *const *pattern;
	unsigned patterns;
	size_t most; /* most entries in one page */
};

/* Makes an empty catalogue.  0 or -ENOMEM. */
int catalogue_make(struct catalogue **c);
/* Call it after the catalogue thread has ended.  NULL is allowed. */
void catalogue_free(struct catalogue *c);

/* ---- any thread ------------------------------------------------------ */

/* Adds a disk, or takes it back; `mount` as in struct disk.  0, -ENOMEM or
 * -ENOSPC. */
int catalogue_join(struct catalogue *c, const char *path, bool mount);
/* Takes a disk away.  The catalogue thread closes it after the entry that it is reading,
 * and forgets what is on it in its next pass. */
void catalogue_leave(struct catalogue *c, const char *path);

/* Sets the entry of a live recording as its session counts it; its disks are
 * still looked at.  0 or -ENOMEM. */
int catalogue_live(struct catalogue *c, const struct entry *e);
/* Makes the catalogue leave out the counts of live recordings, for callers that
 * open these themselves.  Call it before the first pass. */
void catalogue_count_no_live(struct catalogue *c);
/* Says that a recording changed: the next pass reads it before all others.  0
 * or -ENOMEM. */
int catalogue_touch(struct catalogue *c, const char *name);
/* True if the recording is still to be read. */
bool catalogue_pending(struct catalogue *c, const char *name);
/* Removes the entry of a recording that is on no disk any more. */
void catalogue_forget(struct catalogue *c, const char *name);

/* Path of a disk, in the order in which they were added; NULL behind the last
 * one. */
const char *catalogue_path(struct catalogue *c, unsigned disk);

/* Calls `each` for all entries, by name.  The lock is held: `each` must be
 * quick and must not call the catalogue. */
void catalogue_each(struct catalogue *c,
		    void (*each)(void *arg, const struct entry *e), void *arg);

/* Copies the entry of a recording to *e (unless NULL).  False if there is
 * none. */
bool catalogue_find(struct catalogue *c, const char *name, struct entry *e);
/* True if the recording is on this disk, as far as is known. */
bool catalogue_has(struct catalogue *c, const char *name, const char *path);
/* Sets the totals as they are now. */
void catalogue_facts(struct catalogue *c, struct catalogue_facts *f);

/*
 * Returns entries as a JSON array of entry_row() arrays, sorted by name;
 * malloc'ed, NULL without memory.  `last` (LAYOUT_FILE bytes) is set to the
 * name to continue after if there are more entries, else to "".
 */
char *catalogue_page(struct catalogue *c, const struct catalogue_query *q,
		     char *last);

/* ---- the catalogue thread ---------------------------------------------- */

/* Makes one pass: looks at all disks, and reads every entry that has to be
 * read.  The disks are open only during the pass, so that they can be
 * unmounted. */
void catalogue_pass(struct catalogue *c);
/* Makes a pass end after the entry that it is reading.  Any thread. */
void catalogue_stop(struct catalogue *c);

#endif
