/* SPDX-License-Identifier: MIT */
/* Of data, checksums and index, the one that is wrong is named; no other. */
#include "config.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "store/recording/recording.h"
#include "store/record/sums.h"
#include "store/repair/verify.h"
#include "lib/made.h"
#include "lib/suite.h"

enum { QUANTUM = 1024, BLOCKS = 9, MOST = 16 };

static struct made m;
static struct verify_finding found[MOST];
static char said[4096];
static int founds;
static struct verify_report report;

static void
hear(void *arg, const struct verify_finding *f)
{
	(void)arg;
	ck_assert_int_lt(founds, MOST);
	found[founds++] = *f;
	strncat(said, f->sentence, sizeof said - strlen(said) - 1);
	strncat(said, "\n", sizeof said - strlen(said) - 1);
}

static int
verified(void)
{
	struct verify_hooks hooks = { .found = hear };
	struct recording *rec;
	struct fault fault;
	int n;

	said[0] = '\0';
	founds = 0;
	ck_assert_int_eq(recording_open(&rec, &m.disks, MADE_NAME, &fault), 0);
	n = verify(rec, &m.disks, &hooks, &report);
	recording_close(rec);
	ck_assert_int_eq(n, founds);
	return n;
}

static void
says(const char *text)
{
	ck_assert_msg(strstr(said, text) != NULL, "\"%s\" is not in \"%s\"",
		      text, said);
}

/* Blocks 0, 3, 6 are on disk 0, 1, 4, 7 on disk 1, ... */
static void
begin(void)
{
	m.quantum = QUANTUM;
	made_begin(&m);
	made_blocks(&m, BLOCKS);
	made_end(&m, BLOCKS);
}

static const char *
chunk(unsigned number)
{
	char file[32];

	snprintf(file, sizeof file, MADE_NAME ".%08u", number);
	return made_path(&m, number % MADE_DISKS, file);
}

static void
flip(const char *path, off_t at)
{
	int fd = open(path, O_RDWR);
	uint8_t byte;

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(pread(fd, &byte, 1, at), 1);
	byte ^= 0x20;
	ck_assert_int_eq(pwrite(fd, &byte, 1, at), 1);
	close(fd);
}

/* Changes the record of a chunk, behind a good check. */
static void
lie(unsigned number, void (*change)(struct index_record *r))
{
	int fd = open(made_path(&m, number % MADE_DISKS, MADE_NAME ".index"),
		      O_RDWR);
	off_t at = number / MADE_DISKS * INDEX_BYTES;
	uint8_t raw[INDEX_BYTES];
	struct index_record r;

	ck_assert_int_eq(pread(fd, raw, sizeof raw, at), sizeof raw);
	ck_assert_int_eq(index_unpack(&r, raw), 0);
	ck_assert_uint_eq(r.number, number);
	change(&r);
	index_pack(raw, &r);
	ck_assert_int_eq(pwrite(fd, raw, sizeof raw, at), sizeof raw);
	close(fd);
}

START_TEST(all_is_right)
{
	begin();
	ck_assert_int_eq(verified(), 0);
	ck_assert_uint_eq(report.summed, BLOCKS);
	ck_assert_uint_eq(report.unsummed, 0);
	ck_assert_uint_eq(report.bytes, BLOCKS * MADE_BLOCK);
	made_finish(&m);
}
END_TEST

/* Frame 16 of a block of 64 begins at byte 1024; ten are a second. */
START_TEST(a_byte_is_its_quantum)
{
	const struct verify_finding *f = found;

	begin();
	flip(chunk(4), 1024 + 7);
	ck_assert_int_eq(verified(), 1);
	ck_assert_int_eq(f->kind, VERIFY_DAMAGED);
	ck_assert_str_eq(f->disk, m.disks.disk[1].path);
	ck_assert_uint_eq(f->chunks, 1);
	ck_assert_uint_eq(f->number, 4);
	ck_assert_uint_eq(f->at, 1024);
	ck_assert_uint_eq(f->bytes, QUANTUM);
	ck_assert(f->filed && f->packets && f->data_time);
	ck_assert_uint_eq(f->offset, 4 * MADE_BLOCK + 1024);
	ck_assert_uint_eq(f->end, 4 * MADE_BLOCK + 2048);
	ck_assert_uint_eq(f->first, 4 * MADE_SLOTS + 16);
	ck_assert_uint_eq(f->last, 4 * MADE_SLOTS + 31);
	says("1024 bytes from byte 1024 on, are damaged: bytes 17408 to 18431 "
	     "of the recording, packets 272 to 287 of run 0, data time ");
	made_finish(&m);
}
END_TEST

START_TEST(times_are_those_of_the_packets)
{
	int64_t tenth = 100000000, start = MADE_SECOND * 1000000000;

	begin();
	flip(chunk(0), 0);
	flip(chunk(8), MADE_BLOCK - 1);
	ck_assert_int_eq(verified(), 2);
	/* The made index knows seconds only. */
	ck_assert_int_eq(found[0].first_ns, start);
	ck_assert_int_lt(llabs(found[0].last_ns - start - 15 * tenth),
			 10 * tenth);
	ck_assert_int_eq(found[1].last_ns,
			 start + (9 * MADE_SLOTS - 1) / 10 * 10 * tenth);
	made_finish(&m);
}
END_TEST

START_TEST(neighbours_are_one_line)
{
	begin();
	/* The end of 1, all of 4, the begin of 7; and apart from that 5. */
	flip(chunk(1), 2048);
	flip(chunk(1), 3072);
	for (off_t at = 0; at < MADE_BLOCK; at += QUANTUM)
		flip(chunk(4), at);
	flip(chunk(7), 10);
	flip(chunk(5), 10);
	flip(chunk(5), 2050);
	ck_assert_int_eq(verified(), 3);
	ck_assert_uint_eq(found[0].chunks, 3);
	ck_assert_uint_eq(found[0].number, 1);
	ck_assert_uint_eq(found[0].last_number, 7);
	ck_assert_uint_eq(found[0].bytes, 7 * QUANTUM);
	ck_assert_uint_eq(found[0].at, 2048);
	ck_assert_uint_eq(found[0].offset, MADE_BLOCK + 2048);
	ck_assert_uint_eq(found[0].end, 7 * MADE_BLOCK + 1024);
	says("3 chunks on ");
	ck_assert_uint_eq(found[1].at, 0);
	ck_assert_uint_eq(found[1].number, 5);
	ck_assert_uint_eq(found[2].at, 2048);
	made_finish(&m);
}
END_TEST

START_TEST(chunks_that_changed_names)
{
	char kept[512], other[512];

	begin();
	strcpy(kept, made_path(&m, 0, "kept"));
	strcpy(other, chunk(3));
	ck_assert_int_eq(rename(other, kept), 0);
	ck_assert_int_eq(rename(chunk(5), other), 0);
	ck_assert_int_eq(rename(kept, chunk(5)), 0);
	ck_assert_int_eq(verified(), 2);
	ck_assert_int_eq(found[0].kind, VERIFY_MISPLACED);
	ck_assert_int_eq(found[1].kind, VERIFY_MISPLACED);
	says("chunk 3 on ");
	says("holds the data of block 5");
	says("holds the data of block 3");
	made_finish(&m);
}
END_TEST

START_TEST(what_was_cut_off)
{
	begin();
	ck_assert_int_eq(truncate(chunk(3), 2500), 0);
	ck_assert_int_eq(verified(), 1);
	ck_assert_int_eq(found[0].kind, VERIFY_LENGTH);
	ck_assert_uint_eq(found[0].at, 2500);
	ck_assert_uint_eq(found[0].bytes, MADE_BLOCK - 2500);
	ck_assert_uint_eq(found[0].first, 3 * MADE_SLOTS + 39);
	ck_assert_uint_eq(found[0].last, 4 * MADE_SLOTS - 1);
	flip(chunk(3), 1);
	flip(chunk(3), 2400); /* of the torn quantum nothing can be said */
	ck_assert_int_eq(verified(), 2);
	ck_assert_uint_eq(found[0].at, 0);
	ck_assert_int_eq(found[0].kind, VERIFY_DAMAGED);
	made_finish(&m);
}
END_TEST

/* A link is not followed: it may lead anywhere. */
START_TEST(what_cannot_be_opened)
{
	begin();
	ck_assert_int_eq(unlink(chunk(4)), 0);
	ck_assert_int_eq(symlink(MADE_NAME ".00000001", chunk(4)), 0);
	ck_assert_int_eq(verified(), 2);
	ck_assert_int_eq(found[0].kind, VERIFY_UNREADABLE);
	ck_assert_uint_eq(found[0].number, 4);
	ck_assert_uint_eq(found[0].bytes, MADE_BLOCK);
	ck_assert_int_eq(found[1].kind, VERIFY_LENGTH);
	says("cannot be read (Too many levels of symbolic links): bytes 16384 "
	     "to 20479 of the recording");
	made_finish(&m);
}
END_TEST

/* Nobody will ever write to it. */
START_TEST(a_pipe_is_not_waited_for)
{
	uint8_t byte;
	struct recording *rec;
	struct fault fault;
	uint64_t filled = 0;

	begin();
	ck_assert_int_eq(unlink(chunk(4)), 0);
	ck_assert_int_eq(mkfifo(chunk(4), 0600), 0);
	ck_assert_int_ge(verified(), 1);
	ck_assert_uint_eq(found[0].number, 4);
	ck_assert_int_eq(recording_open(&rec, &m.disks, MADE_NAME, &fault), 0);
	ck_assert_int_eq(
	    recording_read(rec, &byte, 1, 4ull * MADE_BLOCK, &filled), 1);
	ck_assert_uint_eq(filled, 1);
	recording_close(rec);
	made_finish(&m);
}
END_TEST

START_TEST(a_torn_tail_of_sums)
{
	const char *path;
	int fd;

	begin();
	path = made_path(&m, 0, MADE_NAME ".sums");
	fd = open(path, O_WRONLY | O_APPEND);
	ck_assert_int_eq(write(fd, "SUMS\1", 5), 5);
	close(fd);
	ck_assert_int_eq(verified(), 1);
	says("end in 5 bytes that are no record");
	/* Now the last record is torn, too: the block is known as a whole. */
	ck_assert_int_eq(truncate(path, (off_t)(3 * sums_bytes(4) - 1)), 0);
	ck_assert_int_eq(verified(), 2);
	says("chunk 6 on ");
	says("without checksums of pieces");
	flip(chunk(6), 5);
	ck_assert_int_eq(verified(), 3);
	ck_assert_int_eq(found[0].kind, VERIFY_DAMAGED);
	ck_assert_uint_eq(found[0].bytes, MADE_BLOCK);
	made_finish(&m);
}
END_TEST

START_TEST(sums_that_are_damaged)
{
	begin();
	flip(made_path(&m, 0, MADE_NAME ".sums"), (off_t)sums_bytes(4) + 33);
	ck_assert_int_eq(verified(), 2);
	says("52 bytes of the checksums on ");
	says("chunk 3 on ");
	made_finish(&m);
}
END_TEST

/* Records and checks are right, what they say is not. */
START_TEST(sums_that_lie)
{
	const char *path;
	uint8_t raw[52];
	int fd;

	begin();
	path = made_path(&m, 0, MADE_NAME ".sums");
	fd = open(path, O_RDWR);
	ck_assert_int_eq(pread(fd, raw, sizeof raw, 0), sizeof raw);
	write_le64(raw + 8, 3); /* of block 3, it says, and the last to do so */
	write_le32(raw + 48, crc32c(0, raw, 48));
	ck_assert_int_eq(pwrite(fd, raw, sizeof raw, 3 * sizeof raw),
			 sizeof raw);
	close(fd);
	ck_assert_int_eq(verified(), 1);
	ck_assert_int_eq(found[0].kind, VERIFY_SUMS);
	says("wrong about chunk 3: its data is as the index says");
	made_finish(&m);
}
END_TEST

static void
lie_crc(struct index_record *r)
{
	r->crc ^= 1;
}

static void
lie_bytes(struct index_record *r)
{
	r->bytes -= MADE_PAYLOAD;
}

static void
lie_longer(struct index_record *r)
{
	r->bytes += MADE_PAYLOAD;
}

static void
lie_number(struct index_record *r)
{
	r->number = 5;
}

static void
lie_unsummed(struct index_record *r)
{
	r->flags &= (uint8_t)~INDEX_SUMMED;
}

static void
lie_first(struct index_record *r)
{
	r->first += 10;
}

START_TEST(an_index_that_lies)
{
	begin();
	lie(3, lie_crc);
	ck_assert_int_eq(verified(), 1);
	ck_assert_int_eq(found[0].kind, VERIFY_INDEX);
	says("wrong about chunk 3: its data is as the checksums say");
	flip(chunk(3), 2000);
	ck_assert_int_eq(verified(), 2);
	ck_assert_uint_eq(found[0].at, 1024);
	says("contradict each other about chunk 3");
	made_finish(&m);

	begin();
	lie(4, lie_bytes);
	ck_assert_int_ge(verified(), 2);
	says("has 4096 bytes, the index says 4032");
	says("wrong about chunk 4");
	made_finish(&m);

	begin();
	lie(4, lie_longer);
	ck_assert_int_ge(verified(), 2);
	says("has 4096 bytes, the index says 4160");
	says("wrong about chunk 4");
	made_finish(&m);
}
END_TEST

/* Block 6 is said to be 5, of which there is one: 6 is not there then. */
START_TEST(a_number_that_is_a_lie)
{
	begin();
	lie(6, lie_number);
	ck_assert_int_ge(verified(), 2);
	says("block 6 is on none of the disks");
	says("chunk 6 on ");
	says("is in no index");
	says("block 5 is also on ");
	made_finish(&m);
}
END_TEST

START_TEST(a_flag_that_is_a_lie)
{
	begin();
	lie(6, lie_unsummed);
	flip(chunk(6), 2000);
	ck_assert_int_eq(verified(), 1);
	ck_assert_uint_eq(found[0].at, 1024);
	made_finish(&m);
}
END_TEST

START_TEST(a_sequence_that_is_a_lie)
{
	begin();
	lie(6, lie_first);
	ck_assert_int_ge(verified(), 1);
	made_finish(&m);
}
END_TEST

static void
lie_time(struct index_record *r)
{
	r->first_ns -= 7000000000;
}

START_TEST(a_time_that_is_a_lie)
{
	begin();
	lie(6, lie_time);
	ck_assert_int_eq(verified(), 1);
	ck_assert_int_eq(found[0].kind, VERIFY_INDEX);
	says("says that chunk 6 begins at ");
	made_finish(&m);
}
END_TEST

/* What is not durable yet is nobody's fault. */
START_TEST(live)
{
	struct made_block mb;
	int fd;

	m.quantum = QUANTUM;
	made_begin(&m);
	made_blocks(&m, 3);
	made_block(&m, &mb, 3, 3 * MADE_SLOTS, MADE_SLOTS);
	made_chunk(&m, 0, &mb);
	fd = open(made_path(&m, 0, MADE_NAME ".sums"), O_WRONLY | O_APPEND);
	ck_assert_int_eq(write(fd, "SUMS\1", 5), 5);
	close(fd);
	ck_assert_int_eq(verified(), 0);
	flip(chunk(2), 0);
	ck_assert_int_eq(verified(), 1);
	made_finish(&m);
}
END_TEST

SUITE_THREADS("verify_sums", NULL, all_is_right, a_byte_is_its_quantum,
	      times_are_those_of_the_packets, neighbours_are_one_line,
	      chunks_that_changed_names, what_was_cut_off,
	      what_cannot_be_opened, a_pipe_is_not_waited_for,
	      a_torn_tail_of_sums, sums_that_are_damaged, sums_that_lie,
	      an_index_that_lies, a_number_that_is_a_lie, a_flag_that_is_a_lie,
	      a_sequence_that_is_a_lie, a_time_that_is_a_lie, live)
