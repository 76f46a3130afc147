/* SPDX-License-Identifier: MIT */
/*
 * A SPEAD packet is a header of 8 bytes, n items of 8 bytes, and a piece of the
 * heap.  All numbers are big-endian.
 *
 *   header   0x53 0x04 | bytes of an id | bytes of an address | 0 0 | n (u16)
 *   item     bit 63 immediate | id | value, or address in the heap
 *
 * The two widths add up to 8 bytes; SPEAD-64-40 and SPEAD-64-48 are in use.
 * `flavour` in this file is the number of address bits.  Bit 63 is the top bit
 * of the id.
 *
 *   id 0  NULL: padding; with an address, the end of the item before it
 *      1  the heap's count          3  offset of the piece in the heap
 *      2  its length, if known      4  length of the piece
 *      6  stream control: 0 start, 1 reissue, 2 stop, 3 update
 *
 * Immediate items 1 to 4 and immediate padding belong to the packet.  All other
 * items belong to the heap, and senders put them into its first packets or into
 * all of them.  Packets that would have to be guessed at are refused: a packet
 * without item 1, 3 or 4, one that has an item 1 to 4 or 6 twice with different
 * values, and one that ends before or behind the end of its datagram.  Bytes 4
 * and 5 are ignored, as other receivers do.
 */
#include "spead_packet.h"

#include <errno.h>
#include <string.h>

#include "contract/bytes.h"

enum {
	FIXED = 8, /* bytes of header before the items */
	ITEM = 8,  /* bytes */
	MAGIC = 0x5304,
};

enum { ID_NULL, ID_HEAP, ID_LENGTH, ID_OFFSET, ID_BYTES, ID_CONTROL = 6, IDS };

#define BIT(id)	  (1u << (id))
#define MANDATORY (BIT(ID_HEAP) | BIT(ID_OFFSET) | BIT(ID_BYTES))
#define OF_PACKET (MANDATORY | BIT(ID_LENGTH) | BIT(ID_NULL))
#define ONE_VALUE (MANDATORY | BIT(ID_LENGTH) | BIT(ID_CONTROL))
#define IMMEDIATE (UINT64_C(1) << 63)
/* flag in a flavour: the sender says that the length is 0 */
#define EMPTY_HEAP 0x100

/* The values of the items that are read here: ids below IDS. */
struct known {
	uint64_t value[IDS];
	uint32_t seen; /* BIT() of each id that was there */
	bool torn;     /* an id came twice, with different values */
	uint32_t of_packet;
};

static bool
is_spead(uint64_t first, unsigned *bits)
{
	unsigned id = first >> 40 & 0xff, address = first >> 32 & 0xff;

	*bits = address * 8;
	return first >> 48 == MAGIC && id + address == 8 && id && address;
}

static uint64_t
low_mask(unsigned bits)
{
	return (UINT64_C(1) << bits) - 1;
}

/*
 * Returns the id of an immediate item; a number above all ids for an item with
 * an address.
 */
static uint64_t
id_immediate(uint64_t item, unsigned bits)
{
	return (item ^ IMMEDIATE) >> bits;
}

static void
known_read(struct known *k, const uint8_t *item, uint32_t n, unsigned bits)
{
	k->seen = k->of_packet = 0;
	k->torn = false;
	for (; n; n--, item += ITEM) {
		uint64_t word = read_be64(item), id = id_immediate(word, bits);
		uint64_t value = word & low_mask(bits);

		if (id >= IDS)
			continue;
		k->of_packet += OF_PACKET >> id & 1;
		if (k->seen & ONE_VALUE & BIT(id) && k->value[id] != value)
			k->torn = true;
		k->value[id] = value;
		k->seen |= BIT(id);
	}
}

static uint16_t
control_of(const struct known *k)
{
	if (!(k->seen & BIT(ID_CONTROL)) || k->value[ID_CONTROL] > 3)
		return PIECE_DATA;
	return (uint16_t)(PIECE_START + k->value[ID_CONTROL]);
}

/*
 * Checks that the mandatory items are there and that the piece lies within the
 * heap.  The sums cannot overflow: a value has at most 56 bits.
 */
static bool
is_sound(const struct known *k, uint32_t bytes, unsigned bits)
{
	uint64_t most = low_mask(bits);

	if ((k->seen & MANDATORY) != MANDATORY || k->torn ||
	    k->value[ID_BYTES] != bytes)
		return false;
	if (k->seen & BIT(ID_LENGTH))
		most = k->value[ID_LENGTH];
	return k->value[ID_OFFSET] + bytes <= most;
}

/*
 * Reads the items of a header that is complete.  The packet's length, item 4,
 * has to agree with the length of the datagram; in a file (`bytes` 0) the item
 * alone counts.
 */
static int
whole_read(const uint8_t *head, uint32_t header, uint32_t bytes,
	   struct format_piece *p)
{
	unsigned bits = p->flavour;
	struct known k;

	known_read(&k, head + FIXED, (header - FIXED) / ITEM, bits);
	if (!bytes && k.seen & BIT(ID_BYTES))
		p->bytes = (uint32_t)k.value[ID_BYTES];
	else
		p->bytes = bytes - header;
	if (!is_sound(&k, p->bytes, bits))
		return -EBADMSG;
	p->heap = k.value[ID_HEAP];
	p->offset = k.value[ID_OFFSET];
	p->length = k.seen & BIT(ID_LENGTH) ? k.value[ID_LENGTH] : 0;
	p->header = header;
	p->items = (header - FIXED) / ITEM - k.of_packet;
	p->control = control_of(&k);
	if (k.seen & BIT(ID_LENGTH) && !p->length)
		p->flavour |= EMPTY_HEAP;
	return 0;
}

int
spead_piece(const void *head, uint32_t head_bytes, uint32_t bytes,
	    struct format_piece *p)
{
	uint32_t header;
	uint64_t first;
	unsigned bits;

	if (bytes && bytes < FIXED)
		return -EBADMSG;
	if (head_bytes < FIXED)
		return FIXED;
	first = read_be64(head);
	header = FIXED + (first & UINT16_MAX) * ITEM;
	if (!is_spead(first, &bits) || (bytes && header > bytes))
		return -EBADMSG;
	if (header > head_bytes)
		return (int)header;
	p->flavour = (uint16_t)bits;
	return whole_read(head, header, bytes, p);
}

static unsigned
bits_of(const struct format_piece *p)
{
	return p->flavour & 0xff;
}

uint32_t
spead_items(const void *head, const struct format_piece *p, uint64_t *item,
	    uint32_t most)
{
	const uint8_t *at = (const uint8_t *)head + FIXED;
	const uint8_t *end = (const uint8_t *)head + p->header;
	uint32_t n = 0;

	if (most > p->items)
		most = p->items;
	for (; at < end && n < most; at += ITEM) {
		uint64_t id = id_immediate(read_be64(at), bits_of(p));

		if (id >= IDS || !(OF_PACKET >> id & 1))
			memcpy(&item[n++], at, ITEM);
	}
	return n;
}

/* ---- making packets of heaps ------------------------------------------ */

static bool
has_length(const struct format_piece *p)
{
	return p->length || p->flavour & EMPTY_HEAP;
}

uint32_t
spead_wrap_bytes(const struct format_piece *p, uint32_t items)
{
	return FIXED + ITEM * (3 + has_length(p) + items);
}

static uint8_t *
put(uint8_t *at, unsigned bits, uint64_t id, uint64_t value)
{
	write_be64(at, IMMEDIATE | id << bits | (value & low_mask(bits)));
	return at + ITEM;
}

uint32_t
spead_wrap(const struct format_piece *p, const uint64_t *item, uint32_t items,
	   void *head)
{
	unsigned bits = bits_of(p);
	uint64_t widths = (uint64_t)(8 - bits / 8) << 8 | bits / 8;
	uint8_t *at = head;

	write_be64(at, (uint64_t)MAGIC << 48 | widths << 32 |
			   (3 + has_length(p) + items));
	at = put(at + FIXED, bits, ID_HEAP, p->heap);
	if (has_length(p))
		at = put(at, bits, ID_LENGTH, p->length);
	at = put(at, bits, ID_OFFSET, p->offset);
	at = put(at, bits, ID_BYTES, p->bytes);
	if (items)
		memcpy(at, item, (size_t)items * ITEM);
	return spead_wrap_bytes(p, items);
}

/*
 * Returns where the item that begins at `from` ends: at the next item, or at
 * the end of the heap.  Where several items begin at the same byte, all but the
 * last are empty.  Padding at that byte ends nothing, because senders put
 * padding with an address of 0 behind the last item.
 */
static uint64_t
item_end(const struct format_piece *p, const uint64_t *item, uint32_t items,
	 uint32_t i, uint64_t from)
{
	uint64_t end = has_length(p) ? p->length : UINT64_MAX;

	for (uint32_t j = 0; j < items; j++) {
		uint64_t word = be64toh(item[j]);
		uint64_t at = word & low_mask(bits_of(p));

		if (word & IMMEDIATE || j == i)
			continue;
		if (at == from && j > i && word >> bits_of(p) != ID_NULL)
			return from;
		if (at > from && at < end)
			end = at;
	}
	return end == UINT64_MAX ? from : end;
}

void
spead_item(const struct format_piece *p, const uint64_t *item, uint32_t items,
	   uint32_t i, struct format_item *out)
{
	uint64_t word = be64toh(item[i]), end;
	uint64_t id = (word & ~IMMEDIATE) >> bits_of(p);

	*out = (struct format_item){
		.id = id < UINT32_MAX ? (uint32_t)id : UINT32_MAX,
		.immediate = word & IMMEDIATE,
		.value = word & low_mask(bits_of(p)),
	};
	if (out->immediate)
		return;
	end = item_end(p, item, items, i, out->value);
	out->bytes = end > out->value ? end - out->value : 0;
}
