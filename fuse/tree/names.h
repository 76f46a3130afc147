/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FUSE_TREE_NAMES_H
#define SPATE_FUSE_TREE_NAMES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/list/entry.h"

/*
 * A record is what is known of a recording without opening it, once it was
 * read.  It never changes; who holds one may go on with it when it is gone.
 */
struct record {
	atomic_uint holders;
	enum entry_state state;
	bool foreign, vdif, counted;
	char extension[LAYOUT_EXTENSION]; /* of its files, without the dot */
	enum heap_store store;
	uint32_t payload;
	unsigned subs;
	int64_t begun_ns, start_ns, end_ns;
	uint64_t bytes, packets;
	uint64_t stamp;
	char name[];
};

struct record *record_make(const struct entry *e); /* NULL: no memory */
struct record *record_hold(struct record *r);
void record_drop(struct record *r); /* NULL: nothing */

/* Is it one and the same recording, which may have grown since? */
bool record_same(const struct record *a, const struct record *b);

/*
 * Names are all recordings at one moment, and what each is called in the root
 * of the mount:
 *
 *   <name>.<ext>   of one substream; <name> alone, where it ends in .<ext>
 *                  already and no other is called so
 *   <name>         the folder of one that has several
 *
 * Where even so two would be called the same, or one as a folder of ours, it
 * is <name>~2 for the second in the order of names.  All follows from which
 * recordings there are, not from the order in which they came.
 *
 * Never changed once they are made; any thread.
 */
struct names_item {
	struct record *record;
	char *file; /* in the root; NULL: it is not shown there */
	uint64_t ino;
};

struct names {
	atomic_uint holders;
	struct names_item *item; /* by name */
	size_t n;
	int64_t made_ns; /* UTC: when others were found than before */

	size_t *slot; /* items + 1, by hash of `file`; 0: free */
	size_t slots; /* a power of two */
};

/* Those folders, which no recording can be called. */
#define NAMES_INFOS   ".info"
#define NAMES_THREADS "by-thread"

/* Takes over the records of `item`, sorted by name, which is taken over, too,
 * also on failure.  0 or -ENOMEM. */
int names_make(struct names **names, struct names_item *item, size_t n);
struct names *names_hold(struct names *n);
void names_drop(struct names *n); /* NULL: nothing */

/* By the recording's name, or by that in the root; NULL: there is none. */
const struct names_item *names_find(const struct names *n, const char *name);
const struct names_item *names_find_file(const struct names *n,
					 const char *file);

/* Of the file or folder that it makes: within `ino` of a recording there is
 * room for every one that it can have. */
enum names_kind { NAMES_DATA, NAMES_THREAD, NAMES_OTHER, NAMES_RANGE };
enum { NAMES_FOLDER, NAMES_BY_THREAD, NAMES_INFO }; /* of NAMES_OTHER */
uint64_t names_ino(uint64_t ino, enum names_kind kind, uint64_t which);

#endif
