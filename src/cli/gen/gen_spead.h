/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CLI_GEN_GEN_SPEAD_H
#define SPATE_CLI_GEN_GEN_SPEAD_H

#include <stdbool.h>
#include <stdint.h>

#include "contract/bytes.h"

/*
 * Writes SPEAD packets without the format plugin on purpose: an error in one of
 * the two shows in the other.
 */
enum {
	/* bytes of a packet header without heap items */
	SPEAD_HEADER = 8 + 4 * 8,
	/* bytes: longer than any descriptor made here */
	SPEAD_DESCRIPTOR = 512,
	SPEAD_DESCRIBE = 5, /* item id of a descriptor */
	/* item id of stream control; start: 0, stop: 2 */
	SPEAD_CONTROL = 6,
};

struct spead_packet {
	unsigned bits; /* bits of an address: 40 or 48 */
	uint64_t heap, length, offset, bytes;
};

/* Return an item as on the wire, but in the machine's byte order. */
static inline uint64_t
spead_value(unsigned bits, uint32_t id, uint64_t value)
{
	return UINT64_C(1) << 63 | (uint64_t)id << bits |
	       (value & ((UINT64_C(1) << bits) - 1));
}

static inline uint64_t
spead_address(unsigned bits, uint32_t id, uint64_t address)
{
	return (uint64_t)id << bits | address;
}

/* Writes a header with n items; returns its length, SPEAD_HEADER + 8 n. */
uint32_t spead_header(uint8_t *to, const struct spead_packet *packet,
		      const uint64_t *item, unsigned n);

/* Writes again the fields of a header in which packets of a heap differ. */
static inline void
spead_header_move(uint8_t *header, const struct spead_packet *p)
{
	write_be64(header + 8, spead_value(p->bits, 1, p->heap));
	write_be64(header + 24, spead_value(p->bits, 3, p->offset));
	write_be64(header + 32, spead_value(p->bits, 4, p->bytes));
}

struct spead_descriptor {
	uint32_t id;
	const char *name, *text;
	uint64_t length; /* bytes of the item; 0: one number of `bits` */
};

/* Writes a descriptor, which is a whole packet; returns its length. */
uint32_t spead_descriptor(uint8_t *to, unsigned bits,
			  const struct spead_descriptor *d);

#endif
