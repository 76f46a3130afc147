/* SPDX-License-Identifier: MIT */
/* Everything that can be wrong is found, and each thing once. */
#include "config.h"

#include <fcntl.h>

#include "store/recording/recording.h"
#include "store/repair/verify.h"
#include "lib/made_row.h"
#include "lib/suite.h"

static struct made m;
static struct made_row row;
static struct made_block mb;
static char said[4096];
static struct verify_report report;

static void
hear(void *arg, const struct verify_finding *f)
{
	(void)arg;
	ck_assert_ptr_nonnull(verify_word(f->kind));
	strncat(said, f->sentence, sizeof said - strlen(said) - 1);
	strncat(said, "\n", sizeof said - strlen(said) - 1);
}

static void
step(void *arg, uint64_t done, uint64_t of)
{
	(void)arg;
	ck_assert_uint_le(done, of);
}

static int
verified(void)
{
	struct verify_hooks hooks = { .found = hear, .progress = step };
	struct recording *rec;
	struct fault fault;
	int n;

	said[0] = '\0';
	ck_assert_int_eq(recording_open(&rec, &m.disks, MADE_NAME, &fault), 0);
	n = verify(rec, &m.disks, &hooks, &report);
	recording_close(rec);
	return n;
}

static void
says(const char *text)
{
	ck_assert_msg(strstr(said, text) != NULL, "\"%s\" is not in \"%s\"",
		      text, said);
}

START_TEST(sound)
{
	made_begin(&m);
	made_blocks(&m, 5);
	made_end(&m, 5);
	ck_assert_int_eq(verified(), 0);
	ck_assert_str_eq(said, "");
	ck_assert_uint_eq(report.unsummed, 5);
	ck_assert_uint_eq(report.summed, 0);
	made_finish(&m);
}
END_TEST

START_TEST(chunks)
{
	made_begin(&m);
	made_blocks(&m, 5);
	made_block(&m, &mb, 9, 0, 1);
	made_chunk(&m, 0, &mb);
	made_end(&m, 5);
	ck_assert_int_eq(truncate(made_path(&m, 0, MADE_NAME ".00000003"), 7),
			 0);
	ck_assert_int_eq(unlink(made_path(&m, 1, MADE_NAME ".00000001")), 0);
	ck_assert_int_eq(verified(), 3);
	says("chunk 9 on");
	says("is in no index");
	says("d1 is not there, though");
	says("has 7 bytes, the index says 4096");
	made_finish(&m);
}
END_TEST

START_TEST(duplicate)
{
	made_begin(&m);
	made_blocks(&m, 3);
	made_block(&m, &mb, 0, 0, MADE_SLOTS);
	made_write(&m, 1, &mb);
	made_end(&m, 3);
	ck_assert_int_eq(verified(), 1);
	says("block 0 is also on");
	made_finish(&m);
}
END_TEST

START_TEST(absent)
{
	made_begin(&m);
	made_blocks(&m, 8);
	made_end(&m, 8);
	made_hide(&m, 1);
	ck_assert_int_eq(verified(), 3);
	says("block 4 is on none");
	made_hide(&m, 2);
	ck_assert_int_eq(verified(), 3);
	says("blocks 4 to 5 are on none");
	made_finish(&m);
}
END_TEST

START_TEST(indexes)
{
	int fd;

	made_begin(&m);
	made_blocks(&m, 3);
	folder_close(m.folder[1], NULL, NULL);
	m.folder[1] = NULL;
	made_end(&m, 3);
	fd = open(made_path(&m, 2, MADE_NAME ".index"), O_WRONLY | O_APPEND);
	ck_assert_int_eq(write(fd, "torn", 4), 4);
	close(fd);
	ck_assert_int_eq(verified(), 2);
	says("ends in 4 bytes that are no record");
	says("has no end");
	made_finish(&m);
}
END_TEST

START_TEST(no_end)
{
	made_begin(&m);
	made_blocks(&m, 3);
	made_end(&m, 0);
	ck_assert_int_eq(verified(), 1);
	says("its recorder died");
	made_finish(&m);
}
END_TEST

/* What a live recording has not got yet is not wrong. */
START_TEST(live)
{
	made_begin(&m);
	made_blocks(&m, 3);
	made_block(&m, &mb, 3, 3 * MADE_SLOTS, MADE_SLOTS);
	made_chunk(&m, 0, &mb);
	ck_assert_int_eq(verified(), 0);
	made_finish(&m);
}
END_TEST

/* Packets of heaps, up to the end of the chunk, as the index says. */
START_TEST(rows)
{
	m.store = HEAP_ROW;
	m.subs = 2;
	made_begin(&m);
	made_heap(&row, 5, 1000, 0, 1000);
	made_heap(&row, 6, 1000, 500, 1000);
	made_row_write(&m, 0, 0, &row);
	made_row_write(&m, 1, 1, &row);
	made_end(&m, 2);
	ck_assert_int_eq(verified(), 0);
	ck_assert_str_eq(said, "");
	ck_assert_uint_eq(report.heaps, 4);
	ck_assert_uint_eq(report.incomplete, 2);
	made_finish(&m);
	row = (struct made_row){ 0 };
}
END_TEST

START_TEST(rows_that_lie)
{
	m.store = HEAP_ROW;
	made_begin(&m);
	made_heap(&row, 5, 1000, 0, 100);
	made_heap(&row, 5, 1000, 99, 200);
	row.record.first = 4;
	row.record.present = 1;
	made_row_write(&m, 0, 0, &row);
	row = (struct made_row){ 0 };
	made_heap(&row, 7, 1000, 0, 1000);
	row.record.bytes = row.bytes += 8;
	made_row_write(&m, 1, 1, &row);
	row = (struct made_row){ 0 };
	made_heap(&row, 8, 1000, 0, 1000);
	row.data[1]++;
	made_row_write(&m, 2, 2, &row);
	made_end(&m, 3);
	ck_assert_int_eq(verified(), 5);
	says("chunk 0 on");
	says("begins with heap 5, the index says 4");
	says("1 packets contradict others");
	says("has 2 packets of heaps, the index says that 1 pieces");
	says("at byte 1048 there is no whole packet");
	says("at byte 0 there is no whole packet");
	made_finish(&m);
	row = (struct made_row){ 0 };
}
END_TEST

static void
add_cube(uint64_t number, uint64_t first, uint32_t used, const char *line)
{
	struct index_record r;
	json_t *holes = line ? json_loads(line, 0, NULL) : NULL;

	made_block(&m, &mb, number, first, used);
	made_chunk(&m, 0, &mb);
	if (holes)
		ck_assert_int_eq(folder_note(m.folder[0], holes), 0);
	json_decref(holes);
	r = made_record(&mb.b);
	r.missing = number < 4;
	made_index(&m, 0, &r);
}

/* 0 and 1 are sound; of 2 no line tells, 3 has not so many bytes, 5 begins
 * too early. */
START_TEST(cubes)
{
	m.store = HEAP_CUBE;
	made_begin(&m);
	add_cube(0, 0, 2, "{\"block\":0,\"holes\":[],\"unit\":\"byte\"}");
	add_cube(1, 2, 2,
		 "{\"block\":1,\"holes\":[[1,7],[127,1]],\"unit\":\"byte\"}");
	made_end(&m, 2);
	ck_assert_int_eq(verified(), 0);
	made_finish(&m);
	m.store = HEAP_CUBE;
	made_begin(&m);
	add_cube(0, 0, 2, "{\"block\":0,\"holes\":[],\"unit\":\"byte\"}");
	add_cube(1, 2, 2,
		 "{\"block\":1,\"holes\":[[1,7],[127,1]],\"unit\":\"byte\"}");
	add_cube(2, 4, 2, NULL);
	add_cube(3, 6, 2,
		 "{\"block\":3,\"holes\":[[127,2]],\"unit\":\"byte\"}");
	add_cube(4, 8, 2, NULL);
	add_cube(5, 9, 2, NULL);
	made_end(&m, 6);
	ck_assert_int_eq(verified(), 3);
	says("chunk 2 on");
	says("does not say where");
	says("bytes which it does not have");
	says("block 5 begins before block 4 ends");
	made_finish(&m);
}
END_TEST

SUITE_THREADS("verify", NULL, sound, chunks, duplicate, absent, indexes, no_end,
	      live, rows, rows_that_lie, cubes)
