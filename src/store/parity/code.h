/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_PARITY_CODE_H
#define SPATE_STORE_PARITY_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The arithmetic of parity: bytes in GF(2^8), by ISA-L.
 *
 *   parity of row i  =  sum over the members of  c(i, column) * data
 *
 * A member's column is its place in its group, from 0.  Row 0 has coefficients
 * of 1, so that it is a plain XOR; row 1 has c(1, j) = (255 + j) / (254 + j),
 * where + is that of the field.  That is a Cauchy matrix, 1 / (x_i + y_j) with
 * x = 255, 254 and y_j = j, with each column divided by its first coefficient:
 * any two columns of both rows can be solved for, and the coefficients do not
 * depend on how many members a group has.
 *
 * A member that is shorter than its group's parity counts as followed by
 * zeros.
 */
enum { PARITY_ROWS = 2, PARITY_MEMBERS = 250 };

uint8_t parity_coefficient(unsigned row, unsigned column);

/* Adds a member's data to the parity of rows 0 to rows - 1. */
void parity_add(uint8_t *const row[], unsigned rows, unsigned column,
		const void *data, size_t bytes);

/* A member's data, to be encoded with others. */
struct parity_data {
	unsigned column;
	const uint8_t *data;
	size_t bytes;
};

/*
 * Writes the parity of these members to rows 0 to rows - 1, `bytes` each, as long
 * as the longest of them; and sets crc[] to the CRC32C of each row.  This takes
 * half the time of adding one after the other, which is the memory's.
 */
void parity_encode(uint8_t *const row[], unsigned rows, uint32_t crc[],
		   const struct parity_data *member, unsigned n, size_t bytes);

/* Adds weight * data to `sum`. */
void parity_mix(uint8_t *sum, uint8_t weight, const void *data, size_t bytes);

/*
 * How a lost member follows from `n` rows of parity and the members that are
 * left, where `n` members are lost (1 or 2):
 *
 *   lost[0]  =  sum over the n rows of  weight[i] * parity of row[i]
 *             + sum over the members left of  parity_rest() * data
 */
void parity_solve(const unsigned row[], const unsigned lost[], unsigned n,
		  uint8_t weight[]);
uint8_t parity_rest(const unsigned row[], const uint8_t weight[], unsigned n,
		    unsigned column);

#endif
