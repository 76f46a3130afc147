/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_VIEW_VIEW_H
#define SPATE_STORE_VIEW_VIEW_H

#include "store/recording/recording.h"

/*
 * A view is a recording's file as somebody wants to see it: packets without
 * their first bytes, missing ones filled or left out, one thread, some time.
 *
 * Where a byte of it is follows from the index by arithmetic: making one looks
 * at every block's record once, finding a byte at a few.  Of a thread the first
 * packets of a run may have to be read; what lacks in a block is looked up in
 * the metadata when that block is read, or when a range begins or ends in it.
 *
 * A view of nothing but stored bytes is the recording's file.  Any other is of
 * whole packets.  What it once showed stays where it is, however its recording
 * is refreshed, and more follows on it; but where a disk that was away has the
 * data, they are shown in place of fill.
 *
 * One thread at a time, as the recording, but for what takes a span alone.
 */
struct view;

enum view_fill {
	VIEW_STORED,  /* as it was recorded */
	VIEW_INVALID, /* frames that are marked so, as far as the format can */
	VIEW_ZERO,
	VIEW_SKIP, /* nothing: what is there follows on what is there */
};

struct view_choice {
	unsigned sub;
	uint32_t strip; /* bytes that every packet loses at its beginning */
	enum view_fill fill;
	int64_t from_ns, to_ns; /* UTC; to 0: no end.  From the first packet
				   that is not before `from` up to `to`; of rows
				   whole blocks that have some of it */
	int thread;		/* -1: all */
};

/*
 * A choice that is made for many recordings may not fit this one: rows and
 * cubes have no packets to be stripped or filled, and of a thread none can be
 * skipped.  What does not is taken out of it; a sentence that says so, or NULL:
 * it fits.
 */
const char *view_settle(struct view_choice *c, enum heap_store store);

/*
 * 0; -EINVAL: there is nothing of that kind to be seen of it (nothing is left
 * of a packet; a thread that it does not have, or whose losses would have to be
 * counted); -EIO: its threads cannot be told; -ENOMEM; with a fault.  The
 * recording must outlive it.
 */
int view_make(struct view **view, struct recording *rec,
	      const struct view_choice *choice, struct fault *fault);
void view_free(struct view *v); /* NULL: nothing */

const struct view_choice *view_choice(const struct view *v);

/* After recording_refresh(): takes in what is new.  0 or -errno; then it is as
 * it was. */
int view_refresh(struct view *v);

/* To the visible end, which may be a bit before the recording's while it
 * grows. */
uint64_t view_bytes(const struct view *v);

enum view_kind {
	VIEW_DATA,   /* of a chunk */
	VIEW_FILLED, /* what was never there: see view_fill_bytes() */
	VIEW_LOST,   /* there is something, but what of it is nobody can tell;
			or a file opened anew would have more here */
};

/*
 * A stretch of a view that is alike: bytes of a block that are all of the
 * view's, or (step) the same part of packets that are `step` bytes apart, of
 * which the first may have begun before it.
 *
 *    |  lead  |          |        |          |        step
 *    +--------+==========+--------+==========+--------+=====
 *             at, take            |<- step ->|
 */
struct view_span {
	enum view_kind kind;
	uint64_t number; /* of the block, or the one before it */
	uint64_t at;	 /* of its data: the first byte that is the view's */
	uint64_t offset; /* the same in its substream's file */
	uint64_t bytes;	 /* of the view */
	uint64_t step;	 /* 0: all in one piece */
	uint32_t take;	 /* of a packet's, the view's */
	uint32_t passed; /* of those, before `at` */
	uint32_t lead;	 /* bytes before `at` down to its packet's first */
};

/* From an offset on: 0; -ENODATA from the end on; -EAGAIN: what lacks in a
 * block that is in memory will be told soon; -ENOMEM. */
int view_find(struct view *v, uint64_t offset, struct view_span *s);

/* ---- of a span alone: any thread -------------------------------------- */

/* How many bytes of the block, from `at` on, have so many of the view's. */
uint64_t view_reach(const struct view_span *s, uint64_t bytes);

/* Goes on behind so many bytes of it. */
void view_pass(struct view_span *s, uint64_t bytes);

/* Copies what `n` bytes of the block at `at` have of the view's, `most` at
 * most: how many these are. */
size_t view_gather(const struct view_span *s, const void *data, uint64_t n,
		   void *to, size_t most);

/* ---- */

/*
 * Are packets of the thread that they should be?  `n` bytes of the block at
 * `at` - `lead`.  How many of these are known to be right, up to the first
 * packet whose header is not all there (0: bring more in one piece); -EBADMSG:
 * the first one is of another thread.  Of a view of all threads: n.  It may be
 * asked by any thread, and so may view_want().
 */
int64_t view_check(const struct view *v, const struct view_span *s,
		   const void *data, uint64_t n);

/* How many bytes of the block, from `at` - `lead` on, it takes to check so
 * many of the view's, headers of packets whose end is not asked for too. */
uint64_t view_want(const struct view *v, const struct view_span *s,
		   uint64_t bytes);

/* The first bytes of a span as if no chunk could be read: as the view fills,
 * or as it was recorded.  Not of rows.  0 or -errno. */
int view_fill_bytes(struct view *v, const struct view_span *s, void *to,
		    size_t bytes);

/* ---- without a view --------------------------------------------------- */

struct view_counts {
	enum heap_store store;
	uint32_t payload;
	uint64_t bytes, packets; /* of the substream's file */
};

/* How long it will be.  0; -EINVAL as view_make(); -ENODATA: only that can
 * tell. */
int view_size(const struct view_counts *c, const struct view_choice *choice,
	      uint64_t *bytes);

/* The threads of a substream, ascending: how many, `most` at most; or -errno.
 * Where the metadata does not tell, its first packets are read. */
int view_threads(struct recording *rec, unsigned sub, uint32_t *threads,
		 unsigned most);

#endif
