/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_REPAIR_REMOVAL_PRIV_H
#define SPATE_STORE_REPAIR_REMOVAL_PRIV_H

#include "store/disk/layout.h"
#include "store/repair/removal.h"

/* Declarations shared by the files of a removal. */

/* Kinds of files, in the order in which they are deleted. */
enum removal_kind {
	REMOVAL_INDEX,
	REMOVAL_DATA, /* chunks, checksums */
	REMOVAL_META, /* metadata, and marks other than that of the removal */
	REMOVAL_EXTRA,
	REMOVAL_OTHER, /* a folder, for example: never deleted */
	REMOVAL_MARK,
};

struct removal_part {
	int dir;	      /* descriptor of its folder; -1: not on this
				 disk */
	char at[LAYOUT_FILE]; /* name of that folder */
	enum layout layout;   /* MARK6 if the folder has Mark6's form of the
				 name */
	bool marked;	      /* by this removal */
	int lock[2];	      /* descriptors of its index and a new index,
				 locked; 0: none */
};

struct removal {
	const struct disks *disks;
	char name[LAYOUT_FILE];
	struct removal_part *part; /* one per disk */
	struct removal_facts facts;
	json_t *away;	       /* paths */
	struct layout_map map; /* from its metadata, if that can be read */
	char extra[64];	       /* name of one file that is not ours */
	uint64_t gone;	       /* bytes freed so far */
};

enum removal_kind removal_kind(const struct removal *r, int dir,
			       const char *file);

/* Calls act() for each file of the recording on a disk, named relative to its
 * folder.  Stops at and returns the first result that is not 0. */
int removal_each(const struct removal *r, unsigned disk,
		 int (*act)(void *arg, int dir, const char *file), void *arg);

/* Tries to lock the indexes, and sets facts.live or facts.read if another
 * process holds a lock.  `keep`: the locks are held until removal_unlock(). */
void removal_lock(struct removal *r, bool keep);
void removal_unlock(struct removal *r);

#endif
