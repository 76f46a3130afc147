/* SPDX-License-Identifier: MIT */
/* SPEAD packets, byte by byte: as spead2 sends them, and as nobody should. */
#include <string.h>

#include "lib/suite.h"

#include "format/spead_packet.c"

enum { LARGE = 1 << 20 };

static uint8_t packet[LARGE];
static uint32_t bytes; /* of it, so far */
static struct format_piece p;

static void
begin(unsigned bits, unsigned n)
{
	const uint8_t head[] = { 0x53, 4, 8 - bits / 8, bits / 8,
				 0,    0, n >> 8,	n & 0xff };

	memcpy(packet, head, sizeof head);
	bytes = sizeof head;
}

static void
put64(uint64_t word)
{
	write_be64(packet + bytes, word);
	bytes += 8;
}

/* Of a heap of `length` bytes, or of one without length: UINT64_MAX. */
static void
begin_piece(unsigned bits, uint64_t length, uint64_t offset, uint32_t piece,
	    unsigned more)
{
	bool sized = length != UINT64_MAX;

	begin(bits, 3 + sized + more);
	put64(IMMEDIATE | UINT64_C(1) << bits | 7);
	if (sized)
		put64(IMMEDIATE | UINT64_C(2) << bits | length);
	put64(IMMEDIATE | UINT64_C(3) << bits | offset);
	put64(IMMEDIATE | UINT64_C(4) << bits | piece);
}

/* In memory of just that size, so that a sanitizer sees a look beyond. */
static int
read_head(uint32_t have, uint32_t datagram)
{
	uint8_t *head = malloc(have + !have);
	int err;

	memcpy(head, packet, have);
	memset(&p, 0xa5, sizeof p);
	err = spead_piece(head, have, datagram, &p);
	free(head);
	return err;
}

static int
read_piece(uint32_t payload)
{
	return read_head(bytes, bytes + payload);
}

/* ---- what spead2 sends ------------------------------------------------- */

static const uint8_t stop_48[57] = {
	0x53, 0x04, 0x02, 0x06, 0, 0, 0, 6,    /* SPEAD-64-48, 6 items */
	0x80, 0x01, 0,	  0,	0, 0, 0, 0x2a, /* heap 42 */
	0x80, 0x02, 0,	  0,	0, 0, 0, 1,    /* of 1 byte */
	0x80, 0x03, 0,	  0,	0, 0, 0, 0,    /* from byte 0 */
	0x80, 0x04, 0,	  0,	0, 0, 0, 1,    /* 1 byte */
	0x80, 0x06, 0,	  0,	0, 0, 0, 2,    /* stop */
	0,    0,    0,	  0,	0, 0, 0, 0,    /* NULL */
	0,
};

START_TEST(stop_of_spead2)
{
	uint64_t item[3] = { 0, 0, 0x77 };
	struct format_item one;
	uint8_t head[56];

	memcpy(packet, stop_48, sizeof stop_48);
	ck_assert_int_eq(read_head(56, 57), 0);
	ck_assert_uint_eq(p.heap, 42);
	ck_assert_uint_eq(p.length, 1);
	ck_assert_uint_eq(p.offset, 0);
	ck_assert_uint_eq(p.header, 56);
	ck_assert_uint_eq(p.bytes, 1);
	ck_assert_uint_eq(p.items, 2);
	ck_assert_uint_eq(p.flavour, 48);
	ck_assert_uint_eq(p.control, PIECE_STOP);
	ck_assert_uint_eq(spead_items(stop_48, &p, item, 3), 2);
	ck_assert_mem_eq(item, stop_48 + 40, 16);
	ck_assert_uint_eq(item[2], 0x77);
	ck_assert_uint_eq(spead_wrap_bytes(&p, 2), 56);
	ck_assert_uint_eq(spead_wrap(&p, item, 2, head), 56);
	ck_assert_mem_eq(head, stop_48, 56);

	spead_item(&p, item, 2, 0, &one);
	ck_assert_uint_eq(one.id, 6);
	ck_assert(one.immediate);
	ck_assert_uint_eq(one.value, 2);
	spead_item(&p, item, 2, 1, &one);
	ck_assert_uint_eq(one.id, 0);
	ck_assert(!one.immediate);
	ck_assert_uint_eq(one.bytes, 1);
}
END_TEST

START_TEST(controls)
{
	static const uint16_t control[] = { PIECE_START, PIECE_REISSUE,
					    PIECE_STOP, PIECE_UPDATE,
					    PIECE_DATA };

	for (unsigned value = 0; value < 5; value++) {
		memcpy(packet, stop_48, sizeof stop_48);
		packet[47] = value;
		ck_assert_int_eq(read_head(56, 57), 0);
		ck_assert_uint_eq(p.control, control[value]);
	}
	packet[40] = 0; /* an address, not a value */
	ck_assert_int_eq(read_head(56, 57), 0);
	ck_assert_uint_eq(p.control, PIECE_DATA);
}
END_TEST

/* The values of facts: an id and an address as they are on the wire. */
START_TEST(items_of_48)
{
	uint64_t item[2];
	struct format_item one;

	begin_piece(48, 4467003, 0, 1000, 2);
	put64(0xe005000000020100);
	put64(0x600a00000000073b);
	ck_assert_int_eq(read_piece(1000), 0);
	ck_assert_uint_eq(p.items, 2);
	ck_assert_uint_eq(spead_items(packet, &p, item, 2), 2);
	spead_item(&p, item, 2, 0, &one);
	ck_assert_uint_eq(one.id, 0x6005);
	ck_assert(one.immediate);
	ck_assert_uint_eq(one.value, 131328);
	spead_item(&p, item, 2, 1, &one);
	ck_assert_uint_eq(one.id, 0x600a);
	ck_assert(!one.immediate);
	ck_assert_uint_eq(one.value, 1851);
	ck_assert_uint_eq(one.bytes, 4465152);
}
END_TEST

START_TEST(items_of_40)
{
	uint64_t item[1];
	struct format_item one;

	begin_piece(40, 5000, 4096, 904, 1);
	put64(0x801600ffffffffff);
	ck_assert_int_eq(read_piece(904), 0);
	ck_assert_uint_eq(p.flavour, 40);
	ck_assert_uint_eq(p.heap, 7);
	ck_assert_uint_eq(p.offset, 4096);
	ck_assert_uint_eq(p.length, 5000);
	ck_assert_uint_eq(spead_items(packet, &p, item, 1), 1);
	spead_item(&p, item, 1, 0, &one);
	ck_assert_uint_eq(one.id, 0x1600);
	ck_assert_uint_eq(one.value, 0xffffffffff);
}
END_TEST

START_TEST(every_flavour)
{
	for (unsigned bits = 8; bits <= 56; bits += 8) {
		uint64_t item = 0, length = bits == 8 ? 200 : 2000;
		uint8_t head[64];

		begin_piece(bits, length, 100, 100, 1);
		put64(UINT64_C(0x55) << bits | 3);
		ck_assert_int_eq(read_piece(100), 0);
		ck_assert_uint_eq(p.flavour, bits);
		ck_assert_uint_eq(p.length, length);
		ck_assert_uint_eq(spead_items(packet, &p, &item, 1), 1);
		ck_assert_uint_eq(spead_wrap(&p, &item, 1, head), bytes);
		ck_assert_mem_eq(head, packet, bytes);
	}
}
END_TEST

START_TEST(any_order)
{
	begin(48, 5);
	put64(0x9600000000000001);
	put64(0x8004000000000064);
	put64(0x8003000000000000);
	put64(0x8001000000000009);
	put64(0x8002000000000064);
	ck_assert_int_eq(read_piece(100), 0);
	ck_assert_uint_eq(p.heap, 9);
	ck_assert_uint_eq(p.length, 100);
	ck_assert_uint_eq(p.items, 1);
}
END_TEST

START_TEST(more_than_255_items)
{
	static uint64_t item[FORMAT_ITEMS + 1];
	struct format_item one;

	for (uint32_t n = 250; n <= FORMAT_ITEMS; n += n < 520 ? 1 : 5001) {
		begin_piece(48, 100, 0, 100, n);
		for (uint32_t i = 0; i < n; i++)
			put64(IMMEDIATE | UINT64_C(0x1000) << 48 | i);
		ck_assert_int_eq(read_piece(100), 0);
		ck_assert_uint_eq(p.header, 40 + 8 * n);
		ck_assert_uint_eq(p.items, n);
		ck_assert_uint_eq(spead_items(packet, &p, item, n + 1), n);
		spead_item(&p, item, n, n - 1, &one);
		ck_assert_uint_eq(one.value, n - 1);
		ck_assert_uint_eq(spead_wrap(&p, item, n, packet), bytes);
		ck_assert_int_eq(read_piece(100), 0);
		ck_assert_uint_eq(p.items, n);
	}
}
END_TEST

START_TEST(padding_is_dropped)
{
	uint64_t item[4];

	begin_piece(48, 100, 0, 100, 3);
	put64(IMMEDIATE);
	put64(UINT64_C(0x600a) << 48);
	put64(IMMEDIATE | 99);
	ck_assert_int_eq(read_piece(100), 0);
	ck_assert_uint_eq(p.items, 1);
	ck_assert_uint_eq(spead_items(packet, &p, item, 4), 1);
	ck_assert_uint_eq(be64toh(item[0]), UINT64_C(0x600a) << 48);
	ck_assert_uint_eq(spead_items(packet, &p, item, 0), 0);
}
END_TEST

/* ---- where items end --------------------------------------------------- */

struct extent {
	uint64_t word, bytes;
};

static void
check_extents(uint64_t length, const struct extent *x, uint32_t n)
{
	struct format_piece of = { .length = length, .flavour = 48 };
	struct format_item one;
	uint64_t item[8];

	for (uint32_t i = 0; i < n; i++)
		item[i] = htobe64(x[i].word);
	for (uint32_t i = 0; i < n; i++) {
		spead_item(&of, item, n, i, &one);
		ck_assert_msg(one.bytes == x[i].bytes, "item %u: %lu bytes", i,
			      one.bytes);
	}
}

#define AT(id, address) ((uint64_t)(id) << 48 | (address))
#define EXTENTS(length, ...)                                                   \
	check_extents(length, (const struct extent[]){ __VA_ARGS__ },          \
		      sizeof((const struct extent[]){ __VA_ARGS__ }) /         \
			  sizeof(struct extent))

START_TEST(extents)
{
	EXTENTS(100, { AT(0x600a, 0), 100 });
	EXTENTS(100, { AT(1, 60), 40 }, { AT(2, 0), 25 }, { AT(3, 25), 35 });
	EXTENTS(100, { AT(1, 10), 90 }, { IMMEDIATE | AT(2, 50), 0 });
	/* NULL ends the last one before padding, unless it only pads. */
	EXTENTS(100, { AT(1, 10), 80 }, { AT(0, 90), 10 });
	EXTENTS(100, { AT(1, 0), 100 }, { AT(0, 0), 100 });
	/* The first of two at one address is empty. */
	EXTENTS(100, { AT(1, 10), 0 }, { AT(2, 10), 90 });
	/* At the end and beyond. */
	EXTENTS(100, { AT(1, 0), 100 }, { AT(2, 100), 0 });
	EXTENTS(100, { AT(1, 0), 100 }, { AT(2, 101), 0 }, { AT(3, 105), 0 });
	EXTENTS(100, { AT(1, 0xffffffffffff), 0 });
	/* Without length, the last one's end is not known. */
	EXTENTS(0, { AT(1, 10), 10 }, { AT(2, 20), 0 });
}
END_TEST

/* ---- lies -------------------------------------------------------------- */

START_TEST(truncated)
{
	begin_piece(48, 100, 0, 100, 3);
	for (unsigned i = 0; i < 3; i++)
		put64(AT(0x1600, i));
	for (uint32_t have = 0; have < bytes; have++)
		ck_assert_int_eq(read_head(have, bytes + 100),
				 have < 8 ? 8 : (int)bytes);
	for (uint32_t all = 1; all < bytes + 100; all++)
		ck_assert_int_lt(read_head(all < bytes ? all : bytes, all),
				 all < 8 ? 0 : 1);
	for (uint32_t all = bytes; all < bytes + 100; all++)
		ck_assert_int_eq(read_head(bytes, all), -EBADMSG);
	ck_assert_int_eq(read_head(bytes, bytes + 100), 0);
	ck_assert_int_eq(read_head(bytes, bytes + 101), -EBADMSG);
}
END_TEST

START_TEST(another_protocol)
{
	static const struct {
		unsigned at;
		uint8_t byte;
	} wrong[] = {
		{ 0, 0x52 }, { 1, 3 }, { 1, 5 }, { 2, 0 },    { 2, 3 },
		{ 3, 0 },    { 3, 5 }, { 3, 7 }, { 3, 0xff },
	};

	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		begin_piece(48, 100, 0, 100, 0);
		packet[wrong[i].at] = wrong[i].byte;
		ck_assert_int_eq(read_piece(100), -EBADMSG);
	}
	begin_piece(48, 100, 0, 100, 0);
	packet[2] = 8; /* all id, no address; and the reverse */
	packet[3] = 0;
	ck_assert_int_eq(read_piece(100), -EBADMSG);
	packet[2] = 0;
	packet[3] = 8;
	ck_assert_int_eq(read_piece(100), -EBADMSG);
	begin_piece(48, 100, 0, 100, 0);
	packet[4] = packet[5] = 1; /* reserved */
	ck_assert_int_eq(read_piece(100), 0);
}
END_TEST

START_TEST(mandatory_items)
{
	for (unsigned missing = 1; missing <= 4; missing++) {
		begin_piece(48, 100, 0, 100, 0);
		packet[8 * missing + 1] = 0x77; /* item 0x77 now */
		ck_assert_int_eq(read_piece(100), missing == 2 ? 0 : -EBADMSG);
		begin_piece(48, 100, 0, 100, 0);
		packet[8 * missing] = 0; /* an address, not a value */
		ck_assert_int_eq(read_piece(100), missing == 2 ? 0 : -EBADMSG);
	}
	begin(48, 0);
	ck_assert_int_eq(read_piece(0), -EBADMSG);
}
END_TEST

START_TEST(said_twice)
{
	static const uint64_t value[] = { 0, 7, 100, 0, 100 };

	for (unsigned id = 1; id <= 4; id++) {
		begin_piece(48, 100, 0, 100, 1);
		put64(IMMEDIATE | AT(id, value[id]));
		ck_assert_int_eq(read_piece(100), 0);
		ck_assert_uint_eq(p.items, 0);
		begin_piece(48, 100, 0, 100, 1);
		put64(IMMEDIATE | AT(id, value[id] + 1));
		ck_assert_int_eq(read_piece(100), -EBADMSG);
		begin_piece(48, 100, 0, 100, 1);
		put64(AT(id, value[id] + 1)); /* somebody's own item */
		ck_assert_int_eq(read_piece(100), 0);
		ck_assert_uint_eq(p.items, 1);
	}
	begin_piece(48, 100, 0, 100, 2);
	put64(IMMEDIATE | AT(6, 0));
	put64(IMMEDIATE | AT(6, 2));
	ck_assert_int_eq(read_piece(100), -EBADMSG);
}
END_TEST

START_TEST(lengths)
{
	const uint64_t end48 = (UINT64_C(1) << 48) - 1;
	const uint64_t end56 = (UINT64_C(1) << 56) - 1;

	begin_piece(48, 1000, 900, 100, 0);
	ck_assert_int_eq(read_piece(100), 0);
	begin_piece(48, 1000, 901, 100, 0);
	ck_assert_int_eq(read_piece(100), -EBADMSG);
	begin_piece(48, 1000, 900, 99, 0);
	ck_assert_int_eq(read_piece(100), -EBADMSG);
	/* As large as there are, and no sum runs over. */
	begin_piece(48, end48, end48 - 100, 100, 0);
	ck_assert_int_eq(read_piece(100), 0);
	ck_assert_uint_eq(p.length, end48);
	ck_assert_uint_eq(p.offset, end48 - 100);
	begin_piece(48, end48, end48 - 99, 100, 0);
	ck_assert_int_eq(read_piece(100), -EBADMSG);
	begin_piece(48, end48, end48, 100, 0);
	ck_assert_int_eq(read_piece(100), -EBADMSG);
	begin_piece(56, end56, end56 - 100, 100, 0);
	ck_assert_int_eq(read_piece(100), 0);
	begin_piece(56, end56, end56, 100, 0);
	ck_assert_int_eq(read_piece(100), -EBADMSG);
	/* Without length: as far as an address can say. */
	begin_piece(48, UINT64_MAX, end48 - 100, 100, 0);
	ck_assert_int_eq(read_piece(100), 0);
	ck_assert_uint_eq(p.length, 0);
	begin_piece(48, UINT64_MAX, end48 - 99, 100, 0);
	ck_assert_int_eq(read_piece(100), -EBADMSG);
	/* In a file a packet is as long as it says. */
	begin_piece(48, end48, 0, UINT32_MAX, 0);
	ck_assert_int_eq(read_head(bytes, 0), 0);
	ck_assert_uint_eq(p.bytes, UINT32_MAX);
	begin_piece(48, end48, 0, 0, 0);
	write_be64(packet + 32, IMMEDIATE | AT(4, UINT64_C(1) << 32));
	ck_assert_int_eq(read_head(bytes, 0), -EBADMSG);
	begin(48, 0);
	ck_assert_int_eq(read_head(bytes, 0), -EBADMSG);
}
END_TEST

/* A heap of which the sender says that it is empty stays one. */
START_TEST(empty_heaps)
{
	uint64_t item = htobe64(IMMEDIATE | AT(0x1600, 5));
	uint8_t head[48];

	begin_piece(48, 0, 0, 0, 1);
	put64(be64toh(item));
	ck_assert_int_eq(read_piece(0), 0);
	ck_assert_uint_eq(p.length, 0);
	ck_assert_uint_eq(p.bytes, 0);
	ck_assert_uint_eq(spead_wrap(&p, &item, 1, head), bytes);
	ck_assert_mem_eq(head, packet, bytes);
	begin_piece(48, 0, 0, 1, 0);
	ck_assert_int_eq(read_piece(1), -EBADMSG);
	begin_piece(48, UINT64_MAX, 0, 0, 0);
	ck_assert_int_eq(read_piece(0), 0);
	ck_assert_uint_eq(spead_wrap(&p, NULL, 0, head), bytes);
	ck_assert_mem_eq(head, packet, bytes);
	begin_piece(48, 100, 50, 0, 0);
	ck_assert_int_eq(read_piece(0), 0);
}
END_TEST

SUITE("spead_packet", stop_of_spead2, controls, items_of_48, items_of_40,
      every_flavour, any_order, more_than_255_items, padding_is_dropped,
      extents, truncated, another_protocol, mandatory_items, said_twice,
      lengths, empty_heaps)
