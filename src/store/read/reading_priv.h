/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_READ_READING_PRIV_H
#define SPATE_STORE_READ_READING_PRIV_H

#include "store/read/opened_priv.h"
#include "store/read/reading.h"
#include "store/read/trail.h"

/*
 * A view is looked at by one thread at a time, for as long as arithmetic
 * takes.  One that may have to look into metadata is the recording's thread's
 * alone.  Fill always is, and has a view of its own: so who waits for fill
 * keeps nobody from reading.
 */
struct reading {
	struct opened *op;
	bool by_desk;	  /* its view may wait for a disk */
	bool fills;	  /* also what a disk refuses */
	atomic_bool told; /* that packets are of another thread */
	struct reader_way way[TRAILS];
	struct view *view;
	struct view *filler; /* the thread's; made when it is needed */

	/* ---- under opened::lock */
	struct reading *next; /* opened::reading */
	uint64_t turn;	      /* opened::turn, when it was refreshed */
	unsigned refs;	      /* who has it open, and jobs */
	bool busy;	      /* somebody is at its view */
	uint64_t bytes;	      /* it has */
	struct trails trails;
	uint64_t ahead[TRAILS]; /* bytes, as its way was told */
	struct view_span span;	/* that was found last, */
	uint64_t span_at;	/* from this offset on */
};

void reading_drop(struct reading *rd);

/* Makes its view.  As reading_open(). */
int reading_view(struct reading *rd, const struct view_choice *choice,
		 struct fault *fault);

/* As view_find().  -ETIMEDOUT: a disk does not answer. */
int reading_find(struct reading *rd, uint64_t offset, struct view_span *s);
/* As view_fill_bytes(); the same. */
int reading_fill(struct reading *rd, const struct view_span *s, void *to,
		 size_t bytes);

/* As view_want() and view_check(), by any thread. */
uint64_t reading_want(struct reading *rd, const struct view_span *s,
		      uint64_t bytes);
int64_t reading_check(struct reading *rd, const struct view_span *s,
		      const void *data, uint64_t n);

/* A request. */
struct reading_request {
	struct reading *rd;
	struct reading_answer *a;
	struct reader_way *way;
	uint64_t offset;
	size_t left, most; /* bytes: to come; that were asked for */
	bool live, row;
	int64_t until; /* what is not on a disk yet is waited for; 0: it was
			   not tried */
	uint64_t gone; /* one behind the number of what will not come */
	uint8_t *raw;  /* packets of which parts are wanted */
	uint64_t raw_bytes;
	struct opened_counts counts;
};

/* The next of its bytes: at its end. */
void reading_add(struct reading_request *q, const uint8_t *data, size_t bytes);
/* Where the next ones are its own; NULL: no memory. */
uint8_t *reading_own(struct reading_request *q);
/* What it has in buffers becomes its own.  0 or -ENOMEM. */
int reading_let_go(struct reading_request *q);
/* As reader_get(), but waits with no buffer of its answer, and as long as there
 * is patience; what is not there is bad. */
int reading_get(struct reading_request *q, uint64_t number, uint64_t at,
		uint64_t bytes, struct reader_view *v);

/* The next bytes of it.  0, and there are some more; -ENODATA: the end. */
int reading_give(struct reading_request *q);

#endif
