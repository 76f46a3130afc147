/* SPDX-License-Identifier: MIT */
#include "flow/write/disk_recording.h"

#include "base/crc32c.h"
#include "lib/disk_bench.h"
#include "lib/noise.h"
#include "flow/memory/checksums.h"
#include "store/record/sums.h"

enum { SLOT = 64, SLOTS = 64, BLOCKS = 4 };

static struct disk_bench bench;
static struct disk_recording *rec;
static struct taker *taker;

static void
rec_open(void)
{
	disk_bench_open(&bench, SLOTS, SLOT, BLOCKS);
	ck_assert_int_eq(
	    disk_recording_open(&rec, &bench.disk[0], bench.output, NULL), 0);
}

static void
rec_close(void)
{
	ck_assert_int_eq(disk_recording_close(rec, NULL, NULL), 0);
	disk_bench_close(&bench);
}

static int
chunk_fd(uint64_t number)
{
	int fd = folder_chunk(rec->folder, number, 0, 0);

	ck_assert_int_ge(fd, 0);
	return fd;
}

/* `time`: its packets are frames with times. */
static void
add(uint64_t number, uint64_t gap, bool time, int fd)
{
	struct block *b = disk_bench_block(&bench, number, 10);

	b->gap = gap;
	for (uint32_t i = 0; time && i < 10; i++) {
		struct format_packet p = { .has = FORMAT_TIME | FORMAT_VALID,
					   .second = 5000,
					   .frame = i };

		fake_model(&bench.shape, block_slot(b, i));
		fake_stamp(&bench.shape, &p, NULL, block_slot(b, i));
	}
	b->present[0] &= ~0x9ull; /* the first and fourth are missing */
	b->filled = 8;
	checksums_seal(b);
	block_seal(b);
	disk_recording_note(rec, b);
	disk_recording_add(rec, b, fd);
	block_drop(b);
}

static size_t
records_read(struct index_record **record)
{
	int fd = open(disk_bench_file(&bench, 0, "index"), O_RDONLY);
	uint64_t torn;
	size_t n;

	ck_assert_int_eq(index_read(fd, record, &n, &torn), 0);
	ck_assert_uint_eq(torn, 0);
	close(fd);
	return n;
}

START_TEST(only_a_round_names_chunks)
{
	struct index_record *record;

	rec_open();
	ck_assert_int_eq(disk_recording_due(rec), INT64_MAX);
	ck_assert_int_eq(disk_recording_sync(rec), 0);
	for (uint64_t i = 0; i < 5; i++) {
		add(2 * i + 1, i == 3 ? 64 : 0, false, chunk_fd(2 * i + 1));
		ck_assert_int_eq(disk_bench_size(&bench, 0, "index"), 0);
	}
	ck_assert_int_lt(disk_recording_due(rec), INT64_MAX);
	ck_assert_int_eq(disk_recording_sync(rec), 0);
	ck_assert_int_eq(disk_bench_size(&bench, 0, "index"), 6 * INDEX_BYTES);
	ck_assert_int_eq(disk_recording_due(rec), INT64_MAX);
	ck_assert_uint_eq(records_read(&record), 6);
	ck_assert_uint_eq(record[2].number, 5);
	ck_assert_uint_eq(record[3].kind, INDEX_GAP);
	ck_assert_uint_eq(record[3].number, 6);
	ck_assert_uint_eq(record[3].first, 6 * SLOTS);
	ck_assert_uint_eq(record[3].missing, SLOTS);
	ck_assert_uint_eq(record[4].number, 7);
	ck_assert_uint_eq(record[4].present, 8);
	ck_assert_uint_eq(record[4].missing, 2);
	ck_assert_uint_eq(record[4].bytes, 10 * SLOT);
	free(record);
	rec_close();
}
END_TEST

START_TEST(sums_are_there_before_the_index_says_so)
{
	struct index_record *record;
	struct sums_list sums;
	uint8_t data[10 * SLOT];
	int fd;

	rec_open();
	add(3, 64, false, chunk_fd(3));
	fd = open(disk_bench_file(&bench, 0, "sums"), O_RDONLY);
	ck_assert_int_eq(sums_read(fd, &sums), 0);
	close(fd);
	ck_assert_int_eq(disk_recording_sync(rec), 0);
	ck_assert_uint_eq(records_read(&record), 2);
	noise_fill(3, 0, data, sizeof data);
	ck_assert_uint_eq(record[0].flags & INDEX_SUMMED, 0);
	ck_assert_uint_eq(record[1].flags & INDEX_SUMMED, INDEX_SUMMED);
	ck_assert_uint_eq(record[1].crc, crc32c(0, data, sizeof data));
	ck_assert_uint_eq(sums.n, 1);
	ck_assert_uint_eq(sums.sums[0].number, 3);
	ck_assert_uint_eq(sums.sums[0].crc, record[1].crc);
	sums_clear(&sums);
	free(record);
	rec_close();
}
END_TEST

static bool
has_line(const char *text)
{
	char all[4096];
	FILE *meta = fopen(disk_bench_file(&bench, 0, "meta.jsonl"), "r");
	size_t n;

	ck_assert_ptr_nonnull(meta);
	n = fread(all, 1, sizeof all - 1, meta);
	fclose(meta);
	all[n] = '\0';
	return strstr(all, text);
}

/* Only where a chunk would not tell itself what it is of. */
START_TEST(chunks_are_announced)
{
	struct format_shape shape;
	struct block *b;

	rec_open();
	b = disk_bench_block(&bench, 4, 10);
	block_seal(b);
	disk_recording_announce(rec, b);
	ck_assert(!has_line("{\"chunk\":"));
	shape = *bench.output->shape;
	shape.store = HEAP_CUBE;
	bench.output->shape = &shape;
	disk_recording_announce(rec, b);
	ck_assert(has_line("{\"run\":0,\"base\":"));
	ck_assert(
	    has_line("{\"chunk\":4,\"run\":0,\"first\":\"256\",\"bytes\":640,"
		     "\"present\":10,\"missing\":0}"));
	bench.output->shape = &bench.shape;
	block_drop(b);
	rec_close();
}
END_TEST

/* Packets without time: the block's are those of arrival. */
START_TEST(times_of_arrival)
{
	struct index_record *record;

	rec_open();
	add(0, 0, false, chunk_fd(0));
	add(1, 0, false, chunk_fd(1));
	ck_assert_int_eq(disk_recording_sync(rec), 0);
	ck_assert_uint_eq(records_read(&record), 2);
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(record[i].first_ns, 1000 + i);
		ck_assert_int_eq(record[i].last_ns, 2000 + i);
		ck_assert_uint_eq(record[i].flags & INDEX_DATA_TIME, 0);
	}
	free(record);
	rec_close();
}
END_TEST

START_TEST(times_of_the_data)
{
	struct index_record *record;

	rec_open();
	add(0, 0, true, chunk_fd(0));
	ck_assert_int_eq(disk_recording_sync(rec), 0);
	ck_assert_uint_eq(records_read(&record), 1);
	ck_assert_int_eq(record[0].first_ns, 5000001000000);
	ck_assert_int_eq(record[0].last_ns, 5000009000000);
	ck_assert_uint_ne(record[0].flags & INDEX_DATA_TIME, 0);
	free(record);
	rec_close();
}
END_TEST

/* Files that are open are few: many chunks are a round of their own. */
START_TEST(a_full_round_is_due)
{
	struct index_record *record;

	rec_open();
	for (uint64_t i = 0; i < DISK_RECORDING_ROUND; i++) {
		ck_assert_int_ne(disk_recording_due(rec), 0);
		add(2 * i + 1, 64, false, chunk_fd(2 * i + 1));
	}
	ck_assert_int_eq(disk_recording_due(rec), 0);
	ck_assert_int_eq(disk_recording_sync(rec), 0);
	ck_assert_uint_eq(records_read(&record), 2 * DISK_RECORDING_ROUND);
	free(record);
	rec_close();
}
END_TEST

/* All chunks that are on their way may be written before anybody looks what is
 * due: none of them may touch what is not its own. */
START_TEST(a_round_has_room_for_what_is_on_its_way)
{
	const unsigned most = DISK_RECORDING_ROUND - 1 + WRITES_FILES;
	struct index_record *record;

	rec_open();
	for (uint64_t i = 0; i < most; i++) {
		if (i == DISK_RECORDING_ROUND - 1)
			ck_assert_int_ne(disk_recording_due(rec), 0);
		add(2 * i + 1, 64, false, chunk_fd(2 * i + 1));
	}
	ck_assert_uint_eq(rec->fds, most);
	ck_assert_uint_eq(rec->records, 2 * most);
	ck_assert_int_eq(disk_recording_due(rec), 0);
	ck_assert_int_eq(disk_recording_sync(rec), 0);
	ck_assert_uint_eq(records_read(&record), 2 * most);
	free(record);
	rec_close();
}
END_TEST

START_TEST(blocks_are_due_at_once_or_by_time)
{
	rec_open();
	bench.output->durable = 0;
	add(0, 0, false, chunk_fd(0));
	ck_assert_int_eq(disk_recording_due(rec), rec->since);
	bench.output->durable = 5000000000;
	ck_assert_int_eq(disk_recording_due(rec), rec->since + 5000000000);
	rec_close();
}
END_TEST

/* A chunk that cannot be made durable takes its round along, in the books
 * too; no index names them. */
START_TEST(a_failed_round_is_counted)
{
	int pipes[2];

	rec_open();
	ck_assert_int_eq(pipe(pipes), 0);
	for (uint64_t i = 0; i < 3; i++) {
		struct block *b = disk_bench_block(&bench, i, 8);

		atomic_store(&bench.output->in_flight, 2);
		b->used = 10;
		block_seal(b);
		output_written(bench.output, b, 0);
	}
	bench.output->runs = 1; /* it is zero: the first of all */
	bench.output->run[0].packets = 24;
	add(0, 0, false, chunk_fd(0));
	add(1, 0, false, pipes[1]); /* fdatasync of a pipe fails */
	add(2, 0, false, chunk_fd(2));
	ck_assert_int_eq(disk_recording_sync(rec), -EINVAL);
	ck_assert_int_eq(disk_bench_size(&bench, 0, "index"), 0);
	ck_assert_uint_eq(bench.output->packets, 0);
	ck_assert_uint_eq(bench.output->bytes, 0);
	ck_assert_uint_eq(bench.output->lost_packets, 24);
	ck_assert_uint_eq(bench.output->risk_packets, 24);
	ck_assert_uint_eq(bench.output->chunks, 0);
	ck_assert_uint_eq(bench.output->records, 0);
	ck_assert_uint_eq(bench.output->run[0].packets, 0);
	close(pipes[0]);
	rec_close();
}
END_TEST

/* Puts a block with 64 packets missing in front of it, if `gap`, and writes it
 * here. */
static void
write_here(uint64_t number, uint64_t gap, int fd)
{
	struct block *b = disk_bench_block(&bench, number, 10);

	b->gap = gap;
	output_put(bench.output, b);
	ck_assert_int_eq(queue_take(taker, &b, 0), 0);
	output_seal(bench.output, b);
	disk_recording_note(rec, b);
	disk_recording_add(rec, b, fd);
	output_written(bench.output, b, 0);
}

static void
hold_open(void)
{
	struct output_args args = { .name = bench_name,
				    .disks = BENCH_DISKS,
				    .changed = disk_bench_changed,
				    .arg = &bench,
				    .format = &fake_format,
				    .shape = &bench.shape };

	disk_bench_open(&bench, SLOTS, SLOT, 16);
	output_drop(bench.output);
	args.queue = bench.queue;
	args.hold = bench.pool;
	args.head = bench.head;
	ck_assert_int_eq(output_make(&bench.output, &args), 0);
	ck_assert_int_eq(taker_join(&taker, bench.queue, 0), 0);
	ck_assert_int_eq(
	    disk_recording_open(&rec, &bench.disk[0], bench.output, NULL), 0);
}

/* Takes a block that another disk is to write. */
static void
write_elsewhere(uint64_t number)
{
	struct block *b;

	ck_assert_int_eq(queue_take(taker, &b, 0), 0);
	ck_assert_uint_eq(b->number, number);
	output_written(bench.output, b, 1);
}

static void
hold_close(void)
{
	taker_leave(taker);
	output_hold_end(bench.output);
	rec_close();
}

/* What a sync could not make durable, and is in memory, goes to other disks; its
 * chunks go, and the books are as if it had never been here. */
START_TEST(a_failed_round_is_rescued)
{
	struct index_record r;
	int pipes[2], err;
	unsigned moved = 0;

	hold_open();
	ck_assert_int_eq(pipe(pipes), 0);
	write_here(0, 0, chunk_fd(0));
	write_here(2, SLOTS, pipes[1]); /* fdatasync of a pipe fails */
	write_here(3, 0, chunk_fd(3));
	ck_assert_uint_eq(bench.output->records, 4);
	ck_assert_int_eq(disk_recording_sync(rec), -EINVAL);
	ck_assert_uint_eq(bench.output->in_flight, 3);
	ck_assert_uint_eq(bench.output->packets, 0);
	ck_assert_uint_eq(bench.output->bytes, 0);
	ck_assert_uint_eq(bench.output->lost_packets, 0);
	ck_assert_uint_eq(bench.output->risk_packets, 0);
	ck_assert_uint_eq(bench.output->chunks, 0);
	ck_assert_uint_eq(bench.output->records, 0);
	ck_assert_int_eq(disk_bench_size(&bench, 0, "index"), 0);
	for (; disk_recording_moved(rec, &r, &err); moved++)
		ck_assert_int_eq(err, 0);
	ck_assert_uint_eq(moved, 3);
	ck_assert_int_eq(disk_bench_size(&bench, 0, "00000000"), -1);
	ck_assert_int_eq(disk_bench_size(&bench, 0, "00000003"), -1);
	write_elsewhere(3);
	write_elsewhere(2);
	write_elsewhere(0);
	ck_assert_uint_eq(bench.output->packets, 30);
	ck_assert_uint_eq(bench.output->chunks, 3);
	ck_assert_uint_eq(bench.output->in_flight, 0);
	close(pipes[0]);
	hold_close();
}
END_TEST

/* Adds a parity block of three members, whose tail is as long as a slot. */
static void
parity_add(uint64_t group, int fd)
{
	struct block *b = disk_bench_block(&bench, group, 2);

	b->parity = calloc(1, sizeof *b->parity);
	ck_assert_ptr_nonnull(b->parity);
	*b->parity = (struct block_parity){
		.holders = 1, .group = group, .bytes = SLOT, .members = 3
	};
	b->bytes = 2 * SLOT;
	block_seal(b);
	disk_recording_add(rec, b, fd);
	atomic_fetch_add(&bench.output->parity_blocks, 1);
	block_drop(b);
}

/* A parity block that cannot be made durable costs neither chunks nor the blocks
 * that are held: these are named, and what is not durable is listed nowhere. */
START_TEST(failed_parity_costs_no_chunk)
{
	int pipes[2];

	hold_open();
	ck_assert_int_eq(pipe(pipes), 0);
	write_here(0, 0, chunk_fd(0));
	parity_add(0, pipes[1]); /* fdatasync of a pipe fails */
	write_here(1, 0, chunk_fd(1));
	ck_assert_int_eq(disk_recording_sync(rec), -EINVAL);
	ck_assert_int_eq(disk_bench_size(&bench, 0, "index"), 2 * INDEX_BYTES);
	ck_assert_uint_eq(bench.output->packets, 20);
	ck_assert_uint_eq(bench.output->in_flight, 0);
	ck_assert_uint_eq(bench.output->risk_packets, 0);
	ck_assert_uint_eq(rec->moved_n, 0);
	ck_assert_uint_eq(bench.output->parity_blocks, 0);
	ck_assert_uint_eq(bench.output->parity_lost, 1);
	ck_assert_int_eq(disk_recording_sync(rec), 0);
	ck_assert_int_eq(disk_bench_size(&bench, 0, "parity"), -1);
	parity_add(1, chunk_fd(2));
	ck_assert_int_eq(disk_recording_sync(rec), 0);
	ck_assert_int_eq(disk_bench_size(&bench, 0, "parity"), SLOT);
	ck_assert_uint_eq(bench.output->parity_members, 3);
	close(pipes[0]);
	hold_close();
}
END_TEST

/* A disk that answers again makes durable only what did not go meanwhile. */
START_TEST(a_hung_disk_is_rescued)
{
	struct index_record *record, r;
	int err;

	hold_open();
	write_here(0, 0, chunk_fd(0));
	write_here(1, 0, chunk_fd(1));
	ck_assert_int_eq(disk_recording_sync(rec), 0);
	write_here(2, 0, chunk_fd(2));
	write_here(4, SLOTS, chunk_fd(4));
	disk_recording_risk(rec);
	ck_assert_uint_eq(bench.output->risk_packets, 20);
	ck_assert_uint_eq(disk_recording_rescue(rec), 2);
	ck_assert_uint_eq(disk_recording_rescue(rec), 0);
	disk_recording_risk(rec); /* it hangs again: they are not its own */
	ck_assert_uint_eq(bench.output->risk_packets, 0);
	ck_assert_uint_eq(bench.output->lost_packets, 0);
	ck_assert_uint_eq(bench.output->packets, 20);
	write_elsewhere(4);
	write_elsewhere(2);
	write_here(5, 0, chunk_fd(5));
	ck_assert_int_eq(disk_recording_sync(rec), 0);
	while (disk_recording_moved(rec, &r, &err))
		ck_assert_int_eq(err, 0);
	ck_assert_int_eq(disk_bench_size(&bench, 0, "00000002"), -1);
	ck_assert_int_eq(disk_bench_size(&bench, 0, "00000004"), -1);
	ck_assert_uint_eq(records_read(&record), 3);
	ck_assert_uint_eq(record[2].number, 5);
	free(record);
	ck_assert_uint_eq(bench.output->packets, 50);
	ck_assert_uint_eq(bench.output->durable_bytes, 30 * SLOT);
	hold_close();
}
END_TEST

/* Of a folder that was removed nobody need ask. */
START_TEST(what_is_removed_is_not_at_risk)
{
	rec_open();
	add(0, 0, false, chunk_fd(0));
	ck_assert_int_eq(unlink(disk_bench_file(&bench, 0, "00000000")), 0);
	ck_assert_int_eq(unlink(disk_bench_file(&bench, 0, "index")), 0);
	ck_assert_int_eq(unlink(disk_bench_file(&bench, 0, "meta.jsonl")), 0);
	ck_assert_int_eq(unlink(disk_bench_file(&bench, 0, "sums")), 0);
	ck_assert_int_eq(unlinkat(bench.disk[0].fd, bench_name, AT_REMOVEDIR),
			 0);
	ck_assert_int_eq(disk_recording_sync(rec), -ENOENT);
	ck_assert_uint_eq(bench.output->lost_packets, 8);
	ck_assert_uint_eq(bench.output->risk_packets, 0);
	rec_close();
}
END_TEST

START_TEST(an_end_is_the_last_record)
{
	struct index_record end = { .number = 1, .kind = INDEX_END };
	struct index_record *record;
	json_t *tail = json_pack("{s:i}", "end", 1);

	rec_open();
	add(0, 0, false, chunk_fd(0));
	ck_assert_int_eq(disk_recording_close(rec, &end, tail), 0);
	ck_assert_uint_eq(records_read(&record), 2);
	ck_assert_uint_eq(record[1].kind, INDEX_END);
	free(record);
	json_decref(tail);
	disk_bench_close(&bench);
}
END_TEST

START_TEST(a_taken_name_is_refused)
{
	struct disk_recording *other;

	rec_open();
	ck_assert_int_eq(
	    disk_recording_open(&other, &bench.disk[0], bench.output, NULL),
	    -EBUSY);
	ck_assert_uint_eq(bench.output->folders, 1);
	rec_close();
}
END_TEST

SUITE("disk_recording", only_a_round_names_chunks,
      sums_are_there_before_the_index_says_so, chunks_are_announced,
      times_of_arrival, times_of_the_data, a_full_round_is_due,
      a_round_has_room_for_what_is_on_its_way,
      blocks_are_due_at_once_or_by_time, a_failed_round_is_counted,
      a_failed_round_is_rescued, a_hung_disk_is_rescued,
      failed_parity_costs_no_chunk, what_is_removed_is_not_at_risk,
      an_end_is_the_last_record, a_taken_name_is_refused)
