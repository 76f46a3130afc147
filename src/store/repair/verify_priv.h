/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_REPAIR_VERIFY_PRIV_H
#define SPATE_STORE_REPAIR_VERIFY_PRIV_H

#include <pthread.h>
#include <stdatomic.h>

#include "store/recording/recording_priv.h"
#include "store/record/sums.h"
#include "store/repair/verify.h"

/*
 * What the parts of verify share: verify.c looks at names and indexes and
 * starts a thread for each disk, verify_chunk.c looks at a chunk,
 * verify_read.c reads it back, verify_item.c keeps what was found, and
 * verify_tell.c tells it.
 */

/* Something wrong. */
struct verify_item {
	enum verify_kind kind;
	char *text; /* all of it; NULL: what follows says it */
	const struct recording_block *b; /* NULL: of none */
	size_t place;			 /* which of its disk's blocks */
	uint64_t number, last;		 /* of the first and the last, */
	unsigned chunks;		 /* of how many; 0: of none */
	uint64_t at, bytes;		 /* of its data */
	uint64_t there;			 /* LENGTH: bytes that there are */
	int err;			 /* UNREADABLE: why */
};

/* What is looked at on one disk, by one thread at a time. */
struct verify_part {
	struct check *check;
	unsigned disk;
	pthread_t thread;
	bool started;
	struct verify_item *item, spare; /* spare: without memory */
	size_t items;
	struct sums_list sums;
	uint8_t *buffer;
	struct verify_report report;
	size_t room;
	int err; /* -ENOMEM */
};

struct check {
	struct recording *rec;
	const struct disks *disks;
	const struct verify_hooks *hooks;
	const struct format_ops *format; /* NULL: not installed */
	struct verify_part *part;	 /* one per disk, and one of none */
	_Atomic uint64_t done;		 /* bytes; */
	uint64_t total;			 /* of so many */
	int found;

	pthread_mutex_t lock; /* over what is below */
	pthread_cond_t ended;
	unsigned running;
};

enum { VERIFY_BUFFER = 1 << 20 };

/* A sentence that stands for itself. */
__attribute__((format(printf, 3, 4))) struct verify_item *
verify_say(struct verify_part *p, enum verify_kind kind, const char *format,
	   ...);

/* Its like on the same disk become one finding.  All of a block's data, until
 * the caller says otherwise.  Never NULL; good until the next is added. */
struct verify_item *verify_add(struct verify_part *p, enum verify_kind kind,
			       const struct recording_block *b, size_t place);

/* Takes back all of a kind but the first n items. */
void verify_take_back(struct verify_part *p, enum verify_kind kind, size_t n);

void verify_items_free(struct check *c);

const char *verify_path(const struct verify_part *p);

/* Gets ready to look into chunks. */
void verify_begin(struct check *c);
/* At one, as far as its length lets. */
void verify_chunk(struct verify_part *p, const struct recording_block *b,
		  size_t place);
/* At the file that all blocks of a disk share; nothing where there is none. */
void verify_data(struct verify_part *p);
/* At the sequences of all. */
void verify_order(struct check *c);

/* Reads the checksums of a disk. */
void verify_sums(struct verify_part *p);
/* Reads a block back, of which there are so many bytes. */
void verify_read(struct verify_part *p, const struct recording_block *b,
		 size_t place, uint64_t there);

/* Hands all items on as findings. */
void verify_tell(struct check *c);

#endif
