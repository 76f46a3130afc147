/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_READ_READER_H
#define SPATE_STORE_READ_READER_H

#include <stdbool.h>
#include <stdint.h>

#include "store/recording/recording.h"

/*
 * A reader gives the data of a recording's blocks as fast as its disks can,
 * all of them at once: it reads ahead, past the page cache where a disk lets
 * it, into buffers that it has from the beginning.  A block is read in pieces,
 * a buffer each.
 *
 * A way is the order in which somebody reads.  Of one that is sure all buffers
 * are read ahead, any other is watched: what follows on what was read before
 * makes it look ahead, twice as far each time; whoever jumps gets what he asks
 * for, and no more.
 *
 * A disk that does not answer is waited for no longer than `patience`; then
 * all of its data is -ETIMEDOUT until it answers, and that of others is given
 * as ever.  Closing never waits for it: what its thread needs is left behind.
 *
 * Any number of threads may get and put, also on one way.  They look at the
 * recording while they hold a lock, which reader_exchange() takes as well; who
 * refreshes it himself calls nothing else meanwhile.
 *
 * Readers may share a pool: its buffers, and its threads, one or a few for each
 * disk.  Any other has its own.  Of a shared pool each way that looks ahead may
 * have the same part; who has to wait for a buffer gets it before all who come
 * later, so nobody starves.
 */
struct reader;
struct reader_pool;
struct reader_piece;

enum {
	READER_REQUEST = 2 << 20, /* bytes that a disk is asked for at once */
	READER_DEPTH = 4,	  /* of them on each disk */
	READER_LEAST = 4,	  /* pieces that there are at least */
};

struct reader_pool_args {
	unsigned disks; /* of each recording that is read by it: the same */
	uint64_t memory, piece;
	uint32_t head;
	int64_t patience; /* all as in: */
};

struct reader_args {
	struct reader_pool *pool; /* then memory, piece, head and patience are
				     its own; NULL: none is shared */
	uint64_t memory;  /* of buffers, in bytes, if they are not fewer than
			    READER_LEAST; 0: 64 MiB */
	uint64_t piece;	  /* bytes; a piece may be a whole block.  Rounded up
			    to requests; 0: one */
	uint32_t head;	  /* bytes before each piece that are the caller's */
	bool verify;	  /* what has a wrong checksum is -EBADMSG */
	int64_t patience; /* ns; 0: ten seconds */
	int timer;	  /* a timerfd of the caller, of CLOCK_MONOTONIC: goes
			     off when there may be news after a -ETIMEDOUT of
			     reader_get(); 0: there is none */
};

int reader_pool_make(struct reader_pool **pool,
		     const struct reader_pool_args *args);
/* When all of its readers are closed. */
void reader_pool_leave(struct reader_pool *pool);
/* Bytes of buffers that have something; disks that do not answer. */
void reader_pool_facts(struct reader_pool *pool, uint64_t *bytes,
		       unsigned *hang);
bool reader_pool_hangs(struct reader_pool *pool, unsigned disk);

/* The recording must outlive it, and may be refreshed in between. */
int reader_open(struct reader **reader, struct recording *rec,
		const struct reader_args *args);
void reader_close(struct reader *r); /* NULL: nothing */

struct reader_way {
	struct reader *reader;
	int sub;      /* whose blocks come next; -1: all */
	uint64_t end; /* number that is not read any more; UINT64_MAX */
	bool sure;    /* it is read from the beginning to the end */
	bool told;    /* reader_way_ahead() says how far it looks ahead */

	/* The reader's, under its lock. */
	struct reader_way *next;       /* reader_pool::way */
	uint64_t number, at;	       /* behind what was read last */
	uint64_t next_number, next_at; /* it looks ahead from here */
	unsigned window, ahead;	       /* pieces: that it may, that it has */
	int64_t used;		       /* steady ns: when it was last */
};

void reader_way_begin(struct reader_way *w, struct reader *r, int sub);
/* Its views are put; what it has looked ahead is dropped. */
void reader_way_end(struct reader_way *w);
/* Of one that is told: so many bytes, if there is room.  0: whoever reads has
 * jumped, and gets what he asks for; what was looked ahead is dropped. */
void reader_way_ahead(struct reader_way *w, uint64_t bytes);

/* A stretch of a block that is good as a whole, or bad. */
struct reader_view {
	const uint8_t *data; /* NULL with err */
	uint64_t at, bytes;  /* of the block's data */
	int err; /* 0; -ENOENT: the chunk is not there; -ENODATA: it ends
		    before this; -EIO, or what the disk says; -EBADMSG: a wrong
		    checksum; -ETIMEDOUT: its disk does not answer */
	struct reader_piece *piece;
};

/*
 * Gives the stretch that begins at a byte of a block: up to its end, the end
 * of a piece, or where it gets bad (or good).  Of its `bytes` from there the
 * caller needs at least some; 0: all.  Waits until `until` (steady ns; 0: not
 * at all).
 *
 * 0; -ETIMEDOUT: not yet; -ENODATA: the block has no data from there on.
 * What it gives is there until it is put.  `head` bytes before data, where
 * that is the beginning of a piece, may be written by the caller.
 */
int reader_get(struct reader_way *w, uint64_t number, uint64_t at,
	       uint64_t bytes, struct reader_view *v, int64_t until);
void reader_put(struct reader *r, struct reader_view *v);
/* Is it bad because this chunk cannot be read, on this disk, today? */
bool reader_lost(const struct reader_view *v);

/* Has the recording, when it is refreshed, let disks alone that hang. */
void reader_watch(struct reader *r);
/* Its recording becomes what `fresh`, the same looked at later, is; and that
 * what it was.  Nobody looks at the latter meanwhile. */
void reader_exchange(struct reader *r, struct recording *fresh);

struct reader_facts {
	uint64_t bytes; /* that disks were asked for, since it was opened */
	unsigned hang;	/* disks that do not answer */
};
void reader_facts(struct reader *r, struct reader_facts *f);

#endif
