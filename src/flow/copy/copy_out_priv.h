/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_COPY_COPY_OUT_PRIV_H
#define SPATE_FLOW_COPY_COPY_OUT_PRIV_H

#include "channel/channel.h"
#include "wire/copy.h"
#include "flow/copy/copy_out.h"
#include "flow/send/pacer.h"
#include "flow/send/sender_thread.h"
#include "flow/source/block_reader.h"
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

/* The piece that is being copied out of the source. */
struct copy_fill {
	/* Sends the piece, which lies in its stage; NULL: there is none. */
	struct channel *lane;
	uint64_t number;
	uint32_t piece, bytes, have;
};

struct copy_out {
	struct sender base;	/* must be first: sender_thread.h */
	struct copy_out_args a; /* its texts and its secret are copies */
	uint8_t secret[1024];
	struct disks disks; /* a copy, opened by the thread */

	/* Only the thread uses these fields. */
	struct recording *rec;
	struct copy_lines *lines;
	uint64_t attempt;
	unsigned rounds; /* rounds of asking and agreeing so far */
	struct host host;
	struct channel_args link;   /* of all connections */
	const struct send_ops *ops; /* of link.beside; NULL: TCP alone */
	char scheme[16];	    /* of the URL, with `ops` */
	char json[1024], why[SEND_SENTENCE]; /* for `link` */
	struct channel lane[COPY_OUT_LANES];
	unsigned lanes_most; /* connections that an attempt makes */
	unsigned lanes;	     /* connections that were made */
	/* WIRE_PAYLOAD_MOST bytes, for frames that are sent. */
	uint8_t *buffer;
	/* Blocks with lower numbers were told in this attempt. */
	uint64_t told;
	bool asked; /* the peer has said once what it wants */
	/* Type of the frame that ends the answer that is awaited; 0: none. */
	unsigned awaits;
	struct copy_digest theirs; /* from the last AGREE */
	/* By number: 1 for a block that cannot be read, and is left out. */
	uint8_t *left;
	uint64_t left_n, left_room;

	struct copy_want *want;
	size_t wants, want_room, want_at;
	struct block_reader reader; /* of a.source */
	struct copy_fill fill;
	/* CRC32C of the first crc_bytes bytes of the block being sent;
	 * crc_bytes 0: not known. */
	uint32_t crc;
	uint64_t crc_bytes;
	struct pacer pacer;  /* a packet of its is a piece */
	uint64_t asked_rate; /* the rate as it was ordered */

	/* Steady ns: when the peer last took or sent something. */
	int64_t contact;
	/* Steady ns since when the peer has no room; 0: it has. */
	int64_t waiting;
};

/* ---- copy_out.c ------------------------------------------------------ */

/* Sets the state, and a sentence that explains it, or "". */
void copy_out_say(struct copy_out *c, enum sender_state state, const char *why);
/* Sets state FAILED and why.  Returns -EPROTO: there is no other attempt. */
int copy_out_fail(struct copy_out *c, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Takes the error of a channel, which left a sentence in c->why: sets the state,
 * and returns -EAGAIN or -EPROTO. */
int copy_out_broke(struct copy_out *c, int err);

/*
 * Waits until `until` (steady ns), an order, or news of a connection, and moves
 * all connections on.  0; -EAGAIN: one of them broke, and the state says why;
 * -ECANCELED: told to stop; -EPROTO.
 */
int copy_out_turn(struct copy_out *c, int64_t until);
/* Sends a frame on a connection, once it is free, and waits until the payload
 * is needed no more. */
int copy_out_tell(struct copy_out *c, struct channel *lane,
		  const struct wire_frame *frame, const void *payload,
		  uint32_t bytes);

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
/* Takes a frame of the receiver (channel_args::hear). */
int copy_out_hear(struct channel *lane, const struct wire_frame *f,
		  const uint8_t *payload);

#endif
