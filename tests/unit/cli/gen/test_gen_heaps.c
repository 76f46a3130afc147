/* SPDX-License-Identifier: MIT */
/*
 * What the generator sends, read by the format plugin: two that do not know
 * each other.
 */
#include <errno.h>
#include <string.h>

#include "base/module.h"
#include "cli/gen/gen_heaps.h"
#include "lib/suite.h"

enum { LARGE = 1 << 17, ITEMS = 8 };

static const struct format_ops *format;
static struct gen_heaps heaps;
static uint8_t datagram[LARGE], whole[LARGE];

static void
start(struct gen_heaps wish, uint64_t number)
{
	struct fault fault;
	uint64_t packets;

	ck_assert_int_eq(module_format("spead", &format, &fault), 0);
	heaps = wish;
	heaps.count = heaps.count ? heaps.count : 1;
	heaps.count_step = heaps.count_step ? heaps.count_step : 1;
	heaps.ports = 2;
	ck_assert_int_eq(gen_heaps_init(&heaps), 0);
	packets = gen_heaps_packets(&heaps, number);
	gen_heaps_plan(&heaps, 0, packets);
	gen_heaps_plan(&heaps, 1, packets);
}

static uint32_t
make(unsigned port, uint64_t packet)
{
	struct iovec piece[GEN_PIECES];
	unsigned n = heaps.source.ops->make(&heaps.source, port, packet, piece);
	uint32_t bytes = 0;

	for (unsigned i = 0; i < n; i++) {
		ck_assert_uint_le(bytes + piece[i].iov_len, sizeof datagram);
		memcpy(datagram + bytes, piece[i].iov_base, piece[i].iov_len);
		bytes += (uint32_t)piece[i].iov_len;
	}
	return bytes;
}

/* Puts a heap together from its packets, the first of which is `packet`;
 * returns the next heap's first. */
static uint64_t
take(uint64_t packet, struct format_piece *first, uint64_t item[ITEMS])
{
	struct format_piece p;
	uint64_t have = 0;
	uint32_t bytes;

	do {
		bytes = make(0, packet++);
		ck_assert_uint_le(bytes, heaps.packet);
		ck_assert_int_eq(format->piece(datagram, bytes, bytes, &p), 0);
		ck_assert_uint_eq(p.offset, have);
		if (!have) {
			*first = p;
			format->items(datagram, &p, item, ITEMS);
		} else {
			ck_assert_uint_eq(p.items, 0);
			ck_assert_uint_eq(p.header, 8 + 4 * 8);
		}
		ck_assert_uint_eq(p.heap, first->heap);
		ck_assert_uint_eq(p.length, first->length);
		ck_assert_uint_le(p.length, sizeof whole);
		memcpy(whole + p.offset, datagram + p.header, p.bytes);
		have += p.bytes;
		/* As spead2 does: all as long, but the last. */
		if (have < p.length)
			ck_assert_uint_eq(bytes, heaps.packet);
	} while (have < p.length);
	return packet;
}

static void
check_control(const struct format_piece *p, uint64_t count, uint16_t control)
{
	ck_assert_uint_eq(p->heap, count);
	ck_assert_uint_eq(p->control, control);
	ck_assert_uint_eq(p->header + p->bytes, 57);
	ck_assert_uint_eq(p->length, 1);
}

/* Its descriptors are packets themselves: one for each of the two items. */
static void
check_described(const struct format_piece *p, const uint64_t *item)
{
	for (unsigned i = 0; i < 4; i += 2) {
		struct format_item one;
		struct format_piece of;

		format->item(p, item, p->items, i, &one);
		ck_assert_uint_eq(one.id, 5);
		ck_assert_int_eq(
		    format->piece(whole + one.value, one.bytes, one.bytes, &of),
		    0);
		ck_assert_uint_eq(of.heap, 1);
		ck_assert_uint_eq(of.items, i ? 6 : 5);
	}
}

static void
check_data(const struct format_piece *p, const uint64_t *item, uint64_t time)
{
	struct format_item one;
	bool described = p->items == 4;

	ck_assert_uint_eq(p->control, PIECE_DATA);
	ck_assert(described || p->items == 2);
	format->item(p, item, p->items, described ? 1 : 0, &one);
	ck_assert_uint_eq(one.id, GEN_TIME_ITEM);
	ck_assert(one.immediate);
	ck_assert_uint_eq(one.value, time);
	format->item(p, item, p->items, p->items - 1, &one);
	ck_assert_uint_eq(one.id, GEN_DATA_ITEM);
	ck_assert_uint_eq(one.bytes, heaps.bytes);
	ck_assert_uint_eq(one.value % 2, described);
	if (described)
		check_described(p, item);
}

/* A stream from its first packet to its last, of all kinds. */
static void
check_stream(struct gen_heaps wish)
{
	struct format_piece p;
	uint64_t item[ITEMS], packet = 0, count = 100;

	wish.count = 100;
	wish.count_step = 3;
	wish.time = 7;
	wish.time_step = UINT64_C(1) << 33;
	start(wish, 4);
	if (wish.start) {
		packet = take(packet, &p, item);
		check_control(&p, count, PIECE_START);
		count += 3;
	}
	for (uint64_t i = 0; i < 4; i++) {
		packet = take(packet, &p, item);
		ck_assert_uint_eq(p.heap, count);
		ck_assert_uint_eq(p.flavour, wish.bits);
		ck_assert_uint_eq(p.items, wish.describe == DESCRIBE_ALL ||
						   (wish.describe && i == 0)
					       ? 4
					       : 2);
		check_data(&p, item,
			   (7 + (i << 33)) & ((UINT64_C(1) << wish.bits) - 1));
		count += 3;
	}
	if (wish.stop) {
		packet = take(packet, &p, item);
		check_control(&p, count, PIECE_STOP);
	}
	ck_assert_uint_eq(packet, gen_heaps_packets(&heaps, 4));
	gen_heaps_finish(&heaps);
}

START_TEST(streams)
{
	static const uint32_t packets[] = { 128, 1472, 8968, 65504 };
	static const uint64_t bytes[] = { 1, 7, 8928, 20000, 100001 };

	for (unsigned n = 0; n < 4 * 5 * 3 * 4 * 2; n++) {
		struct gen_heaps wish = {
			.packet = packets[n % 4],
			.bytes = bytes[n / 4 % 5],
			.describe = n / 20 % 3,
			.start = n / 60 % 2,
			.stop = n / 120 % 2,
			.bits = n / 240 % 2 ? 40 : 48,
		};

		check_stream(wish);
	}
}
END_TEST

/* The figures of facts: 512 stations without descriptors, at 8968 bytes. */
START_TEST(visibilities)
{
	struct gen_heaps wish = { .bits = 48,
				  .packet = 8968,
				  .bytes = 4465152 };

	start(wish, 1);
	ck_assert_uint_eq(heaps.plain.first, 8968 - 56);
	ck_assert_uint_eq(heaps.plain.packets,
			  1 + (4465152 - 8912 + 8927) / 8928);
	ck_assert_uint_eq(make(0, 1), 8968);
	ck_assert_uint_eq(make(0, heaps.plain.packets - 1),
			  40 + (4465152 - 8912) % 8928);
	gen_heaps_finish(&heaps);
}
END_TEST

/* No two packets carry the same data, whatever port or heap they are of. */
START_TEST(data_is_its_own)
{
	struct gen_heaps wish = { .bits = 48, .packet = 1472, .bytes = 5000 };
	static uint64_t seen[2000];
	unsigned n = 0;

	start(wish, 200);
	for (unsigned port = 0; port < 2; port++)
		for (uint64_t i = 0; i < 800; i++) {
			make(port, i);
			seen[n++] = read_le64(datagram + (i % 4 ? 40 : 56));
		}
	for (unsigned i = 0; i < n; i++)
		for (unsigned k = 0; k < i; k++)
			ck_assert_uint_ne(seen[i], seen[k]);
	gen_heaps_finish(&heaps);
}
END_TEST

START_TEST(same_again)
{
	struct gen_heaps wish = { .bits = 48,
				  .packet = 1472,
				  .bytes = 5000,
				  .describe = DESCRIBE_ALL,
				  .start = true };
	static uint8_t first[150][1472];
	uint32_t bytes[150];

	start(wish, 40);
	for (unsigned i = 0; i < 150; i++) {
		bytes[i] = make(0, i);
		memcpy(first[i], datagram, bytes[i]);
	}
	for (unsigned i = 150; i-- > 0;) {
		ck_assert_uint_eq(make(0, i), bytes[i]);
		ck_assert_mem_eq(datagram, first[i], bytes[i]);
	}
	gen_heaps_finish(&heaps);
}
END_TEST

/* Packets of one train lie side by side. */
START_TEST(neighbours_stay_good)
{
	struct gen_heaps wish = { .bits = 48, .packet = 1472, .bytes = 5000 };
	struct iovec piece[64][GEN_PIECES];

	start(wish, 40);
	ck_assert_uint_eq(heaps.source.ready, 64);
	for (uint64_t i = 0; i < 64; i++)
		heaps.source.ops->make(&heaps.source, 1, 40 + i, piece[i]);
	for (uint64_t i = 0; i < 64; i++) {
		uint32_t bytes = make(1, 40 + i);

		ck_assert_mem_eq(piece[i][0].iov_base, datagram,
				 piece[i][0].iov_len);
		ck_assert_mem_eq(piece[i][1].iov_base,
				 datagram + piece[i][0].iov_len,
				 bytes - piece[i][0].iov_len);
	}
	gen_heaps_finish(&heaps);
}
END_TEST

/* Ended early, a stream has whole heaps, and the stop heap behind them. */
START_TEST(ends)
{
	struct gen_heaps wish = { .bits = 48,
				  .packet = 1472,
				  .bytes = 5000,
				  .describe = DESCRIBE_FIRST,
				  .start = true,
				  .stop = true };
	const struct gen_source_ops *ops;
	struct gen_piece p;
	uint64_t packets;

	for (uint64_t least = 1; least < 60; least++) {
		start(wish, 0);
		gen_heaps_plan(&heaps, 0, UINT64_MAX);
		ops = heaps.source.ops;
		packets = ops->end(&heaps.source, 0, least);
		ck_assert_uint_ge(packets, least);
		ck_assert_uint_lt(packets, least + heaps.plain.packets + 2);
		gen_heaps_find(&heaps, 0, packets - 1, &p);
		ck_assert(!p.data);
		gen_heaps_find(&heaps, 0, packets - 2, &p);
		ck_assert_uint_eq(p.packet + 1, p.kind->packets);
		/* And it may end sooner still: with the control heaps. */
		ck_assert_uint_eq(ops->end(&heaps.source, 0, 1),
				  packets < 3 ? packets : 2);
		gen_heaps_finish(&heaps);
	}
	start(wish, 3);
	packets = gen_heaps_packets(&heaps, 3);
	ops = heaps.source.ops;
	ck_assert_uint_eq(ops->end(&heaps.source, 0, packets), packets);
	ck_assert_uint_eq(gen_heaps_packets(&heaps, UINT64_MAX), UINT64_MAX);
	gen_heaps_finish(&heaps);
}
END_TEST

START_TEST(packets_too_short)
{
	struct gen_heaps wish = {
		.bits = 48, .packet = 56, .bytes = 5000, .ports = 1
	};

	heaps = wish;
	ck_assert_int_eq(gen_heaps_init(&heaps), -EMSGSIZE);
}
END_TEST

SUITE("gen_heaps", streams, visibilities, data_is_its_own, same_again,
      neighbours_stay_good, ends, packets_too_short)
