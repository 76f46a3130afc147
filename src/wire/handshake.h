/* SPDX-License-Identifier: MIT */
#ifndef SPATE_WIRE_HANDSHAKE_H
#define SPATE_WIRE_HANDSHAKE_H

#include <stdbool.h>
#include <string.h>

#include "wire/frame.h"

/*
 * The handshake proves to each end of a connection that the other one knows the
 * shared secret; it follows the HELLO and precedes everything else (frame.h):
 *
 *   sender                          receiver
 *   HELLO                     -->
 *                             <--   CHALLENGE nonce R
 *   PROOF nonce S, MAC "send" -->
 *                             <--   PROOF nonce R, MAC "take"
 *
 *   MAC = HMAC-SHA256(secret, "spt1 " role '\0' | R | S | the first
 *                     WIRE_HELLO_BYTES of the HELLO's payload)
 *
 * So a proof is valid once: for one role, in one connection of one transfer.
 * It authenticates the peer when the connection begins, and nothing after that:
 * data are neither encrypted nor authenticated.
 *
 *   handshake_begin -> handshake_hello -> { handshake_take }* until DONE
 *
 * The functions do no input or output: `out` holds the bytes to send next.  An
 * end without a secret is done at once; it refuses a peer that asks for a
 * proof, as an end with a secret refuses a peer that gives none.
 */
typedef void handshake_hmac(const void *key, uint32_t key_bytes,
			    const void *data, uint64_t bytes, uint8_t out[32]);

struct handshake_args {
	const uint8_t *secret; /* must outlive the handshake */
	uint32_t secret_bytes; /* 0: no secret is configured */
	handshake_hmac *hmac;
	wire_crc32c *crc32c;
	bool sender;
	uint8_t nonce[WIRE_NONCE]; /* random, another one for each handshake */
};

enum handshake_state {
	HANDSHAKE_GREETS, /* the HELLO has not been sent or received */
	HANDSHAKE_WAITS,  /* waiting for the peer's next handshake frame */
	HANDSHAKE_PROVED, /* sender only: its proof is sent, the receiver's
			   * is awaited */
	HANDSHAKE_DONE,
	HANDSHAKE_BROKEN,
};

struct handshake {
	struct handshake_args a;
	enum handshake_state state;
	uint8_t challenge[WIRE_NONCE]; /* the receiver's nonce, R */
	uint8_t hello[WIRE_HELLO_BYTES];
	uint8_t out[WIRE_HEADER + WIRE_PROOF_BYTES];
	uint32_t out_bytes; /* bytes of `out` to send; 0: none */
	const char *why;    /* set in HANDSHAKE_BROKEN: the reason, a static
			     * text */
};

void handshake_begin(struct handshake *h, const struct handshake_args *args);

/*
 * Starts the exchange with the payload of the HELLO that was sent or received,
 * at least WIRE_HELLO_BYTES of it.  A receiver with a secret then has its
 * CHALLENGE in `out`.
 */
void handshake_hello(struct handshake *h, const uint8_t *payload);

/*
 * Handles a complete frame other than HELLO.  Returns true if the frame was
 * part of the handshake, which may be BROKEN after it.  Returns false if the
 * frame is for the caller: the handshake is DONE, or the frame is a REFUSE,
 * which a sender may get at any time.
 */
bool handshake_take(struct handshake *h, const struct wire_frame *f,
		    const uint8_t *payload);

#endif
