/* SPDX-License-Identifier: MIT */
/*
 * Recordings as they come: whole, growing, broken off, with a disk missing,
 * or not recordings at all.
 */
#include "config.h"

#include <errno.h>

#include "store/recording/recording.h"
#include "lib/made_read.h"
#include "lib/suite.h"

static struct made m;
static struct recording *rec;
static struct fault fault;

static struct made_block mb;

START_TEST(complete)
{
	const struct recording_facts *f;
	uint8_t one[3 * MADE_BLOCK], two[3 * MADE_BLOCK];
	uint64_t filled = 0;

	made_begin(&m);
	made_blocks(&m, 7);
	made_end(&m, 7);
	f = opened(&m, &rec);
	ck_assert_int_eq(f->state, RECORDING_COMPLETE);
	ck_assert_str_eq(f->name, MADE_NAME);
	ck_assert_str_eq(f->stream, "test");
	ck_assert_str_eq(f->format, "vdif");
	ck_assert_uint_eq(f->payload, MADE_PAYLOAD);
	ck_assert_uint_eq(f->bytes, 7 * MADE_BLOCK);
	ck_assert_uint_eq(f->packets, 7 * MADE_SLOTS);
	ck_assert_uint_eq(f->missing, 0);
	ck_assert_uint_eq(f->chunks, 7);
	ck_assert_uint_eq(f->gaps + f->absent, 0);
	ck_assert_int_eq(f->start_ns, MADE_SECOND * 1000000000 + 5);
	ck_assert_int_eq(f->end_ns, MADE_SECOND * 1000000000 + 7000000000);
	ck_assert_uint_eq(f->runs, 1);
	ck_assert_uint_eq(f->run[0].base, MADE_BASE);
	ck_assert_uint_eq(f->run[0].last, 7 * MADE_SLOTS - 1);
	ck_assert_uint_eq(slots_are(&m, rec, 0, 7 * MADE_SLOTS, 0, true), 0);

	/* Any piece is the same as that piece of a whole. */
	ck_assert_int_eq(recording_read(rec, one, sizeof one, 1000, &filled),
			 sizeof one);
	for (size_t at = 0; at < sizeof two; at += 997) {
		size_t n = sizeof two - at < 997 ? sizeof two - at : 997;

		ck_assert_int_eq(
		    recording_read(rec, two + at, n, 1000 + at, NULL), n);
	}
	ck_assert_mem_eq(one, two, sizeof one);
	ck_assert_uint_eq(filled, 0);

	/* At the end, and behind it. */
	ck_assert_int_eq(recording_read(rec, one, 100, f->bytes - 10, NULL),
			 10);
	ck_assert_int_eq(recording_read(rec, one, 100, f->bytes, NULL), 0);
	ck_assert_int_eq(recording_read(rec, one, 100, UINT64_MAX, NULL), 0);
	done(&m, rec);
}
END_TEST

START_TEST(live)
{
	const struct recording_facts *f;

	made_begin(&m);
	f = opened(&m, &rec);
	ck_assert_int_eq(f->state, RECORDING_LIVE);
	ck_assert_uint_eq(f->bytes, 0);
	ck_assert_int_eq(f->end_ns, f->start_ns);

	made_blocks(&m, 2);
	made_block(&m, &mb, 3, 3 * MADE_SLOTS, MADE_SLOTS);
	made_write(&m, 0, &mb);
	ck_assert_uint_eq(f->bytes, 0);
	ck_assert_int_eq(recording_refresh(rec), 0);
	/* Block 2 is not there yet, so 3 is not visible. */
	ck_assert_uint_eq(f->bytes, 2 * MADE_BLOCK);
	ck_assert_uint_eq(f->runs, 1);
	ck_assert_uint_eq(f->run[0].base, MADE_BASE);

	made_block(&m, &mb, 2, 2 * MADE_SLOTS, MADE_SLOTS);
	made_write(&m, 2, &mb);
	ck_assert_int_eq(recording_refresh(rec), 0);
	ck_assert_uint_eq(f->bytes, 4 * MADE_BLOCK);
	slots_are(&m, rec, 0, 4 * MADE_SLOTS, 0, true);

	made_end(&m, 4);
	ck_assert_int_eq(recording_refresh(rec), 0);
	ck_assert_int_eq(f->state, RECORDING_COMPLETE);
	ck_assert_ptr_nonnull(f->tail);
	done(&m, rec);
}
END_TEST

START_TEST(interrupted)
{
	const struct recording_facts *f;

	made_begin(&m);
	made_blocks(&m, 2);
	made_block(&m, &mb, 3, 3 * MADE_SLOTS, MADE_SLOTS);
	made_write(&m, 0, &mb);
	made_end(&m, 0);
	f = opened(&m, &rec);
	ck_assert_int_eq(f->state, RECORDING_INTERRUPTED);
	ck_assert_uint_eq(f->bytes, 4 * MADE_BLOCK);
	ck_assert_uint_eq(f->absent, 1);
	slots_are(&m, rec, 0, 2 * MADE_SLOTS, 0, true);
	ck_assert_uint_eq(slots_are(&m, rec, 2 * MADE_SLOTS, 3 * MADE_SLOTS,
				    2 * MADE_SLOTS, false),
			  MADE_BLOCK);
	slots_are(&m, rec, 3 * MADE_SLOTS, 4 * MADE_SLOTS, 3 * MADE_SLOTS,
		  true);
	done(&m, rec);
}
END_TEST

START_TEST(a_disk_not_there)
{
	const struct recording_facts *f;

	made_begin(&m);
	made_blocks(&m, 7);
	made_end(&m, 7);
	made_hide(&m, 0);
	f = opened(&m, &rec);
	ck_assert_int_eq(f->state, RECORDING_COMPLETE);
	ck_assert_uint_eq(f->absent, 3);
	ck_assert_uint_eq(f->chunks, 4);
	ck_assert_uint_eq(f->bytes, 7 * MADE_BLOCK);
	for (uint64_t i = 0; i < 7; i++)
		ck_assert_uint_eq(slots_are(&m, rec, i * MADE_SLOTS,
					    (i + 1) * MADE_SLOTS,
					    i * MADE_SLOTS, i % 3 != 0),
				  i % 3 ? 0 : MADE_BLOCK);
	/* It comes back. */
	made_show(&m, 0);
	ck_assert_int_eq(recording_refresh(rec), 0);
	ck_assert_uint_eq(f->absent, 0);
	ck_assert_uint_eq(slots_are(&m, rec, 0, 7 * MADE_SLOTS, 0, true), 0);
	done(&m, rec);
}
END_TEST

START_TEST(not_there)
{
	static const char *const names[] = { "other", "",	  ".",
					     "..",    "a/b",	  "../rec",
					     "rec/",  "rec.index" };

	made_begin(&m);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		ck_assert_int_eq(
		    recording_open(&rec, &m.disks, names[i], &fault), -ENOENT);
		ck_assert_str_eq(fault.code, "not-found");
	}
	made_finish(&m);
}
END_TEST

/* Damaged metadata that is JSON still: refused, or read without harm. */
START_TEST(absurd_shape)
{
	static const struct {
		const char *key;
		json_int_t value;
		int err;
	} cases[] = {
		{ "header", 65, -ENODATA },
		{ "parts", 0, -ENODATA },
		{ "payload", 0, -ENODATA },
		{ "payload", 4294967295, -ENODATA },
		{ "prefix", 4294967295, -ENODATA },
		{ "payload", 32, 0 },
	};
	uint8_t is[MADE_BLOCK];
	struct folder *f;

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct index_record gap = { .kind = INDEX_GAP, .missing = 9 };

		made_begin(&m);
		json_object_set_new(json_object_get(m.head, "shape"),
				    cases[i].key, json_integer(cases[i].value));
		ck_assert_int_eq(
		    folder_create(&f, &m.disks.disk[0], "odd", m.head), 0);
		ck_assert_int_eq(folder_sync(f, &gap, 1), 0);
		folder_close(f, NULL, NULL);
		ck_assert_int_eq(recording_open(&rec, &m.disks, "odd", &fault),
				 cases[i].err);
		if (!cases[i].err) {
			ck_assert_int_eq(
			    recording_read(rec, is, sizeof is, 0, NULL),
			    9 * 32);
			recording_close(rec);
		}
		made_finish(&m);
	}
}
END_TEST

/* What is said to stand before each packet may be longer than there is room
 * for, or than any file. */
START_TEST(absurd_prefix)
{
	static const json_int_t before[] = { 4097, 1 << 20, INT64_C(1) << 33,
					     -1, INT64_MAX - MADE_PAYLOAD };
	uint8_t is[MADE_BLOCK];
	struct folder *f;
	int fd;

	for (size_t i = 0; i < sizeof before / sizeof *before; i++) {
		struct index_record r = { .kind = INDEX_BLOCK,
					  .bytes = MADE_BLOCK,
					  .present = MADE_SLOTS };

		made_begin(&m);
		json_object_set_new(m.head, "stored",
				    json_pack("{s:I, s:I}", "packet",
					      before[i] + MADE_PAYLOAD,
					      "prefix", before[i]));
		ck_assert_int_eq(
		    folder_create(&f, &m.disks.disk[0], "odd", m.head), 0);
		fd = folder_chunk(f, 0, 0, 0);
		ck_assert_int_eq(ftruncate(fd, 100 << 20), 0);
		close(fd);
		ck_assert_int_eq(folder_sync(f, &r, 1), 0);
		folder_close(f, NULL, NULL);
		ck_assert_int_eq(recording_open(&rec, &m.disks, "odd", &fault),
				 0);
		ck_assert_int_eq(recording_read(rec, is, sizeof is, 0, NULL),
				 sizeof is);
		recording_close(rec);
		made_finish(&m);
	}
}
END_TEST

SUITE("recording", complete, live, interrupted, a_disk_not_there, not_there,
      absurd_shape, absurd_prefix)
