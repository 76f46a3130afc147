/* SPDX-License-Identifier: MIT */
/* Chunks without a record, and the checksums that were there before it. */
#include "store/record/sums.h"
#include "lib/made_recover.h"
#include "lib/suite.h"

static struct made m;
static struct recover_report report;
static struct fault fault;

enum { QUANTUM = 1024, LAST = 4 };

static struct made_block last;
static struct verify_finding found;

static void
hear_one(void *arg, const struct verify_finding *f)
{
	(void)arg;
	found = *f;
	found.sentence = NULL;
}

static int
verified(void)
{
	struct verify_hooks hooks = { .found = hear_one };
	struct verify_report verified;
	struct recording *rec;
	int n;

	ck_assert_int_eq(recording_open(&rec, &m.disks, MADE_NAME, &fault), 0);
	n = verify(rec, &m.disks, &hooks, &verified);
	recording_close(rec);
	return n;
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

/* Block 4 has its chunk and its sums, and no record. */
static const char *
begin(void)
{
	struct index_record r;

	m.quantum = QUANTUM;
	made_begin(&m);
	made_blocks(&m, LAST);
	made_block(&m, &last, LAST, LAST * MADE_SLOTS, MADE_SLOTS);
	made_chunk(&m, LAST % MADE_DISKS, &last);
	r = made_record(&last.b);
	made_sum(&m, LAST % MADE_DISKS, &last, &r);
	made_end(&m, 0);
	return made_path(&m, LAST % MADE_DISKS, MADE_NAME ".00000004");
}

static void
put(const char *path, off_t at, size_t bytes, int byte)
{
	uint8_t data[MADE_BLOCK];
	int fd = open(path, O_WRONLY);

	memset(data, byte, bytes);
	ck_assert_int_eq(pwrite(fd, data, bytes, at), (ssize_t)bytes);
	close(fd);
}

START_TEST(a_sum_that_is_right_is_kept)
{
	struct index_record r;

	begin();
	recovered(&m, &report);
	r = record_of(LAST);
	ck_assert_uint_eq(r.crc, last.b.crc);
	ck_assert_uint_eq(r.flags & (INDEX_SUMMED | INDEX_RECOVERED),
			  INDEX_SUMMED | INDEX_RECOVERED);
	is_whole(&m, (LAST + 1) * MADE_SLOTS);
	made_finish(&m);
}
END_TEST

/* Ten frames were never written: they are missing, and that is all. */
START_TEST(of_what_is_left_there_is_a_new_one)
{
	struct index_record r;

	put(begin(), 20 * MADE_PAYLOAD, 10 * MADE_PAYLOAD, 0);
	recovered(&m, &report);
	r = record_of(LAST);
	ck_assert_uint_eq(r.missing, 10);
	ck_assert_uint_ne(r.crc, last.b.crc);
	ck_assert_uint_eq(r.flags & INDEX_SUMMED, INDEX_SUMMED);
	is_whole(&m, (LAST + 1) * MADE_SLOTS - 10);
	put(made_path(&m, LAST % MADE_DISKS, MADE_NAME ".00000004"), 2000, 1,
	    0x55);
	ck_assert_int_eq(verified(), 1);
	ck_assert_int_eq(found.kind, VERIFY_DAMAGED);
	ck_assert_uint_eq(found.number, LAST);
	made_finish(&m);
}
END_TEST

START_TEST(of_what_was_cut_too)
{
	const char *path = begin();

	ck_assert_int_eq(truncate(path, 50 * MADE_PAYLOAD + 7), 0);
	recovered(&m, &report);
	ck_assert_uint_eq(record_of(LAST).bytes, 50 * MADE_PAYLOAD);
	ck_assert_uint_eq(record_of(LAST).flags & INDEX_SUMMED, INDEX_SUMMED);
	is_whole(&m, LAST * MADE_SLOTS + 50);
	made_finish(&m);
}
END_TEST

/* All frames are there, and one is not what came: nothing hides that. */
START_TEST(damage_is_not_made_right)
{
	put(begin(), 2100, 1, 0x55);
	recovered(&m, &report);
	ck_assert_uint_eq(record_of(LAST).missing, 0);
	ck_assert_uint_eq(record_of(LAST).flags & INDEX_SUMMED, 0);
	ck_assert_int_eq(verified(), 1);
	ck_assert_int_eq(found.kind, VERIFY_DAMAGED);
	ck_assert_uint_eq(found.number, LAST);
	ck_assert_uint_eq(found.at, 2048);
	made_finish(&m);
}
END_TEST

/* Its line is there, and a power cut took the checksums of its pieces. */
START_TEST(a_written_one_gets_them_again)
{
	struct index_record r;
	json_t *line;

	m.quantum = QUANTUM;
	made_begin(&m);
	made_blocks(&m, LAST);
	made_block(&m, &last, LAST, LAST * MADE_SLOTS, MADE_SLOTS);
	made_chunk(&m, LAST % MADE_DISKS, &last);
	r = made_record(&last.b);
	made_sum(&m, LAST % MADE_DISKS, &last, &r);
	line = meta_written(&r, 0);
	ck_assert_int_eq(folder_note(m.folder[LAST % MADE_DISKS], line), 0);
	json_decref(line);
	made_end(&m, 0);
	ck_assert_int_eq(
	    truncate(made_path(&m, LAST % MADE_DISKS, MADE_NAME ".sums"),
		     (off_t)sums_bytes(MADE_BLOCK / QUANTUM)),
	    0);
	recovered(&m, &report);
	ck_assert_uint_eq(record_of(LAST).crc, r.crc);
	ck_assert_uint_eq(record_of(LAST).flags,
			  INDEX_SUMMED | INDEX_DATA_TIME);
	is_whole(&m, (LAST + 1) * MADE_SLOTS);
	made_finish(&m);
}
END_TEST

/* The data are not what the line says: their packets are looked at. */
START_TEST(a_line_of_other_data_is_not_believed)
{
	struct index_record r;
	json_t *line;

	made_begin(&m);
	made_blocks(&m, LAST);
	made_block(&m, &last, LAST, LAST * MADE_SLOTS, MADE_SLOTS);
	made_chunk(&m, LAST % MADE_DISKS, &last);
	r = made_record(&last.b);
	r.crc = crc32c(0, last.b.data, MADE_BLOCK);
	r.flags |= INDEX_SUMMED;
	line = meta_written(&r, 0);
	ck_assert_int_eq(folder_note(m.folder[LAST % MADE_DISKS], line), 0);
	json_decref(line);
	made_end(&m, 0);
	put(made_path(&m, LAST % MADE_DISKS, MADE_NAME ".00000004"),
	    20 * MADE_PAYLOAD, 10 * MADE_PAYLOAD, 0);
	recovered(&m, &report);
	ck_assert_uint_eq(record_of(LAST).missing, 10);
	ck_assert_uint_eq(record_of(LAST).flags,
			  INDEX_RECOVERED | INDEX_DATA_TIME);
	is_whole(&m, (LAST + 1) * MADE_SLOTS - 10);
	made_finish(&m);
}
END_TEST

SUITE_THREADS("recover_sums", NULL, a_written_one_gets_them_again,
	      a_line_of_other_data_is_not_believed, a_sum_that_is_right_is_kept,
	      of_what_is_left_there_is_a_new_one, of_what_was_cut_too,
	      damage_is_not_made_right)
