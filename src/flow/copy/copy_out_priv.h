/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_COPY_COPY_OUT_PRIV_H
#define SPATE_FLOW_COPY_COPY_OUT_PRIV_H

#include "wire/copy.h"
#include "flow/copy/copy_link.h"
#include "flow/copy/copy_out.h"
#include "flow/send/sender_thread.h"
#include "store/recording/recording.h"
#include "store/write/copy_lines.h"

/*
 * The files of a copy that goes out:
 *
 *   copy_out.c       the thread, its orders, connections and attempts
 *   copy_out_send.c  one attempt's frames: head, index, wants, blocks, the end
 */
enum {
	COPY_OUT_LANES = 16,
	COPY_OUT_PATIENCE_S = 60,
};

/* A connection, and the piece that is being sent there. */
struct copy_lane {
	struct copy_link link; /* fd -1: not connected */
	uint8_t *buffer;       /* a frame's header, and a piece */
	/* Bytes in the buffer, and how many of them were sent; equal: idle. */
	uint32_t bytes, sent;
};

/* The piece that is being copied out of the source. */
struct copy_fill {
	struct copy_lane *lane; /* gets the piece; NULL: there is no piece */
	uint64_t number;
	uint32_t piece, bytes, have;
};

struct copy_out {
	struct sender base;	/* must be first: sender_thread.h */
	struct copy_out_args a; /* its texts and its secret are copies */
	uint8_t secret[1024];
	struct disks disks; /* a copy, opened by the thread */
	int stop;	    /* eventfd */

	/* Only the thread uses these fields. */
	struct recording *rec;
	struct copy_lines *lines;
	uint64_t transfer, attempt;
	unsigned rounds; /* rounds of agreeing so far */
	struct copy_lane lane[COPY_OUT_LANES];
	unsigned lanes; /* connections that are to be made */
	/* WIRE_PAYLOAD_MOST bytes, for frames sent and received. */
	uint8_t *buffer;
	/* Blocks with lower numbers were told in this attempt. */
	uint64_t told;
	bool asked; /* the peer has said once what it wants */
	/* By number: 1 for a block that cannot be read, and is left out. */
	uint8_t *left;
	uint64_t left_n, left_room;

	struct copy_want *want;
	size_t wants, want_room, want_at;
	struct parcel parcel; /* valid if have_parcel */
	bool have_parcel;
	/* Number that the source was last moved to; UINT64_MAX: none. */
	uint64_t sought;
	struct copy_fill fill;
	/* CRC32C of the first crc_bytes bytes of the block being sent;
	 * crc_bytes 0: not known. */
	uint32_t crc;
	uint64_t crc_bytes;
	int64_t due; /* steady ns: when the next piece may go */

	/* Steady ns: when the peer last took or sent something. */
	int64_t contact;
	/* Steady ns since when the peer has no room; 0: it has. */
	int64_t waiting;
	int64_t lanes_looked;
};

/* ---- copy_out.c ------------------------------------------------------ */

/* Sets the state, and a sentence that explains it, or "". */
void copy_out_say(struct copy_out *c, enum sender_state state, const char *why);
/* Sets state FAILED and why.  Returns -EPROTO: there is no other attempt. */
int copy_out_fail(struct copy_out *c, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Shows the facts, if it is time; tells whether it is paused. */
void copy_out_show(struct copy_out *c);

/* Takes a REFUSE: sets the state, and returns -EAGAIN or -EPROTO. */
int copy_out_refused(struct copy_out *c, const uint8_t *payload,
		     uint32_t bytes);

/* Takes the error of a link: sets the state, and returns -EAGAIN or
 * -ECANCELED. */
int copy_out_broke(struct copy_out *c, int err);

/* ---- copy_out_send.c ------------------------------------------------- */

int copy_out_head(struct copy_out *c);
/* Sends the index records that were not told yet, and asks for the list of
 * wanted pieces, c->want. */
int copy_out_ask(struct copy_out *c);
/* Sends all pieces in c->want.  0; -EAGAIN, -ECANCELED or -EPROTO. */
int copy_out_send(struct copy_out *c);
/* Compares digests.  *same: both ends have the same blocks; else c->want has
 * what the peer lacks. */
int copy_out_agree(struct copy_out *c, bool *same);
int copy_out_close(struct copy_out *c);
/* Handles the STATE frames that have arrived, without waiting. */
int copy_out_listen(struct copy_out *c);
void copy_out_parcel_put(struct copy_out *c);

#endif
