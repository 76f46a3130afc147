/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_SOURCE_SOURCE_H
#define SPATE_FLOW_SOURCE_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fault.h"
#include "contract/format.h"
#include "store/record/index.h"

/*
 * A source is where a transfer's data come from: a recording on disks, one
 * that is being made (from memory, and from disks where the transfer lags), or
 * a stream that is only passed on.  It gives the blocks in the order of their
 * numbers, each as one parcel or more.
 *
 *   { next -> use -> put }* -> close
 *
 * One thread, the sender's; what it has of other threads is its own affair.
 */
struct source;
struct block;

/* What its data are.  What it points to is the source's, until it is closed. */
struct source_about {
	const struct format_ops *format;
	const struct format_shape *shape; /* fps and threads as far as they are
					     known; prefix as it was received */
	unsigned subs;
	const char *extension;
	int64_t start_ns; /* of the recording, UTC; 0: not known */
	bool zero_fill;	  /* FILL_ZERO is its fill, not FILL_INVALID */
	bool live;	  /* its memory may be what a recording needs: the
			     kernel is not to keep its pages */
};

/* A stretch of the data of one block. */
struct parcel {
	struct index_record record; /* of the block; crc only with its flag */
	uint64_t base;		    /* absolute sequence of its run's slot 0 */
	uint64_t at, bytes;	    /* of the block's data; whole slots, but of
				   rows, where a parcel is a block.  Of a gap,
				   or of a block that is not to be had, what it
				   has in the recording's file */
	uint64_t offset;	    /* of that in the file of its substream */
	const uint8_t *data;	    /* NULL with `err`, and of a gap.  A slot
				   without its bit holds the recording's fill */
	const uint64_t *present; /* a bit per slot of the block, as of a block;
				    NULL: all are there, or of rows */
	int err; /* 0; -errno: these cannot be had: -EIO, -EBADMSG
				    (a wrong checksum), -ENODATA (no packets:
				    a gap, or a block that nobody has), -ENOBUFS
				    (nobody kept them) */
	const struct block
	    *block;	       /* it is in memory, with its notes; or NULL */
	struct source *source; /* gives it, and wants it back */
	void *own;	       /* the source's */
};

struct source_facts {
	uint64_t bytes_memory, bytes_disk; /* that were given */
	uint64_t number;		   /* of the next block */
	uint64_t end;	     /* one more than the last that is known */
	uint64_t total;	     /* bytes known to exist, of all blocks */
	bool live;	     /* it still grows */
	uint64_t revoked;    /* blocks that were taken back */
	uint64_t dropped;    /* packets that nobody kept (relay) */
	uint64_t unreadable; /* packets in parcels with -EIO or -EBADMSG */
	uint64_t passed; /* bytes that it went past, before any were given */
};

struct source_ops {
	/*
	 * The next parcel.  Waits until `until` (steady ns; 0: not at all).
	 * 0; -ETIMEDOUT; -ENODATA: there are no more, and will be none;
	 * -ENOENT: the recording was removed; else -errno.
	 */
	int (*next)(struct source *s, struct parcel *p, int64_t until);

	/* Done with it. */
	void (*put)(struct source *s, struct parcel *p);

	/* Goes to the parcel that has this packet, or the first behind it. */
	int (*seek)(struct source *s, uint32_t run, uint64_t first);

	/* The same by the number of a block. */
	int (*seek_number)(struct source *s, uint64_t number);

	/* Is the memory of a parcel that was given wanted back?  Then put has
	 * to come soon (send_ops::detach); next gives that block again, from
	 * disk, and what was sent of it is passed over.  Cheap: asked before
	 * each call of a plugin. */
	bool (*wanted)(struct source *s);

	/* Polls readable when there is something new: a parcel, the end, or
	 * `wanted`.  Read by next and wanted.  -1: there is never a wait. */
	int (*fd)(struct source *s);

	void (*facts)(struct source *s, struct source_facts *f);
	void (*close)(struct source *s);

	/* What is wrong, after next or seek has said so; its code is NULL where
	 * nobody knows more than the error.  NULL: never. */
	const struct fault *(*fault)(const struct source *s);

	/* What it gives.  0; -EAGAIN: nobody knows before the first next()
	 * that returned 0 or -ENODATA. */
	int (*about)(struct source *s, struct source_about *about);

	/*
	 * The bytes that the recording's file has in place of a parcel with
	 * `err`, from `at` of the parcel on; it may wait for a disk.  0 or
	 * -errno.  NULL: whoever needs them makes fill.
	 */
	int (*fill)(struct source *s, const struct parcel *p, uint64_t at,
		    uint64_t bytes, uint8_t *data);

	/*
	 * For source_live.h, of disks: what is known of the recording's blocks
	 * from the next one on, below the number `end`, is final.  They are on
	 * disks, or never will be: who does not see one yet looks again, and
	 * what is not there then is given as a parcel with -ENODATA, instead
	 * of being waited for.  NULL: it never waits.
	 */
	void (*settled)(struct source *s, uint64_t end);
};

struct source {
	const struct source_ops *ops;
};

static inline int
source_next(struct source *s, struct parcel *p, int64_t until)
{
	return s->ops->next(s, p, until);
}

static inline void
source_put(struct parcel *p)
{
	p->source->ops->put(p->source, p);
}

static inline void
source_close(struct source *s)
{
	if (s)
		s->ops->close(s);
}

#endif
