/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_REPAIR_VERIFY_ITEMS_H
#define SPATE_STORE_REPAIR_VERIFY_ITEMS_H

#include <pthread.h>
#include <stdatomic.h>

#include "store/recording/recording_priv.h"
#include "store/record/sums.h"
#include "store/repair/verify.h"

/*
 * A verification while it runs: one part for each disk, with the items that
 * were found there.  verify.c adds items, on a thread for each disk; at the end
 * verify_items.c turns them into findings.
 */

/* One thing wrong. */
struct verify_item {
	enum verify_kind kind;
	char *text; /* sentence, malloc'ed; NULL: made from the members below */
	const struct recording_block *b; /* NULL: not about one block */
	size_t place;			 /* position among its disk's blocks */
	uint64_t number, last;		 /* number of the first and of the last
					    block */
	unsigned chunks;		 /* 0: not about chunks */
	uint64_t at, bytes;		 /* position and length in the block's
					    data */
	uint64_t there;			 /* LENGTH: bytes that the chunk has */
	int err;			 /* UNREADABLE: -errno */
};

/* State of one disk's check, used by one thread at a time. */
struct verify_part {
	struct verification *check;
	unsigned disk;
	pthread_t thread;
	bool started;
	struct verify_item *item, spare; /* `spare` is written to when there is
					    no memory for an item */
	size_t items;
	struct sums_list sums;
	uint8_t *buffer;
	uint8_t *ahead; /* VERIFY_AHEAD bytes; NULL: not needed yet */
	struct verify_report report;
	size_t room;
	int err; /* -ENOMEM */
};

struct verification {
	struct recording *rec;
	const struct disks *disks;
	const struct verify_hooks *hooks;
	const struct format_ops *format; /* NULL: its plugin is not installed */
	struct verify_part *part;	 /* one per disk, and a last one for
					    what concerns no single disk */
	_Atomic uint64_t done;		 /* bytes; relaxed, for progress only */
	uint64_t total;			 /* bytes that `done` will reach */
	int found;
	bool mends;	     /* a group gave a chunk that is damaged */
	unsigned mend_tries; /* groups that were asked for that */

	pthread_mutex_t lock; /* guards `running` */
	pthread_cond_t ended;
	unsigned running;
};

/* Bytes that are read at once; of a remote disk, where each read is a request
 * that takes its time, however short it is. */
enum { VERIFY_BUFFER = 1 << 20, VERIFY_AHEAD = 16 << 20 };

/* Adds an item with a sentence of its own.  Never NULL, as verify_add(). */
__attribute__((format(printf, 3, 4))) struct verify_item *
verify_say(struct verify_part *p, enum verify_kind kind, const char *format,
	   ...);

/*
 * Adds an item about a block: all of its data, until the caller narrows that.
 * Adjacent items of a kind on a disk become one finding.  Never NULL; valid
 * until the next item is added.
 */
struct verify_item *verify_add(struct verify_part *p, enum verify_kind kind,
			       const struct recording_block *b, size_t place);

/* Removes all items of a kind from the n-th on. */
void verify_take_back(struct verify_part *p, enum verify_kind kind, size_t n);

void verify_items_free(struct verification *c);

/* Says which packets blocks `from` to `to` have, and from when they are, behind
 * ": "; of blocks that are away what follows from their neighbours.  "" if
 * nothing is known.  Returns `text`. */
enum { VERIFY_PLACE = 192 };
const char *verify_place(const struct recording *rec, uint64_t from,
			 uint64_t to, char text[VERIFY_PLACE]);

const char *verify_path(const struct verify_part *p);

/* Hands all items on as findings. */
void verify_tell(struct verification *c);

#endif
