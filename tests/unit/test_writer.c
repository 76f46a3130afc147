/* SPDX-License-Identifier: MIT */
/*
 * Three disks with whims of their own, and a receiver that hands blocks on.
 * Whatever a disk does, each block is a chunk on one disk that its index
 * names, or is counted as lost; and everything comes to an end.
 */
#include "flow/writer.h"

#include <sched.h>

#include "disk_bench.h"

enum { SLOT = 64, SLOTS = 64, BLOCKS = 12, PUT = 90 };

static const struct write_ops ops = FAKE_WRITE_OPS("fake", 0);

static struct disk_bench bench;
static struct fake_whim whim[BENCH_DISKS];
static struct writer_way way[BENCH_DISKS];
static struct writer *writer[BENCH_DISKS];
static uint64_t packets;    /* that were put */
static int put_at[4 * PUT]; /* filled slots, by number; 0: a gap */

static void
open_writers(void)
{
	disk_bench_open(&bench, SLOTS, SLOT, BLOCKS);
	packets = 0;
	memset(put_at, 0, sizeof put_at);
	for (unsigned i = 0; i < BENCH_DISKS; i++) {
		struct writer_args args = { .number = i,
					    .disk = &bench.disk[i],
					    .queue = bench.queue,
					    .way = &way[i],
					    .ways = 1,
					    .changed = disk_bench_changed,
					    .arg = &bench };

		way[i] = (struct writer_way){ &ops, &whim[i] };
		ck_assert_int_eq(writer_start(&writer[i], &args), 0);
	}
}

static void
errands_wait(void)
{
	while (atomic_load(&bench.output->errands))
		sched_yield();
}

static void
begin(void)
{
	atomic_store(&bench.output->errands, BENCH_DISKS);
	for (unsigned i = 0; i < BENCH_DISKS; i++)
		ck_assert_int_eq(writer_begin(writer[i], bench.output), 0);
	errands_wait();
}

static void
put(unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		uint64_t gap = i % 10 == 9 ? SLOTS : 0;
		uint64_t number = bench.output->next_number + !!gap;
		uint32_t used = i % 7 == 3 ? 5 : SLOTS;
		struct block *b;

		while (!(b = disk_bench_block(&bench, number, used)))
			sched_yield();
		b->gap = gap;
		packets += used;
		put_at[number] = (int)used;
		output_put(bench.output, b);
	}
	while (atomic_load_explicit(&bench.output->in_flight,
				    memory_order_acquire))
		sched_yield();
}

static void
end(void)
{
	struct index_record record = { .kind = INDEX_END };

	atomic_store(&bench.output->errands, BENCH_DISKS);
	for (unsigned i = 0; i < BENCH_DISKS; i++)
		ck_assert_int_eq(writer_end(writer[i], bench.output, &record,
					    json_pack("{s:i}", "end", 1)),
				 0);
	errands_wait();
}

/* Records of blocks in a disk's index; each has its chunk, as it was put. */
static unsigned
index_check(unsigned disk, bool *named)
{
	struct index_record *record;
	int fd = open(disk_bench_file(&bench, disk, "index"), O_RDONLY);
	unsigned chunks = 0;
	uint64_t torn;
	size_t n;

	if (fd < 0)
		return 0;
	ck_assert_int_eq(index_read(fd, &record, &n, &torn), 0);
	close(fd);
	ck_assert_uint_eq(torn, 0);
	for (size_t i = 0; i < n; i++) {
		uint64_t number = record[i].number;

		if (record[i].kind != INDEX_BLOCK)
			continue;
		ck_assert_uint_lt(number, 4 * PUT);
		ck_assert_msg(!named[number], "two disks have %llu",
			      (unsigned long long)number);
		named[number] = true;
		ck_assert_int_eq((int)record[i].present, put_at[number]);
		disk_bench_chunk_check(&bench, disk, number,
				       (uint64_t)put_at[number] * SLOT);
		chunks++;
	}
	free(record);
	return chunks;
}

/* The books agree with what lies on the disks. */
static void
check(void)
{
	bool named[4 * PUT] = { false };
	unsigned chunks = 0;
	uint64_t written = 0;

	for (unsigned i = 0; i < BENCH_DISKS; i++)
		chunks += index_check(i, named);
	for (unsigned i = 0; i < 4 * PUT; i++)
		written += named[i] ? (uint64_t)put_at[i] : 0;
	ck_assert_uint_eq(bench.output->chunks, chunks);
	ck_assert_uint_eq(bench.output->packets, written);
	ck_assert_uint_eq(bench.output->packets + bench.output->lost_packets,
			  packets);
	/* A chunk that no index names is not there. */
	for (unsigned n = 0; n < 4 * PUT; n++) {
		char file[16];

		snprintf(file, sizeof file, "%08u", n);
		for (unsigned i = 0; i < BENCH_DISKS && !named[n]; i++)
			ck_assert_int_eq(disk_bench_size(&bench, i, file), -1);
	}
}

static void
close_writers(void)
{
	queue_drain(bench.queue);
	for (unsigned i = 0; i < BENCH_DISKS; i++) {
		writer_stop(writer[i]);
		ck_assert_uint_eq(whim[i].opens, whim[i].closes);
	}
	disk_bench_close(&bench);
}

static struct writer_facts
facts(unsigned disk)
{
	struct writer_facts f;

	writer_facts(writer[disk], &f);
	return f;
}

static void
record(void)
{
	open_writers();
	begin();
	put(PUT);
	end();
	check();
}

static void
whims(struct fake_whim a, struct fake_whim b, struct fake_whim c)
{
	whim[0] = a;
	whim[1] = b;
	whim[2] = c;
}

#define GOOD ((struct fake_whim){ .most = 0 })

START_TEST(disks_share_the_work)
{
	whims(GOOD, GOOD, GOOD);
	record();
	ck_assert_uint_eq(bench.output->lost_packets, 0);
	ck_assert_uint_eq(bench.output->folders, BENCH_DISKS);
	for (unsigned i = 0; i < BENCH_DISKS; i++) {
		ck_assert_int_eq(facts(i).state, WRITER_IDLE);
		ck_assert_str_eq(facts(i).way, "fake");
		ck_assert_uint_eq(facts(i).errors, 0);
	}
	close_writers();
}
END_TEST

START_TEST(whims_are_borne)
{
	whims((struct fake_whim){ .depth = 3, .busy = 2 },
	      (struct fake_whim){ .most = 1000 },
	      (struct fake_whim){ .depth = 1, .most = 100, .busy = 3 });
	record();
	ck_assert_uint_eq(bench.output->lost_packets, 0);
	close_writers();
}
END_TEST

/* In mid-recording: the others have its block, and all that follow. */
static void
one_fails(int err, enum writer_state state, const char *why)
{
	whims(GOOD, GOOD, GOOD);
	whim[1] =
	    (struct fake_whim){ .fail_at = 4, .fail = err, .lasting = true };
	record();
	ck_assert_uint_eq(bench.output->lost_packets, 0);
	if (whim[1].submits >= 4) {
		ck_assert_int_eq(facts(1).state, state);
		ck_assert_ptr_nonnull(strstr(facts(1).why, why));
		ck_assert_uint_eq(facts(1).errors, 1);
		ck_assert_uint_eq(whim[1].submits, 4);
	}
	close_writers();
}

START_TEST(a_disk_that_fails_is_replaced)
{
	one_fails(-EIO, WRITER_FAILED, "Input/output error");
	one_fails(-ENOSPC, WRITER_FULL, "reserve");
}
END_TEST

START_TEST(all_disks_fail)
{
	for (unsigned i = 0; i < BENCH_DISKS; i++)
		whim[i] = (struct fake_whim){ .fail_at = 5 + i,
					      .fail = -EIO,
					      .lasting = true };
	record();
	for (unsigned i = 0; i < BENCH_DISKS; i++)
		ck_assert_int_eq(facts(i).state, WRITER_FAILED);
	ck_assert_uint_gt(bench.output->chunks, 0);
	ck_assert_uint_gt(bench.output->lost_packets, 0);
	close_writers();
}
END_TEST

START_TEST(no_disk_works_at_all)
{
	for (unsigned i = 0; i < BENCH_DISKS; i++)
		whim[i] = (struct fake_whim){ .fail_at = 1,
					      .fail = -EROFS,
					      .lasting = true };
	record();
	ck_assert_uint_eq(bench.output->folders, 0);
	ck_assert_uint_eq(bench.output->lost_packets, packets);
	close_writers();
}
END_TEST

/* A disk that failed is asked again when the next recording begins. */
START_TEST(a_disk_comes_back)
{
	whims(GOOD, GOOD, GOOD);
	whim[2] = (struct fake_whim){ .fail_at = 1, .fail = -EIO };
	open_writers();
	begin();
	put(PUT / 2);
	ck_assert_uint_eq(bench.output->folders, BENCH_DISKS);
	ck_assert_int_eq(facts(2).state, WRITER_IDLE);
	ck_assert_uint_eq(facts(2).errors, 1);
	put(PUT / 2);
	end();
	check();
	ck_assert_uint_eq(bench.output->lost_packets, 0);
	close_writers();
}
END_TEST

START_TEST(every_block_durable_at_once)
{
	whims(GOOD, GOOD, GOOD);
	open_writers();
	bench.output->durable = 0;
	begin();
	put(PUT);
	end();
	check();
	close_writers();
}
END_TEST

/* Nothing orders the receiver's first block behind the writers' errands. */
START_TEST(blocks_may_come_before_the_errand)
{
	whims(GOOD, GOOD, GOOD);
	open_writers();
	put(PUT);
	begin();
	put(PUT);
	end();
	check();
	ck_assert_uint_eq(bench.output->lost_packets, 0);
	for (unsigned i = 0; i < BENCH_DISKS; i++)
		ck_assert_uint_eq(facts(i).errors, 0);
	close_writers();
}
END_TEST

START_TEST(stop_needs_no_recording)
{
	whims(GOOD, GOOD, GOOD);
	open_writers();
	for (unsigned i = 0; i < BENCH_DISKS; i++)
		writer_stop(writer[i]);
	disk_bench_close(&bench);
}
END_TEST

SUITE("writer", stop_needs_no_recording, blocks_may_come_before_the_errand,
      disks_share_the_work, whims_are_borne, a_disk_that_fails_is_replaced,
      all_disks_fail, no_disk_works_at_all, a_disk_comes_back,
      every_block_durable_at_once)
