/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CLI_GEN_GEN_SPEAD_H
#define SPATE_CLI_GEN_GEN_SPEAD_H

#include <stdbool.h>
#include <stdint.h>

#include "contract/bytes.h"

/*
 * SPEAD as a sender writes it.  The format plugin is not asked on purpose:
 * what one of the two does wrong, the other one shows.
 */
enum {
	SPEAD_HEADER = 8 + 4 * 8, /* bytes, of a packet without items */
	SPEAD_DESCRIPTOR = 512,	  /* no descriptor of ours is longer */
	SPEAD_DESCRIBE = 5,	  /* id of an item that is one */
	SPEAD_CONTROL = 6,	  /* start: 0, stop: 2 */
};

struct spead_packet {
	unsigned bits; /* of an address: 40 or 48 */
	uint64_t heap, length, offset, bytes;
};

/* One item as it is on the wire, in the machine's byte order. */
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

/* Writes a header with n items, SPEAD_HEADER + 8 n bytes; returns that. */
uint32_t spead_header(uint8_t *to, const struct spead_packet *packet,
		      const uint64_t *item, unsigned n);

/* Writes those fields of a header anew in which packets of a heap differ. */
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
	uint64_t length; /* so many bytes; 0: one number of `bits` */
};

/* Writes a descriptor, which is a packet itself; returns its length. */
uint32_t spead_descriptor(uint8_t *to, unsigned bits,
			  const struct spead_descriptor *d);

#endif
