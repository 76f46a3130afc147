/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_LIST_CATALOGUE_PRIV_H
#define SPATE_STORE_LIST_CATALOGUE_PRIV_H

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "store/list/catalogue.h"

/* What the sources of the catalogue share. */

struct item {
	struct entry entry;
	char *text;	  /* as JSON; NULL: not made yet */
	unsigned touched; /* how often */
	bool stale;	  /* is to be read */
	bool urgent;	  /* before others */
	bool live;	  /* somebody else keeps count of it */
};

/* What was seen of a disk; the keeper's. */
struct shelf {
	bool listed; /* once, at least */
	bool there;
	dev_t device;
	ino_t inode;
	struct timespec changed; /* 0: look again whatever it says */
	size_t unnamed;
};

struct catalogue {
	atomic_bool stop;
	bool no_live; /* set before the first pass */
	struct shelf shelf[ENTRY_DISKS];
	struct disk disk[ENTRY_DISKS]; /* a path stays; fd is the keeper's */

	pthread_mutex_t lock; /* over what is below */
	unsigned disks;
	bool left[ENTRY_DISKS];
	unsigned listed;
	struct item **item; /* by name */
	size_t items, room;
	size_t unread, urgent, unnamed;
	size_t cursor; /* where the last stale one was */
	uint64_t changes;
	struct entry_work work;
};

/* With the lock held.  The place of a name, or where it would be. */
size_t catalogue_place(const struct catalogue *c, const char *name, bool *is);
/* Makes it where it is not there; NULL without memory. */
struct item *catalogue_item(struct catalogue *c, const char *name);
void catalogue_drop(struct catalogue *c, const char *name);
void catalogue_stale(struct catalogue *c, struct item *item, bool urgent);
/* Sets entry and text, which is taken over. */
void catalogue_set(struct catalogue *c, struct item *item,
		   const struct entry *e, char *text);

/* An entry as text; NULL without memory. */
char *catalogue_text(const struct entry *e);

#endif
