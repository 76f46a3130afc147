/* SPDX-License-Identifier: MIT */
/*
 * A disk is taken away in mid-recording, and added again: what it has is
 * durable and named, and no block is lost or on two disks.
 */
#include "flow/write/writer.h"

#include <sched.h>

#include "lib/disk_bench.h"

enum { SLOT = 64, SLOTS = 64, BLOCKS = 12, PUT = 30 };

static const struct write_ops ops = FAKE_WRITE_OPS("fake", 0);
static struct disk_bench bench;
static struct fake_whim whim[BENCH_DISKS];
static struct write_plugin way[BENCH_DISKS];
static struct writer *writer[BENCH_DISKS];

static void
start(unsigned i)
{
	struct writer_args args = { .number = i,
				    .disk = &bench.disk[i],
				    .queue = bench.queue,
				    .plugin = &way[i],
				    .plugins = 1,
				    .changed = disk_bench_changed,
				    .arg = &bench };

	way[i] = (struct write_plugin){ &ops, &whim[i] };
	ck_assert_int_eq(writer_start(&writer[i], &args), 0);
}

static void
jobs_wait(void)
{
	while (atomic_load(&bench.output->jobs))
		sched_yield();
}

static void
open_writers(void)
{
	disk_bench_open(&bench, SLOTS, SLOT, BLOCKS);

	for (unsigned i = 0; i < BENCH_DISKS; i++)
		start(i);
	atomic_store(&bench.output->jobs, BENCH_DISKS);
	for (unsigned i = 0; i < BENCH_DISKS; i++)
		ck_assert_int_eq(writer_begin(writer[i], bench.output), 0);
	jobs_wait();
}

static void
close_writers(void)
{
	struct index_record record = { .kind = INDEX_END };

	atomic_store(&bench.output->jobs, BENCH_DISKS);
	for (unsigned i = 0; i < BENCH_DISKS; i++)
		ck_assert_int_eq(
		    writer_end(writer[i], bench.output, &record, NULL), 0);
	jobs_wait();
	queue_drain(bench.queue);
	for (unsigned i = 0; i < BENCH_DISKS; i++)
		writer_stop(writer[i]);
}

static void
put(unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		uint64_t number = bench.output->next_number;
		struct block *b;

		while (!(b = disk_bench_block(&bench, number, SLOTS)))
			sched_yield();
		output_put(bench.output, b);
	}
	while (atomic_load_explicit(&bench.output->in_flight,
				    memory_order_acquire))
		sched_yield();
}

/* Blocks that a disk's index names; *ended: it has its end, last. */
static unsigned
named(unsigned disk, bool *ended)
{
	struct index_record *record;
	int fd = open(disk_bench_file(&bench, disk, "index"), O_RDONLY);
	unsigned chunks = 0;
	uint64_t torn;
	size_t n;

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(index_read(fd, &record, &n, &torn), 0);
	close(fd);
	ck_assert_uint_eq(torn, 0);
	*ended = n && record[n - 1].kind == INDEX_END;
	for (size_t i = 0; i < n; i++) {
		if (record[i].kind != INDEX_BLOCK)
			continue;
		disk_bench_chunk_check(&bench, disk, record[i].number,
				       SLOTS * SLOT);
		chunks++;
	}
	free(record);
	return chunks;
}

static void
drop(unsigned i)
{
	writer_drop(writer[i]);
	while (!writer_dropped(writer[i]))
		sched_yield();
	writer_stop(writer[i]);
}

START_TEST(a_disk_goes_and_comes_back)
{
	unsigned at_drop, chunks = 0;
	bool ended;

	open_writers();
	put(PUT);
	ck_assert(!writer_dropped(writer[1]));
	drop(1);
	at_drop = named(1, &ended);
	ck_assert(!ended);
	ck_assert_uint_gt(at_drop, 0);
	ck_assert_uint_eq(at_drop, bench.output->disk[1].chunks);
	put(PUT);
	ck_assert_uint_eq(named(1, &ended), at_drop);
	start(1);
	put(PUT);
	close_writers();
	for (unsigned i = 0; i < BENCH_DISKS; i++) {
		chunks += named(i, &ended);
		ck_assert(ended);
	}
	ck_assert_uint_eq(chunks, 3 * PUT);
	ck_assert_uint_gt(named(1, &ended), at_drop);
	ck_assert_uint_eq(bench.output->lost_packets, 0);
	disk_bench_close(&bench);
}
END_TEST

static enum writer_state
state(unsigned i)
{
	struct writer_facts f;

	writer_facts(writer[i], &f);
	return f.state;
}

/* Nothing is recorded to it, so nobody would notice. */
START_TEST(one_that_went_is_missed_when_asked)
{
	char away[256];

	disk_bench_open(&bench, SLOTS, SLOT, BLOCKS);

	start(0);
	snprintf(away, sizeof away, "%s.away", bench.disk[0].path);
	ck_assert_int_eq(rename(bench.disk[0].path, away), 0);
	while (state(0) != WRITER_MISSING) {
		writer_retry(writer[0]);
		sched_yield();
	}
	ck_assert_int_eq(rename(away, bench.disk[0].path), 0);
	while (state(0) != WRITER_IDLE) {
		writer_retry(writer[0]);
		sched_yield();
	}
	queue_drain(bench.queue);
	writer_stop(writer[0]);
	disk_bench_close(&bench);
}
END_TEST

SUITE_THREADS("writer_drop", NULL, a_disk_goes_and_comes_back,
	      one_that_went_is_missed_when_asked)
