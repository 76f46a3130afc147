/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CONTRACT_BYTES_H
#define SPATE_CONTRACT_BYTES_H

#include <endian.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 * Reads and writes numbers at any address, aligned or not, in the byte order
 * that the function's name says.
 */

#define BYTES_READ(name, type, swap)                                           \
	static inline type name(const void *at)                                \
	{                                                                      \
		type v;                                                        \
		memcpy(&v, at, sizeof v);                                      \
		return swap(v);                                                \
	}
#define BYTES_WRITE(name, type, swap)                                          \
	static inline void name(void *at, type v)                              \
	{                                                                      \
		v = swap(v);                                                   \
		memcpy(at, &v, sizeof v);                                      \
	}

BYTES_READ(read_le16, uint16_t, le16toh)
BYTES_READ(read_le32, uint32_t, le32toh)
BYTES_READ(read_le64, uint64_t, le64toh)
BYTES_READ(read_be16, uint16_t, be16toh)
BYTES_READ(read_be32, uint32_t, be32toh)
BYTES_READ(read_be64, uint64_t, be64toh)
BYTES_WRITE(write_le16, uint16_t, htole16)
BYTES_WRITE(write_le32, uint32_t, htole32)
BYTES_WRITE(write_le64, uint64_t, htole64)
BYTES_WRITE(write_be16, uint16_t, htobe16)
BYTES_WRITE(write_be32, uint32_t, htobe32)
BYTES_WRITE(write_be64, uint64_t, htobe64)

#undef BYTES_READ
#undef BYTES_WRITE

/* Returns FNV-1a of 64 bits, continued from `hash`; begin with BYTES_HASH. */
#define BYTES_HASH UINT64_C(0xcbf29ce484222325)

static inline uint64_t
bytes_hash(uint64_t hash, const void *data, size_t bytes)
{
	const uint8_t *at = data;

	for (size_t i = 0; i < bytes; i++)
		hash = (hash ^ at[i]) * UINT64_C(0x100000001b3);
	return hash;
}

#endif
