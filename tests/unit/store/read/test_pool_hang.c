/* SPDX-License-Identifier: MIT */
#include "base/clock.h"
#include "store/read/pool.h"
#include "lib/made_parity.h"
#include "lib/made_read.h"
#include "lib/hang_fs.h"
#include "lib/suite.h"

static struct made m;
static struct recording *rec;
static struct fault fault;

/*
 * Disks that hang, and disks with errors: the second of three is a file system
 * of ours.  Nothing here is told by how long it takes; a reader that waits for
 * such a disk waits for ever.
 */
#define SECOND INT64_C(1000000000)

enum { BLOCKS = 60 };

static struct hang_fs fs;
static struct pool_reader *reader;
static struct pool_position cursor;
static char under[256], path[256];

/* What was made, with the second disk seen through the file system. */
static void
begin_with(const struct pool_reader_args *a)
{
	made_end(&m, BLOCKS);
	snprintf(path, sizeof path, "%s", m.disks.disk[1].path);
	snprintf(under, sizeof under, "%s", scratch_path(&m.scratch, "under"));
	made_hide(&m, 1);
	ck_assert_int_eq(rename(path, under), 0);
	ck_assert_int_eq(mkdir(path, 0755), 0);
	ck_assert_int_eq(hang_fs_mount(&fs, under, path), 0);
	m.disks.disk[1].fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(m.disks.disk[1].fd, 0);
	opened(&m, &rec);
	ck_assert_int_eq(pool_reader_open(&reader, rec, a), 0);
	pool_position_begin(&cursor, reader, -1, POOL_ANY_ORDER);
	cursor.sequential = true;
}

static void
begin(const struct pool_reader_args *a)
{
	made_begin(&m);
	made_blocks(&m, BLOCKS);
	begin_with(a);
}

static void
finish(void)
{
	recording_close(rec);
	made_hide(&m, 1);
	hang_fs_unmount(&fs);
	ck_assert_int_eq(rmdir(path), 0);
	made_finish(&m);
}

static int
get(uint64_t number, struct pool_stretch *v)
{
	return pool_get(&cursor, number, 0, 0, v, INT64_MAX);
}

static void
view_is(const struct pool_stretch *v, uint64_t number)
{
	uint8_t frame[MADE_PAYLOAD];

	ck_assert_int_eq(v->err, 0);
	ck_assert_uint_eq(v->bytes, MADE_BLOCK);
	for (unsigned i = 0; i < MADE_SLOTS; i++) {
		made_frame(&m, number * MADE_SLOTS + i, frame);
		ck_assert_mem_eq(v->data + i * MADE_PAYLOAD, frame,
				 MADE_PAYLOAD);
	}
}

START_TEST(test_hangs_and_answers)
{
	const struct pool_reader_args a = { .memory = 1,
					    .patience = SECOND / 5 };
	struct pool_reader_facts facts;
	struct pool_stretch v;
	unsigned hung = 0;

	begin(&a);
	for (unsigned i = 0; i < 10; i++) {
		ck_assert_int_eq(get(i, &v), 0);
		view_is(&v, i);
		pool_put(reader, &v);
	}
	atomic_store(&fs.told->hang, true);
	for (unsigned i = 10; i < 40; i++) {
		ck_assert_int_eq(get(i, &v), 0);
		/* One of it may be there already. */
		if (v.err)
			ck_assert_int_eq(v.err, -ETIMEDOUT);
		if (v.err || i % 3 != 1)
			ck_assert_int_eq(!v.err, i % 3 != 1);
		if (v.err)
			hung++;
		else
			view_is(&v, i);
		pool_put(reader, &v);
	}
	ck_assert_uint_ge(hung, 7);
	pool_reader_facts(reader, &facts);
	ck_assert_uint_eq(facts.hang, 1);
	/* Nor does anybody else wait for it. */
	ck_assert_int_eq(recording_refresh(rec), 0);
	ck_assert(!recording_is_removed(rec));
	ck_assert_uint_eq(recording_facts(rec)->chunks, BLOCKS);
	atomic_store(&fs.told->hang, false);
	do {
		usleep(1000);
		pool_reader_facts(reader, &facts);
	} while (facts.hang);
	for (unsigned i = 40; i < BLOCKS; i++) {
		ck_assert_int_eq(get(i, &v), 0);
		view_is(&v, i);
		pool_put(reader, &v);
	}
	pool_position_end(&cursor);
	pool_reader_close(reader);
	finish();
}
END_TEST

/* Several readers ask the disk for different blocks when it begins to hang, and
 * any of them finds that out first.  Those that wait behind the first request
 * lose their buffers then. */
START_TEST(test_several_wait)
{
	enum { READERS = 4 };
	const struct pool_reader_args a = { .memory = 1,
					    .patience = SECOND / 5 };
	struct pool_position way[READERS];
	struct pool_stretch v;

	begin(&a);
	for (unsigned i = 0; i < READERS; i++)
		pool_position_begin(&way[i], reader, -1, POOL_ANY_ORDER);
	atomic_store(&fs.told->hang, true);
	for (unsigned i = 0; i < READERS; i++)
		ck_assert_int_eq(pool_get(&way[i], 3 * i + 1, 0, 0, &v, 0),
				 -ETIMEDOUT);
	usleep(300000); /* longer than the patience */
	for (unsigned i = READERS; i-- > 0;) {
		ck_assert_int_eq(
		    pool_get(&way[i], 3 * i + 1, 0, 0, &v, INT64_MAX), 0);
		ck_assert_int_eq(v.err, -ETIMEDOUT);
		pool_put(reader, &v);
	}
	for (unsigned i = 0; i < READERS; i++) {
		ck_assert_int_eq(pool_get(&way[i], 3 * i, 0, 0, &v, INT64_MAX),
				 0);
		view_is(&v, 3 * i);
		pool_put(reader, &v);
	}
	atomic_store(&fs.told->hang, false);
	for (unsigned i = 0; i < READERS; i++)
		pool_position_end(&way[i]);
	pool_position_end(&cursor);
	pool_reader_close(reader);
	finish();
}
END_TEST

/* Closed while it hangs, and so is the recording; then it answers, and what
 * was left behind goes. */
START_TEST(test_closed_while_it_hangs)
{
	const struct pool_reader_args a = { .patience = SECOND / 5 };
	struct pool_stretch v;

	begin(&a);
	atomic_store(&fs.told->hang, true);
	ck_assert_int_eq(get(0, &v), 0);
	pool_put(reader, &v);
	while (!atomic_load(&fs.told->held))
		usleep(1000);
	pool_position_end(&cursor);
	pool_reader_close(reader);
	recording_close(rec);
	ck_assert_uint_gt(atomic_load(&fs.told->held), 0);
	atomic_store(&fs.told->hang, false);
	while (atomic_load(&fs.told->held))
		usleep(1000);
	usleep(100000);
	ck_assert_int_eq(recording_open(&rec, &m.disks, MADE_NAME, &fault), 0);
	finish();
}
END_TEST

START_TEST(test_errors)
{
	const struct pool_reader_args a = { .memory = 1 };
	struct pool_stretch v;

	begin(&a);
	atomic_store(&fs.told->fail_to, UINT64_MAX);
	for (unsigned i = 0; i < BLOCKS; i++) {
		ck_assert_int_eq(get(i, &v), 0);
		if (i % 3 == 1)
			ck_assert_int_eq(v.err, -EIO);
		else
			view_is(&v, i);
		ck_assert_uint_eq(v.bytes, MADE_BLOCK);
		pool_put(reader, &v);
	}
	pool_position_end(&cursor);
	pool_reader_close(reader);
	finish();
}
END_TEST

/* ---- with parity ---------------------------------------------------------- */

/* Blocks on the first `members` disks in turn, and the parity of each turn on the
 * others. */
static void
begin_parity(unsigned members, const struct pool_reader_args *a, unsigned away)
{
	static const unsigned others[] = { 0, 1, 2 };
	static struct made_block mb;

	m.parity = MADE_DISKS - members;
	m.quantum = 512;
	made_begin(&m);
	for (unsigned i = 0; i < MADE_DISKS; i++)
		made_run(&m, i, 0, MADE_BASE);
	for (unsigned i = 0; i < BLOCKS; i++) {
		made_block(&m, &mb, i, (uint64_t)i * MADE_SLOTS, MADE_SLOTS);
		made_write(&m, i % members, &mb);
		if (i % members == members - 1)
			made_parity(&m, i - i % members, members,
				    others + members, NULL);
	}
	if (away < MADE_DISKS)
		made_hide(&m, away);
	begin_with(a);
}

static uint64_t
healed(void)
{
	struct pool_reader_facts facts;

	pool_reader_facts(reader, &facts);
	return facts.healed;
}

/* One disk is away, and of the two with parity one hangs: the other is enough, and
 * the one that hangs is waited for once. */
START_TEST(test_a_source_hangs)
{
	const struct pool_reader_args a = { .memory = 1,
					    .patience = 2 * SECOND };
	struct pool_stretch v;

	begin_parity(1, &a, 0);
	atomic_store(&fs.told->hang, true);
	for (unsigned i = 0; i < BLOCKS; i++) {
		ck_assert_int_eq(get(i, &v), 0);
		view_is(&v, i);
		pool_put(reader, &v);
	}
	ck_assert_uint_eq(healed(), BLOCKS);
	ck_assert_uint_gt(atomic_load(&fs.told->held), 0);
	atomic_store(&fs.told->hang, false);
	while (atomic_load(&fs.told->held))
		usleep(1000);
	pool_position_end(&cursor);
	pool_reader_close(reader);
	made_show(&m, 0);
	finish();
}
END_TEST

/* The same where a healthy disk finds its own block damaged: it goes on. */
START_TEST(test_a_source_hangs_for_a_disk)
{
	const struct pool_reader_args a = { .memory = 1,
					    .patience = 2 * SECOND };
	char file[LAYOUT_FILE];
	struct pool_stretch v;

	begin_parity(1, &a, MADE_DISKS);
	for (unsigned i = 0; i < BLOCKS; i += 10)
		made_spoil(&m, 0, layout_chunk(file, MADE_NAME, i), 1000);
	atomic_store(&fs.told->hang, true);
	for (unsigned i = 0; i < BLOCKS; i++) {
		ck_assert_int_eq(get(i, &v), 0);
		view_is(&v, i);
		pool_put(reader, &v);
	}
	ck_assert_uint_eq(healed(), BLOCKS / 10);
	atomic_store(&fs.told->hang, false);
	pool_position_end(&cursor);
	pool_reader_close(reader);
	finish();
}
END_TEST

/* Blocks of the disk that hangs are computed.  Who finds it out waits for the
 * group, too, though its time is over by then. */
START_TEST(test_its_blocks_are_computed)
{
	const struct pool_reader_args a = { .memory = 1,
					    .patience = 2 * SECOND };
	struct pool_stretch v;

	begin_parity(2, &a, MADE_DISKS);
	cursor.sequential = false;
	atomic_store(&fs.told->hang, true);
	ck_assert_int_eq(pool_get(&cursor, 1, 0, 0, &v, 0), -ETIMEDOUT);
	while (!atomic_load(&fs.told->held))
		;
	ck_assert_int_eq(
	    pool_get(&cursor, 1, 0, 0, &v, clock_steady() + a.patience), 0);
	view_is(&v, 1);
	pool_put(reader, &v);
	for (unsigned i = 0; i < BLOCKS; i++) {
		ck_assert_int_eq(get(i, &v), 0);
		view_is(&v, i);
		pool_put(reader, &v);
	}
	ck_assert_uint_ge(healed(), BLOCKS / 2);
	atomic_store(&fs.told->hang, false);
	pool_position_end(&cursor);
	pool_reader_close(reader);
	finish();
}
END_TEST

/* Buffers that wait for the disk are free again when it is found to hang, also
 * if that is found by whoever asks for a block of its group. */
START_TEST(test_no_buffer_is_lost)
{
	const struct pool_reader_args a = { .memory = 1,
					    .patience = SECOND / 5 };
	struct pool_position way[POOL_LEAST - 1];
	struct pool_stretch v[POOL_LEAST - 1];

	begin_parity(2, &a, MADE_DISKS);
	for (unsigned i = 0; i < POOL_LEAST - 1; i++)
		pool_position_begin(&way[i], reader, -1, POOL_ANY_ORDER);
	atomic_store(&fs.told->hang, true);
	for (unsigned i = 0; i < 2; i++)
		ck_assert_int_eq(pool_get(&way[i], 2 * i + 1, 0, 0, &v[0], 0),
				 -ETIMEDOUT);
	usleep(300000); /* longer than the patience */
	for (unsigned i = 0; i < POOL_LEAST - 1; i++) {
		ck_assert_int_eq(pool_get(&way[i], 10 + 2 * i, 0, 0, &v[i],
					  clock_steady() + 60 * SECOND),
				 0);
		view_is(&v[i], 10 + 2 * i);
	}
	for (unsigned i = 0; i < POOL_LEAST - 1; i++) {
		pool_put(reader, &v[i]);
		pool_position_end(&way[i]);
	}
	atomic_store(&fs.told->hang, false);
	pool_position_end(&cursor);
	pool_reader_close(reader);
	finish();
}
END_TEST

static const char *
can(void)
{
	return hang_fs_can(&fs) ? NULL
				: "a file system in user space needs root, and "
				  "/dev/fuse";
}

SUITE_THREADS("pool_hang", can, test_hangs_and_answers, test_several_wait,
	      test_closed_while_it_hangs, test_errors, test_a_source_hangs,
	      test_a_source_hangs_for_a_disk, test_its_blocks_are_computed,
	      test_no_buffer_is_lost)
