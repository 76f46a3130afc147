/* SPDX-License-Identifier: MIT */
/*
 * Writes SPEAD descriptors: name, text, shape and type of an item.  Each
 * dimension of the shape is a byte (0: fixed) and an address; each field of the
 * type is a letter and a number of bits, in 9 bytes minus those of an address.
 * Items of bytes have the description of numpy, too, as spead2 does; their type
 * is empty.
 */
#include "cli/gen/gen_spead.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { ID_NAME = 0x10, ID_TEXT, ID_SHAPE, ID_TYPE, ID_ID, ID_NUMPY };

uint32_t
spead_header(uint8_t *to, const struct spead_packet *p, const uint64_t *item,
	     unsigned n)
{
	uint64_t widths = (uint64_t)(8 - p->bits / 8) << 8 | p->bits / 8;

	write_be64(to, UINT64_C(0x5304) << 48 | widths << 32 | (4 + n));
	write_be64(to + 16, spead_value(p->bits, 2, p->length));
	spead_header_move(to, p);
	for (unsigned i = 0; i < n; i++)
		write_be64(to + SPEAD_HEADER + 8ul * i, item[i]);
	return SPEAD_HEADER + 8 * n;
}

/* A descriptor that is being made. */
struct draft {
	unsigned bits;
	uint8_t data[SPEAD_DESCRIPTOR];
	uint32_t bytes;
	uint64_t item[8];
	unsigned items;
};

static void
add(struct draft *d, uint32_t id, const void *data, size_t bytes)
{
	d->item[d->items++] = spead_address(d->bits, id, d->bytes);
	memcpy(d->data + d->bytes, data, bytes);
	d->bytes += (uint32_t)bytes;
}

/*
 * Writes one byte and the last `width` bytes of a number; returns the length.
 */
static uint32_t
element(uint8_t *to, uint8_t first, uint64_t value, unsigned width)
{
	uint8_t all[8];

	write_be64(all, value);
	*to = first;
	memcpy(to + 1, all + 8 - width, width);
	return 1 + width;
}

static void
add_bytes(struct draft *d, uint64_t length)
{
	uint8_t shape[9];
	char numpy[96];
	int n;

	add(d, ID_TYPE, "", 0);
	add(d, ID_SHAPE, shape, element(shape, 0, length, d->bits / 8));
	n = snprintf(numpy, sizeof numpy,
		     "{'descr': '|u1', 'fortran_order': False, "
		     "'shape': (%" PRIu64 ",)}",
		     length);
	add(d, ID_NUMPY, numpy, (size_t)n);
}

static void
add_number(struct draft *d)
{
	uint8_t type[9];

	add(d, ID_TYPE, type, element(type, 'u', d->bits, 8 - d->bits / 8));
	add(d, ID_SHAPE, "", 0);
}

uint32_t
spead_descriptor(uint8_t *to, unsigned bits, const struct spead_descriptor *o)
{
	struct draft d = { .bits = bits };
	struct spead_packet packet = { .bits = bits, .heap = 1 };
	uint32_t header;

	d.item[d.items++] = spead_value(bits, ID_ID, o->id);
	add(&d, ID_NAME, o->name, strlen(o->name));
	add(&d, ID_TEXT, o->text, strlen(o->text));
	if (o->length)
		add_bytes(&d, o->length);
	else
		add_number(&d);
	packet.length = packet.bytes = d.bytes;
	header = spead_header(to, &packet, d.item, d.items);
	memcpy(to + header, d.data, d.bytes);
	return header + d.bytes;
}
