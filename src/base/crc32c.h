/* SPDX-License-Identifier: MIT */
#ifndef SPATE_BASE_CRC32C_H
#define SPATE_BASE_CRC32C_H

#include <stdint.h>

/*
 * CRC32C is the Castagnoli checksum (RFC 3720, appendix B.4) of index records,
 * of recorded data, and of network frames.  Continues from `crc`; start with 0.
 */
uint32_t crc32c(uint32_t crc, const void *data, uint64_t bytes);

/*
 * Returns the checksum of two pieces, one behind the other, from the checksums
 * of each.  `shift` is crc32c_shift() of the second piece's length; it may be
 * computed once and reused.
 */
uint32_t crc32c_shift(uint64_t bytes);
uint32_t crc32c_join(uint32_t shift, uint32_t first, uint32_t second);

/*
 * Returns the checksum of `bytes` zeros, in as many steps as the number has
 * bits.
 */
uint32_t crc32c_zeros(uint64_t bytes);

#endif
