/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CONTRACT_LOG_H
#define SPATE_CONTRACT_LOG_H

#include <stdint.h>

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };

/*
 * What the core does for a plugin.  The struct outlives every instance that
 * was given it; its callbacks may be called from any thread.
 */
struct host {
	void *ctx;
	/* Writes one line to the log, with the session's name before it. */
	void (*log)(void *ctx, enum log_level level, const char *format, ...)
	    __attribute__((format(printf, 3, 4)));
	/* Now, in nanoseconds since 1970 (UTC); a test may replace it. */
	int64_t (*now)(void *ctx);
	/* CRC32C (Castagnoli), continued from `crc`; 0 starts. */
	uint32_t (*crc32c)(uint32_t crc, const void *data, uint64_t bytes);
	/* HMAC-SHA256 (RFC 2104). */
	void (*hmac_sha256)(const void *key, uint32_t key_bytes,
			    const void *data, uint64_t bytes, uint8_t out[32]);
	/* Reads a secret that two machines share: *bytes is how much there is
	 * room for, and then how much it is.  0, or -errno with a sentence. */
	int (*secret)(const char *file, uint8_t *secret, uint32_t *bytes,
		      char *why, uint32_t why_bytes);
};

#endif
