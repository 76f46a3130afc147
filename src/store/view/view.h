/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_VIEW_VIEW_H
#define SPATE_STORE_VIEW_VIEW_H

#include "store/recording/recording.h"

/*
 * A view is the file of one substream of a recording in the form that a user
 * asked for: packets without their first bytes, missing packets filled or left
 * out, one thread only, a range of time only.
 *
 * The place of a byte follows from the index by arithmetic.  Making a view
 * looks at the record of every block once; finding a byte looks at a few.  A
 * view of one thread may have to read the first packets of each run.  The holes
 * of a block are looked up in the metadata when that block is read, or when a
 * range begins or ends in it.
 *
 * A view with every choice at its default is the recording's file, byte for
 * byte.  Any other view consists of whole packets.  Offsets never move: a
 * refresh only appends.  Fill may turn into data when a missing disk comes
 * back.
 *
 * A view is used by one thread at a time, and so is its recording; the
 * functions that take only a span may be called by any thread.
 */
struct view;

enum view_fill {
	VIEW_STORED,  /* fill as the recording itself makes it */
	VIEW_INVALID, /* fill frames marked invalid, if the format can mark
			 them */
	VIEW_ZERO,
	VIEW_SKIP, /* no fill: the next packet follows directly */
};

struct view_choice {
	unsigned sub;
	uint32_t strip; /* bytes cut from the beginning of every packet */
	enum view_fill fill;
	int64_t from_ns, to_ns; /* UTC; to_ns 0: no end.  The view begins with
				   the first packet at or after from_ns and
				   ends before to_ns; of a row it has every
				   chunk that overlaps the range. */
	int thread;		/* -1: all threads */
};

/*
 * Removes from `c` what cannot apply to recordings of this kind: rows and cubes
 * have no packets to strip or fill, and missing packets of a single thread
 * cannot be skipped.  Returns a sentence that says what was removed, or NULL if
 * the choice fits as it is.
 */
const char *view_settle(struct view_choice *c, enum heap_store store);

/*
 * Makes a view.  Returns 0; -EINVAL if the choice does not fit the recording
 * (nothing would be left of a packet, or it has no such thread, or the missing
 * packets of one thread would have to be counted); -EIO if its threads cannot
 * be told apart; -ENOMEM; each with a fault.  The caller frees the view before
 * it closes the recording.
 */
int view_make(struct view **view, struct recording *rec,
	      const struct view_choice *choice, struct fault *fault);
void view_free(struct view *v); /* NULL is allowed */

/* Returns the choice that the view was made with. */
const struct view_choice *view_choice(const struct view *v);

/* Appends what recording_refresh() found.  Returns 0 or -errno; after an error
 * the view is as it was. */
int view_refresh(struct view *v);

/* Length up to the visible end.  While the recording grows, this may be
 * somewhat less than the recording itself shows. */
uint64_t view_bytes(const struct view *v);

enum view_kind {
	VIEW_DATA,   /* bytes of a chunk */
	VIEW_FILLED, /* nothing was recorded: see view_fill_bytes() */
	VIEW_LOST,   /* cannot be read: it is unknown which bytes of the block
			belong here, or the block turned up with another length
			than was assumed when the view was laid out */
};

/*
 * A span is a stretch of a view of one kind: bytes of one block in one piece
 * (step 0), or the same part of packets that are `step` bytes apart.  A span
 * may begin in the middle of its first packet.
 *
 *    |  lead  |          |        |          |        step
 *    +--------+==========+--------+==========+--------+=====
 *             at, take            |<- step ->|
 */
struct view_span {
	enum view_kind kind;
	uint64_t number; /* number of the block; of fill, possibly of the block
			    before it */
	uint64_t at;	 /* first byte of the span, in the block's data */
	uint64_t offset; /* offset of that byte in the substream's file */
	uint64_t bytes;	 /* length of the span in the view */
	uint64_t step;	 /* bytes; 0: all in one piece */
	uint32_t take;	 /* bytes of each packet that the view shows */
	uint32_t passed; /* bytes of the first packet's `take` that lie before
			    `at` */
	uint32_t lead;	 /* bytes from the beginning of the first packet to
			    `at` */
};

/*
 * Finds the span that begins at an offset of the view.  Returns 0; -ENODATA at
 * the end or behind it; -EAGAIN if the block is still in the writer's memory
 * and its holes are not on record yet; -ENOMEM.
 */
int view_find(struct view *v, uint64_t offset, struct view_span *s);

/* ---- spans: any thread --------------------------------------------------- */

/* Returns how many bytes of the block, from `at` on, hold the next `bytes`
 * bytes of the span. */
uint64_t view_reach(const struct view_span *s, uint64_t bytes);

/* Moves the beginning of the span `bytes` bytes of the view forward. */
void view_pass(struct view_span *s, uint64_t bytes);

/* Copies the view's bytes out of `n` bytes of the block that begin at `at`, at
 * most `most`.  Returns how many were copied. */
size_t view_gather(const struct view_span *s, const void *data, uint64_t n,
		   void *to, size_t most);

/* ---- spans of a view ----------------------------------------------------- */

/* Any thread may call view_check() and view_want(), also while another uses or
 * refreshes the view or its recording. */

/*
 * Checks that packets are of the view's thread.  `data` is `n` bytes of the
 * block that begin at `at` - `lead`.  Returns how many of them are good: up to
 * the first packet of another thread or whose header is incomplete (0: call
 * again with more bytes in one piece); -EBADMSG if the first packet is of
 * another thread.  A view of all threads returns n.
 */
int64_t view_check(const struct view *v, const struct view_span *s,
		   const void *data, uint64_t n);

/*
 * Returns how many bytes of the block, from `at` - `lead` on, are needed to
 * check and give `bytes` bytes of the span: the whole header of the last packet
 * too, even if its end is not asked for.
 */
uint64_t view_want(const struct view *v, const struct view_span *s,
		   uint64_t bytes);

/* Makes the first bytes of a span as if no chunk could be read: with the view's
 * fill, or else the recording's.  Returns 0 or -errno; -EINVAL for rows. */
int view_fill_bytes(struct view *v, const struct view_span *s, void *to,
		    size_t bytes);

/* ---- without a view ------------------------------------------------------ */

struct view_counts {
	enum heap_store store;
	uint32_t payload;
	uint64_t bytes, packets; /* size of the substream's file */
};

/* Computes the length of a view from counts alone.  Returns 0; -EINVAL as
 * view_make(); -ENODATA if only view_make() can tell. */
int view_size(const struct view_counts *c, const struct view_choice *choice,
	      uint64_t *bytes);

/*
 * Lists the threads of a substream, ascending, at most `most`.  If the metadata
 * does not name them, its first packets are read.  Returns how many, or -errno.
 */
int view_threads(struct recording *rec, unsigned sub, uint32_t *threads,
		 unsigned most);

#endif
