/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "flow/source/source_disk.h"
#include "store/repair/removal.h"
#include "lib/made_parity.h"
#include "lib/made_read.h"

static struct made m;
static struct recording *rec;
static struct fault fault;

/* A source on disks, held against the recording's file and its frames. */

#define SECOND INT64_C(1000000000)

static struct source *source;
static struct source_disk_args args;

static void
source_opens(void)
{
	args.disks = &m.disks;
	args.name = MADE_NAME;
	ck_assert_int_eq(source_disk_make(&source, &args), 0);
}

static void
begin(void)
{
	made_begin(&m);
	args = (struct source_disk_args){ .sub = -1 };
}

static int
next(struct parcel *p)
{
	return source_next(source, p, clock_steady() + 60 * SECOND);
}

/* The slots of a parcel are those that were sent, where they came. */
static void
parcel_is(const struct parcel *p)
{
	uint8_t frame[MADE_PAYLOAD];

	ck_assert_int_eq(p->err, 0);
	ck_assert_uint_gt(p->bytes, 0);
	ck_assert_uint_eq(p->at % MADE_PAYLOAD, 0);
	ck_assert_uint_eq(p->bytes % MADE_PAYLOAD, 0);
	for (uint64_t at = 0; at < p->bytes; at += MADE_PAYLOAD) {
		uint64_t slot = (p->at + at) / MADE_PAYLOAD;

		if (p->present && !(p->present[slot / 64] >> slot % 64 & 1))
			made_fill(&m, p->record.first + slot, frame);
		else
			made_frame(&m, p->record.first + slot, frame);
		ck_assert_mem_eq(p->data + at, frame, MADE_PAYLOAD);
	}
}

/* What all parcels make is the recording's file, from `from` on. */
static unsigned
is_file(uint64_t offset)
{
	static uint8_t is[MADE_BLOCK * 8], want[MADE_BLOCK * 8];
	struct parcel p;
	unsigned n = 0;
	int err;

	while (!(err = next(&p))) {
		ck_assert_uint_eq(p.offset, offset);
		ck_assert_uint_le(p.bytes, sizeof is);
		if (p.err)
			ck_assert_int_eq(
			    source->ops->fill(source, &p, 0, p.bytes, is), 0);
		else
			memcpy(is, p.data, p.bytes);
		ck_assert_int_eq(
		    recording_read(rec, want, p.bytes, offset, NULL),
		    (ssize_t)p.bytes);
		ck_assert_mem_eq(is, want, p.bytes);
		if (!p.err && m.store == HEAP_NONE)
			parcel_is(&p);
		offset += p.bytes;
		source_put(&p);
		n++;
	}
	ck_assert_int_eq(err, -ENODATA);
	return n;
}

static void
finish(void)
{
	source_close(source);
	done(&m, rec);
}

START_TEST(test_whole)
{
	const struct recording_facts *f;
	struct source_about about;
	struct source_facts facts;

	begin();
	made_blocks(&m, 20);
	made_end(&m, 20);
	f = opened(&m, &rec);
	source_opens();
	ck_assert_int_eq(source->ops->about(source, &about), -EAGAIN);
	ck_assert_uint_eq(is_file(0), 20);
	ck_assert_int_eq(source->ops->about(source, &about), 0);
	ck_assert_str_eq(about.format->head.name, "vdif");
	ck_assert_uint_eq(about.shape->payload, MADE_PAYLOAD);
	ck_assert_uint_eq(about.shape->fps, MADE_FPS);
	ck_assert_int_eq(about.start_ns, f->start_ns);
	source->ops->facts(source, &facts);
	ck_assert_uint_eq(facts.total, f->bytes);
	ck_assert_uint_eq(facts.bytes_disk, f->bytes);
	ck_assert_uint_eq(facts.end, 20);
	ck_assert(!facts.live);
	finish();
}
END_TEST

/* Without a disk, parity gives what it had, and the facts count it. */
START_TEST(test_computed)
{
	static struct made_block mb;
	struct source_facts facts;
	struct parcel p;
	unsigned n = 0;

	m.parity = 1;
	m.quantum = 512;
	begin();
	for (unsigned i = 0; i < MADE_DISKS; i++)
		made_run(&m, i, 0, MADE_BASE);
	for (uint64_t i = 0; i < 8; i++) {
		made_block(&m, &mb, i, i * MADE_SLOTS, MADE_SLOTS);
		made_write(&m, i % 2, &mb);
		if (i % 2)
			made_parity(&m, i - 1, 2, (unsigned[]){ 2 }, NULL);
	}
	made_end(&m, 8);
	made_hide(&m, 1);
	ck_assert_int_eq(
	    rename(m.disks.disk[1].path, scratch_path(&m.scratch, "away")), 0);
	args.verify = true;
	source_opens();
	for (; !next(&p); n++) {
		parcel_is(&p);
		source_put(&p);
	}
	ck_assert_uint_eq(n, 8);
	source->ops->facts(source, &facts);
	ck_assert_uint_eq(facts.healed, 4);
	ck_assert_uint_eq(facts.unreadable, 0);
	source_close(source);
	ck_assert_int_eq(
	    rename(scratch_path(&m.scratch, "away"), m.disks.disk[1].path), 0);
	made_show(&m, 1);
	made_finish(&m);
}
END_TEST

/* Missing packets, gaps, numbers that nobody has, damage. */
START_TEST(test_lost)
{
	static struct made_block mb;
	struct index_record gap;
	struct source_facts facts;

	begin();
	made_run(&m, 0, 0, MADE_BASE);
	for (unsigned i = 0; i < 9; i++) {
		uint64_t first = i * MADE_SLOTS;

		made_block(&m, &mb, i, first, MADE_SLOTS);
		if (i == 1 || i == 6) {
			made_lose(&mb, 0);
			made_lose(&mb, 40);
			made_lose(&mb, 63);
		}
		if (i == 3) {
			gap = made_record(&mb.b);
			gap.number = 4;
			gap = index_gap(&gap, MADE_SLOTS);
			gap.first = first;
			made_index(&m, 1, &gap);
		} else if (i != 5) {
			made_write(&m, i % 3, &mb);
		}
	}
	made_end(&m, 9);
	ck_assert_int_eq(unlink(made_path(&m, 1, MADE_NAME ".00000007")), 0);
	ck_assert_int_eq(
	    truncate(made_path(&m, 2, MADE_NAME ".00000008"), 1024), 0);
	opened(&m, &rec);
	source_opens();
	ck_assert_uint_eq(is_file(0), 10);
	source->ops->facts(source, &facts);
	ck_assert_uint_eq(facts.unreadable, 64 + 64 - 1024 / MADE_PAYLOAD);
	finish();
}
END_TEST

static int
errs(unsigned *good, unsigned *bad)
{
	struct parcel p;
	int last = 0, err;

	*good = *bad = 0;
	while (!(err = next(&p))) {
		if (p.err)
			*bad += (unsigned)(p.bytes / MADE_PAYLOAD);
		else
			*good += (unsigned)(p.bytes / MADE_PAYLOAD);
		if (p.err)
			last = p.err;
		else
			parcel_is(&p);
		source_put(&p);
	}
	return err == -ENODATA ? last : err;
}

START_TEST(test_flipped)
{
	unsigned good, bad;
	uint8_t byte;
	int fd;

	begin();
	m.quantum = 1000; /* not whole packets */
	made_blocks(&m, 6);
	made_end(&m, 6);
	fd = open(made_path(&m, 1, MADE_NAME ".00000004"), O_RDWR);
	ck_assert_int_eq(pread(fd, &byte, 1, 2500), 1);
	byte ^= 1;
	ck_assert_int_eq(pwrite(fd, &byte, 1, 2500), 1);
	close(fd);
	opened(&m, &rec);
	args.verify = true;
	source_opens();
	ck_assert_int_eq(errs(&good, &bad), -EBADMSG);
	/* 1000 does not divide a piece: all of the block. */
	ck_assert_uint_eq(bad, MADE_SLOTS);
	ck_assert_uint_eq(good, 5 * MADE_SLOTS);
	finish();
}
END_TEST

/* A quantum touches packets that are not whole in it. */
START_TEST(test_flipped_quantum)
{
	unsigned good, bad;
	uint8_t byte;
	int fd;

	begin();
	m.quantum = 1024;
	made_blocks(&m, 6);
	made_end(&m, 6);
	fd = open(made_path(&m, 1, MADE_NAME ".00000004"), O_RDWR);
	ck_assert_int_eq(pread(fd, &byte, 1, 2500), 1);
	byte ^= 1;
	ck_assert_int_eq(pwrite(fd, &byte, 1, 2500), 1);
	close(fd);
	opened(&m, &rec);
	args.verify = true;
	source_opens();
	ck_assert_int_eq(errs(&good, &bad), -EBADMSG);
	ck_assert_uint_eq(bad, 1024 / MADE_PAYLOAD);
	ck_assert_uint_eq(good, 6 * MADE_SLOTS - bad);
	finish();
}
END_TEST

START_TEST(test_name_lookup)
{
	struct parcel p;

	begin();
	made_blocks(&m, 9);
	made_end(&m, 9);
	opened(&m, &rec);
	source_opens();
	ck_assert_int_eq(source->ops->seek_number(source, 5), 0);
	ck_assert_int_eq(next(&p), 0);
	ck_assert_uint_eq(p.record.number, 5);
	source_put(&p);
	ck_assert_int_eq(source->ops->seek(source, 0, 2 * MADE_SLOTS + 7), 0);
	ck_assert_int_eq(next(&p), 0);
	ck_assert_uint_eq(p.record.number, 2);
	ck_assert_uint_eq(p.at, 7 * MADE_PAYLOAD);
	parcel_is(&p);
	source_put(&p);
	ck_assert_int_eq(source->ops->seek(source, 0, 0), 0);
	ck_assert_uint_eq(is_file(0), 9);
	ck_assert_int_eq(source->ops->seek(source, 1, 0), 0);
	ck_assert_int_eq(next(&p), -ENODATA);
	finish();
}
END_TEST

/* Blocks outside of a range are not given. */
START_TEST(test_ranges)
{
	struct parcel p;

	begin();
	made_blocks(&m, 20);
	made_end(&m, 20);
	opened(&m, &rec);
	/* A block is 6.4 s. */
	args.from_ns = (MADE_SECOND + 13) * SECOND;
	args.to_ns = (MADE_SECOND + 20) * SECOND;
	source_opens();
	ck_assert_int_eq(next(&p), 0);
	ck_assert_uint_eq(p.record.number, 2);
	source_put(&p);
	ck_assert_int_eq(next(&p), 0);
	ck_assert_uint_eq(p.record.number, 3);
	source_put(&p);
	ck_assert_int_eq(next(&p), -ENODATA);
	source_close(source);

	args.from_ns = args.to_ns = 0;
	args.from_byte = 3 * MADE_BLOCK - 1;
	args.to_byte = 4 * MADE_BLOCK;
	source_opens();
	ck_assert_int_eq(next(&p), 0);
	ck_assert_uint_eq(p.record.number, 2);
	source_put(&p);
	ck_assert_int_eq(next(&p), 0);
	ck_assert_uint_eq(p.record.number, 3);
	source_put(&p);
	ck_assert_int_eq(next(&p), -ENODATA);

	source_close(source);
	args.from_byte = 20 * MADE_BLOCK;
	args.to_byte = 0;
	source_opens();
	ck_assert_int_eq(next(&p), -ENODATA);
	finish();
}
END_TEST

/* A live one, to its end, byte for byte; its disks in turn and late. */
START_TEST(test_follow)
{
	static struct made_block mb;
	struct parcel p;
	unsigned n = 0, waits = 0;
	int err;

	begin();
	made_blocks(&m, 4);
	args.follow = true;
	source_opens();
	while ((err = next(&p)) == 0) {
		ck_assert_uint_eq(p.record.number, n);
		parcel_is(&p);
		source_put(&p);
		n++;
		if (n < 4)
			continue;
		err = source_next(source, &p, 0);
		ck_assert_int_eq(err, -ETIMEDOUT);
		waits++;
		if (n == 12) {
			made_end(&m, 12);
			continue;
		}
		made_block(&m, &mb, n, (uint64_t)n * MADE_SLOTS, MADE_SLOTS);
		made_write(&m, n % 3, &mb);
	}
	ck_assert_int_eq(err, -ENODATA);
	ck_assert_uint_eq(n, 12);
	ck_assert_uint_eq(waits, 9);
	opened(&m, &rec);
	ck_assert_int_eq(source->ops->seek_number(source, 0), 0);
	ck_assert_uint_eq(is_file(0), 12);
	finish();
}
END_TEST

/* Without, it ends where the recording was. */
START_TEST(test_no_follow)
{
	static struct made_block mb;
	struct parcel p;

	begin();
	made_blocks(&m, 2);
	source_opens();
	ck_assert_int_eq(next(&p), 0);
	source_put(&p);
	made_block(&m, &mb, 2, 2 * MADE_SLOTS, MADE_SLOTS);
	made_write(&m, 2, &mb);
	ck_assert_int_eq(next(&p), 0);
	source_put(&p);
	ck_assert_int_eq(next(&p), -ENODATA);
	source_close(source);
	made_finish(&m);
}
END_TEST

/* Numbers that are settled are not waited for, be they there or not. */
START_TEST(test_settled)
{
	static struct made_block mb;
	struct parcel p;

	begin();
	made_blocks(&m, 2);
	made_block(&m, &mb, 3, 3 * MADE_SLOTS, MADE_SLOTS);
	made_write(&m, 0, &mb);
	args.follow = true;
	source_opens();
	for (unsigned i = 0; i < 2; i++) {
		ck_assert_int_eq(next(&p), 0);
		source_put(&p);
	}
	ck_assert_int_eq(source_next(source, &p, 0), -ETIMEDOUT);
	source->ops->settled(source, 5);
	ck_assert_int_eq(source_next(source, &p, 0), 0);
	ck_assert_uint_eq(p.record.number, 2);
	ck_assert_int_eq(p.err, -ENODATA);
	source_put(&p);
	ck_assert_int_eq(next(&p), 0);
	ck_assert_uint_eq(p.record.number, 3);
	parcel_is(&p);
	source_put(&p);
	ck_assert_int_eq(source_next(source, &p, 0), 0);
	ck_assert_uint_eq(p.record.number, 4);
	ck_assert_int_eq(p.err, -ENODATA);
	source_put(&p);
	ck_assert_int_eq(source_next(source, &p, 0), -ETIMEDOUT);
	made_end(&m, 5);
	ck_assert_int_eq(next(&p), -ENODATA);
	source_close(source);
	made_finish(&m);
}
END_TEST

/* One that was not there yet when those behind it were settled, and who needs
 * it has it from elsewhere; he comes back for it when it is settled, too. */
START_TEST(test_settled_late)
{
	static struct made_block mb;
	struct parcel p;

	begin();
	made_blocks(&m, 2);
	made_block(&m, &mb, 3, 3 * MADE_SLOTS, MADE_SLOTS);
	made_write(&m, 0, &mb);
	args.follow = true;
	source_opens();
	ck_assert_int_eq(source->ops->seek_number(source, 3), 0);
	source->ops->settled(source, 4);
	ck_assert_int_eq(next(&p), 0);
	ck_assert_uint_eq(p.record.number, 3);
	source_put(&p);
	made_block(&m, &mb, 2, 2 * MADE_SLOTS, MADE_SLOTS);
	made_write(&m, 1, &mb);
	ck_assert_int_eq(source->ops->seek_number(source, 2), 0);
	source->ops->settled(source, 4);
	ck_assert_int_eq(next(&p), 0);
	ck_assert_uint_eq(p.record.number, 2);
	ck_assert_int_eq(p.err, 0);
	parcel_is(&p);
	source_put(&p);
	source_close(source);
	made_end(&m, 4);
	made_finish(&m);
}
END_TEST

/* Held, it is not removed but by force; then it ends, and gives no garbage. */
START_TEST(test_removed)
{
	struct removal *removal;
	struct parcel p;
	int err = 0;

	begin();
	made_blocks(&m, 20);
	made_end(&m, 20);
	args.memory = 1;
	source_opens();
	ck_assert_int_eq(next(&p), 0);
	parcel_is(&p);
	source_put(&p);
	ck_assert_int_eq(removal_open(&removal, &m.disks, MADE_NAME, &fault),
			 0);
	ck_assert_int_eq(removal_run(removal, false, NULL, &fault), -EBUSY);
	ck_assert_int_eq(removal_run(removal, true, NULL, &fault), 0);
	removal_close(removal);
	for (unsigned i = 1; i < 20 && !err; i++) {
		err = next(&p);
		if (!err && !p.err)
			parcel_is(&p);
		if (!err)
			source_put(&p);
	}
	ck_assert_int_eq(err, -ENOENT);
	ck_assert_str_eq(source->ops->fault(source)->code, "not-found");
	ck_assert_int_eq(next(&p), -ENOENT);
	source_close(source);
	ck_assert_int_eq(recording_open(&rec, &m.disks, MADE_NAME, &fault),
			 -ENOENT);
	made_finish(&m);
}
END_TEST

START_TEST(test_not_there)
{
	struct parcel p;

	begin();
	made_end(&m, 0);
	args.disks = &m.disks;
	args.name = "nothing";
	ck_assert_int_eq(source_disk_make(&source, &args), 0);
	ck_assert_int_eq(next(&p), -ENOENT);
	ck_assert_ptr_nonnull(source->ops->fault(source)->code);
	source_close(source);
	made_finish(&m);
}
END_TEST

/* Substreams: all by number, or one as its file is. */
START_TEST(test_subs)
{
	static struct made_block mb;
	struct parcel p;
	unsigned n = 0;

	begin();
	made_finish(&m);
	m.subs = 3;
	begin();
	for (unsigned i = 0; i < 12; i++) {
		m.sub = (uint16_t)(i % 3);
		if (i < 3)
			for (unsigned k = 0; k < 3; k++)
				made_run(&m, k, 0, MADE_BASE);
		made_block(&m, &mb, i, (uint64_t)(i / 3) * MADE_SLOTS,
			   MADE_SLOTS);
		if (i != 4) /* on no disk: seen by its neighbours */
			made_write(&m, i % 3, &mb);
	}
	made_end(&m, 12);
	opened(&m, &rec);
	source_opens();
	while (!next(&p)) {
		ck_assert_uint_eq(p.record.number, n);
		m.sub = (uint16_t)(n % 3);
		if (n == 4)
			ck_assert_int_eq(p.err, -ENODATA);
		else
			parcel_is(&p);
		source_put(&p);
		n++;
	}
	ck_assert_uint_eq(n, 12);
	source_close(source);
	for (unsigned i = 0; i < 3; i++) {
		args.sub = (int)i;
		m.sub = (uint16_t)i;
		recording_select(rec, i);
		source_opens();
		ck_assert_uint_eq(is_file(0), 4);
		source_close(source);
	}
	args.sub = 3;
	source_opens();
	ck_assert_int_eq(next(&p), -EINVAL);
	finish();
}
END_TEST

/* Of rows a parcel is a block; one that is damaged anywhere is bad. */
START_TEST(test_rows)
{
	uint8_t byte = 0;
	struct parcel p;
	int fd;

	m.store = HEAP_ROW;
	m.quantum = 1024;
	begin();
	made_blocks(&m, 9);
	made_end(&m, 9);
	opened(&m, &rec);
	args.verify = true;
	source_opens();
	ck_assert_uint_eq(is_file(0), 9);
	source_close(source);
	fd = open(made_path(&m, 1, MADE_NAME ".00000004"), O_RDWR);
	ck_assert_int_eq(pwrite(fd, &byte, 1, 3000), 1);
	close(fd);
	source_opens();
	for (unsigned i = 0; i < 9; i++) {
		ck_assert_int_eq(next(&p), 0);
		ck_assert_uint_eq(p.record.number, i);
		ck_assert_uint_eq(p.bytes, MADE_BLOCK);
		ck_assert_ptr_null(p.present);
		ck_assert_int_eq(p.err, i == 4 ? -EBADMSG : 0);
		source_put(&p);
	}
	ck_assert_int_eq(next(&p), -ENODATA);
	finish();
}
END_TEST

/* Of cubes an item that lacks anything is not there. */
START_TEST(test_cubes)
{
	static struct made_block mb;
	json_t *line =
	    json_pack("{s:i, s:[[i,i]], s:s}", "block", 1, "holes",
		      MADE_PAYLOAD * 5 + 10, MADE_PAYLOAD, "unit", "byte");
	struct parcel p;

	m.store = HEAP_CUBE;
	begin();
	made_run(&m, 0, 0, MADE_BASE);
	for (unsigned i = 0; i < 3; i++) {
		made_block(&m, &mb, i, i * MADE_SLOTS, MADE_SLOTS);
		if (i == 1)
			ck_assert_int_eq(folder_note(m.folder[1], line), 0);
		made_write(&m, i, &mb);
	}
	json_decref(line);
	made_end(&m, 3);
	opened(&m, &rec);
	source_opens();
	for (unsigned i = 0; i < 3; i++) {
		ck_assert_int_eq(next(&p), 0);
		ck_assert_ptr_nonnull(p.present);
		ck_assert_uint_eq(p.present[0],
				  i == 1 ? ~(UINT64_C(3) << 5) : UINT64_MAX);
		source_put(&p);
	}
	finish();
}
END_TEST

SUITE_THREADS("source_disk", NULL, test_whole, test_computed, test_lost,
	      test_flipped, test_flipped_quantum, test_name_lookup, test_ranges,
	      test_follow, test_no_follow, test_settled, test_settled_late,
	      test_removed, test_not_there, test_subs, test_rows, test_cubes)
