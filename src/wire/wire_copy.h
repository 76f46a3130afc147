/* SPDX-License-Identifier: MIT */
#ifndef SPATE_WIRE_WIRE_COPY_H
#define SPATE_WIRE_WIRE_COPY_H

#include <stdbool.h>

#include "contract/bytes.h"
#include "wire/wire.h"

/*
 * A copy transfers a recording unchanged from one spate to another: the
 * numbers, index records and checksums of its blocks, the lines of its
 * metadata, and all bytes of every block.  It uses the frame header of wire.h
 * with types of its own.  Each connection begins with a HELLO whose JSON says
 * {"copy":true,"name":..,["as":..]} and the WELCOME that answers it; then the
 * sender's STATE without payload, which says that it comes to copy and not only
 * to ask.
 *
 * Connection 0 alone carries the control frames:
 *
 *   sender    HEAD { INDEX }* ASK          { LEFT }*  AGREE        CLOSE
 *   receiver                      { WANT }*           { WANT }* AGREE  CLOSE
 *
 * Every connection carries PIECEs of wanted blocks, in any order.  On
 * connections other than 0 an ASK says that all pieces for the AGREE with the
 * same `run` have been sent before it.  INDEX and ASK come again as a recording
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

static inline const char *
wire_copy_check_payload(const struct wire_frame *f)
{
	uint32_t bytes = f->payload_bytes;

	switch (f->type) {
	case WIRE_HEAD:
		return bytes && bytes <= COPY_HEAD_MOST
			   ? NULL
			   : "the head of a recording with a wrong length";
	case WIRE_INDEX:
		return f->packets && bytes / COPY_TOLD_BYTES >= f->packets
			   ? NULL
			   : "an index without room for its records";
	case WIRE_WANT:
		return (uint64_t)f->packets * COPY_WANT_BYTES == bytes
			   ? NULL
			   : "a list that is not as long as what is wanted";
	case WIRE_PIECE:
		return bytes && bytes <= COPY_PIECE
			   ? NULL
			   : "a piece of a block with an impossible length";
	case WIRE_AGREE:
		return bytes == COPY_DIGEST_BYTES
			   ? NULL
			   : "a digest of a wrong length";
	case WIRE_CLOSE:
		return f->packets <= 1 && bytes >= f->packets * COPY_RECORD
			   ? NULL
			   : "an end without room for its record";
	case WIRE_STATE:
		return bytes <= COPY_STATE_MOST ? NULL
						: "a state that is too long";
	default:
		return bytes ? "a payload in a frame that can have none" : NULL;
	}
}

/*
 * Checks a frame of wire.h or of a copy whose header checksum was good.  NULL,
 * or what is wrong.
 */
static inline const char *
wire_copy_check(const struct wire_frame *f)
{
	bool counts = f->type == WIRE_INDEX || f->type == WIRE_WANT ||
		      f->type == WIRE_CLOSE;

	if (f->type < WIRE_HEAD)
		return wire_check(f);
	if (f->type >= WIRE_COPY_TYPES)
		return "a frame of a type that is not known here";
	if (f->header_bytes != WIRE_HEADER)
		return "a frame whose header has an impossible length";
	if (f->payload_bytes > WIRE_PAYLOAD_MOST)
		return "a frame larger than 4 MiB";
	if (f->run >= WIRE_RUNS || f->first >= WIRE_SEQUENCES)
		return "a frame with an impossible number";
	if (f->packets && !counts)
		return "packets in a frame that can have none";
	return wire_copy_check_payload(f);
}

/*
 * Reads the header of a frame of wire.h or of a copy, like wire_unpack().
 * NULL, or what is wrong.
 */
static inline const char *
wire_copy_unpack(struct wire_frame *f, const uint8_t *at, wire_crc32c *crc)
{
	if (read_le32(at) != WIRE_MAGIC)
		return "something that is no frame of spate's";
	if (read_le32(at + 44) != crc(0, at, 44))
		return "a frame header with a wrong checksum";
	*f = (struct wire_frame){
		.type = read_le16(at + 4),
		.header_bytes = read_le16(at + 6),
		.payload_bytes = read_le32(at + 8),
		.packets = read_le32(at + 12),
		.run = read_le64(at + 16),
		.first = read_le64(at + 24),
		.time_ns = read_le64(at + 32),
		.payload_crc = read_le32(at + 40),
	};
	return wire_copy_check(f);
}

/*
 * Writes an entry of INDEX: COPY_TOLD_BYTES and its lines.  Returns the bytes
 * written, or 0 if they are more than `left`.
 */
static inline uint32_t
copy_told_pack(const struct copy_told *t, uint8_t *to, uint32_t left)
{
	if (left < COPY_TOLD_BYTES || left - COPY_TOLD_BYTES < t->lines_bytes)
		return 0;
	for (unsigned i = 0; i < COPY_RECORD; i++)
		to[i] = t->record[i];
	write_le64(to + 64, t->base);
	write_le64(to + 72, (uint64_t)t->arrival_ns);
	write_le32(to + 80, t->gap);
	write_le32(to + 84, t->lines_bytes);
	for (uint32_t i = 0; i < t->lines_bytes; i++)
		to[COPY_TOLD_BYTES + i] = (uint8_t)t->lines[i];
	return COPY_TOLD_BYTES + t->lines_bytes;
}

/*
 * Reads an entry of INDEX; `t` then points into the payload at `at`.  Returns
 * the entry's length, or 0 if it is longer than `left`.
 */
static inline uint32_t
copy_told_unpack(struct copy_told *t, const uint8_t *at, uint32_t left)
{
	if (left < COPY_TOLD_BYTES)
		return 0;
	*t = (struct copy_told){
		.record = at,
		.base = read_le64(at + 64),
		.arrival_ns = (int64_t)read_le64(at + 72),
		.gap = read_le32(at + 80),
		.lines_bytes = read_le32(at + 84),
		.lines = (const char *)at + COPY_TOLD_BYTES,
	};
	if (t->lines_bytes > left - COPY_TOLD_BYTES)
		return 0;
	return COPY_TOLD_BYTES + t->lines_bytes;
}

static inline void
copy_want_pack(const struct copy_want *w, uint8_t *to)
{
	write_le64(to, w->number);
	write_le32(to + 8, w->first);
	write_le32(to + 12, w->pieces);
}

static inline void
copy_want_unpack(struct copy_want *w, const uint8_t *at)
{
	*w = (struct copy_want){ .number = read_le64(at),
				 .first = read_le32(at + 8),
				 .pieces = read_le32(at + 12) };
}

static inline void
copy_digest_pack(const struct copy_digest *d, uint8_t *to)
{
	write_le64(to, d->blocks);
	write_le64(to + 8, d->bytes);
	write_le64(to + 16, d->hash);
	write_le32(to + 24, d->crc);
	write_le32(to + 28, 0);
}

static inline void
copy_digest_unpack(struct copy_digest *d, const uint8_t *at)
{
	*d = (struct copy_digest){ .blocks = read_le64(at),
				   .bytes = read_le64(at + 8),
				   .hash = read_le64(at + 16),
				   .crc = read_le32(at + 24) };
}

/*
 * Adds one block to the digest; blocks are added in ascending order of their
 * numbers.
 */
static inline void
copy_digest_add(struct copy_digest *d, uint64_t number, uint64_t bytes,
		uint32_t crc, wire_crc32c *sum)
{
	uint8_t raw[20];

	write_le64(raw, number);
	write_le64(raw + 8, bytes);
	write_le32(raw + 16, crc);
	if (!d->blocks++)
		d->hash = BYTES_HASH;
	d->hash = bytes_hash(d->hash, raw, sizeof raw);
	d->crc = sum(d->crc, raw, sizeof raw);
	d->bytes += bytes;
}

static inline bool
copy_digest_same(const struct copy_digest *a, const struct copy_digest *b)
{
	return a->blocks == b->blocks && a->bytes == b->bytes &&
	       a->hash == b->hash && a->crc == b->crc;
}

#endif
