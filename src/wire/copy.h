/* SPDX-License-Identifier: MIT */
#ifndef SPATE_WIRE_COPY_H
#define SPATE_WIRE_COPY_H

#include <stdbool.h>

#include "contract/bytes.h"
#include "wire/frame.h"

/*
 * A copy transfers a recording unchanged from one spate to another: the
 * numbers, index records and checksums of its blocks, the lines of its
 * metadata, and all bytes of every block.  It uses the frame header of frame.h
 * with types of its own.  Each connection begins with a HELLO whose JSON says
 * {"copy":true,"name":..,["as":..],["beside":..]} and the WELCOME that answers it; then the
 * sender's STATE without payload, which says that it comes to copy and not only
 * to ask.
 *
 * Connection 0 alone carries the control frames:
 *
 *   sender    HEAD { INDEX }* ASK          { LEFT }*  AGREE        CLOSE
 *   receiver                      { WANT }*           { WANT }* AGREE  CLOSE
 *
 * Every connection carries PIECEs of wanted blocks, in any order.  A sender that
 * names a plugin as "beside" gets BESIDE before the WELCOME: the payloads of
 * PIECEs then go that way, and their headers alone over this connection.  On
 * connections other than 0 an ASK says that all pieces for the ASK or AGREE of
 * connection 0 with the same `run` have been sent before it.  INDEX and ASK come again as a recording
 * grows; pieces and AGREE come again until both ends have the same blocks.
 * STATE reports in between what the receiver is doing.
 *
 * When one connection breaks, the sender closes the others and begins again,
 * which costs little: the receiver does not ask again for pieces it has.
 *
 * A piece is COPY_PIECE bytes of a block, at a multiple of COPY_PIECE; the last
 * piece of a block may be shorter.
 */
enum { COPY_PIECE = 1 << 20 };

enum wire_copy_type {
	WIRE_HEAD = 9,	 /* payload: the first line of the metadata */
	WIRE_INDEX = 10, /* payload: `packets` structs copy_told, one behind
			  * the other, each with its metadata lines */
	WIRE_ASK = 11,	 /* the index so far is complete: the receiver should
			  * say what it wants */
	WIRE_WANT = 12,	 /* payload: `packets` structs copy_want; without
			  * any: the list is complete.  first: bytes that the
			  * receiver has already */
	WIRE_PIECE = 13, /* first: the block's number; run: index of the
			  * piece in its block; payload: the piece's bytes */
	WIRE_LEFT = 14,	 /* first: the number of a block that the sender
			  * cannot read */
	WIRE_AGREE = 15, /* payload: struct copy_digest.  From the sender: of
			  * all blocks in its INDEX but those it LEFT.  From
			  * the receiver, after its WANTs: of all blocks that
			  * are durable there */
	WIRE_CLOSE = 16, /* both digests agree.  `packets` is 1 if the
			  * recording has ended: then the payload is its end
			  * record, COPY_RECORD bytes, and metadata lines for
			  * every disk.  The receiver's answer has no payload
			  * and says that everything is durable */
	WIRE_STATE = 17, /* from the receiver, at any time: JSON {"state":..,
			  * "why":..}; state is "looking", "waiting" or
			  * "ready".  From the sender, at the start: no
			  * payload */
	WIRE_COPY_TYPES,
};

enum {
	COPY_RECORD = 64, /* bytes; a record as in the index, with its own
			   * checksum */
	COPY_TOLD_BYTES = COPY_RECORD + 24,
	COPY_WANT_BYTES = 16,
	COPY_DIGEST_BYTES = 32,
	COPY_HEAD_MOST = 1 << 20,
	COPY_STATE_MOST = 4096,
};

/* One entry of INDEX: what the sender says about a block. */
struct copy_told {
	const uint8_t *record; /* COPY_RECORD bytes, unchanged from the
				* sender's index */
	uint64_t base;	       /* absolute sequence of slot 0 of its run */
	int64_t arrival_ns;    /* arrival of the first packet of its run, UTC
				* ns; 0: unknown */
	uint32_t gap;	       /* slots of the gap before the block, whose
				* record has the number before; 0: no gap */
	uint32_t lines_bytes;  /* bytes of its metadata lines, each ends with
				* a newline */
	const char *lines;
};

struct copy_want {
	uint64_t number;
	uint32_t first, pieces;
};

struct copy_digest {
	uint64_t blocks, bytes, hash;
	uint32_t crc;
};

/*
 * Reads the header of a frame of frame.h or of a copy, like wire_unpack().
 * NULL, or what is wrong.
 */
const char *wire_copy_unpack(struct wire_frame *f, const uint8_t *at,
			     wire_crc32c *crc);

/*
 * Writes an entry of INDEX: COPY_TOLD_BYTES and its lines.  Returns the bytes
 * written, or 0 if they are more than `left`.
 */
uint32_t copy_told_pack(const struct copy_told *t, uint8_t *to, uint32_t left);

/*
 * Reads an entry of INDEX; `t` then points into the payload at `at`.  Returns
 * the entry's length, or 0 if it is longer than `left`.
 */
uint32_t copy_told_unpack(struct copy_told *t, const uint8_t *at,
			  uint32_t left);

void copy_want_pack(const struct copy_want *w, uint8_t *to);

void copy_want_unpack(struct copy_want *w, const uint8_t *at);

void copy_digest_pack(const struct copy_digest *d, uint8_t *to);

void copy_digest_unpack(struct copy_digest *d, const uint8_t *at);

/*
 * Adds one block to the digest; blocks are added in ascending order of their
 * numbers.
 */
void copy_digest_add(struct copy_digest *d, uint64_t number, uint64_t bytes,
		     uint32_t crc, wire_crc32c *crc32c);

bool copy_digest_same(const struct copy_digest *a, const struct copy_digest *b);

#endif
