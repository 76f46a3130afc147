/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "wire/handshake.h"

void
handshake_begin(struct handshake *h, const struct handshake_args *args)
{
	memset(h, 0, sizeof *h);
	h->a = *args;
}

static void
handshake_mac(const struct handshake *h, const char role[5],
	      const uint8_t *sender, uint8_t mac[WIRE_MAC])
{
	uint8_t text[10 + 2 * WIRE_NONCE + WIRE_HELLO_BYTES];

	memcpy(text, "spt1 ", 5);
	memcpy(text + 5, role, 5);
	memcpy(text + 10, h->challenge, WIRE_NONCE);
	memcpy(text + 10 + WIRE_NONCE, sender, WIRE_NONCE);
	memcpy(text + 10 + 2 * WIRE_NONCE, h->hello, WIRE_HELLO_BYTES);
	h->a.hmac(h->a.secret, h->a.secret_bytes, text, sizeof text, mac);
}

/*
 * Completes the frame in `out`: writes the header before a payload that is
 * already in place.
 */
static void
handshake_out(struct handshake *h, uint16_t type, uint32_t bytes)
{
	struct wire_frame f = { .type = type, .payload_bytes = bytes };

	f.payload_crc = h->a.crc32c(0, h->out + WIRE_HEADER, bytes);
	wire_pack(&f, h->out, h->a.crc32c);
	h->out_bytes = WIRE_HEADER + bytes;
}

void
handshake_hello(struct handshake *h, const uint8_t *payload)
{
	memcpy(h->hello, payload, sizeof h->hello);
	h->out_bytes = 0;
	h->state = h->a.secret_bytes ? HANDSHAKE_WAITS : HANDSHAKE_DONE;
	if (h->state == HANDSHAKE_DONE || h->a.sender)
		return;
	memcpy(h->challenge, h->a.nonce, WIRE_NONCE);
	memcpy(h->out + WIRE_HEADER, h->a.nonce, WIRE_NONCE);
	handshake_out(h, WIRE_CHALLENGE, WIRE_NONCE);
}

/* Compares in constant time, so that timing tells an attacker nothing. */
static bool
handshake_same(const uint8_t *a, const uint8_t *b)
{
	volatile uint8_t differ = 0;

	for (unsigned i = 0; i < WIRE_MAC; i++)
		differ |= a[i] ^ b[i];
	return !differ;
}

static void
handshake_break(struct handshake *h, const char *why)
{
	h->state = HANDSHAKE_BROKEN;
	h->why = why;
}

static void
handshake_prove(struct handshake *h, const char role[5], const uint8_t *sender)
{
	uint8_t *payload = h->out + WIRE_HEADER;

	memcpy(payload, h->a.nonce, WIRE_NONCE);
	handshake_mac(h, role, sender, payload + WIRE_NONCE);
	handshake_out(h, WIRE_PROOF, WIRE_PROOF_BYTES);
}

static void
handshake_proof(struct handshake *h, const uint8_t *payload)
{
	bool sender = h->a.sender;
	uint8_t mac[WIRE_MAC];

	handshake_mac(h, sender ? "take" : "send",
		      sender ? h->a.nonce : payload, mac);
	if (!handshake_same(mac, payload + WIRE_NONCE)) {
		handshake_break(h, "a proof of another secret");
		return;
	}
	h->state = HANDSHAKE_DONE;
	if (!sender)
		handshake_prove(h, "take", payload);
}

bool
handshake_take(struct handshake *h, const struct wire_frame *f,
	       const uint8_t *payload)
{
	bool challenge = f->type == WIRE_CHALLENGE;

	h->out_bytes = 0;
	if (f->type == WIRE_REFUSE && h->a.sender)
		return false;
	if (challenge && h->a.sender && h->state == HANDSHAKE_WAITS) {
		memcpy(h->challenge, payload, WIRE_NONCE);
		handshake_prove(h, "send", h->a.nonce);
		h->state = HANDSHAKE_PROVED;
	} else if (challenge && h->a.sender && !h->a.secret_bytes) {
		handshake_break(h, "a challenge, and there is no secret here");
	} else if (f->type == WIRE_PROOF &&
		   h->state ==
		       (h->a.sender ? HANDSHAKE_PROVED : HANDSHAKE_WAITS)) {
		handshake_proof(h, payload);
	} else if (h->state == HANDSHAKE_DONE && !challenge &&
		   f->type != WIRE_PROOF) {
		return false;
	} else {
		handshake_break(h, h->state == HANDSHAKE_DONE
				       ? "a challenge or proof out of place"
				       : "no proof that it knows the secret");
	}
	return true;
}
