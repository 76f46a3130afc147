/* SPDX-License-Identifier: MIT */
#ifndef SPATE_WIRE_WIRE_H
#define SPATE_WIRE_WIRE_H

#include <stddef.h>
#include <stdint.h>

#include "contract/bytes.h"

/*
 * A wire frame is what spate's own TCP connections carry: a header, then its
 * payload.  Numbers are little-endian.
 *
 *   byte  0  u32  magic: 'S' 'P' 'T' '1'
 *         4  u16  type: WIRE_HELLO ...
 *         6  u16  header bytes: 48 to 512; what is behind byte 47 is to be
 *                 skipped by whoever does not know it
 *         8  u32  payload bytes, at most 4 MiB
 *        12  u32  packets in it
 *        16  u64  run, below 2^32
 *        24  u64  first sequence, that of the first packet: counts packets
 *                 and is relative to the run, below 2^47
 *        32  u64  time of the first packet, UTC, ns since 1970; 0: not known
 *        40  u32  CRC32C of the payload
 *        44  u32  CRC32C of bytes 0 to 43
 *
 * A transfer is what one sender sends, over one or more connections that it
 * may open at any time, and again when one breaks.  On each of them:
 *
 *   sender    HELLO          [ PROOF ]          { DATA }* END
 *   receiver        [ CHALLENGE ]    [ PROOF ] HAVE           HAVE
 *
 * What is in brackets is there where a secret is shared (handshake.h).  Behind
 * an END the HAVE says where the receiver stands, once all before that is
 * kept.  In place of the first HAVE there may be WELCOME, when the receiver
 * takes copies of recordings, and not packets; and in place of any answer
 * REFUSE (refuse.h), and then the connection is closed.
 *
 * A run is packets that are numbered through; another run has another number,
 * larger by one or more.  The frames of a transfer are dealt to its
 * connections in any way, but on each connection run and sequence only grow:
 * so what is missing on all of them is known to be lost, and a receiver may
 * hold back one connection for another that lags.  Where a connection has
 * nothing to send for long, DATA without packets says where the others are.
 */
#define WIRE_MAGIC 0x31545053u

enum {
	WIRE_HEADER = 48,
	WIRE_HEADER_MOST = 512,
	WIRE_PAYLOAD_MOST = 4 << 20,
	WIRE_VERSION = 1,
	WIRE_CONNECTIONS = 256, /* most of a transfer */
	/* The port of tcp://host without one: a stream's.  What answers there
	 * may be an inbox all the same, and then the copy goes there, too.
	 * Examples of an inbox have 2631. */
	WIRE_PORT = 2630,
};

enum wire_type {
	WIRE_HELLO = 1, /* payload: struct wire_hello.  Time: when this sender
			   began, the same on all its connections, where it
			   sends again what the receiver has not got; 0: it
			   does not.  The rest is 0 */
	WIRE_HAVE = 2,	/* run, first: what is before that the receiver has
			   already; both 0: nothing.  No payload */
	WIRE_DATA = 3,	/* `packets` payloads, one behind the other; or none,
			   and then no packet before `first` of `run` will
			   come on this connection any more */
	WIRE_END = 4,	/* the same, and this connection sends nothing more.
			   No payload */
	WIRE_CHALLENGE = 5, /* payload: the receiver's nonce */
	WIRE_PROOF = 6,	    /* payload: a nonce, and what proves that the
			       secret is known */
	WIRE_WELCOME = 7,   /* payload: JSON, or none */
	WIRE_REFUSE = 8,    /* payload: JSON, why */
	WIRE_TYPES,	    /* one more than the last of these */
	WIRE_BESIDE = 24,   /* before a HAVE: payloads of DATA do not come in
			       this connection, but in a way of their own
			       (ucx), and this payload says where to */
};

enum {
	WIRE_NONCE = 32,
	WIRE_MAC = 32,
	WIRE_PROOF_BYTES = WIRE_NONCE + WIRE_MAC,
	WIRE_ANSWER_MOST = 64 << 10, /* payload of WELCOME and REFUSE */
};

struct wire_frame {
	uint16_t type;
	uint16_t header_bytes; /* pack: 0 is WIRE_HEADER */
	uint32_t payload_bytes;
	uint32_t packets;
	uint64_t run, first;
	uint64_t time_ns;
	uint32_t payload_crc;
};

/* As struct host has it. */
typedef uint32_t wire_crc32c(uint32_t crc, const void *data, uint64_t bytes);

#define WIRE_RUNS      (UINT64_C(1) << 32)
#define WIRE_SEQUENCES (UINT64_C(1) << 47)

/* Writes the WIRE_HEADER bytes of a frame. */
static inline void
wire_pack(const struct wire_frame *f, uint8_t *to, wire_crc32c *crc)
{
	uint32_t type =
	    f->type |
	    (uint32_t)(f->header_bytes ? f->header_bytes : WIRE_HEADER) << 16;

	write_le32(to, WIRE_MAGIC);
	write_le32(to + 4, type);
	write_le32(to + 8, f->payload_bytes);
	write_le32(to + 12, f->packets);
	write_le64(to + 16, f->run);
	write_le64(to + 24, f->first);
	write_le64(to + 32, f->time_ns);
	write_le32(to + 40, f->payload_crc);
	write_le32(to + 44, crc(0, to, 44));
}

/* Can a frame of its type have such a payload?  NULL, or what is wrong. */
static inline const char *
wire_check_payload(const struct wire_frame *f)
{
	switch (f->type) {
	case WIRE_HELLO: return NULL;
	case WIRE_DATA:
		if (!f->packets != !f->payload_bytes ||
		    f->packets > f->payload_bytes)
			return "a frame without room for its packets";
		return NULL;
	case WIRE_CHALLENGE:
		return f->payload_bytes == WIRE_NONCE
			   ? NULL
			   : "a challenge of a wrong length";
	case WIRE_PROOF:
		return f->payload_bytes == WIRE_PROOF_BYTES
			   ? NULL
			   : "a proof of a wrong length";
	case WIRE_BESIDE:
	case WIRE_WELCOME:
	case WIRE_REFUSE:
		return f->payload_bytes <= WIRE_ANSWER_MOST
			   ? NULL
			   : "an answer that is too long";
	default:
		return f->payload_bytes
			   ? "a payload in a frame that can have none"
			   : NULL;
	}
}

/* What is wrong with a frame whose header is as it was sent; NULL: nothing. */
static inline const char *
wire_check(const struct wire_frame *f)
{
	if (f->type < WIRE_HELLO ||
	    (f->type >= WIRE_TYPES && f->type != WIRE_BESIDE))
		return "a frame of a type that is not known here";
	if (f->header_bytes < WIRE_HEADER || f->header_bytes > WIRE_HEADER_MOST)
		return "a frame whose header has an impossible length";
	if (f->payload_bytes > WIRE_PAYLOAD_MOST)
		return "a frame larger than 4 MiB";
	if (f->run >= WIRE_RUNS || f->first >= WIRE_SEQUENCES)
		return "a frame with an impossible run or sequence";
	if (f->packets && f->type != WIRE_DATA)
		return "packets in a frame that can have none";
	return wire_check_payload(f);
}

/* Reads the WIRE_HEADER bytes at `at`.  NULL, or what is wrong with them. */
static inline const char *
wire_unpack(struct wire_frame *f, const uint8_t *at, wire_crc32c *crc)
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
	return wire_check(f);
}

/* The same for DATA, once the HELLO has said how large packets are. */
static inline const char *
wire_check_data(const struct wire_frame *f, uint32_t packet_bytes)
{
	if ((uint64_t)f->packets * packet_bytes != f->payload_bytes)
		return "a frame that is not as long as its packets";
	return NULL;
}

/*
 * The payload of a HELLO:
 *
 *   byte  0  u32  version, 1
 *         4  u32  bytes of a packet: payload / packets of every DATA
 *         8  u32  connections that this transfer will have, 1 to 256
 *        12  u32  which of them this one is, from 0
 *        16  u64  transfer: a number drawn by chance, the same on all of its
 *                 connections and on no others; never 0
 *        24       JSON, about what is sent; may be missing
 */
enum { WIRE_HELLO_BYTES = 24 };

struct wire_hello {
	uint32_t version, packet_bytes, connections, connection;
	uint64_t transfer;
};

static inline void
wire_hello_pack(const struct wire_hello *h, uint8_t *to)
{
	write_le32(to, h->version);
	write_le32(to + 4, h->packet_bytes);
	write_le32(to + 8, h->connections);
	write_le32(to + 12, h->connection);
	write_le64(to + 16, h->transfer);
}

/* NULL, or what is wrong with it. */
static inline const char *
wire_hello_unpack(struct wire_hello *h, const uint8_t *at, uint32_t bytes)
{
	if (bytes < WIRE_HELLO_BYTES)
		return "a hello that is too short";
	*h = (struct wire_hello){ .version = read_le32(at),
				  .packet_bytes = read_le32(at + 4),
				  .connections = read_le32(at + 8),
				  .connection = read_le32(at + 12),
				  .transfer = read_le64(at + 16) };
	if (h->version != WIRE_VERSION)
		return "a hello of another version";
	if (!h->packet_bytes || h->packet_bytes > WIRE_PAYLOAD_MOST)
		return "a hello with an impossible packet size";
	if (!h->connections || h->connections > WIRE_CONNECTIONS ||
	    h->connection >= h->connections)
		return "a hello with an impossible number of connections";
	if (!h->transfer)
		return "a hello without a transfer";
	return NULL;
}

#endif
