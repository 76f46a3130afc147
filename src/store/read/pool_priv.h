/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_READ_POOL_PRIV_H
#define SPATE_STORE_READ_POOL_PRIV_H

#include <pthread.h>
#include <stdatomic.h>

#include "store/read/pool.h"
#include "store/recording/recording_priv.h"
#include "store/disk/file.h"
#include "store/record/sums.h"

/*
 * Declarations shared by the files of a pool.
 *
 *   pool.c       the pool, its readers, pieces in buffers, what to read
 *                  ahead, and pool_get()
 *   pool_disk.c  a disk's queues and threads; the files of blocks, checksums
 *   pool_ring.c  ... those threads with io_uring
 *
 * Only callers look at recordings, each at its own.  A disk's threads see
 * requests, each for a part of its piece's buffer, and chunks.
 *
 *            pool_get                        a thread takes it
 *   piece  ------------> request in pool_disk::now ----------> in flight
 *     ^                     or pool_disk::soon                     |
 *     +------- view <---------- piece::left is 0 <-------------------+
 *
 * One lock covers the whole pool, because a call that lacks a buffer may take
 * one from another reader.  No thread waits for a disk under it.  It is taken a
 * few times for each piece of 2 MiB, not for each packet.
 */
enum {
	POOL_PAGE = 4096, /* alignment for O_DIRECT: offset, length, memory */
	POOL_BADS = 16,
	POOL_BUCKETS = 64,
	POOL_THREADS = 4,   /* per disk, without io_uring; as many as requests
				 of a remote one */
	POOL_EASED = 2,	    /* requests in flight on a disk that is being
				 written */
	POOL_STEP = 65536,  /* bytes per read around a bad sector */
	POOL_FAILS = 4,	    /* failed steps in a request before the rest is
				 given up */
	POOL_ALIGN = 65536, /* alignment of a piece read after a jump */
	POOL_HEALERS = 2,   /* blocks that are computed at a time, and that are
				 kept for further requests */
	POOL_RETRY_S = 10,  /* a block that could not be computed is tried
				 again after that */
	POOL_SPARE = 128,   /* chunks kept open without a user, in a shared
				 pool */
};

struct pool_bad {
	uint64_t at, bytes; /* position and length in the block's data */
	int err;
};

/* The file of a block, opened.  Members above the line do not change. */
struct pool_chunk {
	struct pool_chunk *next; /* pool_reader::chunk */
	/* Pieces that use it, and their requests that are not read and checked
	 * yet; under the pool's lock. */
	unsigned users, unread;
	/* The disk it is read from; pool::disks: threads compute it from
	 * parity. */
	unsigned disk;
	/* The plan to compute it from its parity group; NULL: it is in none. */
	struct parity_heal *heal;
	struct pool_reader *reader;
	bool computing; /* by a thread; under the pool's lock */
	struct index_record record;
	char file[RECORDING_PATH]; /* relative to the recording's folder on the
				      disk */
	uint64_t offset;	   /* offset of the block's data in the file */
	enum disk_links links;	   /* whether links may be followed to open
				      it */
	uint32_t prefix, payload;
	/* ---- under its lock */
	pthread_mutex_t lock;
	bool opened;
	int fd, direct; /* descriptors or -errno; direct is -1 if O_DIRECT
			   cannot be used */
	bool checked;	/* the checksums below have been looked for */
	bool damaged;	/* the checksum of the whole chunk is wrong */
	uint32_t quantum;
	uint32_t quanta;
	uint32_t *sum; /* by quantum; NULL: unknown */
	/* ---- and without, by whoever has the pool's lock, while `unread` is 0 */
	uint8_t *healed;   /* its data, computed from its group */
	bool tried;	   /* to compute it */
	int64_t failed_at; /* steady ns at which that failed; 0: it did not */
};

/* A read of some bytes of a file into a part of a buffer. */
struct pool_request {
	struct pool_request *next; /* pool_disk::now, pool_disk::soon */
	struct pool_piece *piece;
	uint64_t offset;     /* offset in the file; of strided data: in the
				data */
	uint32_t bytes;	     /* whole pages, except of strided data */
	uint32_t skip, want; /* the part of these bytes that belongs to the
				piece */
	uint8_t *to;
};

struct pool_piece {
	struct pool_piece *next;    /* next in its bucket, or
				      pool::free */
	struct pool_reader *reader; /* owner; NULL: free */
	struct pool_disk *disk;
	struct pool_chunk *chunk;
	uint64_t number, at, bytes; /* block number; position and length in its
				       data */
	uint8_t *buffer, *data;
	struct pool_request *request; /* array, long enough for a whole
					   piece */
	unsigned requests;
	/* ---- under the lock */
	struct pool_position *ahead; /* position that read it ahead and has not
				     reached it yet */
	unsigned unread;	     /* requests not read yet */
	unsigned left;		     /* requests not read and checked yet */
	unsigned users;		     /* views lent, and calls that use it */
	bool now;		     /* a caller waits for it */
	bool known;		     /* listed in its bucket */
	uint64_t given;	 /* bytes given to callers, repeats included */
	uint64_t used;	 /* value of pool::turn at its last
				     use */
	int64_t used_at; /* steady ns */
	struct pool_bad bad[POOL_BADS];
	unsigned bads;
};

struct pool_queue {
	struct pool_request *first, **tail;
};

/* A disk: its queues and threads. */
struct pool_disk {
	struct pool *pool;
	pthread_cond_t work;
	/* ---- under the lock */
	struct pool_queue now, soon;
	unsigned threads;
	unsigned in_flight; /* requests taken by threads */
	unsigned depth;	    /* most requests that threads may have taken */
	bool eased;	    /* the disk is being written */
	bool remote;	    /* its handles are none that io_uring knows */
	bool hangs;	    /* until a request is done */
	int64_t late_at; /* steady ns at which it gave no source of a group in
			       time; 0: never */
	int64_t
	    progress_at; /* steady ns of last progress: a request was done, or
			    taken when none was in flight */
};

/* A recording's folder on a disk. */
struct pool_part {
	int dir; /* own descriptor, to open chunks from; -1: no folder, or not
		    needed yet */
	/* ---- under sums_lock */
	pthread_mutex_t sums_lock;
	struct sums_list sums;
};

struct pool_call;

struct pool {
	bool shared;
	bool ring; /* threads may use io_uring */
	uint64_t piece_bytes, request_bytes, head, stride;
	int64_t patience;
	uint8_t *memory;
	uint64_t memory_bytes;
	struct pool_piece *piece;
	unsigned pieces;
	struct pool_request *request;
	struct pool_disk *disk; /* one per disk, and one that computes from
				   parity what a disk cannot give */
	unsigned disks;		/* without that one */
	pthread_mutex_t lock;
	pthread_cond_t ended; /* signalled when a thread ended */
	/* ---- under the lock */
	unsigned there; /* disks, without the spare ones */
	unsigned refs;	/* threads, readers, and the maker */
	unsigned readers;
	unsigned threads;
	bool stop;
	uint64_t turn;
	struct pool_piece *free;
	unsigned used;	/* pieces that are not free */
	unsigned spare; /* open chunks that no piece uses */
	/* Chunks that keep computed data, without unread requests; the last
	 * used one first. */
	struct pool_chunk *warm[POOL_HEALERS];
	struct pool_position *positions; /* list of all positions */
	unsigned share;		/* pieces that each position may read ahead */
	int64_t shared_at;	/* steady ns when `share` was computed */
	struct pool_call *call; /* calls that lack a buffer, oldest first */
};

struct pool_reader {
	struct pool *pool;
	struct recording *rec; /* used by callers only */
	char name[LAYOUT_FILE];
	bool verify;
	struct pool_memory live;
	atomic_uint_fast64_t live_bytes; /* copied from memory; relaxed */
	int timer;		/* duplicate of the caller's; 0: none */
	struct pool_part *part; /* one per disk */
	/* ---- under the lock */
	unsigned refs; /* pieces, and the caller that opened it */
	bool closed;
	bool asked;	  /* the caller waits for the timer */
	uint64_t bytes;	  /* requested from disks */
	uint64_t healed;  /* blocks that were computed from parity */
	uint64_t damaged; /* bytes given although their checksum is wrong */
	struct pool_piece *bucket[POOL_BUCKETS];
	struct pool_chunk *chunk;
	struct pool_call *waiting; /* calls that wait for pieces or buffers */
};

/* One call of pool_get(), on its caller's stack. */
struct pool_call {
	struct pool_position *position;
	const struct recording_block *b; /* looked up again after each wait */
	unsigned disk; /* which one gives it; see disk_for() */
	uint64_t number, at, bytes;
	bool jumped;
	bool patient; /* it may wait longer, for what is computed */
	struct pool_stretch *v;
	int64_t until; /* steady ns */

	struct pool_call *next; /* pool::call */
	bool queued;		/* listed in pool::call */
	struct pool_call *next_waiting;
	const struct pool_piece *piece; /* piece that it waits for; NULL: a
					     buffer */
	pthread_cond_t news;
};

static inline uint64_t
pool_down(uint64_t n, uint64_t to)
{
	return n - n % to;
}

static inline uint64_t
pool_up(uint64_t n, uint64_t to)
{
	return pool_down(n + to - 1, to);
}

/* ---- pieces; under the lock ---------------------------------------------- */

/* Makes a piece unfindable.  Its buffer is freed when the disk and its users
 * let go of it. */
void pool_piece_drop(struct pool_piece *p);
/* Opens the recording's folder on a disk for the disk's threads.  False: it is
 * not there.  Under the lock. */
bool pool_part_open(struct pool_reader *r, unsigned disk);
void pool_piece_bad(struct pool_piece *p, uint64_t at, uint64_t bytes, int err);
/* Returns 0 or the error at byte `at` of a piece; *end: where that changes. */
int pool_piece_stretch(const struct pool_piece *p, uint64_t at, uint64_t *end);
/* Ends a request that was read and checked. */
void pool_request_end(struct pool_request *q);

/* ---- the pool; under the lock -------------------------------------------- */

/* Drops a reference, and unlocks the pool.  The last one frees it. */
void pool_drop(struct pool *pool);

/* ---- disks; under the lock ----------------------------------------------- */

/* Starts a disk's threads.  Returns 0 or -errno. */
int pool_disk_start(struct pool_disk *d);
void pool_disk_ask(struct pool_disk *d, struct pool_request *q, bool now);
/* Removes the requests of a piece from the disk's queues.  Returns how many
 * were removed; those that a thread has taken stay. */
unsigned pool_disk_unask(struct pool_disk *d, const struct pool_piece *p);
/* Returns the next request that a thread may begin, or NULL. */
struct pool_request *pool_disk_take(struct pool_disk *d);
bool pool_disk_waits(const struct pool_disk *d);
/* True if a disk does not answer.  Its waiting requests are dropped when that
 * is found first. */
bool pool_disk_hangs(struct pool_disk *d, int64_t now);

/* ---- disk threads, without the lock -------------------------------------- */

/* Opens the file of a piece, unless it is open.  Returns a descriptor to read
 * whole pages from, or -1: only read_rest() can read it. */
int pool_chunk_open(struct pool_piece *p);
/* Serves a disk's requests by io_uring until the pool stops.  False: io_uring
 * cannot be used. */
bool pool_ring_run(struct pool_disk *d);
bool pool_ring_can(void);
void pool_request_done(struct pool_request *q, int64_t got);

/* Gets the chunk of a block, with a reference; under the lock.  NULL: no
 * memory. */
struct pool_chunk *pool_chunk_get(struct pool_reader *r,
				  const struct recording_block *b,
				  unsigned disk);
void pool_chunk_put(struct pool_reader *r, struct pool_chunk *c);
/* Counts requests of a chunk's pieces that are asked for, and those that are done
 * or given up. */
void pool_chunk_ask(struct pool_chunk *c, unsigned n);
void pool_chunk_done(struct pool_chunk *c, unsigned n);
/* Closes the chunks that no piece uses. */
void pool_chunk_close(struct pool_reader *r);

#endif
