/* SPDX-License-Identifier: MIT */
/*
 * Three disks with whims of their own, and a receiver that hands blocks on.
 * Whatever a disk does, each block is a chunk on one disk that its index
 * names, or is counted as lost; and everything comes to an end.
 */
#include "flow/write/writer.h"

#include <limits.h>
#include <sched.h>
#include <sys/syscall.h>

#include "base/clock.h"
#include "lib/disk_bench.h"
#include "store/record/meta.h"
#include "store/recording/recording.h"
#include "store/finish/recover.h"
#include "flow/memory/arena.h"

enum { SLOT = 64, SLOTS = 64, BLOCKS = 12, PUT = 90 };

static const struct write_ops ops = FAKE_WRITE_OPS("fake", 0);

static struct disk_bench bench;
static struct fake_whim whim[BENCH_DISKS];
static struct write_plugin way[BENCH_DISKS];
static struct writer *writer[BENCH_DISKS];
static uint64_t packets;    /* that were put */
static int put_at[4 * PUT]; /* filled slots, by number; 0: a gap */

static struct writer_facts
facts(unsigned disk)
{
	struct writer_facts f;

	writer_facts(writer[disk], &f);
	return f;
}

static atomic_bool stuck; /* those disks that have it as their whim */
static bool relieved;	  /* others take their blocks */

static int64_t
in_a_while(void)
{
	return clock_steady() + 6000000000;
}

/* What the event loop does, as if time flew. */
static void
loop(void)
{
	for (unsigned i = 0; atomic_load(&stuck) && i < BENCH_DISKS; i++) {
		if (!atomic_load(&whim[i].waits))
			continue;
		writer_watch(writer[i], in_a_while());
		if (relieved)
			writer_relieve(writer[i]);
	}
	sched_yield();
}

static void
open_writers(void)
{
	disk_bench_open(&bench, SLOTS, SLOT, BLOCKS);
	packets = 0;
	relieved = false;
	atomic_store(&stuck, false);
	memset(put_at, 0, sizeof put_at);
	for (unsigned i = 0; i < BENCH_DISKS; i++) {
		struct writer_args args = { .number = i,
					    .disk = &bench.disk[i],
					    .queue = bench.queue,
					    .plugin = &way[i],
					    .plugins = 1,
					    .files = 64,
					    .changed = disk_bench_changed,
					    .arg = &bench };

		way[i] = (struct write_plugin){ &ops, &whim[i] };
		ck_assert_int_eq(writer_start(&writer[i], &args), 0);
	}
}

static void
jobs_wait(void)
{
	while (atomic_load(&bench.output->jobs))
		loop();
}

static void
begin(void)
{
	atomic_store(&bench.output->jobs, BENCH_DISKS);
	for (unsigned i = 0; i < BENCH_DISKS; i++)
		ck_assert_int_eq(writer_begin(writer[i], bench.output), 0);
	jobs_wait();
}

/* One block, where there is memory for it. */
static bool
give_one(unsigned i)
{
	uint64_t gap = i % 10 == 9 ? SLOTS : 0;
	uint64_t number = bench.output->next_number + !!gap;
	uint32_t used = i % 7 == 3 ? 5 : SLOTS;
	struct block *b = disk_bench_block(&bench, number, used);

	if (!b)
		return false;
	b->gap = gap;
	packets += used;
	put_at[number] = (int)used;
	output_put(bench.output, b);
	return true;
}

static void
give(unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		while (!give_one(i))
			sched_yield();
	}
}

static bool
any_takes(void)
{
	for (unsigned i = 0; i < BENCH_DISKS; i++) {
		if (writer_takes(writer[i]))
			return true;
	}
	return false;
}

/* As many as fit in memory, when no disk takes any. */
static void
give_to_nobody(void)
{
	unsigned n = 0;

	while (any_takes()) {
		if (n >= PUT || !give_one(n++))
			sched_yield();
	}
	while (give_one(n))
		n++;
	ck_assert_uint_eq(bench.output->in_flight, BLOCKS);
	ck_assert_uint_eq(bench.output->lost_packets, 0);
}

/* What the event loop does when the recording has to end, and no disk takes
 * what waits. */
static void
abandon(void)
{
	struct block *b;

	while (atomic_load(&bench.output->in_flight) && !any_takes()) {
		while ((b = queue_rest(bench.queue, bench.output))) {
			output_seal(bench.output, b);
			output_lost(bench.output, b);
		}
		for (unsigned i = 0; i < BENCH_DISKS; i++)
			writer_abandon(writer[i], bench.output);
		sched_yield();
	}
}

static void
settle(void)
{
	while (atomic_load_explicit(&bench.output->in_flight,
				    memory_order_acquire))
		loop();
}

static void
put(unsigned n)
{
	give(n);
	settle();
}

static void
end(void)
{
	struct index_record record = { .kind = INDEX_END };

	atomic_store(&bench.output->jobs, BENCH_DISKS);
	for (unsigned i = 0; i < BENCH_DISKS; i++)
		ck_assert_int_eq(writer_end(writer[i], bench.output, &record,
					    json_pack("{s:i}", "end", 1)),
				 0);
	jobs_wait();
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
stop_writers(void)
{
	queue_drain(bench.queue);
	for (unsigned i = 0; i < BENCH_DISKS; i++) {
		ck_assert(writer_stop(writer[i]));
		ck_assert_uint_eq(whim[i].opens, whim[i].closes);
	}
}

static void
close_writers(void)
{
	stop_writers();
	disk_bench_close(&bench);
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
		ck_assert_str_eq(facts(i).plugin, "fake");
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
	open_writers();
	begin();
	give_to_nobody();
	abandon();
	end();
	check();
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
	open_writers();
	begin();
	give_to_nobody();
	abandon();
	end();
	check();
	ck_assert_uint_eq(bench.output->folders, 0);
	ck_assert_uint_eq(bench.output->lost_packets, packets);
	close_writers();
}
END_TEST

/* What waits for a disk is written by the first that is back; nothing is lost
 * as long as there is memory. */
START_TEST(all_disks_come_back)
{
	for (unsigned i = 0; i < BENCH_DISKS; i++)
		whim[i] = (struct fake_whim){ .fail_at = 5 + i, .fail = -EIO };
	open_writers();
	begin();
	give_to_nobody();
	for (unsigned i = 0; i < BENCH_DISKS; i++)
		writer_retry(writer[i]);
	settle();
	put(PUT / 3);
	end();
	check();
	ck_assert_uint_eq(bench.output->lost_packets, 0);
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

/* Nothing orders the receiver's first block behind the writers' jobs. */
START_TEST(blocks_may_come_before_the_job)
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

/* ---- two at a time ---------------------------------------------------- */

START_TEST(two_are_on_their_way)
{
	struct fake_whim deep = { .depth = 4, .most = 1000 };
	unsigned most = 0;

	whims(deep, deep, deep);
	record();
	ck_assert_uint_eq(bench.output->lost_packets, 0);
	for (unsigned i = 0; i < BENCH_DISKS; i++) {
		ck_assert_uint_le(whim[i].files, 2);
		most = whim[i].files > most ? whim[i].files : most;
	}
	ck_assert_uint_eq(most, 2);
	close_writers();
}
END_TEST

/* Of the first disk: its index, whenever a chunk is begun. */
static void
first_disk_look(const struct write_request *r)
{
	static unsigned begun;
	struct stat st;

	if (!r) {
		begun = 0;
		return;
	}
	if (r->offset || stat(disk_bench_file(&bench, 0, "index"), &st) < 0)
		return;
	ck_assert_uint_ge((unsigned)st.st_size / INDEX_BYTES, begun);
	begun++;
}

START_TEST(a_block_is_durable_before_the_next)
{
	struct fake_whim deep = { .depth = 4 };

	whims(deep, deep, deep);
	first_disk_look(NULL);
	open_writers();
	bench.output->durable = 0;
	begin();
	whim[0].look = first_disk_look;
	put(PUT);
	end();
	check();
	for (unsigned i = 0; i < BENCH_DISKS; i++)
		ck_assert_uint_le(whim[i].files, 1);
	close_writers();
}
END_TEST

/* ---- parity ------------------------------------------------------------ */

static atomic_bool kept; /* parity cannot be removed */

/* In place of the library's. */
int
unlinkat(int dir, const char *file, int flags)
{
	if (atomic_load(&kept) && strstr(file, ".parity.")) {
		errno = EIO;
		return -1;
	}
	return (int)syscall(SYS_unlinkat, dir, file, flags);
}

/* Queues a parity block of a group, for the disks that are not in `barred`. */
static void
parity_put(uint64_t group, uint64_t barred)
{
	struct block *b = disk_bench_block(&bench, group, SLOTS),
		     *list[1] = { b };
	struct block_parity *p = calloc(1, sizeof *p);

	ck_assert_ptr_nonnull(b);
	*p = (struct block_parity){ .holders = 1,
				    .group = group,
				    .bytes = 16ul * SLOT,
				    .members = 3,
				    .bars.bit[0] = barred };
	b->parity = p;
	b->bytes = 17ul * SLOT;
	block_seal(b);
	atomic_fetch_add(&bench.output->in_flight, 1);
	queue_put_parity(bench.queue, list, 1);
}

static int64_t
parity_size(unsigned disk, unsigned group)
{
	char end[32];

	snprintf(end, sizeof end, "parity.%08u", group);
	return disk_bench_size(&bench, disk, end);
}

/* A parity block that could be neither written nor removed: it goes when the disk
 * is back, and not the chunk of the group's number, which is there for good. */
START_TEST(stray_parity_is_no_chunk)
{
	unsigned disk = 0;

	whims(GOOD, GOOD, GOOD);
	open_writers();
	begin();
	put(1);
	while (!facts(disk).chunks)
		disk++;
	whim[disk].fail_next = -EIO;
	atomic_store(&kept, true);
	parity_put(0, 7u & ~(1u << disk));
	settle();
	ck_assert_int_eq(facts(disk).state, WRITER_FAILED);
	ck_assert_int_ge(parity_size(disk, 0), 0);
	atomic_store(&kept, false);
	writer_retry(writer[disk]);
	while (facts(disk).state != WRITER_IDLE)
		sched_yield();
	ck_assert_int_eq(parity_size(disk, 0), -1);
	end();
	check();
	close_writers();
}
END_TEST

/* The only disk that is left for it has parity of the group: it is lost, and the
 * disk goes on. */
START_TEST(parity_may_find_no_disk)
{
	unsigned disk = 1;

	whims(GOOD, GOOD, GOOD);
	whim[0] = whim[2] =
	    (struct fake_whim){ .fail_at = 1, .fail = -EIO, .lasting = true };
	open_writers();
	begin();
	put(9);
	while (writer_takes(writer[0]) || writer_takes(writer[2]))
		put(1);
	parity_put(4, 0);
	settle();
	ck_assert_int_eq(parity_size(disk, 4), 17 * SLOT);
	parity_put(4, 0);
	while (atomic_load(&bench.output->in_flight))
		ck_assert(writer_takes(writer[disk]));
	ck_assert_uint_eq(facts(disk).errors, 0);
	ck_assert_uint_eq(bench.output->parity_blocks, 1);
	ck_assert_uint_eq(bench.output->parity_lost, 1);
	put(9);
	end();
	check();
	ck_assert_uint_eq(bench.output->parity_members, 3);
	close_writers();
}
END_TEST

/* A disk whose list of parity cannot be written: what is durable there stays so,
 * and nothing of it is at risk. */
START_TEST(parity_that_is_not_listed)
{
	unsigned disk = 0;

	whims(GOOD, GOOD, GOOD);
	open_writers();
	begin();
	put(1);
	while (!facts(disk).chunks)
		disk++;
	ck_assert_int_eq(mkdir(disk_bench_file(&bench, disk, "parity"), 0755),
			 0);
	parity_put(0, 7u & ~(1u << disk));
	settle();
	atomic_store(&bench.output->jobs, 1);
	ck_assert_int_eq(writer_sync(writer[disk], bench.output), 0);
	jobs_wait();
	ck_assert_int_eq(facts(disk).state, WRITER_FAILED);
	ck_assert_uint_eq(bench.output->risk_packets, 0);
	ck_assert_uint_eq(bench.output->lost_packets, 0);
	ck_assert_uint_eq(bench.output->parity_members, 0);
	/* It is listed when the disk is back. */
	ck_assert_int_eq(rmdir(disk_bench_file(&bench, disk, "parity")), 0);
	writer_retry(writer[disk]);
	while (facts(disk).state != WRITER_IDLE)
		sched_yield();
	end();
	check();
	ck_assert_int_gt(disk_bench_size(&bench, disk, "parity"), 0);
	ck_assert_uint_eq(bench.output->parity_members, 3);
	ck_assert_uint_eq(bench.output->parity_lost, 0);
	close_writers();
}
END_TEST

/* ---- disks that hang --------------------------------------------------- */

/* It has a block, and does nothing about it. */
static void
hang(unsigned disk)
{
	while (facts(disk).state != WRITER_HUNG)
		loop();
	ck_assert_uint_gt(facts(disk).queued, 0);
	ck_assert(!writer_takes(writer[disk]));
}

/* And others take it. */
static void
hang_alone(unsigned disk)
{
	hang(disk);
	relieved = true;
	settle();
}

static void
answer(unsigned disk, enum writer_state state)
{
	atomic_store(&stuck, false);
	relieved = false;
	while (facts(disk).state != state)
		sched_yield();
}

/* What it had is written elsewhere, and nowhere twice; what it wrote before
 * is at risk until it is back. */
static void
one_hangs(unsigned depth)
{
	whims(GOOD, GOOD, GOOD);
	whim[0] = (struct fake_whim){ .stuck = &stuck, .depth = depth };
	open_writers();
	begin();
	put(PUT / 3);
	atomic_store(&stuck, true);
	give(PUT / 3);
	hang_alone(0);
	ck_assert(writer_takes(writer[1]));
	ck_assert_uint_gt(bench.output->risk_packets, 0);
	ck_assert_uint_eq(bench.output->risk_packets,
			  bench.output->lost_packets);
	ck_assert_uint_eq(facts(0).queued, 0);
	ck_assert_uint_lt(block_pool_free_blocks(bench.pool), BLOCKS);
	put(PUT / 3); /* the others go on */
	answer(0, WRITER_IDLE);
	put(PUT / 3);
	end();
	stop_writers();
	check();
	ck_assert_uint_eq(bench.output->risk_packets, 0);
	ck_assert_uint_eq(bench.output->lost_packets, 0);
	disk_bench_close(&bench);
}

START_TEST(one_hangs_and_is_back)
{
	one_hangs(0);
	one_hangs(3);
}
END_TEST

/* Nobody waits for its jobs; they are done all the same. */
START_TEST(the_end_waits_for_nobody)
{
	whims(GOOD, GOOD, GOOD);
	whim[2].stuck = &stuck;
	open_writers();
	begin();
	put(PUT / 3);
	atomic_store(&stuck, true);
	/* A disk whose thread begins late gets none of the first ones. */
	for (unsigned n = 0; !atomic_load(&whim[2].waits); n++) {
		ck_assert_uint_lt(n, 3 * PUT);
		give(1);
		if (n > PUT / 3)
			usleep(5000);
	}
	begin(); /* asked before anybody knows */
	hang_alone(2);
	end();
	atomic_store(&stuck, false);
	stop_writers();
	check();
	ck_assert_uint_eq(bench.output->lost_packets, 0);
	disk_bench_close(&bench);
}
END_TEST

static _Atomic unsigned syncing; /* 1: of disk 0; its fdatasync gets stuck */
static atomic_bool halted[BENCH_DISKS];	    /* and so does all that it does */
static atomic_uint sync_fails[BENCH_DISKS]; /* so many will */

/* That a file is on; BENCH_DISKS: another one. */
static unsigned
disk_of(int fd)
{
	char link[64], path[PATH_MAX] = "";
	unsigned disk = 0;

	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	if (readlink(link, path, sizeof path - 1) < 0)
		return BENCH_DISKS;
	while (disk < BENCH_DISKS &&
	       strncmp(path, bench.disk[disk].path,
		       strlen(bench.disk[disk].path)) != 0)
		disk++;
	return disk;
}

/* In place of the library's; nothing here has to outlive the power. */
int
fdatasync(int fd)
{
	unsigned disk = disk_of(fd), fails;

	if (disk == BENCH_DISKS)
		return 0;
	if (atomic_load(&syncing) == disk + 1) {
		atomic_store(&stuck, true);
		atomic_store(&whim[disk].waits, true);
		while (atomic_load(&stuck))
			usleep(1000);
	}
	while (atomic_load(&halted[disk])) {
		atomic_store(&whim[disk].waits, true);
		usleep(1000);
	}
	fails = atomic_load(&sync_fails[disk]);
	if (fails) {
		atomic_store(&sync_fails[disk], fails - 1);
		errno = EIO;
		return -1;
	}
	return 0;
}

/* Nobody waits for it, and nobody knows whether it is there. */
START_TEST(the_last_round_may_hang)
{
	unsigned disk = 0;

	whims(GOOD, GOOD, GOOD);
	open_writers();
	begin();
	put(1);
	while (!facts(disk).chunks)
		disk++;
	atomic_store(&syncing, disk + 1);
	end();
	ck_assert_int_eq(facts(disk).state, WRITER_HUNG);
	ck_assert_uint_eq(bench.output->risk_packets, packets);
	ck_assert_uint_eq(bench.output->packets, 0);
	atomic_store(&syncing, 0);
	answer(disk, WRITER_IDLE);
	stop_writers();
	check();
	ck_assert_uint_eq(bench.output->risk_packets, 0);
	ck_assert_uint_eq(bench.output->packets, packets);
	disk_bench_close(&bench);
}
END_TEST

/* The session is gone, and so is the last that others have of its output. */
START_TEST(a_hung_disk_keeps_its_output)
{
	struct output *o;

	whims(GOOD, GOOD, GOOD);
	whim[1].stuck = &stuck;
	open_writers();
	begin();
	atomic_store(&stuck, true);
	give(PUT / 3);
	hang_alone(1);
	atomic_store(&bench.output->ended, true);
	end();
	o = bench.output;
	output_hold(o);
	output_drop(o); /* as the session does */
	output_drop(o);
	answer(1, WRITER_IDLE);
	stop_writers();
	json_decref(bench.head);
	queue_free(bench.queue);
	ck_assert_uint_eq(block_pool_free_blocks(bench.pool), BLOCKS);
	block_pool_return(bench.pool);
	arena_free(bench.arena);
	for (unsigned i = 0; i < BENCH_DISKS; i++) {
		disk_close(&bench.disk[i]);
		free(bench.disk[i].path);
	}
	scratch_remove(&bench.scratch);
}
END_TEST

/* It comes back with an error: its block is elsewhere already. */
START_TEST(a_hung_disk_fails)
{
	whims(GOOD, GOOD, GOOD);
	whim[0].stuck = &stuck;
	open_writers();
	begin();
	atomic_store(&stuck, true);
	give(PUT / 3);
	hang_alone(0);
	whim[0].fail_at = whim[0].submits;
	whim[0].fail = -EIO;
	whim[0].lasting = true;
	answer(0, WRITER_FAILED);
	ck_assert_ptr_nonnull(strstr(facts(0).why, "Input/output"));
	put(PUT / 3);
	end();
	check();
	ck_assert_uint_eq(bench.output->lost_packets, 0);
	close_writers();
}
END_TEST

/* What nobody takes waits, and is lost when the recording has to end; but for
 * what a disk writes after all. */
START_TEST(all_hang)
{
	whims(GOOD, GOOD, GOOD);
	for (unsigned i = 0; i < BENCH_DISKS; i++)
		whim[i].stuck = &stuck;
	open_writers();
	begin();
	atomic_store(&stuck, true);
	give(BLOCKS);
	for (unsigned i = 0; i < BENCH_DISKS; i++)
		hang(i);
	ck_assert_uint_eq(bench.output->in_flight, BLOCKS);
	abandon();
	ck_assert_uint_eq(bench.output->lost_packets, packets);
	end();
	atomic_store(&stuck, false);
	stop_writers();
	check();
	ck_assert_uint_ge(bench.output->chunks, BENCH_DISKS);
	disk_bench_close(&bench);
}
END_TEST

/* A chunk that cannot be removed keeps its disk away until it is. */
START_TEST(a_copy_has_to_go_first)
{
	char end_of[16], *path;
	unsigned number = 0;

	whims(GOOD, GOOD, GOOD);
	whim[0].stuck = &stuck;
	open_writers();
	begin();
	atomic_store(&stuck, true);
	give(PUT / 3);
	hang(0);
	/* A folder stands where its chunk was: that cannot be unlinked. */
	for (snprintf(end_of, sizeof end_of, "%08u", number);
	     disk_bench_size(&bench, 0, end_of) < 0;
	     snprintf(end_of, sizeof end_of, "%08u", ++number))
		;
	path = strdup(disk_bench_file(&bench, 0, end_of));
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(mkdir(path, 0755), 0);
	relieved = true;
	settle();
	answer(0, WRITER_FAILED);
	ck_assert(!writer_takes(writer[0]));
	ck_assert_int_eq(rmdir(path), 0);
	close(open(path, O_CREAT | O_WRONLY, 0644));
	begin(); /* it is asked again */
	ck_assert_int_eq(facts(0).state, WRITER_IDLE);
	ck_assert_int_eq(access(path, F_OK), -1);
	put(PUT / 3);
	end();
	check();
	ck_assert_uint_eq(bench.output->lost_packets, 0);
	free(path);
	close_writers();
}
END_TEST

/* ---- whatever happens -------------------------------------------------- */

/* Datagrams = packets + drops: in memory when no block is on its way, and on the
 * disks as soon as they have an end, whatever they do afterwards. */
enum { STORIES = 20, STEPS = 30 };

static struct dice dice;

/* What the event loop does about disks; they hang as soon as they wait. */
static void
watch_all(void)
{
	for (unsigned i = 0; i < BENCH_DISKS; i++) {
		if (atomic_load(&halted[i]) && atomic_load(&whim[i].waits))
			writer_watch(writer[i], in_a_while());
	}
	for (unsigned i = 0; i < BENCH_DISKS && any_takes(); i++)
		writer_relieve(writer[i]);
	sched_yield();
}

static unsigned
in_flight(void)
{
	return atomic_load_explicit(&bench.output->in_flight,
				    memory_order_acquire);
}

static void
books_agree(void)
{
	struct output_counts c;
	unsigned left;

	while ((left = in_flight()) && any_takes())
		watch_all();
	output_counts(bench.output, &c);
	ck_assert_uint_le(c.risk, c.lost);
	if (!left)
		ck_assert_uint_eq(c.packets + c.lost, packets);
}

static void
retry_all(void)
{
	output_hurry(bench.output, clock_steady());
	for (unsigned i = 0; i < BENCH_DISKS; i++)
		writer_retry(writer[i]);
}

static void
something_happens(void)
{
	unsigned disk = dice_roll(&dice, BENCH_DISKS), n;

	switch (dice_roll(&dice, 8)) {
	case 0:
		atomic_store(&whim[disk].fail_next,
			     dice_chance(&dice, 50) ? -EIO : -ENOSPC);
		break;
	case 1: atomic_store(&sync_fails[disk], 1 + dice_roll(&dice, 3)); break;
	case 2: atomic_store(&halted[disk], true); break;
	case 3: atomic_store(&halted[disk], false); break;
	case 4: retry_all(); break;
	default:
		for (n = dice_roll(&dice, 8); n && give_one(n); n--)
			;
	}
}

static void
story_begins(void)
{
	static const struct format_shape shape = { .payload = SLOT,
						   .parts = 1 };
	const char *paths[BENCH_DISKS];
	struct geometry geometry;
	struct meta_head head = { .name = bench_name,
				  .stream = "s",
				  .format = "raw",
				  .extension = "raw",
				  .fill = FILL_ZERO,
				  .shape = &shape,
				  .geometry = &geometry,
				  .disks = paths,
				  .disks_n = BENCH_DISKS };
	json_t *line;

	whims(GOOD, GOOD, GOOD);
	for (unsigned i = 0; i < BENCH_DISKS; i++) {
		whim[i].stuck = &halted[i];
		whim[i].depth = dice_roll(&dice, 3);
	}
	open_writers();
	for (unsigned i = 0; i < BENCH_DISKS; i++)
		paths[i] = bench.disk[i].path;
	ck_assert_int_eq(geometry_make(&geometry, SLOT, 1, SLOT * SLOTS), 0);
	line = meta_head(&head);
	ck_assert_int_eq(output_head(bench.output, line), 0);
	json_decref(line);
	begin();
}

/* As a session does: blocks, rounds, and then the last words. */
static void
story_ends(void)
{
	struct index_record record = { .kind = INDEX_END };
	struct output *o = bench.output;
	struct output_counts c;
	json_t *tail;

	while (in_flight()) {
		watch_all();
		abandon();
	}
	atomic_store(&o->jobs, BENCH_DISKS);
	for (unsigned i = 0; i < BENCH_DISKS; i++)
		ck_assert_int_eq(writer_sync(writer[i], o), 0);
	while (atomic_load(&o->jobs))
		watch_all();
	books_agree();
	output_counts(o, &c);
	record.number = atomic_load(&o->records);
	tail = json_pack("{s:{s:I s:I s:I s:{s:I}}}", "end", "datagrams",
			 (json_int_t)packets, "packets", (json_int_t)c.packets,
			 "packets_at_risk", (json_int_t)c.risk, "drops",
			 "unwritten", (json_int_t)c.lost);
	atomic_store(&o->ended, true);
	atomic_store(&o->jobs, BENCH_DISKS);
	for (unsigned i = 0; i < BENCH_DISKS; i++)
		ck_assert_int_eq(
		    writer_end(writer[i], o, &record, json_deep_copy(tail)), 0);
	while (atomic_load(&o->jobs))
		watch_all();
	json_decref(tail);
}

/* How many packets are there; 0 too where no disk has an end. */
static uint64_t
disks_agree(void)
{
	struct disks disks = { .disk = bench.disk, .n = BENCH_DISKS };
	json_int_t datagrams = -1, is = 0, risk = 0, unwritten = 0;
	struct recording *rec;
	struct fault fault;
	bool ended;
	json_t *info;

	if (recording_open(&rec, &disks, bench_name, &fault) < 0)
		return 0;
	ended = recording_facts(rec)->state == RECORDING_COMPLETE;
	info = recording_info(rec);
	recording_close(rec);
	json_unpack(info, "{s:I s:I s:I s:{s:I}}", "datagrams", &datagrams,
		    "packets", &is, "packets_at_risk", &risk, "drops",
		    "unwritten", &unwritten);
	json_decref(info);
	if (!ended || datagrams < 0)
		return 0;
	ck_assert_int_eq(datagrams, (json_int_t)packets);
	ck_assert_int_eq(is + unwritten, datagrams);
	ck_assert_int_le(risk, unwritten);
	return (uint64_t)is;
}

static void
story(void)
{
	struct disks disks = { .disk = bench.disk, .n = BENCH_DISKS };
	struct recover_report report;
	struct fault fault;
	uint64_t before;

	story_begins();
	for (unsigned i = 0; i < STEPS; i++) {
		something_happens();
		books_agree();
	}
	story_ends();
	disks_agree();
	for (unsigned i = 0; i < BENCH_DISKS; i++) {
		atomic_store(&halted[i], false);
		while (facts(i).state == WRITER_HUNG)
			sched_yield();
		disks_agree();
	}
	stop_writers();
	before = disks_agree();
	for (unsigned i = 0; i < BENCH_DISKS; i++)
		atomic_store(&sync_fails[i], 0);
	if (!recover(&disks, bench_name, NULL, &report, &fault))
		ck_assert_uint_ge(disks_agree(), before);
	disk_bench_close(&bench);
}

START_TEST(the_books_agree_whatever_happens)
{
	for (dice.state = 1; dice.state <= STORIES; dice.state++) {
		uint64_t seed = dice.state;

		story();
		dice.state = seed;
	}
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

/* Whoever added a disk waits for that, without a recording. */
START_TEST(a_disk_that_works_is_told)
{
	int64_t until = clock_steady() + 60 * NS_SECOND;
	struct writer_facts f;

	whims(GOOD, GOOD, GOOD);
	open_writers();
	while (atomic_load(&bench.changes) < BENCH_DISKS) {
		ck_assert_int_lt(clock_steady(), until);
		usleep(1000);
	}
	for (unsigned i = 0; i < BENCH_DISKS; i++) {
		writer_facts(writer[i], &f);
		ck_assert_ptr_nonnull(f.plugin);
		writer_stop(writer[i]);
	}
	disk_bench_close(&bench);
}
END_TEST

SUITE_THREADS("writer", NULL, stop_needs_no_recording,
	      a_disk_that_works_is_told, blocks_may_come_before_the_job,
	      disks_share_the_work, whims_are_borne,
	      a_disk_that_fails_is_replaced, all_disks_fail,
	      all_disks_come_back, no_disk_works_at_all, a_disk_comes_back,
	      every_block_durable_at_once, two_are_on_their_way,
	      a_block_is_durable_before_the_next, one_hangs_and_is_back,
	      stray_parity_is_no_chunk, parity_may_find_no_disk,
	      parity_that_is_not_listed, the_last_round_may_hang,
	      the_end_waits_for_nobody, a_hung_disk_keeps_its_output,
	      a_hung_disk_fails, all_hang, a_copy_has_to_go_first,
	      the_books_agree_whatever_happens)
