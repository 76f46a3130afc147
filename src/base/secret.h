/* SPDX-License-Identifier: MIT */
#ifndef SPATE_BASE_SECRET_H
#define SPATE_BASE_SECRET_H

#include <stdint.h>

#include "base/fault.h"

/*
 * A secret is a line of text that two machines share, so that each can
 * recognise the other (wire/handshake.h).  It is kept in a file of its own that
 * only its owner and group may read.
 */
enum { SECRET_LEAST = 16, SECRET_MOST = 1024 };

struct secret {
	uint8_t bytes[SECRET_MOST];
	uint32_t n; /* length; 0: no secret */
};

/*
 * Reads a secret without the white space at its end.  0, or -errno with a
 * fault, and then the secret is empty.
 */
int secret_read(struct secret *s, const char *file, struct fault *fault);

/* Wipes the secret from memory. */
void secret_clear(struct secret *s);

/* Implementations of two functions of struct host. */
int secret_host(const char *file, uint8_t *secret, uint32_t *bytes, char *why,
		uint32_t why_bytes);
void hmac_sha256(const void *key, uint32_t key_bytes, const void *data,
		 uint64_t bytes, uint8_t out[32]);

#endif
