/* SPDX-License-Identifier: MIT */
/*
 * A processor computes parity faster than memory gives the data, so the cost is how
 * often a byte is read or written.  Members that are encoded together are read
 * once and the parity is written once, in pieces that stay in the cache for
 * their checksum.  Adding members one by one (ec_encode_data_update) would read
 * and write the parity again for each of them.
 */
#include "store/parity/code.h"

#include <isa-l/erasure_code.h>
#include <string.h>

#include "base/crc32c.h"

enum {
	TABLE = 32,	   /* bytes that ISA-L wants for a coefficient */
	PIECE = 128 << 10, /* bytes of a row that are encoded at a time */
};

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

/* Members that reach a certain byte, and the tables of their coefficients. */
struct encoder {
	const uint8_t *from[PARITY_MEMBERS];
	unsigned n;
	uint8_t table[PARITY_ROWS * PARITY_MEMBERS * TABLE];
};

/* Finds the members that are longer than `at`; returns where the next one
 * ends, or `end`. */
static size_t
encoder_make(struct encoder *e, const struct parity_data *member, unsigned n,
	     unsigned rows, size_t at, size_t end)
{
	uint8_t weight[PARITY_ROWS * PARITY_MEMBERS];
	unsigned used = 0;

	for (unsigned i = 0; i < n; i++)
		used += member[i].bytes > at;
	e->n = 0;
	for (unsigned i = 0; i < n; i++) {
		if (member[i].bytes <= at)
			continue;
		if (member[i].bytes < end)
			end = member[i].bytes;
		for (unsigned r = 0; r < rows; r++)
			weight[r * used + e->n] =
			    parity_coefficient(r, member[i].column);
		e->from[e->n++] = member[i].data;
	}
	ec_init_tables((int)used, (int)rows, weight, e->table);
	return end;
}

static void
encode_piece(struct encoder *e, uint8_t *const row[], unsigned rows, size_t at,
	     size_t bytes)
{
	uint8_t *from[PARITY_MEMBERS], *to[PARITY_ROWS];

	for (unsigned i = 0; i < e->n; i++)
		from[i] = (uint8_t *)(uintptr_t)e->from[i] + at;
	for (unsigned r = 0; r < rows; r++)
		to[r] = row[r] + at;
	ec_encode_data((int)bytes, (int)e->n, (int)rows, e->table, from, to);
}

void
parity_encode(uint8_t *const row[], unsigned rows, uint32_t crc[],
	      const struct parity_data *member, unsigned n, size_t bytes)
{
	struct encoder e;
	size_t end = 0;

	for (unsigned r = 0; r < rows; r++)
		crc[r] = 0;
	for (size_t at = 0, part; at < bytes; at += part) {
		if (at == end)
			end = encoder_make(&e, member, n, rows, at, bytes);
		part = end - at < PIECE ? end - at : PIECE;
		encode_piece(&e, row, rows, at, part);
		for (unsigned r = 0; r < rows; r++)
			crc[r] = crc32c(crc[r], row[r] + at, part);
	}
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
