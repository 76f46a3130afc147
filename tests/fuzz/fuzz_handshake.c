/* SPDX-License-Identifier: MIT */
/*
 * Feeds either end of a handshake with foreign frames.  The first byte says
 * which end, and whether it has a secret; then each frame is a byte for its
 * type, and its payload.
 *
 * Without the secret there is no way to HANDSHAKE_DONE.  What a REFUSE says is
 * text that ends, whatever it is made of.
 */
#include <stdlib.h>

#include "wire/handshake.h"
#include "wire/refuse.h"

static void
require(bool truth)
{
	if (!truth)
		abort();
}

static uint32_t
crc(uint32_t start, const void *data, uint64_t bytes)
{
	const uint8_t *at = data;

	while (bytes--)
		start += *at++;
	return start;
}

/* Nobody can guess it, as far as inputs go: it is no function of its own
 * output. */
static void
mac(const void *key, uint32_t key_bytes, const void *data, uint64_t bytes,
    uint8_t out[32])
{
	uint64_t sum = 14695981039346656037u;
	const uint8_t *at = data;

	require(key_bytes == 8);
	(void)key;
	for (uint64_t i = 0; i < bytes; i++)
		sum = (sum ^ at[i]) * 1099511628211u;
	for (unsigned i = 0; i < 32; i++) {
		sum = (sum ^ i) * 1099511628211u;
		out[i] = (uint8_t)(sum >> 40);
	}
}

static void
refuse_read(const uint8_t *at, size_t bytes)
{
	struct refuse r, back;
	uint8_t again[REFUSE_MOST];
	uint32_t n;

	refuse_unpack(&r, at, (uint32_t)bytes);
	require(memchr(r.code, 0, sizeof r.code) &&
		memchr(r.what, 0, sizeof r.what) &&
		memchr(r.why, 0, sizeof r.why));
	n = refuse_pack(&r, again);
	require(n <= REFUSE_MOST);
	refuse_unpack(&back, again, n);
	require(!strcmp(r.what, back.what) && !strcmp(r.why, back.why) &&
		!strcmp(r.code, back.code));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	static const uint8_t hello[WIRE_HELLO_BYTES] = { 1 };
	struct handshake_args a = { .hmac = mac, .crc32c = crc };
	struct handshake h;
	struct wire_frame f = { 0 };

	if (!bytes)
		return 0;
	refuse_read(data + 1, bytes - 1);
	a.sender = data[0] & 1;
	a.secret = (const uint8_t *)"the one.";
	a.secret_bytes = data[0] & 2 ? 8 : 0;
	handshake_begin(&h, &a);
	handshake_hello(&h, hello);
	for (size_t at = 1; at < bytes; at += 1 + f.payload_bytes) {
		uint8_t payload[WIRE_PROOF_BYTES] = { 0 };
		size_t left = bytes - at - 1;

		f.type = data[at] % WIRE_TYPES;
		f.payload_bytes = f.type == WIRE_PROOF	     ? WIRE_PROOF_BYTES
				  : f.type == WIRE_CHALLENGE ? WIRE_NONCE
							     : 0;
		if (left > f.payload_bytes)
			left = f.payload_bytes;
		memcpy(payload, data + at + 1, left);
		if (!handshake_take(&h, &f, payload))
			require(f.type == WIRE_REFUSE || !a.secret_bytes);
		require(h.out_bytes <= sizeof h.out);
		require(h.state != HANDSHAKE_DONE || !a.secret_bytes);
		require((h.state == HANDSHAKE_BROKEN) == (h.why != NULL));
	}
	return 0;
}
