/* SPDX-License-Identifier: MIT */
#ifndef SPATE_BASE_SECRET_H
#define SPATE_BASE_SECRET_H

#include <stdint.h>

#include "base/fault.h"

/*
 * A secret is a line that two machines share, so that each can tell the other
 * from a stranger (wire/handshake.h).  It lies in a file of its own, which
 * not everybody may read.
 */
enum { SECRET_LEAST = 16, SECRET_MOST = 1024 };

struct secret {
	uint8_t bytes[SECRET_MOST];
	uint32_t n; /* 0: there is none */
};

/* The file without white space at its end.  0, or -errno with a fault, and
 * then it is empty. */
int secret_read(struct secret *s, const char *file, struct fault *fault);

/* It leaves no trace in memory. */
void secret_clear(struct secret *s);

/* As struct host has them. */
int secret_host(const char *file, uint8_t *secret, uint32_t *bytes, char *why,
		uint32_t why_bytes);
void hmac_sha256(const void *key, uint32_t key_bytes, const void *data,
		 uint64_t bytes, uint8_t out[32]);

#endif
