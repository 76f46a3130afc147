/* SPDX-License-Identifier: MIT */
/*
 * Heaps are stored as a recording has them, cut in packets, and put together
 * again from the packets alone, by what each says of itself.
 */
#include "flow/send/cut_heaps.h"

#include <errno.h>
#include <string.h>

#include "format/spead.c"
#include "format/spead_packet.c"

#include "lib/suite.h"

enum { MOST = 4 << 20, ITEMS = 3000, RUNS = 7 };

static uint8_t stored[MOST];
static uint64_t stored_bytes;

/* What came of one heap, from its packets. */
static struct {
	uint8_t data[MOST / 2], came[MOST / 2];
	uint64_t item[ITEMS], length, count;
	uint32_t items, packets, short_ones, first_items, later_items;
} got;

static struct format_shape
row_shape(void)
{
	struct format_shape shape = { 0 };
	char why[256];

	ck_assert_int_eq(spate_format.shape(&shape, why, sizeof why), 0);
	return shape;
}

static int
cut_try(struct cut_heaps **c, const struct format_shape *shape, uint32_t packet)
{
	return cut_heaps_make(
	    c, &(struct cut_heaps_args){ &spate_format, shape, packet });
}

static struct cut_heaps *
cut_make(uint32_t packet)
{
	struct format_shape shape = row_shape();
	struct cut_heaps *c;

	ck_assert_int_eq(cut_try(&c, &shape, packet), 0);
	return c;
}

static uint8_t
byte_of(uint64_t heap, uint64_t at)
{
	return (uint8_t)(heap * 31 + at * 7 + (at >> 8));
}

static uint64_t
item_of(uint64_t heap, uint32_t i)
{
	return htobe64(UINT64_C(1) << 63 | (uint64_t)(0x1000 + i) << 48 |
		       (heap & 0xffff));
}

/* Stores bytes from..to of a heap, with so many items. */
static void
store(uint64_t heap, uint64_t length, uint64_t from, uint64_t to,
      uint32_t items)
{
	struct format_piece p = { .heap = heap,
				  .length = length,
				  .offset = from,
				  .bytes = (uint32_t)(to - from),
				  .flavour = 48 };
	static uint64_t item[ITEMS];

	for (uint32_t i = 0; i < items; i++)
		item[i] = item_of(heap, i);
	stored_bytes += spead_wrap(&p, item, items, stored + stored_bytes);
	for (uint64_t at = from; at < to; at++)
		stored[stored_bytes++] = byte_of(heap, at);
}

static struct parcel
parcel_of(void)
{
	return (struct parcel){
		.record = { .run = 3, .sub = 2, .bytes = stored_bytes },
		.bytes = stored_bytes,
		.data = stored,
	};
}

static void
packet_take(const uint8_t *packet, uint32_t bytes, uint32_t size)
{
	uint32_t have = bytes < 48 ? bytes : 48;
	struct format_piece p;
	int answer;

	while ((answer = spead_piece(packet, have, bytes, &p)) > 0)
		have = (uint32_t)answer;
	ck_assert_int_eq(answer, 0);
	ck_assert_uint_le(bytes, size);
	ck_assert_uint_eq(p.heap, got.count);
	got.length = p.length;
	ck_assert_uint_le(got.items + p.items, ITEMS);
	spead_items(packet, &p, got.item + got.items, p.items);
	got.items += p.items;
	if (got.packets)
		got.later_items += p.items;
	else
		got.first_items = p.items;
	ck_assert_uint_le(p.offset + p.bytes, sizeof got.data);
	for (uint32_t i = 0; i < p.bytes; i++) {
		ck_assert_uint_eq(got.came[p.offset + i], 0);
		got.came[p.offset + i] = 1;
		got.data[p.offset + i] = packet[p.header + i];
	}
	got.packets++;
	got.short_ones += bytes < size;
}

/* Every packet of a run, put together as the network would see it. */
static uint64_t
run_take(const struct send_run *r, uint32_t size)
{
	static uint8_t packet[65536];

	for (uint32_t i = 0; i < r->packets; i++) {
		memcpy(packet, r->head + (size_t)i * r->head_stride,
		       r->head_bytes);
		memcpy(packet + r->head_bytes,
		       r->data + (size_t)i * r->data_stride, r->data_bytes);
		packet_take(packet, r->head_bytes + r->data_bytes, size);
	}
	return r->packets;
}

/* Cuts all that is stored, which is of one heap; returns its packets. */
static uint64_t
cut_all(struct cut_heaps *c, uint64_t heap, uint32_t size)
{
	struct parcel p = parcel_of();
	struct send_run run[RUNS];
	uint64_t n = 0;
	unsigned runs;

	memset(&got, 0, sizeof got);
	got.count = heap;
	cut_heaps_begin(c, &p);
	while ((runs = cut_heaps_next(c, run, RUNS)))
		for (unsigned i = 0; i < runs; i++)
			n += run_take(&run[i], size);
	stored_bytes = 0;
	return n;
}

static void
came(uint64_t heap, uint64_t from, uint64_t to)
{
	for (uint64_t at = from; at < to; at++) {
		ck_assert_uint_eq(got.came[at], 1);
		ck_assert_uint_eq(got.data[at], byte_of(heap, at));
	}
}

static void
items_came(uint64_t heap, uint32_t n)
{
	ck_assert_uint_eq(got.items, n);
	for (uint32_t i = 0; i < n; i++)
		ck_assert_uint_eq(got.item[i], item_of(heap, i));
}

START_TEST(heaps_come_back)
{
	static const uint32_t sizes[] = { 128, 1472, 8192, 9000, 65504 };
	static const uint32_t lengths[] = { 1, 57, 1391, 1392, 1393, 1000000 };

	for (unsigned s = 0; s < 5; s++)
		for (unsigned l = 0; l < 6; l++) {
			struct cut_heaps *c = cut_make(sizes[s]);
			uint64_t n;

			store(7, lengths[l], 0, lengths[l], 5);
			n = cut_all(c, 7, sizes[s]);
			ck_assert_uint_eq(n, (lengths[l] + 40 + sizes[s] - 41) /
						 (sizes[s] - 40));
			ck_assert_uint_eq(got.length, lengths[l]);
			ck_assert_uint_le(got.short_ones, 1);
			ck_assert_uint_eq(got.later_items, 0);
			came(7, 0, lengths[l]);
			items_came(7, 5);
			ck_assert_uint_eq(cut_heaps_bad(c), 0);
			cut_heaps_free(c);
		}
}
END_TEST

/* More than fit in one packet, or in all that the data would fill. */
START_TEST(many_items)
{
	struct cut_heaps *c = cut_make(1472);
	uint64_t n;

	store(8, 4000, 0, 4000, 700);
	n = cut_all(c, 8, 1472);
	came(8, 0, 4000);
	items_came(8, 700);
	ck_assert_uint_eq(got.first_items, (1472 - 40 - 8) / 8);
	ck_assert_uint_eq(n, (4000 + 700 * 8 + 1431) / 1432);
	store(9, 9, 0, 9, 2000);
	cut_all(c, 9, 1472);
	came(9, 0, 9);
	items_came(9, 2000);
	cut_heaps_free(c);
}
END_TEST

START_TEST(heaps_in_part)
{
	struct cut_heaps *c = cut_make(1472);

	store(5, 50000, 0, 1000, 3);
	store(5, 50000, 9000, 30001, 0);
	store(5, 50000, 49999, 50000, 0);
	cut_all(c, 5, 1472);
	came(5, 0, 1000);
	came(5, 9000, 30001);
	came(5, 49999, 50000);
	ck_assert_uint_eq(got.came[1000] | got.came[8999] | got.came[30001] |
			      got.came[49998],
			  0);
	items_came(5, 3);
	cut_heaps_free(c);
}
END_TEST

/* A control heap as spead2 has it, and one without a byte. */
START_TEST(small_heaps)
{
	struct cut_heaps *c = cut_make(0);

	store(1, 1, 0, 1, 1);
	ck_assert_uint_eq(cut_all(c, 1, CUT_HEAPS_PACKET), 1);
	came(1, 0, 1);
	items_came(1, 1);
	store(2, 0, 0, 0, 2);
	ck_assert_uint_eq(cut_all(c, 2, CUT_HEAPS_PACKET), 1);
	items_came(2, 2);
	cut_heaps_free(c);
}
END_TEST

/* What was stored wrongly ends a block, and is counted. */
START_TEST(damage)
{
	struct cut_heaps *c = cut_make(1472);
	uint64_t good;

	store(5, 5000, 0, 5000, 3);
	good = stored_bytes;
	store(5, 5000, 0, 5000, 3);
	stored[good] ^= 1;
	cut_all(c, 5, 1472);
	came(5, 0, 5000);
	ck_assert_uint_eq(cut_heaps_bad(c), good);
	store(5, 5000, 0, 5000, 3);
	stored_bytes--;
	ck_assert_uint_eq(cut_all(c, 5, 1472), 0);
	ck_assert_uint_eq(cut_heaps_bad(c), 2 * good - 1);
	store(5, 5000, 0, 5000, 3);
	stored_bytes = 20;
	ck_assert_uint_eq(cut_all(c, 5, 1472), 0);
	ck_assert_uint_eq(cut_heaps_bad(c), 2 * good + 19);
	cut_heaps_free(c);
}
END_TEST

START_TEST(nothing_there)
{
	struct cut_heaps *c = cut_make(1472);
	struct parcel p = { .err = -EIO, .bytes = 1000 };
	struct send_run run;

	cut_heaps_begin(c, &p);
	ck_assert_uint_eq(cut_heaps_next(c, &run, 1), 0);
	p = (struct parcel){ .record.kind = INDEX_GAP };
	cut_heaps_begin(c, &p);
	ck_assert_uint_eq(cut_heaps_next(c, &run, 1), 0);
	ck_assert_uint_eq(cut_heaps_bad(c), 0);
	cut_heaps_free(c);
}
END_TEST

START_TEST(what_is_refused)
{
	struct format_shape cube = row_shape(), row = cube;
	struct cut_heaps *c;

	cube.store = HEAP_CUBE;
	ck_assert_int_eq(cut_try(&c, &cube, 0), -EINVAL);
	ck_assert_int_eq(cut_try(&c, &row, CUT_HEAPS_LEAST - 1), -EINVAL);
	ck_assert_int_eq(cut_try(&c, &row, CUT_HEAPS_MOST + 1), -EINVAL);
}
END_TEST

SUITE("cut_heaps", heaps_come_back, many_items, heaps_in_part, small_heaps,
      damage, nothing_there, what_is_refused)
