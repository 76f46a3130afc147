/* SPDX-License-Identifier: MIT */
/*
 * Parity is added one member at a time (ec_encode_data_update), because the
 * members of a group come one by one, each while it is in memory to be written:
 * with one member the tables of its coefficients take 32 bytes for each row, so
 * they are made anew each time.
 */
#include "store/parity/code.h"

#include <isa-l/erasure_code.h>
#include <string.h>

enum { TABLE = 32 }; /* bytes that ISA-L wants for a coefficient */

uint8_t
parity_coefficient(unsigned row, unsigned column)
{
	uint8_t over = (uint8_t)(255 ^ column);
	uint8_t under = (uint8_t)(254 ^ column);

	return row ? gf_mul(over, gf_inv(under)) : 1;
}

/* ISA-L counts bytes in an int, and never changes the data. */
static void
update(uint8_t *const sum[], unsigned rows, uint8_t *weight, const void *data,
       size_t bytes)
{
	enum { MOST = 1 << 30 };
	uint8_t table[PARITY_ROWS * TABLE], *to[PARITY_ROWS];

	ec_init_tables(1, (int)rows, weight, table);
	for (size_t at = 0; at < bytes; at += MOST) {
		size_t part = bytes - at < MOST ? bytes - at : MOST;

		for (unsigned i = 0; i < rows; i++)
			to[i] = sum[i] + at;
		ec_encode_data_update((int)part, 1, (int)rows, 0, table,
				      (uint8_t *)(uintptr_t)data + at, to);
	}
}

void
parity_add(uint8_t *const row[], unsigned rows, unsigned column,
	   const void *data, size_t bytes)
{
	uint8_t weight[PARITY_ROWS];

	for (unsigned i = 0; i < rows; i++)
		weight[i] = parity_coefficient(i, column);
	update(row, rows, weight, data, bytes);
}

void
parity_mix(uint8_t *sum, uint8_t weight, const void *data, size_t bytes)
{
	uint8_t *const to[] = { sum };

	if (weight)
		update(to, 1, &weight, data, bytes);
}

void
parity_solve(const unsigned row[], const unsigned lost[], unsigned n,
	     uint8_t weight[])
{
	uint8_t a = parity_coefficient(row[0], lost[0]), b, c, d, det;

	if (n == 1) {
		weight[0] = gf_inv(a);
		return;
	}
	b = parity_coefficient(row[0], lost[1]);
	c = parity_coefficient(row[1], lost[0]);
	d = parity_coefficient(row[1], lost[1]);
	det = gf_inv(gf_mul(a, d) ^ gf_mul(b, c));
	weight[0] = gf_mul(d, det);
	weight[1] = gf_mul(b, det);
}

uint8_t
parity_rest(const unsigned row[], const uint8_t weight[], unsigned n,
	    unsigned column)
{
	uint8_t sum = 0;

	for (unsigned i = 0; i < n; i++)
		sum ^= gf_mul(weight[i], parity_coefficient(row[i], column));
	return sum;
}
