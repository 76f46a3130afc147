/* SPDX-License-Identifier: MIT */
#ifndef SPATE_WIRE_FRAME_H
#define SPATE_WIRE_FRAME_H

#include <stddef.h>
#include <stdint.h>

#include "contract/bytes.h"

/*
 * A wire frame is the unit that spate's own TCP connections carry: a header,
 * then its payload.  Numbers are little-endian.
 *
 *   byte  0  u32  magic: 'S' 'P' 'T' '1'
 *         4  u16  type: WIRE_HELLO ...
 *         6  u16  header bytes: 48 to 512; a reader skips the bytes behind
 *                 byte 47 that it does not know
 *         8  u32  payload bytes, at most 4 MiB
 *        12  u32  packets in the payload
 *        16  u64  run, below 2^32
 *        24  u64  first sequence, that of the first packet: counts packets
 *                 and is relative to the run, below 2^47
 *        32  u64  time of the first packet, UTC, ns since 1970; 0: unknown
 *        40  u32  CRC32C of the payload
 *        44  u32  CRC32C of bytes 0 to 43
 *
 * A transfer is all that one sender sends, over one or more connections that it
 * may open at any time, and again when one breaks.  Each connection carries:
 *
 *   sender    HELLO          [ PROOF ]          { DATA }* END
 *   receiver        [ CHALLENGE ]    [ PROOF ] HAVE           HAVE
 *
 * The frames in brackets are sent if a secret is shared (handshake.h).  The
 * HAVE behind an END says what the receiver has, once everything before the END
 * is stored.  In place of the first HAVE the receiver sends WELCOME if it takes
 * copies of recordings instead of packets.  In place of any answer it may send
 * REFUSE (refuse.h) and close the connection.
 *
 * A run is a row of packets that are numbered consecutively; a later run has a
 * larger number.  The frames of a transfer may be dealt to its connections in
 * any way, but on each connection run and sequence only grow: so a packet that
 * all connections have passed is known to be lost, and a receiver may hold back
 * one connection for another that lags.  A connection that has nothing to send
 * for long sends DATA without packets to say how far the others are.
 */
#define WIRE_MAGIC 0x31545053u

enum {
	WIRE_HEADER = 48,
	WIRE_HEADER_MOST = 512,
	WIRE_PAYLOAD_MOST = 4 << 20,
	WIRE_VERSION = 1,
	WIRE_CONNECTIONS = 256, /* most connections of a transfer */
	/*
	 * Default port of a tcp:// URL: that of a stream.  If an inbox answers
	 * there, the copy goes to it just as well.  The examples put an inbox
	 * on 2631.
	 */
	WIRE_PORT = 2630,
};

enum wire_type {
	WIRE_HELLO = 1, /* payload: struct wire_hello.  Time: when this
			 * sender began, the same on all its connections, if
			 * it sends again what the receiver lacks; 0: it
			 * never sends again.  All other fields are 0 */
	WIRE_HAVE = 2,	/* run, first: the receiver has everything before
			 * that; both 0: nothing yet.  No payload */
	WIRE_DATA = 3,	/* `packets` payloads, one behind the other; or none,
			 * which says that no packet before `first` of `run`
			 * will come on this connection any more */
	WIRE_END = 4,	/* says the same as DATA without packets, and that
			 * this connection sends nothing more.  No payload */
	WIRE_CHALLENGE = 5, /* payload: the receiver's nonce */
	WIRE_PROOF = 6,	    /* payload: a nonce, and a MAC that proves
			     * knowledge of the secret */
	WIRE_WELCOME = 7,   /* payload: JSON, or none */
	WIRE_REFUSE = 8,    /* payload: JSON with the reason (refuse.h) */
	WIRE_TYPES,	    /* one more than the last type above */
	WIRE_BESIDE = 24,   /* before a HAVE or WELCOME: payloads of DATA
			     * and PIECE do not come over this connection but over a channel of
			     * their own (ucx); this payload says how to
			     * reach it */
};

enum {
	WIRE_NONCE = 32,
	WIRE_MAC = 32,
	WIRE_PROOF_BYTES = WIRE_NONCE + WIRE_MAC,
	WIRE_ANSWER_MOST = 64 << 10, /* bytes; longest payload of WELCOME,
				      * REFUSE and BESIDE */
};

struct wire_frame {
	uint16_t type;
	uint16_t header_bytes; /* 0 for wire_pack() means WIRE_HEADER */
	uint32_t payload_bytes;
	uint32_t packets;
	uint64_t run, first;
	uint64_t time_ns;
	uint32_t payload_crc;
};

/* CRC32C, as struct host offers it. */
typedef uint32_t wire_crc32c(uint32_t crc, const void *data, uint64_t bytes);

#define WIRE_RUNS      (UINT64_C(1) << 32)
#define WIRE_SEQUENCES (UINT64_C(1) << 47)

/* Writes the WIRE_HEADER bytes of a frame to `to`. */
void wire_pack(const struct wire_frame *f, uint8_t *to, wire_crc32c *crc);

/* Reads the WIRE_HEADER bytes at `at`.  NULL, or what is wrong with them. */
const char *wire_unpack(struct wire_frame *f, const uint8_t *at,
			wire_crc32c *crc);

/*
 * The two steps of wire_unpack(), for connections that carry frames of further
 * types (copy.h): reading, which checks the magic number and the checksum, and
 * checking the fields of one of this file's types.
 */
const char *wire_unpack_any(struct wire_frame *f, const uint8_t *at,
			    wire_crc32c *crc);
const char *wire_check(const struct wire_frame *f);

/*
 * Checks the payload length of a DATA frame, once the HELLO has said how large
 * packets are.  NULL, or what is wrong.
 */
const char *wire_check_data(const struct wire_frame *f, uint32_t packet_bytes);

/*
 * The payload of a HELLO:
 *
 *   byte  0  u32  version, 1
 *         4  u32  bytes of a packet: payload / packets of every DATA
 *         8  u32  connections that this transfer will have, 1 to 256
 *        12  u32  index of this connection, from 0
 *        16  u64  transfer: a random number, the same on all connections of
 *                 the transfer and on no others; never 0
 *        24       JSON, about what is sent; may be missing
 */
enum { WIRE_HELLO_BYTES = 24 };

struct wire_hello {
	uint32_t version, packet_bytes, connections, connection;
	uint64_t transfer;
};

void wire_hello_pack(const struct wire_hello *h, uint8_t *to);

/* Reads and checks the payload of a HELLO.  NULL, or what is wrong with it. */
const char *wire_hello_unpack(struct wire_hello *h, const uint8_t *at,
			      uint32_t bytes);

#endif
