/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_READ_READING_PRIV_H
#define SPATE_STORE_READ_READING_PRIV_H

#include "store/read/opened_priv.h"
#include "store/read/reading.h"
#include "store/read/trail.h"

/*
 * A view is used by one thread at a time, and only for as long as arithmetic
 * takes.  A view that may have to read metadata is used by the recording's
 * thread only.  Fill is always made by that thread, from a view of its own: so
 * a caller that waits for fill delays no reader.
 */
struct reading {
	struct opened *op;
	bool by_desk;	  /* the view may wait for a disk: used by the
			     recording's thread only */
	bool fills;	  /* fill what a disk refuses to read */
	atomic_bool told; /* logged: packets of another thread */
	struct reader_way way[TRAILS];
	struct view *view;
	struct view *filler; /* owned by the recording's thread; made when
				needed */

	/* ---- under opened::lock */
	struct reading *next; /* opened::reading */
	uint64_t turn;	      /* opened::turn at its last refresh */
	unsigned refs;	      /* the opener, and jobs */
	bool busy;	      /* a thread uses its view */
	uint64_t bytes;	      /* length of the view */
	struct trails trails;
	uint64_t ahead[TRAILS]; /* read-ahead in bytes, as set for each
				   cursor */
	struct view_span span;	/* span found last, */
	uint64_t span_at;	/* offset of that span in the view */
};

void reading_drop(struct reading *rd);

/* Makes its view.  Returns as reading_open(). */
int reading_view(struct reading *rd, const struct view_choice *choice,
		 struct fault *fault);

/* As view_find(); -ETIMEDOUT if a disk does not answer. */
int reading_find(struct reading *rd, uint64_t offset, struct view_span *s);
/* As view_fill_bytes(); -ETIMEDOUT if a disk does not answer. */
int reading_fill(struct reading *rd, const struct view_span *s, void *to,
		 size_t bytes);

/* As view_want() and view_check(); any thread. */
uint64_t reading_want(struct reading *rd, const struct view_span *s,
		      uint64_t bytes);
int64_t reading_check(struct reading *rd, const struct view_span *s,
		      const void *data, uint64_t n);

/* A request: one call of reading_read(). */
struct reading_request {
	struct reading *rd;
	struct reading_answer *a;
	struct reader_way *way;
	uint64_t offset;
	size_t left, most; /* bytes: still to give; asked for */
	bool live, row;
	int64_t until; /* steady ns until which to wait for blocks that are not
			  on disk yet; 0: not waited yet */
	uint64_t gone; /* number + 1 of the block that was tried again and did
			  not come */
	uint8_t *raw;  /* scratch for packets of which parts are wanted */
	uint64_t raw_bytes;
	struct opened_counts counts;
};

/* Appends bytes to the answer. */
void reading_add(struct reading_request *q, const uint8_t *data, size_t bytes);
/*
 * Returns where the next bytes go in the answer's own memory; NULL: no memory.
 */
uint8_t *reading_own(struct reading_request *q);
/* Copies what the answer has in cache buffers to its own memory, and puts the
 * buffers.  Returns 0 or -ENOMEM. */
int reading_let_go(struct reading_request *q);
/*
 * As reader_get(), but holds none of the answer's buffers while it waits, and
 * waits as long as the patience.  Bytes that are not there come back as a bad
 * stretch.
 */
int reading_get(struct reading_request *q, uint64_t number, uint64_t at,
		uint64_t bytes, struct reader_view *v);

/* Gives the next bytes of the answer.  Returns 0 if there may be more; -ENODATA
 * at the end. */
int reading_give(struct reading_request *q);

#endif
