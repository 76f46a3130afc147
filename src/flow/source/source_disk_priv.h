/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_SOURCE_SOURCE_DISK_PRIV_H
#define SPATE_FLOW_SOURCE_SOURCE_DISK_PRIV_H

#include "flow/source/source_disk.h"
#include "store/read/reader.h"

/* What the parts of a source on disks share. */

/* The bits of a block, as long as somebody has a parcel of it. */
struct source_bits {
	unsigned users;
	uint64_t number;
	uint32_t slots;
	uint64_t present[];
};

struct source_disk {
	struct source source;
	struct disks disks; /* its own */
	char name[LAYOUT_FILE];
	struct source_disk_args a;
	int timer; /* goes off when there may be news */
	struct fault fault;
	bool opened;
	int err; /* that it ended with */

	struct recording *rec;
	const struct format_ops *format;
	struct reader *reader;
	struct reader_way way;
	struct recording_range range;
	uint64_t end;	   /* blocks that it looks at: all that are known,
			     or were when it was opened */
	bool growing;	   /* more may come */
	uint64_t settled;  /* see source_ops::settled */
	bool looked;	   /* since that was said */
	int64_t next_look; /* steady ns: not sooner again */

	/* Where it is. */
	uint64_t number;
	uint64_t at;	   /* of the block: given up to here */
	uint64_t have;	   /* bytes of a slot that is not whole, in `tail` */
	bool stretch_told; /* what is lost before this block was given */
	bool gone;	   /* a chunk of it is not there */
	bool removed_asked;
	uint8_t *tail;
	struct source_bits *bits; /* of the block */
	struct source_facts facts;
};

static inline struct source_disk *
source_disk_of(struct source *s)
{
	return (struct source_disk *)s;
}

/* Opens the disks, the recording and what reads it.  0 or -errno. */
int source_disk_open(struct source_disk *d);
/* Goes on behind the block. */
void source_disk_step(struct source_disk *d);
/* Takes what the recording is now.  0 or -errno. */
int source_disk_looked(struct source_disk *d);

int source_disk_seek(struct source *s, uint32_t run, uint64_t first);
int source_disk_seek_number(struct source *s, uint64_t number);

/* The next parcel of block d->number.  0; -ETIMEDOUT; -EAGAIN: it has no
 * more; or -errno. */
int source_disk_give(struct source_disk *d, struct parcel *p, int64_t until);
void source_disk_put(struct source *s, struct parcel *p);
void source_disk_bits_put(struct source_bits *b);

#endif
