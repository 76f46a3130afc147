/* SPDX-License-Identifier: MIT */
/*
 * ISA-L computes CRC32C with the processor's instructions: 15 to 30 bytes per
 * nanosecond.
 *
 * A checksum is the remainder of a polynomial over GF(2), with the highest
 * power in the lowest bit.  Appending n bytes multiplies it by x^8n, so that
 * power is all one needs to know of their length: one word, computed with as
 * many squarings as n has bits.  A multiplication takes 32 steps; a table would
 * not pay, since nobody joins pieces that small.
 */
#include "base/crc32c.h"

#include <isa-l/crc.h>

enum { MOST = 1 << 30 }; /* ISA-L takes an int */

#define CASTAGNOLI 0x82f63b78u /* without x^32; bits reversed */
#define ONE	   0x80000000u
#define X_TO_8	   0x00800000u

uint32_t
crc32c(uint32_t crc, const void *data, uint64_t bytes)
{
	unsigned char *at = (unsigned char *)(uintptr_t)data;

	crc = ~crc;
	while (bytes) {
		int n = bytes < MOST ? (int)bytes : MOST;

		crc = crc32_iscsi(at, n, crc);
		at += n;
		bytes -= (uint64_t)n;
	}
	return ~crc;
}

static uint32_t
multiply(uint32_t a, uint32_t b)
{
	uint32_t product = 0;

	for (; a; a <<= 1) {
		product ^= a & ONE ? b : 0;
		b = b >> 1 ^ (b & 1 ? CASTAGNOLI : 0);
	}
	return product;
}

uint32_t
crc32c_shift(uint64_t bytes)
{
	uint32_t shift = ONE, square = X_TO_8;

	for (; bytes; bytes >>= 1) {
		if (bytes & 1)
			shift = multiply(shift, square);
		square = multiply(square, square);
	}
	return shift;
}

uint32_t
crc32c_join(uint32_t shift, uint32_t first, uint32_t second)
{
	return multiply(shift, first) ^ second;
}

uint32_t
crc32c_zeros(uint64_t bytes)
{
	uint32_t all = 0, piece = crc32c(0, "", 1), shift = X_TO_8;

	for (; bytes; bytes >>= 1) {
		if (bytes & 1)
			all = crc32c_join(shift, all, piece);
		piece = crc32c_join(shift, piece, piece);
		shift = multiply(shift, shift);
	}
	return all;
}
