/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_SOURCE_SOURCE_H
#define SPATE_FLOW_SOURCE_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fault.h"
#include "contract/format.h"
#include "store/record/index.h"

/*
 * A source is where a transfer's data come from: a recording on disks, a
 * recording that is being made (from memory, and from disks where the transfer
 * lags), or a stream that is only passed on.  It gives the blocks in the order
 * of their numbers, each as one parcel or more.
 *
 *   { next -> use -> put }* -> close
 *
 * One thread, the sender's, makes all calls.  A source locks what it shares
 * with other threads itself.
 */
struct source;
struct block;

/* A description of the data.  All pointers belong to the source and are valid
 * until it is closed. */
struct source_about {
	const struct format_ops *format;
	/* Packets per second and thread IDs as far as they are known; the
	 * prefix as it was received. */
	const struct format_shape *shape;
	unsigned subs;
	const char *extension;
	int64_t start_ns; /* UTC ns, of the recording; 0: not known */
	/* Fill is zeros (FILL_ZERO), not the format's mark for invalid data. */
	bool zero_fill;
	/* The data lie in memory that a recording may need: the kernel must not
	 * keep their pages. */
	bool live;
};

/* A parcel is a stretch of the data of one block, or says that a stretch cannot
 * be had. */
struct parcel {
	/* Describes the whole block; its crc is valid only with
	 * INDEX_SUMMED. */
	struct index_record record;
	uint64_t base; /* absolute sequence of its run's slot 0 */
	/* The stretch, in bytes of the block's data: whole slots; of a block of
	 * rows, the whole block.  Of a gap, or of a block that cannot be read,
	 * the stretch that it has in the recording's file. */
	uint64_t at, bytes;
	uint64_t offset; /* of `at`, in the file of its substream */
	/* NULL with `err`, and for a gap.  A slot without its bit in `present`
	 * holds the recording's fill. */
	const uint8_t *data;
	/* A bit per slot of the block, from the block's first slot on.  NULL:
	 * no packet is missing, or the block has rows. */
	const uint64_t *present;
	/* 0, or why there are no data.  -EIO: unreadable; -EBADMSG: wrong
	 * checksum; -ENODATA: no packets (a gap, or a block that is on no
	 * disk); -ENOBUFS: the packets were dropped for lack of memory. */
	int err;
	const struct block
	    *block; /* the block with its notes, if in memory; else NULL */
	/* CRC32C of each BLOCK_QUANTUM of the block on disk, which the bytes
	 * were compared with as they were read.  NULL: they were not.  Those of
	 * a block in memory are in `block`. */
	const uint32_t *sums;
	struct source *source; /* gave the parcel, and gets it back with put */
	void *own;	       /* private to the source */
};

struct source_facts {
	/* Given so far, from memory and from disk. */
	uint64_t bytes_memory, bytes_disk;
	uint64_t number;  /* number of the next block */
	uint64_t end;	  /* one more than the highest number known */
	uint64_t total;	  /* bytes of all blocks known so far */
	bool live;	  /* the recording still grows */
	uint64_t revoked; /* blocks that the recorder did not leave in memory */
	uint64_t dropped; /* packets dropped for lack of memory (relay) */
	uint64_t unreadable; /* packets in parcels with -EIO or -EBADMSG */
	uint64_t healed;     /* blocks that were computed from parity */
	uint64_t passed;     /* bytes skipped by seek before any were given */
};

struct source_ops {
	/*
	 * Gives the next parcel.  Waits for it until `until` (steady ns; 0:
	 * does not wait).  0; -ETIMEDOUT: none yet; -ENODATA: the end, there
	 * will be no more; -ENOENT: the recording was removed; or another
	 * -errno.
	 */
	int (*next)(struct source *s, struct parcel *p, int64_t until);

	/* Returns a parcel whose data are not used any more. */
	void (*put)(struct source *s, struct parcel *p);

	/* Goes to the parcel that has this packet, or to the first one behind
	 * it.  `first` is relative to the run.  0 or -errno. */
	int (*seek)(struct source *s, uint32_t run, uint64_t first);

	/* Goes to the block with this number, or the first one behind it.  0 or
	 * -errno. */
	int (*seek_number)(struct source *s, uint64_t number);

	/*
	 * True if the recorder wants the memory of a parcel that was given.
	 * Then put has to come soon (send_ops::detach); next gives that block
	 * again, from disk, and the sender skips what it has sent of it.
	 * Cheap: asked before each call of a plugin.
	 */
	bool (*wanted)(struct source *s);

	/* Descriptor that polls readable when there is news: a parcel, the end,
	 * or `wanted`.  The functions next and wanted read it.  -1: next never
	 * waits. */
	int (*fd)(struct source *s);

	void (*facts)(struct source *s, struct source_facts *f);
	void (*close)(struct source *s);

	/* Explains the last error of next or seek.  A fault whose code is
	 * NULL says no more than the error.  NULL pointer: the source never
	 * has one. */
	const struct fault *(*fault)(const struct source *s);

	/* Describes the data.  0; -EAGAIN: not known before the first next()
	 * that returns 0 or -ENODATA. */
	int (*about)(struct source *s, struct source_about *about);

	/* Copies the bytes that the recording's file has in place of a parcel
	 * with `err`, from offset `at` in the parcel on.  May wait for a disk.
	 * 0 or -errno.  NULL: the caller makes fill itself. */
	int (*fill)(struct source *s, const struct parcel *p, uint64_t at,
		    uint64_t bytes, uint8_t *data);

	/*
	 * Tells a source on disks, for source_live.h, that all blocks with
	 * numbers below `end`, from the next one on, are on disks or will never
	 * be.  A block that the source does not see then makes it look at the
	 * disks once more; if it is not there either, the source gives a parcel
	 * with -ENODATA instead of waiting for it.  NULL: the source never
	 * waits for blocks.
	 */
	void (*settled)(struct source *s, uint64_t end);
};

struct source {
	const struct source_ops *ops;
};

/* Writes the CRC32C of each BLOCK_QUANTUM of a parcel's block that has bytes of
 * this stretch of the parcel to its place in `sums`.  False: they are not
 * known. */
bool source_sums(const struct parcel *p, uint64_t at, uint64_t bytes,
		 uint32_t *sums);

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
