/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_LIST_CATALOGUE_H
#define SPATE_STORE_LIST_CATALOGUE_H

#include "store/list/entry.h"

/*
 * A catalogue keeps an entry of every recording on some disks, and finds out
 * by itself what became of them:
 *
 *   a disk's folder has changed, or it came or went    its names are listed
 *                                                      again
 *   a name that is new there, or gone                  is read again
 *   one that is being recorded, or was not complete    as well, where its
 *                                                      folder has changed
 *   one that another took the place of, or that has    as well
 *   changed within the last minute
 *   one that was touched                               at once
 *
 * What is done inside the folder of one that is complete for longer, by hand,
 * is not seen.  Nothing that a catalogue says is relied on: who removes or
 * opens a recording looks at the disks.
 *
 * One thread, its keeper, reads disks and may wait for them; all others get
 * what is known, at once.
 */
struct catalogue;

struct catalogue_facts {
	unsigned disks, listed; /* whose names are known; of those that are
				   not there that is so, too */
	size_t recordings, unread;
	size_t unnamed;	  /* folders whose names cannot be a recording's */
	uint64_t changes; /* counts what becomes of entries that were read */
	struct entry_work work;
};

/* What is asked for: names behind `after` that match a pattern. */
struct catalogue_query {
	const char *after;	    /* NULL: from the first on */
	const char *const *pattern; /* as fnmatch(3) has them; none: all */
	unsigned patterns;
	size_t most; /* that many at a time */
};

int catalogue_make(struct catalogue **c);
/* After its keeper has ended. */
void catalogue_free(struct catalogue *c);

/* ---- any thread ------------------------------------------------------ */

/* Takes a disk in (again); as `struct disk` has it.  0, -ENOMEM, -ENOSPC. */
int catalogue_join(struct catalogue *c, const char *path, bool mount);
/* It is closed with the entry that is being read, and what is on it forgotten
 * with the next pass. */
void catalogue_leave(struct catalogue *c, const char *path);

/* Of one that is being recorded: what is known of it, from who does that.
 * Its disks are looked at all the same.  0 or -ENOMEM. */
int catalogue_live(struct catalogue *c, const struct entry *e);
/* Those that are being recorded are not counted: who wants that opens them.
 * Before the first pass. */
void catalogue_count_no_live(struct catalogue *c);
/* Something became of it: the next pass reads it before all others. */
int catalogue_touch(struct catalogue *c, const char *name);
/* Is it still to be read? */
bool catalogue_pending(struct catalogue *c, const char *name);
/* It is on no disk any more. */
void catalogue_forget(struct catalogue *c, const char *name);

/* The paths of its disks, in their order; NULL behind the last. */
const char *catalogue_path(struct catalogue *c, unsigned disk);

/* By name; the lock is held: quick, and without the catalogue. */
void catalogue_each(struct catalogue *c,
		    void (*each)(void *arg, const struct entry *e), void *arg);

bool catalogue_find(struct catalogue *c, const char *name, struct entry *e);
/* Is it on this disk, as far as is known? */
bool catalogue_has(struct catalogue *c, const char *name, const char *path);
void catalogue_facts(struct catalogue *c, struct catalogue_facts *f);

/*
 * Entries as entry_row() has them, by name: the text of a JSON array,
 * malloc'ed, NULL without memory.  Where there are more, `last` (LAYOUT_FILE
 * bytes) is the name to go on after, else it is empty.
 */
char *catalogue_page(struct catalogue *c, const struct catalogue_query *q,
		     char *last);

/* ---- its keeper ------------------------------------------------------ */

/* Looks at all disks, which are open no longer than that, and reads what has
 * to be read. */
void catalogue_pass(struct catalogue *c);
/* Any thread: a pass ends after the entry that it is at. */
void catalogue_stop(struct catalogue *c);

#endif
