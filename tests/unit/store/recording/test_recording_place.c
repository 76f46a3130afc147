/* SPDX-License-Identifier: MIT */
/*
 * Blocks of several substreams share numbers and disks; each substream is a
 * file of its own, and what no disk has is in none.
 */
#include "config.h"

#include <errno.h>

#include "store/recording/recording.h"
#include "lib/made_row.h"
#include "lib/made_read.h"
#include "lib/suite.h"

static struct made m;
static struct recording *rec;

static struct made_block mb;

/* A full block of a substream: the next of its file. */
static void
add(unsigned disk, uint64_t number, unsigned sub, uint64_t first)
{
	m.sub = (uint16_t)sub;
	made_block(&m, &mb, number, first, MADE_SLOTS);
	made_write(&m, disk, &mb);
}

/* n rounds of blocks of three substreams, each on a disk of its own. */
static void
rounds(unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		for (unsigned s = 0; s < 3; s++)
			add((i + s) % MADE_DISKS, i * 3 + s, s,
			    (uint64_t)i * MADE_SLOTS);
	}
}

static void
choose(unsigned sub)
{
	m.sub = (uint16_t)sub;
	recording_select(rec, sub);
}

START_TEST(a_file_each)
{
	const struct recording_facts *f;
	uint8_t one[10];

	m.subs = 4; /* the last one is silent */
	made_begin(&m);
	rounds(4);
	made_end(&m, 12);
	f = opened(&m, &rec);
	ck_assert_uint_eq(f->subs, 4);
	ck_assert_uint_eq(f->bytes, 12 * MADE_BLOCK);
	ck_assert_uint_eq(f->packets, 12 * MADE_SLOTS);
	ck_assert_uint_eq(f->chunks, 12);
	ck_assert_uint_eq(f->runs, 3);
	for (unsigned s = 0; s < 3; s++) {
		choose(s);
		ck_assert_uint_eq(f->sub[s].bytes, 4 * MADE_BLOCK);
		ck_assert_uint_eq(f->sub[s].packets, 4 * MADE_SLOTS);
		ck_assert_uint_eq(f->sub[s].runs, 1);
		ck_assert_uint_eq(f->sub[s].run->sub, s);
		ck_assert_int_gt(f->sub[s].last_ns, f->sub[s].first_ns);
		ck_assert_uint_eq(
		    slots_are(&m, rec, 0, 4 * MADE_SLOTS, 0, true), 0);
		ck_assert_int_eq(recording_read(rec, one, sizeof one,
						4 * MADE_BLOCK - 3, NULL),
				 3);
	}
	ck_assert_uint_eq(f->sub[3].bytes, 0);
	ck_assert_int_eq(f->sub[3].first_ns, 0);
	for (unsigned s = 3; s < 70000; s += 60000) {
		choose(s);
		ck_assert_int_eq(recording_read(rec, one, sizeof one, 0, NULL),
				 0);
	}
	done(&m, rec);
}
END_TEST

/* Substreams that the head does not tell of are there all the same. */
START_TEST(seen_in_records)
{
	made_begin(&m);
	rounds(2);
	made_end(&m, 6);
	ck_assert_uint_eq(opened(&m, &rec)->subs, 3);
	choose(2);
	slots_are(&m, rec, 0, 2 * MADE_SLOTS, 0, true);
	done(&m, rec);
}
END_TEST

/* Between two blocks of a file the sequences tell what is missing; behind
 * the last one nobody knows. */
START_TEST(absent_numbers)
{
	const struct recording_facts *f;

	m.subs = 3;
	made_begin(&m);
	rounds(6);
	made_end(&m, 18);
	made_hide(&m, 1);
	f = opened(&m, &rec);
	ck_assert_uint_eq(f->absent, 6);
	ck_assert_uint_eq(f->chunks, 12);
	/* Substream 0 lost blocks 1 and 4 of 6, 2 its last, 1 its first. */
	ck_assert_uint_eq(f->sub[0].bytes, 6 * MADE_BLOCK);
	ck_assert_uint_eq(f->sub[2].bytes, 5 * MADE_BLOCK);
	ck_assert_uint_eq(f->sub[1].bytes, 5 * MADE_BLOCK);
	ck_assert_uint_eq(f->packets, 12 * MADE_SLOTS);
	ck_assert_uint_eq(f->missing, 0);
	choose(0);
	for (unsigned i = 0; i < 6; i++)
		ck_assert_uint_eq(slots_are(&m, rec, i * MADE_SLOTS,
					    (i + 1) * MADE_SLOTS,
					    i * MADE_SLOTS, i % 3 != 1),
				  i % 3 == 1 ? MADE_BLOCK : 0);
	choose(1);
	slots_are(&m, rec, 0, 2 * MADE_SLOTS, MADE_SLOTS, true);
	choose(2);
	slots_are(&m, rec, 0, 2 * MADE_SLOTS, 0, true);
	done(&m, rec);
}
END_TEST

/* Reads across a stretch that has no block, at once and byte by byte. */
START_TEST(across_a_hole)
{
	static uint8_t one[3 * MADE_BLOCK], two[3 * MADE_BLOCK];
	uint64_t filled = 0;

	m.subs = 2;
	made_begin(&m);
	add(0, 0, 1, 0);
	add(1, 1, 0, 0);
	add(2, 3, 1, 2 * MADE_SLOTS);
	made_end(&m, 4);
	opened(&m, &rec);
	choose(1);
	ck_assert_int_eq(recording_read(rec, one, sizeof one, 0, &filled),
			 sizeof one);
	ck_assert_uint_eq(filled, MADE_BLOCK);
	for (size_t i = 0; i < sizeof two; i += 61)
		ck_assert_int_gt(
		    recording_read(rec, two + i,
				   sizeof two - i < 61 ? sizeof two - i : 61, i,
				   NULL),
		    0);
	ck_assert_mem_eq(one, two, sizeof one);
	slots_are(&m, rec, MADE_SLOTS, 2 * MADE_SLOTS, MADE_SLOTS, false);
	done(&m, rec);
}
END_TEST

START_TEST(runs_of_each)
{
	const struct recording_facts *f;

	m.subs = 2;
	made_begin(&m);
	m.sub = 0;
	made_run(&m, 0, 0, 100);
	made_run(&m, 1, 0, 100);
	m.sub = 1;
	made_run(&m, 0, 0, 200);
	made_run(&m, 2, 1, 300);
	add(0, 0, 0, 0);
	add(0, 1, 1, 0);
	m.sub = 1;
	made_block(&m, &mb, 2, 7, 20);
	mb.b.run = 1;
	made_write(&m, 2, &mb);
	add(1, 3, 0, MADE_SLOTS);
	made_end(&m, 4);
	f = opened(&m, &rec);
	ck_assert_uint_eq(f->runs, 3);
	ck_assert_uint_eq(f->sub[0].runs, 1);
	ck_assert_uint_eq(f->sub[0].run->base, 100);
	ck_assert_uint_eq(f->sub[0].run->last, 2 * MADE_SLOTS - 1);
	ck_assert_uint_eq(f->sub[1].runs, 2);
	ck_assert_uint_eq(f->sub[1].run[0].base, 200);
	ck_assert_uint_eq(f->sub[1].run[1].base, 300);
	ck_assert_uint_eq(f->sub[1].run[1].run, 1);
	ck_assert_uint_eq(f->sub[1].run[1].sub, 1);
	ck_assert_uint_eq(f->sub[1].run[1].first, 7);
	ck_assert_uint_eq(f->sub[1].run[1].packets, 20);
	ck_assert_uint_eq(f->sub[1].bytes, MADE_BLOCK + 20 * MADE_PAYLOAD);
	done(&m, rec);
}
END_TEST

/* While it is written, nothing beyond a number that is not there yet. */
START_TEST(live)
{
	const struct recording_facts *f;

	m.subs = 3;
	made_begin(&m);
	f = opened(&m, &rec);
	ck_assert_uint_eq(f->subs, 3);
	ck_assert_uint_eq(f->sub[2].bytes, 0);
	rounds(1);
	add(0, 4, 1, MADE_SLOTS);
	ck_assert_int_eq(recording_refresh(rec), 0);
	ck_assert_uint_eq(f->bytes, 3 * MADE_BLOCK);
	add(1, 3, 0, MADE_SLOTS);
	ck_assert_int_eq(recording_refresh(rec), 0);
	ck_assert_uint_eq(f->sub[0].bytes, 2 * MADE_BLOCK);
	ck_assert_uint_eq(f->sub[1].bytes, 2 * MADE_BLOCK);
	ck_assert_uint_eq(f->sub[2].bytes, MADE_BLOCK);
	choose(1);
	slots_are(&m, rec, 0, 2 * MADE_SLOTS, 0, true);
	done(&m, rec);
}
END_TEST

static uint64_t bytes_n, bytes_from;

static void
count_bytes(void *arg, uint64_t at, uint64_t count)
{
	(void)arg;
	bytes_from = at;
	bytes_n += count;
}

/* Cubes: zeros for what is not there, time by place. */
START_TEST(cubes)
{
	struct index_record gap = { .number = 1,
				    .kind = INDEX_GAP,
				    .sub = 1,
				    .first = MADE_SLOTS,
				    .missing = 10 };
	const struct recording_facts *f;
	json_t *holes;

	m.subs = 2;
	m.store = HEAP_CUBE;
	m.channels_per_file = 2;
	made_begin(&m);
	add(0, 0, 1, 0);
	made_index(&m, 1, &gap);
	m.sub = 1;
	made_block(&m, &mb, 2, MADE_SLOTS + 10, MADE_SLOTS);
	made_lose(&mb, 3);
	holes = json_pack("{s:i s:[[i,i]] s:s}", "block", 2, "holes",
			  3 * MADE_PAYLOAD + 8, 56, "unit", "byte");
	ck_assert_int_eq(folder_note(m.folder[2], holes), 0);
	json_decref(holes);
	mb.b.filled = 3 * MADE_SLOTS - 2; /* three pieces to a heap */
	made_chunk(&m, 2, &mb);
	{
		struct index_record r = made_record(&mb.b);

		r.missing = 2;
		made_index(&m, 2, &r);
	}
	add(1, 3, 0, 0);
	add(1, 4, 1, 2 * MADE_SLOTS + 10);
	made_end(&m, 5);
	ck_assert_int_eq(unlink(made_path(&m, 1, MADE_NAME ".00000004")), 0);
	f = opened(&m, &rec);
	ck_assert_int_eq(f->store, HEAP_CUBE);
	ck_assert_uint_eq(f->channels_per_file, 2);
	ck_assert_uint_eq(f->sub[1].bytes, 3 * MADE_BLOCK + 10 * MADE_PAYLOAD);
	ck_assert_uint_eq(f->sub[1].packets, 5 * MADE_SLOTS - 2);
	/* The pieces of a gap are counted as those of the block behind it. */
	ck_assert_uint_eq(f->sub[1].missing, 2 + 3 * 10);
	ck_assert_uint_eq(f->sub[1].run->last, 3 * MADE_SLOTS + 9);
	choose(1);
	slots_are(&m, rec, 0, MADE_SLOTS, 0, true);
	ck_assert_uint_eq(
	    slots_are(&m, rec, MADE_SLOTS, MADE_SLOTS + 10, 0, false),
	    10 * MADE_PAYLOAD);
	slots_are(&m, rec, MADE_SLOTS + 10, MADE_SLOTS + 13, MADE_SLOTS + 10,
		  true);
	slots_are(&m, rec, MADE_SLOTS + 14, 2 * MADE_SLOTS + 10,
		  MADE_SLOTS + 14, true);
	ck_assert_uint_eq(slots_are(&m, rec, 2 * MADE_SLOTS + 10,
				    3 * MADE_SLOTS + 10, 0, false),
			  MADE_BLOCK);
	ck_assert_int_eq(recording_holes(rec, 2, count_bytes, NULL), 0);
	ck_assert_uint_eq(bytes_from, 3 * MADE_PAYLOAD + 8);
	ck_assert_uint_eq(bytes_n, 56);
	bytes_n = 0;
	ck_assert_int_eq(recording_holes(rec, 1, count_bytes, NULL), 0);
	ck_assert_uint_eq(bytes_n, 10 * MADE_PAYLOAD);
	done(&m, rec);
}
END_TEST

/* Rows: nothing stands for a chunk that is not there; one that is short ends
 * with its last whole heap. */
START_TEST(rows)
{
	static struct made_row row[4];
	const struct recording_facts *f;
	uint8_t is[1 << 14], want[1 << 14];
	uint64_t bytes = 0, short_at, filled = 0;
	char file[LAYOUT_FILE];

	m.store = HEAP_ROW;
	made_begin(&m);
	for (unsigned i = 0; i < 4; i++) {
		for (unsigned k = 0; k < 3; k++)
			made_heap(&row[i], 3 * i + k, 700, 0, 700);
		made_row_write(&m, i % 2, i, &row[i]);
	}
	made_end(&m, 5);
	unlink(made_path(&m, 1, layout_chunk(file, MADE_NAME, 1)));
	short_at = 2 * (row[2].bytes / 3);
	ck_assert_int_eq(
	    truncate(made_path(&m, 0, layout_chunk(file, MADE_NAME, 2)),
		     (off_t)short_at + 300),
	    0);
	for (unsigned i = 0; i < 4; i++) {
		uint64_t n = i == 2 ? short_at : row[i].bytes;

		if (i != 1)
			memcpy(want + bytes, row[i].data, n);
		bytes += i == 1 ? 0 : n;
	}
	f = opened(&m, &rec);
	ck_assert_uint_eq(f->bytes, bytes);
	ck_assert_uint_eq(f->left_out, 4 * row[0].bytes - bytes);
	ck_assert_uint_eq(f->absent, 1);
	ck_assert_int_eq(recording_read(rec, is, sizeof is, 0, &filled),
			 (ssize_t)bytes);
	ck_assert_mem_eq(is, want, bytes);
	ck_assert_uint_eq(filled, 0);
	for (uint64_t at = 0; at < bytes; at += 333)
		ck_assert_int_eq(
		    recording_read(rec, is + at,
				   bytes - at < 333 ? bytes - at : 333, at,
				   NULL),
		    (ssize_t)(bytes - at < 333 ? bytes - at : 333));
	ck_assert_mem_eq(is, want, bytes);
	/* What goes while somebody reads is no fill, but an error; the file
	 * stays as long as it was. */
	unlink(made_path(&m, 1, layout_chunk(file, MADE_NAME, 3)));
	recording_close(rec);
	opened(&m, &rec);
	ck_assert_int_eq(recording_refresh(rec), 0);
	bytes = recording_facts(rec)->bytes;
	unlink(made_path(&m, 0, layout_chunk(file, MADE_NAME, 0)));
	ck_assert_int_eq(recording_refresh(rec), 0);
	ck_assert_uint_eq(recording_facts(rec)->bytes, bytes);
	ck_assert_int_eq(recording_read(rec, is, 100, 0, NULL), -EIO);
	ck_assert_int_eq(recording_read(rec, is, 100, row[0].bytes, NULL), 100);
	done(&m, rec);
}
END_TEST

SUITE("recording_place", a_file_each, seen_in_records, absent_numbers,
      across_a_hole, runs_of_each, live, cubes, rows)
