/* SPDX-License-Identifier: MIT */
/* Known payloads, and what holds for every geometry. */
#include <errno.h>

#include "store/record/geometry.h"
#include "store/record/notes.h"
#include "lib/suite.h"

START_TEST(known)
{
	static const struct {
		uint32_t payload, parts, quantum, slots;
	} want[] = {
		{ 8032, 1, 128, 8320 },	 { 8224, 1, 128, 8064 },
		{ 5008, 1, 256, 13312 }, { 5008, 2, 256, 13312 },
		{ 5008, 3, 768, 13056 }, { 8192, 1, 1, 8192 },
		{ 4096, 1, 1, 16384 },	 { 1, 1, 4096, 1 << 26 },
		{ 10016, 1, 128, 6656 },
	};

	for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
		struct geometry g;

		ck_assert_int_eq(
		    geometry_make(&g, want[i].payload, want[i].parts, 64 << 20),
		    0);
		ck_assert_uint_eq(g.payload, want[i].payload);
		ck_assert_uint_eq(g.parts, want[i].parts);
		ck_assert_uint_eq(g.quantum, want[i].quantum);
		ck_assert_uint_eq(g.slots, want[i].slots);
		ck_assert_uint_eq(g.block_bytes, (uint64_t)g.slots * g.payload);
	}
}
END_TEST

START_TEST(always)
{
	for (uint32_t payload = 1; payload < 20000; payload += 7) {
		for (uint32_t parts = 1; parts < 5; parts++) {
			struct geometry g;

			ck_assert_int_eq(
			    geometry_make(&g, payload, parts, 8 << 20), 0);
			ck_assert_uint_eq(g.block_bytes % GEOMETRY_PAGE, 0);
			ck_assert_uint_eq(g.slots % parts, 0);
			ck_assert_uint_eq(g.slots % g.quantum, 0);
			ck_assert(g.slots == g.quantum ||
				  g.block_bytes <= 8 << 20);
			ck_assert_uint_gt(g.block_bytes +
					      (uint64_t)g.quantum * payload,
					  8 << 20);
		}
	}
}
END_TEST

START_TEST(at_least_one)
{
	struct geometry g;

	ck_assert_int_eq(geometry_make(&g, 8032, 1, 1), 0);
	ck_assert_uint_eq(g.slots, 128);
	ck_assert_int_eq(geometry_make(&g, 8032, 1, 0), 0);
	ck_assert_uint_eq(g.slots, 128);
}
END_TEST

START_TEST(impossible)
{
	struct geometry g;

	ck_assert_int_eq(geometry_make(&g, 0, 1, 1 << 20), -EINVAL);
	ck_assert_int_eq(geometry_make(&g, 8032, 0, 1 << 20), -EINVAL);
	ck_assert_int_eq(geometry_make(&g, (1 << 20) + 1, 1, 1 << 20), -EFBIG);
	ck_assert_int_eq(geometry_make(&g, 8032, 999983, 1 << 20), -EFBIG);
	ck_assert_int_eq(geometry_make(&g, UINT32_MAX, UINT32_MAX, 1), -EFBIG);
	ck_assert_int_eq(geometry_make(&g, 4096, 1, UINT64_C(1) << 32), 0);
	ck_assert_int_eq(geometry_make(&g, 4096, 1, (UINT64_C(1) << 32) + 4096),
			 -EFBIG);
}
END_TEST

START_TEST(items)
{
	struct geometry g;

	ck_assert_int_eq(geometry_items(&g, 1001, 8 << 20), 0);
	ck_assert_uint_eq(g.payload, 1001);
	ck_assert_uint_eq(g.parts, 1);
	ck_assert_uint_eq(g.quantum, 1);
	ck_assert_uint_eq(g.slots, (8 << 20) / 1001);
	ck_assert_uint_eq(g.block_bytes, (uint64_t)g.slots * 1001);
	ck_assert_int_eq(geometry_items(&g, 10 << 20, 8 << 20), 0);
	ck_assert_uint_eq(g.slots, 1);
	ck_assert_uint_eq(g.block_bytes, 10 << 20);
	ck_assert_int_eq(geometry_items(&g, 0, 8 << 20), -EINVAL);
	/* However small they are, a block has some, and room for its notes. */
	for (uint32_t bytes = 1; bytes; bytes *= 2) {
		ck_assert_int_eq(geometry_items(&g, bytes, UINT64_C(1) << 32),
				 0);
		ck_assert_uint_gt(g.slots, 0);
		ck_assert_uint_lt(notes_cube_bytes(g.slots, bytes), UINT32_MAX);
	}
	ck_assert_int_eq(geometry_items(&g, 1, (UINT64_C(1) << 32) + 1),
			 -EFBIG);
}
END_TEST

SUITE("geometry", known, always, at_least_one, impossible, items)
