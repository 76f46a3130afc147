/* SPDX-License-Identifier: MIT */
/*
 * Records to the byte, torn and damaged files, and the
 * check against one that is slow and plain.
 */
#include "store/record/index.c"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "lib/suite.h"

static const struct index_record full = {
	.number = UINT64_C(0x0102030405060708),
	.first = UINT64_MAX - 1,
	.first_ns = 5,
	.last_ns = INT64_C(1763632800123456789),
	.bytes = UINT64_C(66822144),
	.run = 0xa1b2c3d4,
	.present = 8319,
	.missing = 1,
	.sub = 0xbeef,
	.kind = INDEX_BLOCK,
	.flags = INDEX_SUMMED | INDEX_DATA_TIME,
	.crc = 0xdeadbeef,
};

START_TEST(known_sums)
{
	static const char digits[] = "123456789";
	uint8_t bytes[32];

	ck_assert_uint_eq(crc32c(0, digits, 9), 0xe3069283);
	ck_assert_uint_eq(crc32c(0, "", 0), 0);
	memset(bytes, 0, sizeof bytes);
	ck_assert_uint_eq(crc32c(0, bytes, 32), 0x8a9136aa);
	memset(bytes, 0xff, sizeof bytes);
	ck_assert_uint_eq(crc32c(0, bytes, 32), 0x62a8ab43);
	ck_assert_uint_eq(crc32c(crc32c(0, digits, 4), digits + 4, 5),
			  0xe3069283);
}
END_TEST

/* Bit by bit, as the RFC has it: at any address, of any length. */
static uint32_t
crc_slow(uint32_t crc, const uint8_t *data, size_t bytes)
{
	for (crc = ~crc; bytes--; data++) {
		crc ^= *data;
		for (int i = 0; i < 8; i++)
			crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78 : 0);
	}
	return ~crc;
}

START_TEST(both_ways)
{
	uint8_t bytes[300];
	uint32_t seed = 1;

	for (size_t i = 0; i < sizeof bytes; i++)
		bytes[i] =
		    (uint8_t)((seed = seed * 1664525 + 1013904223) >> 24);
	for (size_t from = 0; from < 9; from++) {
		for (size_t n = 0; n < sizeof bytes - from; n++)
			ck_assert_uint_eq(crc_slow(seed, bytes + from, n),
					  crc32c(seed, bytes + from, n));
	}
}
END_TEST

START_TEST(there_and_back)
{
	uint8_t raw[INDEX_BYTES];
	struct index_record r;

	index_pack(raw, &full);
	ck_assert_uint_eq(raw[0], 8);
	ck_assert_uint_eq(raw[7], 1);
	ck_assert_uint_eq(raw[40], 0xd4);
	ck_assert_uint_eq(raw[52], 0xef);
	ck_assert_uint_eq(raw[54], INDEX_BLOCK);
	ck_assert_int_eq(index_unpack(&r, raw), 0);
	ck_assert_uint_eq(r.number, full.number);
	ck_assert_uint_eq(r.first, full.first);
	ck_assert_int_eq(r.first_ns, full.first_ns);
	ck_assert_int_eq(r.last_ns, full.last_ns);
	ck_assert_uint_eq(r.bytes, full.bytes);
	ck_assert_uint_eq(r.run, full.run);
	ck_assert_uint_eq(r.present, full.present);
	ck_assert_uint_eq(r.missing, full.missing);
	ck_assert_uint_eq(r.sub, full.sub);
	ck_assert_uint_eq(r.kind, full.kind);
	ck_assert_uint_eq(r.flags, full.flags);
	ck_assert_uint_eq(r.crc, full.crc);
}
END_TEST

/* The difference of any two is one that can be told. */
START_TEST(absurd_times)
{
	struct index_record absurd = full, r;
	uint8_t raw[INDEX_BYTES];
	int64_t span;

	absurd.first_ns = INT64_MIN;
	absurd.last_ns = INT64_MAX;
	index_pack(raw, &absurd);
	ck_assert_int_eq(index_unpack(&r, raw), 0);
	ck_assert(!__builtin_sub_overflow(r.last_ns, r.first_ns, &span));
	ck_assert_int_gt(span, 0);
	ck_assert(!__builtin_sub_overflow(r.first_ns, r.last_ns, &span));
	ck_assert(!__builtin_sub_overflow(r.first_ns, INT64_MAX, &span));
	absurd.first_ns = -1;
	index_pack(raw, &absurd);
	ck_assert_int_eq(index_unpack(&r, raw), 0);
	ck_assert_int_eq(r.first_ns, 0);
}
END_TEST

START_TEST(every_bit_counts)
{
	uint8_t raw[INDEX_BYTES];
	struct index_record r;

	index_pack(raw, &full);
	for (unsigned bit = 0; bit < INDEX_BYTES * 8; bit++) {
		raw[bit / 8] ^= (uint8_t)(1 << bit % 8);
		ck_assert_int_eq(index_unpack(&r, raw), -EBADMSG);
		raw[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	memset(raw, 0, sizeof raw);
	ck_assert_int_eq(index_unpack(&r, raw), -EBADMSG);
}
END_TEST

START_TEST(unknown_kinds)
{
	static const uint8_t kinds[] = { 0, INDEX_END + 1, 255 };
	uint8_t raw[INDEX_BYTES];
	struct index_record r;

	for (size_t i = 0; i < sizeof kinds; i++) {
		struct index_record odd = full;

		odd.kind = kinds[i];
		index_pack(raw, &odd);
		ck_assert_int_eq(index_unpack(&r, raw), -EBADMSG);
	}
}
END_TEST

/* A file of n good records and `more` bytes of rubbish. */
static FILE *
file_of(unsigned n, unsigned more)
{
	FILE *file = tmpfile();

	ck_assert_ptr_nonnull(file);
	for (unsigned i = 0; i < n; i++) {
		struct index_record r = full;
		uint8_t raw[INDEX_BYTES];

		r.number = i;
		index_pack(raw, &r);
		ck_assert_uint_eq(fwrite(raw, sizeof raw, 1, file), 1);
	}
	while (more--)
		fputc(0x55, file);
	fflush(file);
	return file;
}

START_TEST(files)
{
	static const struct {
		unsigned n, more;
	} cases[] = { { 0, 0 },	  { 0, 63 },  { 1, 0 },	   { 1, 1 },
		      { 255, 0 }, { 256, 0 }, { 256, 64 }, { 257, 200 },
		      { 700, 0 }, { 512, 63 } };

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		FILE *file = file_of(cases[i].n, cases[i].more);
		struct index_record *records;
		uint64_t torn;
		size_t n;

		ck_assert_int_eq(index_read(fileno(file), &records, &n, &torn),
				 0);
		ck_assert_uint_eq(n, cases[i].n);
		ck_assert_uint_eq(torn, cases[i].more);
		for (size_t k = 0; k < n; k++)
			ck_assert_uint_eq(records[k].number, k);
		free(records);
		fclose(file);
	}
}
END_TEST

START_TEST(stops_at_damage)
{
	FILE *file = file_of(300, 10);
	struct index_record *records;
	uint64_t torn;
	size_t n;

	ck_assert_int_eq(pwrite(fileno(file), "x", 1, 270 * 64 + 33), 1);
	ck_assert_int_eq(index_read(fileno(file), &records, &n, &torn), 0);
	ck_assert_uint_eq(n, 270);
	ck_assert_uint_eq(torn, 30 * 64 + 10);
	free(records);
	fclose(file);
	ck_assert_int_eq(index_read(-1, &records, &n, &torn), -EBADF);
}
END_TEST

/* A round that fits only in part leaves nothing: its blocks may be written
 * elsewhere. */
START_TEST(all_records_or_none)
{
	const struct rlimit little = { 100 * INDEX_BYTES, RLIM_INFINITY };
	const struct rlimit plenty = { RLIM_INFINITY, RLIM_INFINITY };
	FILE *file = tmpfile();
	struct append_file index = { .fd = fileno(file) };
	struct index_record r[90], *records;
	uint64_t torn;
	size_t n;

	signal(SIGXFSZ, SIG_IGN);
	for (unsigned i = 0; i < 90; i++) {
		r[i] = full;
		r[i].number = i;
	}
	ck_assert_int_eq(index_append(&index, r, 20), 0);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &little), 0);
	ck_assert_int_eq(index_append(&index, r, 90), -EFBIG);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &plenty), 0);
	ck_assert_int_eq(index.bytes, 20 * INDEX_BYTES);
	ck_assert_int_eq(index_read(index.fd, &records, &n, &torn), 0);
	ck_assert_uint_eq(n, 20);
	ck_assert_uint_eq(torn, 0);
	free(records);
	fclose(file);
}
END_TEST

SUITE("index", known_sums, both_ways, there_and_back, absurd_times,
      every_bit_counts, unknown_kinds, files, stops_at_damage,
      all_records_or_none)
