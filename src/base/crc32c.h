/* SPDX-License-Identifier: MIT */
#ifndef SPATE_BASE_CRC32C_H
#define SPATE_BASE_CRC32C_H

#include <stdint.h>

/*
 * CRC32C is the Castagnoli checksum (RFC 3720, appendix B.4): of index
 * records, of data, and of what crosses a network.  It is continued from
 * `crc`; 0 starts.
 */
uint32_t crc32c(uint32_t crc, const void *data, uint64_t bytes);

/*
 * The checksum of two pieces one behind the other from those of each: `shift`
 * is crc32c_shift of the length of the second, and may be kept.
 */
uint32_t crc32c_shift(uint64_t bytes);
uint32_t crc32c_join(uint32_t shift, uint32_t first, uint32_t second);

/* The checksum of so many zeros, in as many steps as their number has bits. */
uint32_t crc32c_zeros(uint64_t bytes);

#endif
