/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/crc32c.h"
#include "base/module.h"
#include "flow/source/source_disk.h"
#include "store/write/folder.h"
#include "store/record/meta.h"
#include "store/disk/sg.h"
#include "store/disk/file.h"
#include "lib/hang_fs.h"
#include "lib/noise.h"
#include "lib/scratch.h"
#include "lib/suite.h"

/*
 * Blocks of several pieces, whose packets begin in one piece and end in the
 * next, in every layout: packets of an odd length; the file is noise.
 */
#define SECOND INT64_C(1000000000)

enum {
	DISKS = 3,
	BLOCKS = 6,
	PAYLOAD = 7016,
	SLOTS = 1424, /* what a block of Mark6 can have */
	BLOCK = PAYLOAD * SLOTS,
	LAST = PAYLOAD * 601,
	QUANTA = BLOCK / BLOCK_QUANTUM + 1,
};

static struct scratch scratch;
static struct disks disks;
static struct folder *folder[DISKS];
static struct format_shape shape;
static struct geometry geometry;
static struct fault fault;
static struct source *source;
static json_t *head;
static enum layout layout;

static uint64_t
bytes_of(unsigned number)
{
	return number + 1 == BLOCKS ? LAST : BLOCK;
}

static void
make_head(void)
{
	const char *paths[DISKS];
	struct meta_head h = {
		.name = "big",
		.stream = "test",
		.format = "raw",
		.extension = "raw",
		.layout = layout,
		.fill = FILL_ZERO,
		.start_ns = 1763632800 * SECOND,
		.shape = &shape,
		.geometry = &geometry,
		.subs = 1,
		.disks = paths,
		.disks_n = DISKS,
	};

	for (unsigned i = 0; i < DISKS; i++)
		paths[i] = disks.disk[i].path;
	head = meta_head(&h);
	ck_assert_ptr_nonnull(head);
}

static void
make_block(unsigned number)
{
	static uint8_t data[BLOCK];
	struct block_sum sum[QUANTA];
	struct folder *f = folder[number % DISKS];
	struct block b = { .data = data,
			   .slots = SLOTS,
			   .slot_bytes = PAYLOAD,
			   .number = number,
			   .first = (uint64_t)number * SLOTS,
			   .quantum = BLOCK_QUANTUM,
			   .sum = sum };
	struct index_record r = { .number = number,
				  .first = b.first,
				  .first_ns = number + 1,
				  .last_ns = number + 1,
				  .kind = INDEX_BLOCK,
				  .flags = INDEX_SUMMED };
	struct folder_target place;

	r.bytes = bytes_of(number);
	b.used = b.filled = r.present = (uint32_t)(r.bytes / PAYLOAD);
	noise_fill(0, (uint64_t)number * BLOCK, data, r.bytes);
	for (uint64_t at = 0; at < r.bytes; at += BLOCK_QUANTUM) {
		uint64_t left = r.bytes - at;

		sum[at / BLOCK_QUANTUM].crc = crc32c(
		    0, data + at, left < BLOCK_QUANTUM ? left : BLOCK_QUANTUM);
	}
	b.crc = r.crc = crc32c(0, data, r.bytes);
	ck_assert_int_eq(folder_target_make(f, number, r.bytes, 0, &place), 0);
	ck_assert_int_eq(write_whole(place.fd, data, r.bytes, place.offset), 0);
	if (place.bytes > r.bytes) { /* filled up, where all are alike */
		memset(data, 0, place.bytes - r.bytes);
		ck_assert_int_eq(write_whole(place.fd, data,
					     place.bytes - r.bytes,
					     place.offset + r.bytes),
				 0);
	}
	if (number % 4 < 2) { /* past the page cache, and through it */
		fdatasync(place.fd);
		posix_fadvise(place.fd, 0, 0, POSIX_FADV_DONTNEED);
	}
	if (place.own)
		close(place.fd);
	ck_assert_int_eq(folder_sum(f, &b), 0);
	ck_assert_int_eq(folder_sync(f, &r, 1), 0);
}

static void
make(void)
{
	static const char *const names[] = { "d0", "d1", "d2" };
	const struct index_record end = { .kind = INDEX_END, .number = BLOCKS };
	struct option_texts patterns = { NULL, DISKS };
	const struct format_ops *format;
	const char *paths[DISKS];
	char why[256];

	scratch_make(&scratch);
	for (unsigned i = 0; i < DISKS; i++) {
		paths[i] = scratch_path(&scratch, names[i]);
		ck_assert_int_eq(mkdir(paths[i], 0755), 0);
	}
	patterns.text = paths;
	ck_assert_int_eq(disks_find(&disks, &patterns, &fault), 0);
	ck_assert_int_eq(module_format("raw", &format, &fault), 0);
	shape = (struct format_shape){ .payload = PAYLOAD };
	ck_assert_int_eq(format->shape(&shape, why, sizeof why), 0);
	geometry = (struct geometry){ .payload = PAYLOAD,
				      .parts = 1,
				      .quantum = 1,
				      .slots = SLOTS,
				      .block_bytes = BLOCK };
	make_head();
	for (unsigned i = 0; i < DISKS; i++)
		ck_assert_int_eq(
		    folder_create(&folder[i], &disks.disk[i], "big", head), 0);
	for (unsigned i = 0; i < BLOCKS; i++)
		make_block(i);
	for (unsigned i = 0; i < DISKS; i++)
		ck_assert_int_eq(folder_close(folder[i], &end, NULL), 0);
}

static void
clear(void)
{
	json_decref(head);
	disks_clear(&disks);
	scratch_remove(&scratch);
}

/* The file that has a block, and where in it the block's data is. */
static const char *
file_of(unsigned number, uint64_t *at)
{
	static char path[512];
	const char *disk = disks.disk[number % DISKS].path;
	unsigned before = number / DISKS;

	*at = (uint64_t)before * BLOCK;
	if (layout == LAYOUT_VBS) {
		*at = 0;
		snprintf(path, sizeof path, "%s/big/big.%08u", disk, number);
	} else if (layout == LAYOUT_MARK6) {
		*at += SG_HEADER + (before + 1) * SG_BLOCK;
		snprintf(path, sizeof path, "%s/big", disk);
	} else {
		snprintf(path, sizeof path, "%s/big/big.raw", disk);
	}
	return path;
}

static void
flip(unsigned number, uint64_t place)
{
	uint64_t at;
	int fd = open(file_of(number, &at), O_RDWR);
	uint8_t byte;

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(pread(fd, &byte, 1, (off_t)(at + place)), 1);
	ck_assert_uint_eq(byte,
			  noise_byte(0, (uint64_t)number * BLOCK + place));
	byte ^= 4;
	ck_assert_int_eq(pwrite(fd, &byte, 1, (off_t)(at + place)), 1);
	close(fd);
}

static void
parcel_is(const struct parcel *p)
{
	ck_assert_uint_eq(p->offset, p->record.number * BLOCK + p->at);
	if (!noise_is(0, p->offset, p->data, p->bytes))
		ck_abort_msg("parcel at %lu of block %lu is wrong",
			     (unsigned long)p->at,
			     (unsigned long)p->record.number);
}

/* A source that verifies knows the checksums of what it gives, where nothing is
 * wrong. */
static void
sums_are(const struct parcel *p, bool verify, bool whole)
{
	static uint8_t data[BLOCK_QUANTUM];
	uint64_t n = (p->at + p->bytes - 1) / BLOCK_QUANTUM;
	uint64_t at = n * BLOCK_QUANTUM, bytes = p->record.bytes - at;
	uint32_t sums[QUANTA] = { 0 };
	bool known = source_sums(p, p->at, p->bytes, sums);

	ck_assert(!known || verify);
	ck_assert(known || !verify || !whole);
	if (!known)
		return;
	if (bytes > BLOCK_QUANTUM)
		bytes = BLOCK_QUANTUM;
	noise_fill(0, p->record.number * BLOCK + at, data, bytes);
	ck_assert_uint_eq(sums[n], crc32c(0, data, bytes));
	ck_assert_uint_ne(sums[p->at / BLOCK_QUANTUM], 0);
}

/* Reads all of it; the slots that cannot be had are [from, to) of a block. */
static void
all_is(bool verify, unsigned bad, uint64_t from, uint64_t to)
{
	const struct source_disk_args args = {
		.disks = &disks,
		.name = "big",
		.memory = 1,
		.verify = verify,
		.sub = -1,
	};
	uint64_t offset = 0;
	bool whole = from == to;
	struct parcel p;
	int err;

	ck_assert_int_eq(source_disk_make(&source, &args), 0);
	while (!(err = source_next(source, &p, clock_steady() + 60 * SECOND))) {
		ck_assert_uint_eq(p.offset, offset);
		ck_assert_uint_eq(p.at % PAYLOAD, 0);
		ck_assert_uint_eq(p.bytes % PAYLOAD, 0);
		if (p.err) {
			ck_assert_int_eq(p.err, -EBADMSG);
			ck_assert_uint_eq(p.record.number, bad);
			ck_assert_uint_eq(p.at, from * PAYLOAD);
			ck_assert_uint_eq(p.bytes, (to - from) * PAYLOAD);
			from = to = 0;
		} else {
			parcel_is(&p);
			sums_are(&p, verify, whole);
		}
		offset += p.bytes;
		source_put(&p);
	}
	ck_assert_int_eq(err, -ENODATA);
	ck_assert_uint_eq(offset, (uint64_t)(BLOCKS - 1) * BLOCK + LAST);
	ck_assert_uint_eq(from, to); /* it was told */
	source_close(source);
}

/* From the middle, and back to what is held: what is written before a piece
 * is nobody else's. */
static void
jumps_are(void)
{
	static const unsigned slots[] = {
		700, 0, 599, 598, 1423, 597, 1, 1200
	};
	const struct source_disk_args args = { .disks = &disks,
					       .name = "big",
					       .sub = -1 };
	struct parcel p[8 * 2];
	unsigned n = 0;

	ck_assert_int_eq(source_disk_make(&source, &args), 0);
	for (unsigned i = 0; i < 8; i++) {
		uint64_t first = (uint64_t)(i % 2 + 1) * SLOTS + slots[i];

		ck_assert_int_eq(source->ops->seek(source, 0, first), 0);
		for (unsigned k = 0; k < 2; k++, n++) {
			ck_assert_int_eq(
			    source_next(source, &p[n],
					clock_steady() + 60 * SECOND),
			    0);
			if (!k)
				ck_assert_uint_eq(p[n].offset, first * PAYLOAD);
		}
	}
	for (unsigned i = 0; i < n; i++) {
		parcel_is(&p[i]);
		source_put(&p[i]);
	}
	source_close(source);
}

static void
check(enum layout l)
{
	uint64_t q = 5 * (uint64_t)BLOCK_QUANTUM;

	layout = l;
	make();
	all_is(false, 0, 0, 0);
	all_is(true, 0, 0, 0);
	jumps_are();
	flip(4, q + 4711);
	all_is(true, 4, q / PAYLOAD, (q + BLOCK_QUANTUM - 1) / PAYLOAD + 1);
	clear();
}

START_TEST(test_vbs)
{
	check(LAYOUT_VBS);
}
END_TEST

START_TEST(test_mark6)
{
	check(LAYOUT_MARK6);
}
END_TEST

START_TEST(test_single)
{
	check(LAYOUT_SINGLE);
}
END_TEST

/* The last byte of a quantum that ends within a packet, and of the block. */
START_TEST(test_edges)
{
	uint64_t q = 3 * (uint64_t)BLOCK_QUANTUM;

	layout = LAYOUT_VBS;
	make();
	flip(1, q + BLOCK_QUANTUM - 1);
	all_is(true, 1, q / PAYLOAD, (q + BLOCK_QUANTUM - 1) / PAYLOAD + 1);
	clear();
	make();
	flip(5, LAST - 1);
	q = LAST - LAST % BLOCK_QUANTUM;
	all_is(true, 5, q / PAYLOAD, 601);
	clear();
}
END_TEST

/* ---- a disk with errors ------------------------------------------------- */

static struct hang_fs fs;
static char under[256], path[256];

/* Its second disk is seen through a file system of ours. */
static void
make_frail(void)
{
	layout = LAYOUT_VBS;
	make();
	snprintf(path, sizeof path, "%s", disks.disk[1].path);
	snprintf(under, sizeof under, "%s", scratch_path(&scratch, "under"));
	close(disks.disk[1].fd);
	ck_assert_int_eq(rename(path, under), 0);
	ck_assert_int_eq(mkdir(path, 0755), 0);
	ck_assert_int_eq(hang_fs_mount(&fs, under, path), 0);
	disks.disk[1].fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(disks.disk[1].fd, 0);
}

/* Reads all; what is bad is of block 1 and has these bytes.  Returns how many
 * are bad. */
static uint64_t
bad_are(uint64_t from, uint64_t to)
{
	const struct source_disk_args args = { .disks = &disks,
					       .name = "big",
					       .sub = -1 };
	uint64_t bad = 0, first = 0, end = 0;
	struct parcel p;

	atomic_store(&fs.told->fail_from, from);
	atomic_store(&fs.told->fail_to, to);
	ck_assert_int_eq(source_disk_make(&source, &args), 0);
	while (!source_next(source, &p, clock_steady() + 60 * SECOND)) {
		if (!p.err)
			parcel_is(&p);
		if (p.err) {
			ck_assert_int_eq(p.err, -EIO);
			ck_assert_uint_eq(p.record.number % DISKS, 1);
		}
		if (p.err && p.record.number == 1) {
			if (!bad)
				first = p.at;
			else
				ck_assert_uint_eq(p.at, end);
			end = p.at + p.bytes;
			bad += p.bytes;
		}
		source_put(&p);
	}
	ck_assert_uint_le(first, from);
	ck_assert_uint_ge(end, to < BLOCK ? to : BLOCK);
	source_close(source);
	return bad;
}

/* Around a bad sector all is given; where there are many, a disk is not asked
 * for each. */
START_TEST(test_bad_sectors)
{
	enum { STEP = 65536, REQUEST = 2 << 20 };
	uint64_t from = 5 * 1000 * 1000 / 4096 * 4096, bad;

	if (!hang_fs_can(&fs)) {
		puts("a bad sector needs root, and /dev/fuse: not tested");
		return;
	}
	make_frail();
	bad = bad_are(from, from + 512);
	ck_assert_uint_le(bad, STEP + 2 * PAYLOAD);
	bad = bad_are(from, from + 10 * STEP);
	ck_assert_uint_le(bad, REQUEST + 2 * PAYLOAD);
	close(disks.disk[1].fd);
	disks.disk[1].fd = -1;
	hang_fs_unmount(&fs);
	ck_assert_int_eq(rmdir(path), 0);
	clear();
}
END_TEST

SUITE_THREADS("source_disk_big", NULL, test_vbs, test_mark6, test_single,
	      test_edges, test_bad_sectors)
