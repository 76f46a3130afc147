/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CONTRACT_LOG_H
#define SPATE_CONTRACT_LOG_H

#include <stdint.h>

/* Times and spans are in nanoseconds, in every room and in every callback. */
#define NS_SECOND INT64_C(1000000000)
#define NS_MS	  INT64_C(1000000)

enum log_level { LEVEL_ERROR, LEVEL_WARN, LEVEL_INFO, LEVEL_DEBUG };

/*
 * The services of the core for a plugin.  The struct outlives every instance
 * that was given it; its callbacks may be called from any thread.
 */
struct host {
	void *ctx;
	/* Writes one line to the log, preceded by the session's name. */
	void (*log)(void *ctx, enum log_level level, const char *format, ...)
	    __attribute__((format(printf, 3, 4)));
	/*
	 * Returns the time in nanoseconds since 1970 (UTC); tests replace it.
	 */
	int64_t (*now)(void *ctx);
	/*
	 * Returns CRC32C (Castagnoli) of the data, continued from `crc`; start
	 * with 0.
	 */
	uint32_t (*crc32c)(uint32_t crc, const void *data, uint64_t bytes);
	/* Writes HMAC-SHA256 (RFC 2104) of the data. */
	void (*hmac_sha256)(const void *key, uint32_t key_bytes,
			    const void *data, uint64_t bytes, uint8_t out[32]);
	/*
	 * Reads a secret shared with another machine from a file.  *bytes is
	 * the room in `secret`, and on return the secret's length.  Returns 0,
	 * or -errno with a sentence in `why`.
	 */
	int (*secret)(const char *file, uint8_t *secret, uint32_t *bytes,
		      char *why, uint32_t why_bytes);
};

#endif
