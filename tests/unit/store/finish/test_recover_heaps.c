/* SPDX-License-Identifier: MIT */
/* Chunks that no index names: of substreams, rows of heaps and cubes. */
#include "config.h"

#include <errno.h>

#include "lib/made_row.h"
#include "lib/made_recover.h"
#include "lib/suite.h"

static struct made m;
static struct recover_report report;
static struct fault fault;

static struct made_block mb;
static struct made_row row;
static char said[4096];

static void
remember(void *arg, const char *sentence)
{
	(void)arg;
	strncat(said, sentence, sizeof said - strlen(said) - 1);
}

static int
recovers(void)
{
	said[0] = '\0';
	return recover(&m.disks, MADE_NAME,
		       &(struct recover_args){ .say = remember }, &report,
		       &fault);
}

static struct index_record
record_of(uint64_t number)
{
	const struct recording_block *b;
	struct index_record r;
	struct recording *rec;
	size_t n;

	ck_assert_int_eq(recording_open(&rec, &m.disks, MADE_NAME, &fault), 0);
	b = recording_blocks(rec, &n);
	ck_assert_uint_lt(number, n);
	r = b[number].record;
	recording_close(rec);
	return r;
}

static void
add(uint64_t number, unsigned sub, uint64_t first)
{
	m.sub = (uint16_t)sub;
	made_block(&m, &mb, number, first, MADE_SLOTS);
	made_write(&m, number % MADE_DISKS, &mb);
}

static void
orphan(uint64_t number, unsigned sub, uint64_t first)
{
	m.sub = (uint16_t)sub;
	made_block(&m, &mb, number, first, MADE_SLOTS);
	made_chunk(&m, number % MADE_DISKS, &mb);
}

static bool
is_there(uint64_t number)
{
	char file[LAYOUT_FILE];

	layout_chunk(file, MADE_NAME, number);
	return !access(made_path(&m, number % MADE_DISKS, file), F_OK);
}

/* 4 and 5 were noted; 3 is where only substream 0 lacks something; of 8, at
 * the end, nobody knows. */
START_TEST(substreams)
{
	struct index_record r;

	m.subs = 3;
	made_begin(&m);
	for (unsigned i = 0; i < 3; i++)
		add(i, i, 0);
	orphan(3, 0, MADE_SLOTS);
	orphan(4, 2, MADE_SLOTS);
	r = made_record(&mb.b);
	r.run = 7;
	made_note(&m, 1, &r);
	orphan(5, 1, MADE_SLOTS);
	r = made_record(&mb.b);
	made_note(&m, 2, &r);
	add(6, 0, 2 * MADE_SLOTS);
	add(7, 1, 2 * MADE_SLOTS);
	orphan(8, 2, 2 * MADE_SLOTS);
	made_end(&m, 0);
	for (int again = 0; again < 2; again++) {
		ck_assert_int_eq(recovers(), 0);
		ck_assert_uint_eq(report.rebuilt, again ? 0 : 3);
		ck_assert_uint_eq(report.unplaced, 1);
		ck_assert_ptr_nonnull(
		    strstr(said, "to which of 3 substreams it belongs"));
		ck_assert(is_there(8));
	}
	r = record_of(3);
	ck_assert_uint_eq(r.sub, 0);
	ck_assert_uint_eq(r.first, MADE_SLOTS);
	r = record_of(4);
	ck_assert_uint_eq(r.sub, 2);
	ck_assert_uint_eq(r.run, 7);
	ck_assert_uint_eq(r.first, MADE_SLOTS);
	r = record_of(5);
	ck_assert_uint_eq(r.sub, 1);
	ck_assert_uint_eq(r.run, 0);
	made_finish(&m);
}
END_TEST

/* Two substreams lack something there: it could be of either. */
START_TEST(two_could_be)
{
	m.subs = 2;
	made_begin(&m);
	add(0, 0, 0);
	add(1, 1, 0);
	orphan(2, 0, MADE_SLOTS);
	orphan(3, 1, MADE_SLOTS);
	add(4, 0, 2 * MADE_SLOTS);
	add(5, 1, 2 * MADE_SLOTS);
	made_end(&m, 0);
	ck_assert_int_eq(recovers(), 0);
	ck_assert_uint_eq(report.unplaced, 2);
	ck_assert_uint_eq(report.rebuilt, 0);
	ck_assert(is_there(2) && is_there(3));
	made_finish(&m);
}
END_TEST

/* 0 is whole and was noted, 1 is torn, 2 has no whole heap. */
START_TEST(rows)
{
	struct index_record r;
	uint64_t good;

	m.store = HEAP_ROW;
	made_begin(&m);
	made_heap(&row, 5, 1000, 0, 1000);
	made_heap(&row, 6, 1000, 0, 300);
	made_heap(&row, 6, 1000, 500, 1000);
	made_row_chunk(&m, 0, 0, &row);
	row.record.missing = 4;
	made_note(&m, 0, &row.record);
	good = row.bytes;
	row = (struct made_row){ 0 };
	made_heap(&row, 8, 700, 0, 700);
	made_heap(&row, 9, 700, 0, 100);
	good += row.bytes;
	made_heap(&row, 10, 700, 0, 700);
	row.bytes -= 1;
	made_row_chunk(&m, 1, 1, &row);
	made_note(&m, 1, &row.record);
	row = (struct made_row){ .bytes = 4096 };
	made_row_chunk(&m, 2, 2, &row);
	made_end(&m, 0);
	ck_assert_int_eq(recovers(), 0);
	ck_assert_uint_eq(report.rebuilt, 2);
	ck_assert_uint_eq(report.empty, 1);
	ck_assert(!is_there(2));
	r = record_of(0);
	ck_assert_uint_eq(r.present, 6);
	ck_assert_uint_eq(r.missing, 4);
	ck_assert_uint_eq(r.first, 5);
	r = record_of(1);
	ck_assert_uint_eq(r.present, 2);
	ck_assert_uint_eq(r.missing, 1);
	ck_assert_uint_eq(r.first, 8);
	ck_assert_uint_eq(record_of(0).bytes + r.bytes, good);
	is_whole(&m, 8);
	made_finish(&m);
	row = (struct made_row){ 0 };
}
END_TEST

static uint64_t holes_from, holes_n;

static void
take_hole(void *arg, uint64_t at, uint64_t count)
{
	(void)arg;
	holes_from += at;
	holes_n += count;
}

/* 1: slots 3 and 4 never came; 2 was noted to be longer than it looks. */
START_TEST(cubes)
{
	struct recording *rec;
	struct index_record r;

	m.store = HEAP_CUBE;
	made_begin(&m);
	made_block(&m, &mb, 0, 0, MADE_SLOTS);
	made_chunk(&m, 0, &mb);
	r = made_record(&mb.b);
	r.present *= 5; /* pieces */
	made_index(&m, 0, &r);
	made_block(&m, &mb, 1, MADE_SLOTS, MADE_SLOTS);
	made_lose(&mb, 3);
	made_lose(&mb, 4);
	made_lose(&mb, MADE_SLOTS - 1);
	made_chunk(&m, 1, &mb);
	made_block(&m, &mb, 2, 3 * MADE_SLOTS, MADE_SLOTS);
	made_lose(&mb, MADE_SLOTS - 1);
	made_lose(&mb, MADE_SLOTS - 2);
	made_chunk(&m, 2, &mb);
	r = made_record(&mb.b);
	r.bytes -= MADE_PAYLOAD;
	r.present = 123;
	r.missing = 45;
	made_note(&m, 2, &r);
	made_end(&m, 0);
	ck_assert_int_eq(recovers(), 0);
	ck_assert_uint_eq(report.rebuilt, 2);
	r = record_of(1);
	ck_assert_uint_eq(r.first, MADE_SLOTS);
	ck_assert_uint_eq(r.bytes, (MADE_SLOTS - 1) * MADE_PAYLOAD);
	ck_assert_uint_eq(r.present, 5 * (MADE_SLOTS - 3));
	ck_assert_uint_eq(r.missing, 5 * 2);
	r = record_of(2);
	ck_assert_uint_eq(r.first, 3 * MADE_SLOTS);
	ck_assert_uint_eq(r.bytes, (MADE_SLOTS - 1) * MADE_PAYLOAD);
	ck_assert_uint_eq(r.present, 123);
	ck_assert_uint_eq(r.missing, 45);
	ck_assert_int_eq(recording_open(&rec, &m.disks, MADE_NAME, &fault), 0);
	ck_assert_int_eq(recording_holes(rec, 1, take_hole, NULL), 0);
	ck_assert_uint_eq(holes_from, 3 * MADE_PAYLOAD);
	ck_assert_uint_eq(holes_n, 2 * MADE_PAYLOAD);
	ck_assert_int_eq(recording_holes(rec, 2, take_hole, NULL), 0);
	ck_assert_uint_eq(holes_n, 3 * MADE_PAYLOAD);
	recording_close(rec);
	made_finish(&m);
}
END_TEST

SUITE_THREADS("recover_heaps", NULL, substreams, two_could_be, rows, cubes)
