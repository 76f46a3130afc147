/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_COPY_COPY_OUT_PRIV_H
#define SPATE_FLOW_COPY_COPY_OUT_PRIV_H

#include <pthread.h>
#include <stdatomic.h>

#include "wire/wire_copy.h"
#include "flow/copy/copy_link.h"
#include "flow/copy/copy_out.h"
#include "store/recording/recording.h"
#include "store/write/telling.h"

/*
 * What the parts of a copy that goes out share: copy_out.c is the thread and
 * its orders, copy_out_try.c one attempt from its first connection to the end,
 * copy_out_link.c how connections are made, copy_out_tell.c what is told and
 * asked, copy_out_send.c how blocks leave.
 */
enum { COPY_OUT_LANES = 16, COPY_OUT_PATIENCE_S = 60 };

/* A connection, and the piece that is on its way there. */
struct copy_lane {
	struct copy_link link; /* fd -1: there is none */
	uint8_t *buffer;       /* a header, and a piece */
	uint32_t bytes, sent;  /* of it; the same: nothing is on its way */
};

/* The piece that is being put together. */
struct copy_fill {
	struct copy_lane *lane; /* NULL: none */
	uint64_t number;
	uint32_t piece, bytes, have;
};

struct copy_out {
	struct copy_out_args a; /* its texts and secret are ours */
	uint8_t secret[1024];
	struct disks disks; /* ours, opened by the thread */
	pthread_t thread;
	int stop;	 /* an eventfd */
	int64_t started; /* steady */

	pthread_mutex_t lock; /* over what is below */
	struct sender_facts facts;
	uint64_t rate;
	bool pause, stopped, ended;
	/* until here */

	/* The thread's. */
	struct recording *rec;
	struct telling *telling;
	uint64_t transfer, attempt;
	unsigned rounds; /* of agreeing */
	struct copy_lane lane[COPY_OUT_LANES];
	unsigned lanes;	 /* that there are to be */
	uint8_t *buffer; /* WIRE_PAYLOAD_MOST, for what is told and heard */
	uint64_t told;	 /* numbers below are, in this attempt */
	bool asked;	 /* what the peer wants, once */
	uint8_t *left;	 /* by number: it cannot be read */
	uint64_t left_n, left_room;

	struct copy_want *want;
	size_t wants, want_room, want_at;
	struct parcel parcel; /* have_parcel: it is held */
	bool have_parcel;
	uint64_t sought; /* the number that the source was last sent to; or
			    UINT64_MAX */
	struct copy_fill fill;
	uint32_t crc;	    /* of the block so far, */
	uint64_t crc_bytes; /* and of how much; 0 where it is not known */
	int64_t due;	    /* steady: when the next piece may go */

	int64_t contact; /* steady: when the peer last took something */
	int64_t waiting; /* steady: since when it has no room; 0 */
	int64_t lanes_looked;
	int64_t sampled;
	uint64_t sampled_bytes;
};

/* ---- copy_out.c ------------------------------------------------------ */

/* The state, and why, as a sentence; "" where it is plain. */
void copy_out_say(struct copy_out *c, enum sender_state state, const char *why);
/* A fault that ends it; -EPROTO, which is not tried again. */
int copy_out_fail(struct copy_out *c, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void copy_out_sample(struct copy_out *c);

/* ---- copy_out_link.c ------------------------------------------------- */

/* 0; -EINVAL and a sentence. */
int copy_url_read(const char *to, char host[256], char port[8], char *why,
		  size_t why_bytes);

/* Connects number i, greets, and is welcome.  0; -EAGAIN: it may be later, with
 * a state said; -ECANCELED; -EPROTO. */
int copy_out_connect(struct copy_out *c, unsigned i);
void copy_out_hang_up(struct copy_out *c);

/* What a REFUSE says: -EAGAIN or -EPROTO, with a state said. */
int copy_out_refused(struct copy_out *c, const uint8_t *payload,
		     uint32_t bytes);

/* A link broke with this error: -EAGAIN, or -ECANCELED. */
int copy_out_broke(struct copy_out *c, int err);

/* ---- copy_out_tell.c ------------------------------------------------- */

int copy_out_head(struct copy_out *c);
/* Tells what was not told yet, and asks: the answer is c->want. */
int copy_out_ask(struct copy_out *c);
/* *same: both have the same.  Else c->want is what they lack. */
int copy_out_agree(struct copy_out *c, bool *same);
int copy_out_close(struct copy_out *c);

/* The next frame of connection 0 that is not about its state, which is seen
 * to; its payload is in c->buffer. */
int copy_out_hear(struct copy_out *c, struct wire_frame *f);
/* The same, of frames that are there. */
int copy_out_listen(struct copy_out *c);

/* ---- copy_out_send.c ------------------------------------------------- */

/* Sends all that is wanted.  0; -EAGAIN, -ECANCELED, -EPROTO. */
int copy_out_send(struct copy_out *c);
void copy_out_parcel_put(struct copy_out *c);

/* A block cannot be read. */
int copy_out_leave(struct copy_out *c, uint64_t number, int err);

/* ---- copy_out_try.c -------------------------------------------------- */

/* 0: it is done; -EAGAIN: the connection broke; -ECANCELED; -EPROTO. */
int copy_out_try(struct copy_out *c);

#endif
