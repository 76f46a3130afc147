/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_READ_READER_PRIV_H
#define SPATE_STORE_READ_READER_PRIV_H

#include <pthread.h>

#include "store/read/reader.h"
#include "store/recording/recording_priv.h"
#include "store/disk/stride.h"
#include "store/record/sums.h"

/*
 * What the parts of a reader share.
 *
 *   reader.c        a reader, and how it ends
 *   reader_pool.c   memory, threads, and how all of it ends
 *   reader_way.c    ways: what is wanted soon
 *   reader_wish.c   what is wanted now
 *   reader_piece.c  pieces and their buffers
 *   reader_chunk.c  the file of a block, as a disk's threads see it
 *   reader_sums.c   checksums
 *   reader_lane.c   a disk's threads
 *   reader_ring.c   ... where they have io_uring
 *
 * Callers alone look at recordings, each at his own.  Threads of disks see
 * requests, each for its piece's buffer, and chunks.
 *
 *            reader_get                 a thread takes it
 *   piece  ------------> request in lane::now ----------> in flight
 *     ^                    or lane::soon                     |
 *     +------- view <------- piece::left is 0 <--------------+
 *
 * There is one lock for all of a pool: who has no buffer may take that of
 * another reader, and nobody waits while he holds it.  It is taken some times
 * for each piece of 2 MiB, not for each packet.
 */
enum {
	READER_PAGE = 4096, /* O_DIRECT: offset, length, memory */
	READER_BADS = 16,
	READER_BUCKETS = 64,
	READER_THREADS = 4,   /* of a disk, where there is no io_uring */
	READER_EASED = 2,     /* requests, while somebody writes */
	READER_STEP = 65536,  /* looked at alone where a disk has errors */
	READER_FAILS = 4,     /* of those that fail, in a request: no more */
	READER_ALIGN = 65536, /* of a piece for one who jumps */
	READER_SPARE = 128,   /* chunks that are kept open, in a shared pool */
};

struct reader_bad {
	uint64_t at, bytes; /* of the block's data */
	int err;
};

/* The file of a block.  What is above the line does not change. */
struct reader_chunk {
	struct reader_chunk *next; /* reader::chunk */
	unsigned users;		   /* pieces; under the pool's lock */
	int disk;
	struct index_record record;
	char file[RECORDING_PATH]; /* in its lane's folder */
	uint64_t offset;	   /* of its data in it */
	enum disk_links links;	   /* to open it by */
	uint32_t prefix, payload;
	/* ---- under its lock */
	pthread_mutex_t lock;
	bool opened;
	int fd, direct; /* -errno; direct is -1 where that cannot be */
	bool checked;	/* the sums below are set */
	bool damaged;	/* all of it */
	uint32_t quantum;
	uint32_t quanta;
	uint32_t *sum; /* of each quantum; NULL: nobody knows */
};

/* Some bytes of a file for some place in a buffer. */
struct reader_request {
	struct reader_request *next; /* lane::now, lane::soon */
	struct reader_piece *piece;
	uint64_t offset;     /* in the file; of strided data: in the data */
	uint32_t bytes;	     /* all in pages, but of strided data */
	uint32_t skip, want; /* of these, the piece's */
	uint8_t *to;
};

struct reader_piece {
	struct reader_piece *next; /* in its bucket, or reader_pool::free */
	struct reader *reader;	   /* whose it is; NULL: it is free */
	struct reader_lane *lane;
	struct reader_chunk *chunk;
	uint64_t number, at, bytes; /* of the block's data */
	uint8_t *buffer, *data;
	struct reader_request *request; /* as many as may be */
	unsigned requests;
	/* ---- under the lock */
	struct reader_way *ahead; /* that looks ahead, and is not here yet */
	unsigned unread;	  /* requests that are not read */
	unsigned left;		  /* that are not done: nor checked */
	unsigned users;		  /* views */
	bool now;		  /* somebody waits for it */
	bool known;		  /* it is in its bucket */
	uint64_t given;		  /* bytes, as often as they were */
	uint64_t used;		  /* reader_pool::turn, when it was last */
	int64_t used_at;	  /* steady ns */
	struct reader_bad bad[READER_BADS];
	unsigned bads;
};

struct reader_queue {
	struct reader_request *first, **tail;
};

/* A disk. */
struct reader_lane {
	struct reader_pool *pool;
	pthread_cond_t work;
	/* ---- under the lock */
	struct reader_queue now, soon;
	unsigned threads;
	unsigned flying; /* requests that threads have */
	unsigned depth;	 /* that they may have */
	bool eased;	 /* somebody writes to it */
	bool hangs;	 /* until one is done */
	int64_t beat;	 /* steady ns: when one was done, or taken by threads
			    that had none */
};

/* A recording's folder on a disk. */
struct reader_part {
	int dir; /* of its own, where files are opened from; -1: not there, or
		    not needed yet */
	/* ---- under sums_lock */
	pthread_mutex_t sums_lock;
	struct sums_list sums;
	int64_t sums_bytes; /* of its file, when it was read */
};

struct reader_wish;

struct reader_pool {
	bool shared;
	bool ring; /* threads may have io_uring */
	uint64_t piece_bytes, request_bytes, head, stride;
	int64_t patience;
	uint8_t *memory;
	uint64_t memory_bytes;
	struct reader_piece *piece;
	unsigned pieces;
	struct reader_request *request;
	struct reader_lane *lane; /* one per disk */
	unsigned lanes;
	pthread_mutex_t lock;
	pthread_cond_t ended; /* a thread */
	/* ---- under the lock */
	unsigned refs; /* threads, readers, and who made it */
	unsigned readers;
	unsigned threads;
	bool stop;
	uint64_t turn;
	struct reader_piece *free;
	unsigned used;		  /* pieces that are not free */
	unsigned spare;		  /* chunks that no piece has */
	struct reader_way *way;	  /* all of them */
	unsigned share;		  /* pieces that each may look ahead */
	int64_t shared_at;	  /* steady ns: when that was found out */
	struct reader_wish *wish; /* that lack a buffer; the oldest first */
};

struct reader {
	struct reader_pool *pool;
	struct recording *rec; /* callers */
	char name[LAYOUT_FILE];
	bool verify;
	int timer;		  /* 0: none */
	struct reader_part *part; /* one per disk */
	/* ---- under the lock */
	unsigned refs; /* pieces, and who opened it */
	bool closed;
	bool asked;	/* the caller waits at the timer */
	uint64_t bytes; /* that were asked for */
	struct reader_piece *bucket[READER_BUCKETS];
	struct reader_chunk *chunk;
	struct reader_wish *waiting; /* for pieces, or buffers */
};

/* One call of reader_get(). */
struct reader_wish {
	struct reader_way *w;
	struct reader_wish *next; /* reader_pool::wish */
	bool queued;		  /* it is in there */
	struct reader_wish *next_waiting;
	const struct reader_piece *piece; /* that it waits for; NULL: none */
	pthread_cond_t news;
};

static inline uint64_t
reader_down(uint64_t n, uint64_t to)
{
	return n - n % to;
}

static inline uint64_t
reader_up(uint64_t n, uint64_t to)
{
	return reader_down(n + to - 1, to);
}

/* ---- pieces; under the lock ------------------------------------------- */

/* The one that has this byte; NULL. */
struct reader_piece *reader_piece_find(struct reader *r, uint64_t number,
				       uint64_t at);
/* Where the next one of the same place in the grid begins, or `end`. */
uint64_t reader_piece_next(struct reader *r, uint64_t number, uint64_t at,
			   uint64_t end);
/* Asks a disk for a stretch within one piece of the grid, for which there is a
 * buffer; NULL: there is no memory, or no such folder.  `now`: before what is
 * wanted soon. */
struct reader_piece *reader_piece_ask(struct reader *r,
				      const struct recording_block *b,
				      uint64_t at, uint64_t end, bool now);
/* Somebody waits for it that was asked for soon. */
void reader_piece_hurry(struct reader_piece *p);
/* Nobody will ask for it: it goes when its disk and its users let go. */
void reader_piece_drop(struct reader_piece *p);
/* Gives a buffer back that can be missed, `ahead`: also one of what somebody
 * has not come to yet; false: there is none. */
bool reader_piece_miss(struct reader_pool *pool, bool ahead);
void reader_piece_bad(struct reader_piece *p, uint64_t at, uint64_t bytes,
		      int err);
/* How far it is good, or bad, from a byte on; what is wrong with it. */
int reader_piece_stretch(const struct reader_piece *p, uint64_t at,
			 uint64_t *end);
/* A request is done. */
void reader_request_end(struct reader_request *q);

/* ---- ways; under the lock ----------------------------------------------- */

/* Not read from for a while: what it has looked ahead may be taken. */
bool reader_way_idles(const struct reader_way *w, int64_t now);
void reader_way_look(struct reader_way *w);
void reader_way_drop(struct reader_way *w);
/* Somebody reads: there, or on from there.  Has he jumped? */
bool reader_way_follow(struct reader_way *w, uint64_t number, uint64_t at);
/* Where a piece of the grid ends. */
uint64_t reader_grid_end(const struct reader *r,
			 const struct recording_block *b, uint64_t at);

/* ---- the pool; under the lock -------------------------------------------- */

/* There may be a buffer for who waits for one. */
void reader_pool_news(struct reader_pool *pool);
/* Something became of a piece: for who waits for that. */
void reader_piece_news(const struct reader_piece *p);
/* Nobody reads: memory goes back to the kernel, if no disk is at it. */
void reader_pool_rest(struct reader_pool *pool);
/* Lets go of what is left; the last one frees it.  Unlocks it. */
void reader_pool_drop(struct reader_pool *pool);
/* The same of a reader; but it unlocks nothing. */
void reader_leave(struct reader *r);

/* ---- lanes; under the lock ---------------------------------------------- */

/* 0 or -errno. */
int reader_lane_start(struct reader_lane *l);
void reader_lane_ask(struct reader_lane *l, struct reader_request *q, bool now);
/* Takes those of a piece from the queues that no thread has; how many. */
unsigned reader_lane_unask(struct reader_lane *l, const struct reader_piece *p);
/* The next that a thread may begin; NULL. */
struct reader_request *reader_lane_take(struct reader_lane *l);
bool reader_lane_waits(const struct reader_lane *l);
/* What waits for it is dropped when it begins to. */
bool reader_lane_hangs(struct reader_lane *l, int64_t now);

/* ---- threads of disks, without the lock --------------------------------- */

/* Opens a piece's file, if nobody did.  The descriptor to read pages from; or
 * -1: it is to be read by reader_chunk_rest() alone. */
int reader_chunk_open(struct reader_piece *p);
/* `got` bytes of the request came, or -errno: reads what lacks. */
void reader_chunk_rest(struct reader_request *q, int64_t got);
/* Checks a piece whose requests are all done. */
void reader_sums_check(struct reader_piece *p);
/* Finds the sums of a chunk. */
void reader_sums_find(struct reader *r, struct reader_chunk *c);
/* Runs requests by io_uring until the reader stops; false: it cannot. */
bool reader_ring_run(struct reader_lane *l);
bool reader_ring_can(void);
void reader_request_done(struct reader_request *q, int64_t got);

/* Chunks of the recording; under the lock.  NULL: no memory. */
struct reader_chunk *reader_chunk_get(struct reader *r,
				      const struct recording_block *b);
void reader_chunk_put(struct reader *r, struct reader_chunk *c);
/* Those that are kept for nobody. */
void reader_chunk_close(struct reader *r);

#endif
