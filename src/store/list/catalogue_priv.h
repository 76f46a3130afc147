/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_LIST_CATALOGUE_PRIV_H
#define SPATE_STORE_LIST_CATALOGUE_PRIV_H

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "store/list/catalogue.h"

/* Shared by the files of the catalogue. */

/* A recording in the catalogue. */
struct item {
	struct entry entry;
	char *text;	  /* entry_row() as text; NULL: not made yet */
	unsigned touched; /* how often it was touched */
	bool stale;	  /* is to be read */
	bool urgent;	  /* read this item before others */
	bool live;	  /* the recording is live; its session counts it */
};

/* State of a disk's folder when it was last listed.  Used by the keeper
 * only. */
struct shelf {
	bool listed; /* the disk was listed at least once */
	bool there;
	dev_t device;
	ino_t inode;
	/* modification time; 0: list it again in any case */
	struct timespec changed;
	size_t unnamed;
};

struct catalogue {
	atomic_bool stop;
	bool no_live; /* set before the first pass */
	struct shelf shelf[ENTRY_DISKS];
	/* paths never change; fd is used by the keeper only */
	struct disk disk[ENTRY_DISKS];

	pthread_mutex_t lock; /* protects everything below */
	unsigned disks;
	/* disks that were taken away */
	bool left[ENTRY_DISKS];
	unsigned listed;
	struct item **item; /* sorted by name */
	size_t items, room;
	size_t unread, urgent, unnamed;
	size_t cursor; /* index of the last stale item that was read */
	uint64_t changes;
	struct entry_work work;
};

/* Index of a name, or where it would be inserted.  The lock is held, here and
 * in the functions below. */
size_t catalogue_place(const struct catalogue *c, const char *name, bool *is);
/* Finds an item, or adds it; NULL without memory. */
struct item *catalogue_item(struct catalogue *c, const char *name);
/* Removes an item, if there is one of that name. */
void catalogue_drop(struct catalogue *c, const char *name);
/* Marks an item to be read; urgent ones are read first. */
void catalogue_stale(struct catalogue *c, struct item *item, bool urgent);
/* Sets entry and text; takes over `text`. */
void catalogue_set(struct catalogue *c, struct item *item,
		   const struct entry *e, char *text);

/* The entry_row() of an entry as text, malloc'ed; NULL without memory. */
char *catalogue_text(const struct entry *e);

#endif
