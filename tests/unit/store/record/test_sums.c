/* SPDX-License-Identifier: MIT */
#include "config.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "lib/dice.h"
#include "lib/scratch.h"
#include "store/disk/disk.h"
#include "store/finish/resume.h"
#include "store/disk/layout.h"
#include "store/record/sums.h"
#include "lib/suite.h"

enum { QUANTUM = 4096, MOST = 5 * QUANTUM };

static struct scratch s;
static uint8_t raw[4096];
static size_t end_of[8]; /* of record i in raw */

/* A sealed block, of as many bytes. */
static struct block
block_make(uint64_t number, uint32_t bytes)
{
	static uint8_t data[MOST];
	static struct block_sum sum[8];
	struct dice dice = { number };
	struct block b = { .data = data,
			   .slot_bytes = 1,
			   .used = bytes,
			   .number = number,
			   .quantum = QUANTUM,
			   .sum = sum };

	for (uint32_t i = 0; i < bytes; i++)
		data[i] = (uint8_t)dice_bits(&dice);
	for (uint32_t at = 0; at < bytes; at += QUANTUM) {
		uint32_t n = bytes - at < QUANTUM ? bytes - at : QUANTUM;

		sum[at / QUANTUM].crc = crc32c(0, data + at, n);
		sum[at / QUANTUM].bytes = n;
	}
	b.crc = crc32c(0, data, bytes);
	return b;
}

/* Those of blocks 9, 3, 5 and once more 3, which is longer now. */
static size_t
make(void)
{
	static const uint64_t number[] = { 9, 3, 5, 3 };
	static const uint32_t bytes[] = { MOST, 0, 4097, 4096 };
	size_t at = 0;

	for (int i = 0; i < 4; i++) {
		struct block b = block_make(number[i], bytes[i]);

		sums_pack(raw + at, &b);
		at += sums_bytes(block_quanta(&b));
		end_of[i] = at;
	}
	return at;
}

static void
read_back(struct sums_list *l, size_t bytes)
{
	const char *path = scratch_path(&s, "sums");
	int fd = open(path, O_CREAT | O_TRUNC | O_RDWR, 0600);

	ck_assert_int_eq(write(fd, raw, bytes), (ssize_t)bytes);
	ck_assert_int_eq(sums_read(fd, l), 0);
	close(fd);
}

START_TEST(the_record_is_what_the_header_says)
{
	struct block b = block_make(0x0102030405060708, 4097);

	sums_pack(raw, &b);
	ck_assert_int_eq(memcmp(raw, "SUMS\2\0\0\0\10\7\6\5\4\3\2\1", 16), 0);
	ck_assert_uint_eq(read_le64(raw + 16), 4097);
	ck_assert_uint_eq(read_le32(raw + 24), QUANTUM);
	ck_assert_uint_eq(read_le32(raw + 28), b.crc);
	ck_assert_uint_eq(read_le32(raw + 32), b.sum[0].crc);
	ck_assert_uint_eq(read_le32(raw + 36), b.sum[1].crc);
	ck_assert_uint_eq(read_le32(raw + 40), crc32c(0, raw, 40));
	ck_assert_uint_eq(sums_bytes(2), 44);
}
END_TEST

START_TEST(the_later_one_counts)
{
	struct sums_list l;
	size_t bytes;

	scratch_make(&s);
	bytes = make();
	read_back(&l, bytes);
	ck_assert_uint_eq(l.n, 3);
	ck_assert_uint_eq(l.end, bytes);
	ck_assert_uint_eq(l.torn + l.damaged, 0);
	ck_assert_ptr_null(sums_find(&l, 4));
	ck_assert_ptr_null(sums_find(&l, 10));
	ck_assert_uint_eq(sums_find(&l, 3)->bytes, 4096);
	ck_assert_uint_eq(sums_find(&l, 5)->count, 2);
	ck_assert_uint_eq(sums_find(&l, 9)->bytes, MOST);
	ck_assert_uint_eq(sums_at(sums_find(&l, 9), 4),
			  block_make(9, MOST).sum[4].crc);
	sums_clear(&l);
	scratch_remove(&s);
}
END_TEST

START_TEST(a_torn_tail_is_none)
{
	struct sums_list l;

	scratch_make(&s);
	make();
	for (size_t bytes = 0; bytes < end_of[3]; bytes++) {
		size_t whole = 0;

		read_back(&l, bytes);
		for (int i = 0; i < 4; i++) {
			if (end_of[i] <= bytes)
				whole = end_of[i];
		}
		ck_assert_uint_eq(l.end, whole);
		ck_assert_uint_eq(l.torn, bytes - whole);
		ck_assert_uint_eq(l.damaged, 0);
		sums_clear(&l);
	}
	scratch_remove(&s);
}
END_TEST

START_TEST(damage_costs_the_record_that_it_is_in)
{
	struct sums_list l;
	size_t bytes;

	scratch_make(&s);
	bytes = make();
	for (size_t at = end_of[1]; at < end_of[2]; at++) {
		raw[at] ^= 0x10;
		read_back(&l, bytes);
		raw[at] ^= 0x10;
		ck_assert_uint_eq(l.n, 2);
		ck_assert_ptr_null(sums_find(&l, 5));
		ck_assert_uint_eq(l.damaged, end_of[2] - end_of[1]);
		ck_assert_uint_eq(l.end, bytes);
		sums_clear(&l);
	}
	scratch_remove(&s);
}
END_TEST

/* Behind a good check. */
START_TEST(lies_are_not_believed)
{
	static const struct {
		size_t at;
		uint32_t value;
	} lie[] = {
		{ 4, 1 },	    /* fewer quanta */
		{ 4, 0xffffffff },  /* more than there is room for */
		{ 16, 4096 },	    /* shorter */
		{ 20, 1 },	    /* longer */
		{ 24, 0 },	    /* no quantum */
		{ 24, 8192 },	    /* another */
		{ 28, 0x12345678 }, /* of other data */
		{ 36, 0x12345678 }, /* so are the quanta */
	};
	struct block b = block_make(1, 4097);
	struct sums sums;

	for (size_t i = 0; i < sizeof lie / sizeof *lie; i++) {
		sums_pack(raw, &b);
		ck_assert_uint_eq(sums_unpack(&sums, raw, 44), 44);
		write_le32(raw + lie[i].at, lie[i].value);
		write_le32(raw + 40, crc32c(0, raw, 40));
		ck_assert_uint_eq(sums_unpack(&sums, raw, 44), 0);
	}
}
END_TEST

/* ---- in a folder ----------------------------------------------------- */

static struct disk disk;

static off_t
file_bytes(void)
{
	int fd = open(scratch_path(&s, "rec/rec.sums"), O_RDONLY);
	off_t bytes = fd < 0 ? -1 : lseek(fd, 0, SEEK_END);

	close(fd);
	return bytes;
}

START_TEST(a_folder_keeps_them)
{
	struct block b = block_make(4, 5000), none = block_make(5, 5000);
	struct index_record r = { .number = 4, .kind = INDEX_BLOCK };
	json_t *head = json_pack("{s:i}", "spate", 1);
	struct folder *f;
	off_t one = (off_t)sums_bytes(2);
	int fd;

	scratch_make(&s);
	disk = (struct disk){ .path = s.path };
	ck_assert_int_eq(disk_open(&disk), 0);
	ck_assert_int_eq(folder_create(&f, &disk, "rec", head), 0);
	none.quantum = 0;
	ck_assert_int_eq(folder_sum(f, &none), 0);
	ck_assert_int_eq(file_bytes(), -1);
	b = block_make(4, 5000);
	ck_assert_int_eq(folder_sum(f, &b), 0);
	ck_assert_int_eq(folder_sync(f, &r, 1), 0);
	ck_assert_int_eq(file_bytes(), one);
	ck_assert_int_eq(folder_close(f, NULL, NULL), 0);

	/* Half a record behind it, as a power cut leaves it. */
	fd = open(scratch_path(&s, "rec/rec.sums"), O_WRONLY | O_APPEND);
	ck_assert_int_eq(write(fd, "SUMS\2\0\0\0\7", 9), 9);
	close(fd);
	ck_assert_int_eq(folder_resume(&f, &disk, "rec", head, 0), 0);
	ck_assert_int_eq(folder_sum(f, &b), 0);
	ck_assert_int_eq(file_bytes(), 2 * one);
	ck_assert_int_eq(folder_close(f, NULL, NULL), 0);
	json_decref(head);
	disk_close(&disk);
	scratch_remove(&s);
}
END_TEST

SUITE("sums", the_record_is_what_the_header_says, the_later_one_counts,
      a_torn_tail_is_none, damage_costs_the_record_that_it_is_in,
      lies_are_not_believed, a_folder_keeps_them)
