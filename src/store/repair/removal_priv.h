/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_REPAIR_REMOVAL_PRIV_H
#define SPATE_STORE_REPAIR_REMOVAL_PRIV_H

#include "store/disk/layout_map.h"
#include "store/repair/removal.h"

/* What the sources of a removal share. */

/* In the order in which they go. */
enum removal_kind {
	REMOVAL_INDEX,
	REMOVAL_DATA, /* chunks, sums */
	REMOVAL_META, /* metadata, marks but for the one of removal */
	REMOVAL_EXTRA,
	REMOVAL_OTHER, /* a folder, say: stays */
	REMOVAL_MARK,
};

struct removal_part {
	int dir;	      /* its folder; -1: not on this disk */
	char at[LAYOUT_FILE]; /* how that is called */
	enum layout layout;   /* MARK6, where its folder is called so */
	bool marked;	      /* now, by us */
	int lock[2];	      /* on its index and a new one; 0: none */
};

struct removal {
	const struct disks *disks;
	char name[LAYOUT_FILE];
	struct removal_part *part; /* one per disk */
	struct removal_facts facts;
	json_t *away;	       /* paths */
	struct layout_map map; /* of its metadata, where that is there */
	char extra[64];	       /* one of those, to name it */
	uint64_t gone;	       /* bytes, so far */
};

enum removal_kind removal_kind(const struct removal *r, int dir,
			       const char *file);

/* Calls back for each file of a disk, seen from its folder; stops when that is
 * not 0. */
int removal_each(const struct removal *r, unsigned disk,
		 int (*act)(void *arg, int dir, const char *file), void *arg);

/* Is somebody at its index?  Sets live or read.  With `keep` nobody is, from
 * then until removal_unlock(). */
void removal_lock(struct removal *r, bool keep);
void removal_unlock(struct removal *r);

#endif
