/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_SOURCE_SOURCE_DISK_PRIV_H
#define SPATE_FLOW_SOURCE_SOURCE_DISK_PRIV_H

#include "flow/source/source_disk.h"
#include "store/read/reader.h"

/* Shared by the files source_disk*.c. */

/* The bits of a block, kept as long as a parcel of it is out. */
struct source_bits {
	unsigned users; /* references: the source's and those of parcels */
	uint64_t number;
	uint32_t slots;
	uint64_t present[];
};

struct source_disk {
	struct source source;
	struct disks disks; /* a copy of its own */
	char name[LAYOUT_FILE];
	struct source_disk_args a;
	int timer; /* timerfd that goes off when there may be news */
	struct fault fault;
	bool opened;
	int err; /* the error that the source ended with; 0: none */

	struct recording *rec;
	const struct format_ops *format;
	struct reader *reader;
	struct reader_way way;
	struct recording_range range;
	/* Blocks it knows: all that are indexed now, or were when it was
	 * opened. */
	uint64_t end;
	bool growing;	  /* more blocks may come */
	uint64_t settled; /* see source_ops::settled */
	/* The disks were looked at since `settled` was set. */
	bool looked;
	int64_t next_look; /* steady ns: no look at the disks before then */

	/* The position. */
	uint64_t number;
	uint64_t at;   /* bytes of the block's data given so far */
	uint64_t have; /* bytes of an incomplete slot that are in `tail` */
	/* The stretch that is missing before this block was given. */
	bool stretch_told;
	bool gone;	    /* a chunk of the block is not there */
	bool removed_asked; /* for this block: was the recording removed? */
	uint8_t *tail;
	struct source_bits *bits; /* bits of the current block, or NULL */
	struct source_facts facts;
};

static inline struct source_disk *
source_disk_of(struct source *s)
{
	return (struct source_disk *)s;
}

/* Opens the disks, the recording and its reader, once.  0 or -errno. */
int source_disk_open(struct source_disk *d);
/* Goes to the next block. */
void source_disk_step(struct source_disk *d);
/* Takes over what was found when the recording was opened or refreshed: its
 * blocks, range and end.  0 or -errno. */
int source_disk_looked(struct source_disk *d);

int source_disk_seek(struct source *s, uint32_t run, uint64_t first);
int source_disk_seek_number(struct source *s, uint64_t number);

/* Gives the next parcel of block d->number.  0; -ETIMEDOUT; -EAGAIN: the block
 * has no more; or another -errno. */
int source_disk_give(struct source_disk *d, struct parcel *p, int64_t until);
void source_disk_put(struct source *s, struct parcel *p);
void source_disk_bits_put(struct source_bits *b);

#endif
