/* SPDX-License-Identifier: MIT */
/*
 * Where blocks are, and which block is there: both ways, over disks that get
 * blocks of random sizes, as `layout_plan.h` says.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "store/disk/layout.h"
#include "lib/suite.h"

static void
plan_of(struct layout_plan *plan, const char *layout, uint32_t payload,
	uint32_t parts, uint32_t slots)
{
	json_t *head = json_pack("{s:s, s:s, s:s, s:{s:I, s:I, s:I}}", "layout",
				 layout, "format", "mark5b", "extension", "m5b",
				 "geometry", "payload", (json_int_t)payload,
				 "parts", (json_int_t)parts, "block_bytes",
				 (json_int_t)payload * slots);

	ck_assert_ptr_nonnull(head);
	ck_assert_int_eq(layout_plan_make(plan, "rec", head), 0);
	json_decref(head);
}

START_TEST(names)
{
	struct layout_plan plan;
	struct layout_spot spot;

	plan_of(&plan, "vbs", 5008, 2, 256);
	ck_assert(!layout_plan_shared(&plan));
	layout_plan_spot(&plan, 77, 12, 5008, &spot);
	ck_assert_str_eq(spot.file, "rec.00000012");
	ck_assert_uint_eq(spot.start, 0);
	ck_assert_uint_eq(spot.offset, 0);
	plan_of(&plan, "mark6", 5008, 2, 256);
	ck_assert(layout_plan_shared(&plan));
	layout_plan_spot(&plan, 20, 12, 5008, &spot);
	ck_assert_str_eq(spot.file, "../rec");
	ck_assert_uint_eq(plan.sg.format, SG_MARK5B);
	ck_assert_uint_eq(plan.sg.packet_bytes, 10016);
	ck_assert_uint_eq(plan.sg.block_bytes, 5008 * 256 + 8);
	plan_of(&plan, "file", 5008, 2, 256);
	layout_plan_spot(&plan, 0, 12, 5008, &spot);
	ck_assert_str_eq(spot.file, "rec.m5b");
}
END_TEST

/* Metadata may be damaged and still parse. */
START_TEST(damaged)
{
	static const char *const bad[] = {
		"{\"layout\":\"mark7\"}",
		"{\"layout\":\"mark6\"}",
		"{\"layout\":\"mark6\",\"geometry\":{\"block_bytes\":9999993,"
		"\"payload\":1,\"parts\":1}}",
		"{\"layout\":\"mark6\",\"geometry\":{\"block_bytes\":-1,"
		"\"payload\":1,\"parts\":1}}",
		"{\"layout\":\"mark6\",\"geometry\":{\"block_bytes\":100,"
		"\"payload\":101,\"parts\":1}}",
		"{\"layout\":\"mark6\",\"geometry\":{\"block_bytes\":100,"
		"\"payload\":50,\"parts\":3}}",
		"{\"layout\":\"mark6\",\"geometry\":{\"block_bytes\":100,"
		"\"payload\":0,\"parts\":0}}",
	};
	struct layout_plan plan;
	json_t *head;

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		head = json_loads(bad[i], 0, NULL);
		ck_assert_ptr_nonnull(head);
		ck_assert_int_eq(layout_plan_make(&plan, "rec", head),
				 -EBADMSG);
		json_decref(head);
	}
	/* No path is made of what is no extension. */
	head = json_pack("{s:s, s:s}", "layout", "file", "extension", "../x");
	ck_assert_int_eq(layout_plan_make(&plan, "rec", head), 0);
	ck_assert_str_eq(plan.extension, "data");
	json_decref(head);
}
END_TEST

enum { DISKS = 4, BLOCKS = 200 };

/* A disk's file, in memory. */
struct file {
	uint8_t *data;
	uint64_t end;
	uint64_t number[BLOCKS], start[BLOCKS], bytes[BLOCKS];
	unsigned n;
};

static void
put(const struct layout_plan *plan, struct file *f, uint64_t number,
    uint64_t bytes)
{
	struct layout_spot spot;

	layout_plan_spot(plan, f->end, number, bytes, &spot);
	ck_assert_uint_eq(spot.start, f->end);
	ck_assert_uint_eq(spot.offset, spot.start + spot.prefix_bytes);
	ck_assert_uint_eq(spot.end, spot.offset + spot.room);
	ck_assert_uint_ge(spot.room, bytes);
	memcpy(f->data + spot.start, spot.prefix, spot.prefix_bytes);
	f->number[f->n] = number;
	f->start[f->n] = f->end;
	f->bytes[f->n++] = bytes;
	f->end = spot.end;
}

/* Mark6: walked as others do, from the file alone. */
static void
back(const struct layout_plan *plan, const struct file *f)
{
	struct sg_header h;
	uint64_t at = SG_HEADER, number, bytes;
	unsigned i;

	ck_assert_int_eq(sg_header_read(&h, f->data), 0);
	ck_assert_uint_eq(h.block_bytes, plan->sg.block_bytes);
	for (i = 0; at < f->end; i++) {
		ck_assert_int_eq(layout_plan_back(plan, f->data + at,
						  f->end - at, &number, &bytes),
				 0);
		ck_assert_uint_eq(at, f->start[i]);
		ck_assert_uint_eq(at, SG_HEADER + i * (uint64_t)h.block_bytes);
		ck_assert_uint_eq(number, f->number[i]);
		ck_assert_uint_eq(bytes, h.block_bytes - SG_BLOCK);
		at += SG_BLOCK + bytes;
	}
	ck_assert_uint_eq(i, f->n);
	ck_assert_int_eq(
	    layout_plan_back(plan, f->data + at, 0, &number, &bytes), -ENODATA);
}

/* Blocks of any size go to any disk. */
static void
deal(const char *layout, unsigned seed)
{
	uint32_t parts = 1 + seed % 3, payload = 8 + seed * 7 % 300;
	uint32_t slots = parts * (1 + seed % 40);
	struct file file[DISKS] = { 0 };
	struct layout_plan plan;

	srand(seed);
	plan_of(&plan, layout, payload, parts, slots);
	for (unsigned i = 0; i < DISKS; i++) {
		file[i].data = calloc(BLOCKS, payload * slots + SG_BLOCK + 20);
		ck_assert_ptr_nonnull(file[i].data);
		file[i].end = layout_plan_begin(&plan, file[i].data);
	}
	for (uint64_t n = 0; n < BLOCKS; n++) {
		bool whole = rand() % 8;
		uint64_t bytes = (uint64_t)payload *
				 (whole ? slots : 1 + (unsigned)rand() % slots);

		put(&plan, &file[rand() % DISKS], n, bytes);
	}
	for (unsigned i = 0; i < DISKS; i++) {
		uint64_t sum = 0;

		for (unsigned k = 0; k < file[i].n; k++)
			sum += file[i].bytes[k];
		if (plan.layout == LAYOUT_MARK6)
			back(&plan, &file[i]);
		else
			ck_assert_uint_eq(file[i].end, sum);
		free(file[i].data);
	}
}

START_TEST(both_ways)
{
	for (unsigned seed = 1; seed <= 100; seed++) {
		deal("mark6", seed);
		deal("file", seed);
	}
}
END_TEST

/* In a file of nothing but data, blocks do not tell. */
START_TEST(silent)
{
	uint64_t number, bytes;
	uint8_t raw[SG_BLOCK] = { 0 };
	struct layout_plan plan;

	plan_of(&plan, "file", 8, 1, 1);
	ck_assert_int_eq(layout_plan_back(&plan, raw, 8, &number, &bytes),
			 -ENOTSUP);
	plan_of(&plan, "mark6", 8, 1, 1);
	ck_assert_int_eq(layout_plan_back(&plan, raw, 16, &number, &bytes),
			 -EBADMSG);
}
END_TEST

SUITE("layout_plan", names, damaged, both_ways, silent)
