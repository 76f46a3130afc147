/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_READ_POOL_H
#define SPATE_STORE_READ_POOL_H

#include <stdbool.h>
#include <stdint.h>

#include "store/recording/recording.h"

/*
 * A reader gives the data of a recording's blocks as fast as all its disks
 * together can.  It reads ahead, past the page cache if the disk allows that,
 * into buffers allocated once.  A block is read in pieces, one buffer each.
 *
 * A position is where one sequence of reads has come to, with its read-ahead.
 * A position marked `sequential` reads ahead into every free buffer.  Any other
 * starts without read-ahead: each request that continues the last one doubles
 * it, a jump resets it to nothing.
 *
 * A block that its disk cannot give (it is away, hangs, or its data are wrong) is
 * computed from the parity of its group, if it has any, by threads for that.
 *
 * Memory of the daemon is a source like a disk, and comes before it: what a
 * recording that grows has there is copied, because it may vanish at any time.
 *
 * A disk that does not answer is waited for no longer than `patience`.  Then
 * all its data is -ETIMEDOUT until it answers; other disks' data is given as
 * before.  Closing never waits for a disk: memory that its thread needs is
 * freed by that thread.
 *
 * Any number of threads may get and put, also at one position.  They look at
 * the recording under the pool's lock, which pool_reader_exchange() takes too.
 * A caller that refreshes the recording itself makes sure that no other call is
 * running.
 *
 * Readers may share a pool of buffers and disk threads; a reader without one
 * gets its own.  In a shared pool all positions that read ahead may use equally
 * many buffers.  Calls that wait for a buffer are served in order of arrival,
 * so none starves.
 */
struct pool_reader;
struct pool;
struct pool_piece;

enum {
	POOL_REQUEST = 2 << 20, /* bytes of one request to a disk */
	POOL_DEPTH = 4,		/* requests in flight on each disk */
	POOL_DEPTH_REMOTE = 16, /* requests in flight on a remote disk */
	POOL_LEAST = 4,		/* least number of pieces in a pool */
};

struct pool_args {
	unsigned disks; /* number of disks; the same for each recording read
			   through this pool */
	unsigned spare; /* the last of these are there after pool_join() */
	uint64_t memory, piece;
	uint32_t head;
	int64_t patience; /* all as in struct pool_reader_args */
};

/* The daemon's memory. */
struct pool_memory {
	void *arg;
	/*
	 * Copies bytes of a block from memory to `to`.  False: they are not in
	 * memory, or not any more.  Called by any thread, with no lock held.
	 * NULL: there is no such memory.
	 */
	bool (*copy)(void *arg, const char *name, uint64_t number, uint64_t at,
		     uint64_t bytes, void *to);
};

struct pool_reader_args {
	struct pool_memory live; /* asked before disks by pool_get_live() */
	struct pool *pool;	 /* shared pool, whose own memory, piece, head
				     and patience apply; NULL: make one for
				     this reader */
	uint64_t memory;  /* bytes of buffers, at least POOL_LEAST pieces; 0:
			     64 MiB */
	uint64_t piece;	  /* bytes; a piece may be a whole block.  Rounded up
			     to requests; 0: one request */
	uint32_t head;	  /* bytes before each piece that the caller may
			     write */
	bool verify;	  /* check checksums: wrong data is -EBADMSG.  Where
			     there is parity they are checked in any case, and
			     wrong data that it cannot mend is given, and
			     counted */
	int64_t patience; /* ns; 0: ten seconds */
	int timer;	  /* a timerfd of the caller, on CLOCK_MONOTONIC, which
			     expires when pool_get() may be tried again after
			     -ETIMEDOUT; 0: none */
};

/* Makes a pool for readers to share.  Returns 0 or -errno. */
int pool_make(struct pool **pool, const struct pool_args *args);
/* Stops the pool's threads and frees it.  All its readers are closed before. */
void pool_leave(struct pool *pool);
/* Says that one more of the spare disks is there. */
void pool_join(struct pool *pool);
/* Returns the bytes of buffers that hold data, and the number of disks that do
 * not answer. */
void pool_facts(struct pool *pool, uint64_t *bytes, unsigned *hang);

/* True if a disk does not answer. */
bool pool_hangs(struct pool *pool, unsigned disk);

/* Opens a reader.  Returns 0 or -errno.  The recording must be closed after the
 * reader, and may be refreshed in between. */
int pool_reader_open(struct pool_reader **reader, struct recording *rec,
		     const struct pool_reader_args *args);
void pool_reader_close(struct pool_reader *r); /* NULL is allowed */

struct pool_position {
	struct pool_reader *reader;
	int sub;	 /* substream to read ahead in; -1: all */
	uint64_t end;	 /* first block number not to read ahead; UINT64_MAX:
			 none */
	bool sequential; /* the caller reads from beginning to end */
	bool managed;	 /* pool_position_set_ahead() sets the read-ahead */

	/* Owned by the reader, under its lock. */
	struct pool_position *next;    /* pool::positions */
	uint64_t number, at;	       /* place behind what was read last */
	uint64_t next_number, next_at; /* next place to read ahead */
	unsigned window, ahead;	       /* pieces: allowed ahead, and read
					  ahead */
	int64_t used;		       /* steady ns of the last read */
};

enum pool_order {
	POOL_ANY_ORDER,	 /* read-ahead begins when reads follow each other */
	POOL_SEQUENTIAL, /* pool_position::sequential */
	POOL_MANAGED,	 /* pool_position::managed */
};

/* Begins a position over a substream (-1: all).  The caller owns it.  Other
 * threads look at it at once. */
void pool_position_begin(struct pool_position *position, struct pool_reader *r,
			 int sub, enum pool_order order);
/* Drops what was read ahead.  The caller has put all views of this position. */
void pool_position_end(struct pool_position *position);
/* Sets the read-ahead of a `managed` position to this many bytes, buffers
 * permitting.  0: the caller jumped; what was read ahead is dropped. */
void pool_position_set_ahead(struct pool_position *position, uint64_t bytes);

/* A stretch of a block, lent to the caller until pool_put().  It is good as a
 * whole or bad as a whole. */
struct pool_stretch {
	const uint8_t *data; /* NULL if err */
	uint64_t at, bytes;  /* position and length in the block's data */
	int err; /* 0; -ENOENT: no such chunk; -ENODATA: the chunk ends before
		    this; -EIO or another error of the disk; -EBADMSG: wrong
		    checksum; -ETIMEDOUT: the disk does not answer */
	/* CRC32C of each BLOCK_QUANTUM of the whole block, which the bytes were
	 * compared with.  NULL: they were not. */
	const uint32_t *sum;
	struct pool_piece *piece;
};

/*
 * Gives the stretch that begins at byte `at` of a block.  The stretch ends at
 * the end of the block or of a piece, or where good data turns bad or back.
 * `bytes`: how many the caller needs from there; 0: all.  Waits until `until`
 * (steady ns; 0: not at all).  If that is more than half of the patience, a block
 * that is computed because its disk was found to hang may take the patience
 * longer.
 *
 * Returns 0; -ETIMEDOUT: not there yet; -ENODATA: the block has no data from
 * `at` on.  The stretch is the caller's until pool_put().  If it begins a
 * piece, the caller may write the `head` bytes before it.
 */
int pool_get(struct pool_position *position, uint64_t number, uint64_t at,
	     uint64_t bytes, struct pool_stretch *v, int64_t until);

/*
 * Does the same for a recording that grows: what is in the daemon's memory is
 * copied to `own`, which has room for `bytes` (not 0), and the stretch is there.
 */
int pool_get_live(struct pool_position *position, uint64_t number, uint64_t at,
		  uint64_t bytes, void *own, struct pool_stretch *v,
		  int64_t until);

/* Gives a stretch back; its data must not be used any more. */
void pool_put(struct pool_reader *r, struct pool_stretch *v);

/* Marks disks that hang, so that the next refresh of the recording leaves them
 * out. */
void pool_reader_watch(struct pool_reader *r);
/* Exchanges the contents of the reader's recording and of `fresh`, the same
 * recording refreshed later.  No other thread uses `fresh` meanwhile. */
void pool_reader_exchange(struct pool_reader *r, struct recording *fresh);

struct pool_reader_facts {
	uint64_t bytes;	     /* requested from disks since it was opened */
	uint64_t live_bytes; /* copied from the daemon's memory */
	unsigned hang;	     /* disks that do not answer */
	uint64_t healed;     /* blocks that were computed from parity */
	uint64_t damaged;    /* bytes read whose checksum is wrong and that
				parity does not mend, without `verify` */
};
void pool_reader_facts(struct pool_reader *r, struct pool_reader_facts *f);

#endif
