/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FUSE_TREE_NAMES_H
#define SPATE_FUSE_TREE_NAMES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/list/entry.h"

/*
 * A record is what the catalogue knows of a recording without opening it.  It
 * never changes, so a holder may use it when the recording is gone.
 */
struct record {
	atomic_uint holders;
	enum entry_state state;
	/* made by another program; of VDIF; its size is known */
	bool foreign, vdif, counted;
	char extension
	    [LAYOUT_EXTENSION]; /* extension of its files, without the dot */
	enum heap_store store;
	uint32_t payload;
	unsigned subs; /* substreams */
	int64_t begun_ns, start_ns, end_ns;
	uint64_t bytes, packets;
	uint64_t stamp; /* changes whenever the recording does */
	char name[];
};

struct record *record_make(const struct entry *e); /* NULL: no memory */
struct record *record_hold(struct record *r);
void record_drop(struct record *r); /* may be NULL */

/*
 * Tells whether both are the same recording, which may have grown in between.
 */
bool record_same(const struct record *a, const struct record *b);

/*
 * Names are all recordings at one moment, with the name of each in the root of
 * the mount:
 *
 *   <name>.<ext>   a recording of one substream; <name> alone if it ends
 *                  in .<ext> already and no other file has that name
 *   <name>         the folder of a recording of several substreams
 *
 * If two would still have one name, or one the name of a special folder, the
 * second in the order of names gets <name>~2.  Names follow from which
 * recordings there are, not from the order in which they appeared.
 *
 * Names never change once they are made; any thread may read them.
 */
struct names_item {
	struct record *record;
	char *file; /* name in the root; NULL: not shown there */
	uint64_t ino;
};

struct mount_names {
	atomic_uint holders;
	struct names_item *item; /* sorted by the recording's name */
	size_t n;
	int64_t made_ns; /* UTC: when the set of recordings last changed */

	size_t *slot; /* hash table by `file`: index of an item + 1; 0: free */
	size_t slots; /* a power of two */
};

/* Names of the special folders, which no recording can have. */
#define NAMES_INFOS   ".info"
#define NAMES_THREADS "by-thread"

/*
 * Makes names of `item`, which is sorted by name.  Takes over the array and its
 * records, also on failure.  Returns 0 or -ENOMEM.
 */
int names_make(struct mount_names **names, struct names_item *item, size_t n);
struct mount_names *names_hold(struct mount_names *n);
void names_drop(struct mount_names *n); /* may be NULL */

/*
 * Find an item by the recording's name, or by its name in the root; NULL: there
 * is none.  The item belongs to the names.
 */
const struct names_item *names_find(const struct mount_names *n,
				    const char *name);
const struct names_item *names_find_file(const struct mount_names *n,
					 const char *file);

/*
 * Returns the inode number of a file or folder of a recording.  `ino` of a
 * recording leaves room for all that it can have.
 */
enum names_kind { NAMES_DATA, NAMES_THREAD, NAMES_OTHER, NAMES_RANGE };
enum { NAMES_FOLDER, NAMES_BY_THREAD, NAMES_INFO }; /* `which` of NAMES_OTHER */
uint64_t names_ino(uint64_t ino, enum names_kind kind, uint64_t which);

#endif
