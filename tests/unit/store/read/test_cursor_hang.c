/* SPDX-License-Identifier: MIT */
#include "base/clock.h"
#include "lib/hang_fs.h"
#include "lib/made_open.h"
#include "lib/suite.h"

static struct made m;
static struct open_recordings *set;
static struct open_recording *op;
static struct fault fault;

/*
 * The second of three disks hangs, or has errors: it stops who needs it, for
 * as long as there is patience, and nobody else.
 */
#define SECOND INT64_C(1000000000)

enum { BLOCKS = 60 };

static struct hang_fs fs;
static char under[256], path[256];

static void
begin(const struct open_recordings_args *a)
{
	made_begin(&m);
	made_blocks(&m, BLOCKS);
	made_end(&m, BLOCKS);
	snprintf(path, sizeof path, "%s", m.disks.disk[1].path);
	snprintf(under, sizeof under, "%s", scratch_path(&m.scratch, "under"));
	made_hide(&m, 1);
	ck_assert_int_eq(rename(path, under), 0);
	ck_assert_int_eq(mkdir(path, 0755), 0);
	ck_assert_int_eq(hang_fs_mount(&fs, under, path), 0);
	set_opens(&m, &set, &op, a);
}

static void
finish(void)
{
	open_recordings_free(set);
	hang_fs_unmount(&fs);
	ck_assert_int_eq(rmdir(path), 0);
	made_finish(&m);
}

static bool
is_on(uint64_t number)
{
	return number % MADE_DISKS == 1;
}

START_TEST(test_hangs_and_answers)
{
	const struct open_recordings_args a = { .cache = 1,
						.patience = SECOND / 4 };
	struct open_recording_counts counts;
	struct open_recordings_use use;
	uint8_t is[MADE_BLOCK];
	struct cursor *rd;
	unsigned bad = 0;

	begin(&a);
	rd = reading(op, &whole);
	ck_assert(is_sent(&m, rd, 0, 10 * MADE_BLOCK));
	atomic_store(&fs.told->hang, true);
	for (unsigned i = 20; i < 50; i++) {
		ssize_t got = read_bytes(rd, i * MADE_BLOCK, is, sizeof is);

		if (!is_on(i))
			ck_assert(is_sent(&m, rd, i * MADE_BLOCK, MADE_BLOCK));
		else if (got < 0)
			ck_assert_int_eq(got, -EIO);
		bad += got < 0;
	}
	/* Some may have been read before it hung. */
	ck_assert_uint_ge(bad, 7);
	ck_assert(open_recording_counts(set, MADE_NAME, &counts));
	ck_assert_uint_eq(counts.unreadable_bytes, bad * MADE_BLOCK);
	open_recordings_use(set, &use);
	ck_assert_uint_eq(use.hang, 1);
	atomic_store(&fs.told->hang, false);
	do {
		usleep(1000);
		open_recordings_use(set, &use);
	} while (use.hang);
	ck_assert(is_sent(&m, rd, 0, BLOCKS * MADE_BLOCK));
	cursor_close(rd);
	open_recording_put(op);
	finish();
}
END_TEST

/* A recording is opened without the disk, and what it has there is refused,
 * not filled; it is opened again when the disk answers. */
START_TEST(test_opened_while_it_hangs)
{
	const struct open_recordings_args a = { .patience = SECOND / 4 };
	uint8_t is[MADE_BLOCK];
	struct cursor *rd;
	int err;

	begin(&a);
	open_recording_put(op);
	open_recordings_free(set);
	atomic_store(&fs.told->hang, true);
	set_opens(&m, &set, &op, &a);
	rd = reading(op, &whole);
	for (unsigned i = 0; i < BLOCKS - 3; i++) {
		if (is_on(i))
			ck_assert_int_eq(
			    read_bytes(rd, i * MADE_BLOCK, is, sizeof is),
			    -EIO);
		else
			ck_assert(is_sent(&m, rd, i * MADE_BLOCK, MADE_BLOCK));
	}
	cursor_close(rd);
	open_recording_put(op);
	atomic_store(&fs.told->hang, false);
	do {
		usleep(10000);
		err = open_recording_get(set, MADE_NAME, &op, &fault);
		ck_assert_int_eq(err, 0);
		rd = reading(op, &whole);
		err = !is_sent(&m, rd, 0, BLOCKS * MADE_BLOCK);
		cursor_close(rd);
		open_recording_put(op);
	} while (err);
	finish();
}
END_TEST

/* The same of one that has errors: what nobody could look at is not filled. */
START_TEST(test_opened_while_it_fails)
{
	const struct open_recordings_args a = { .patience = SECOND };
	uint8_t is[MADE_BLOCK];
	struct cursor *rd;

	begin(&a);
	open_recording_put(op);
	open_recordings_free(set);
	atomic_store(&fs.told->fail_to, UINT64_MAX);
	set_opens(&m, &set, &op, &a);
	rd = reading(op, &whole);
	for (unsigned i = 0; i < BLOCKS - 3; i++) {
		if (is_on(i))
			ck_assert_int_eq(
			    read_bytes(rd, i * MADE_BLOCK, is, sizeof is),
			    -EIO);
		else
			ck_assert(is_sent(&m, rd, i * MADE_BLOCK, MADE_BLOCK));
	}
	cursor_close(rd);
	open_recording_put(op);
	atomic_store(&fs.told->fail_to, 0);
	ck_assert_int_eq(open_recording_get(set, MADE_NAME, &op, &fault), 0);
	rd = reading(op, &whole);
	ck_assert(is_sent(&m, rd, 0, BLOCKS * MADE_BLOCK));
	cursor_close(rd);
	open_recording_put(op);
	finish();
}
END_TEST

/* Lines on stderr with some text, of what is done meanwhile. */
static unsigned
lines_with(const char *text, void (*meanwhile)(void))
{
	FILE *log = tmpfile();
	int stderr_is = dup(STDERR_FILENO);
	char line[1024];
	unsigned n = 0;

	ck_assert_ptr_nonnull(log);
	ck_assert_int_ge(dup2(fileno(log), STDERR_FILENO), 0);
	meanwhile();
	ck_assert_int_ge(dup2(stderr_is, STDERR_FILENO), 0);
	close(stderr_is);
	rewind(log);
	while (fgets(line, sizeof line, log))
		n += strstr(line, text) != NULL;
	fclose(log);
	return n;
}

static void
open_often(void)
{
	for (unsigned i = 0; i < 40; i++) {
		ck_assert_int_eq(
		    open_recording_get(set, MADE_NAME, &op, &fault), 0);
		open_recording_put(op);
	}
}

/* Who opens it again and again, or all that are on the disk, has some lines. */
START_TEST(test_told_seldom)
{
	const struct open_recordings_args a = { .patience = SECOND };
	unsigned lines;

	begin(&a);
	open_recording_put(op);
	atomic_store(&fs.told->fail_to, UINT64_MAX);
	open_recordings_free(set);
	set_opens(&m, &set, &op, &a);
	open_recording_put(op);
	lines = lines_with("cannot be read", open_often);
	ck_assert_uint_ge(lines, 1);
	ck_assert_uint_le(lines, 8);
	atomic_store(&fs.told->fail_to, 0);
	finish();
}
END_TEST

/* One that is open is got again: without the disk, as it is known by then. */
START_TEST(test_got_again_while_it_hangs)
{
	const struct open_recordings_args a = { .patience = 2 * SECOND };
	struct open_recording *first, *again;
	struct cursor *rd, *other;

	begin(&a);
	first = op;
	rd = reading(op, &whole);
	atomic_store(&fs.told->hang, true);
	ck_assert_int_eq(open_recording_get(set, MADE_NAME, &op, &fault), 0);
	ck_assert_int_eq(open_recording_get(set, MADE_NAME, &again, &fault), 0);
	ck_assert_ptr_eq(op, again);
	open_recording_put(again);
	other = reading(op, &whole);
	for (unsigned i = 0; i < BLOCKS - 3; i++) {
		if (is_on(i))
			continue;
		ck_assert(is_sent(&m, rd, i * MADE_BLOCK, MADE_BLOCK));
		ck_assert(is_sent(&m, other, i * MADE_BLOCK, MADE_BLOCK));
	}
	cursor_close(other);
	open_recording_put(op);
	cursor_close(rd);
	open_recording_put(first);
	atomic_store(&fs.told->hang, false);
	finish();
}
END_TEST

/* A disk joins, and hangs: what was open before goes on without it. */
START_TEST(test_joined_and_hangs)
{
	const struct open_recordings_args a = { .spare = 1,
						.patience = 2 * SECOND };
	struct open_recording *other;
	struct cursor *rd;

	made_begin(&m);
	made_blocks(&m, BLOCKS);
	made_end(&m, BLOCKS);
	snprintf(path, sizeof path, "%s", scratch_path(&m.scratch, "joined"));
	snprintf(under, sizeof under, "%s", scratch_path(&m.scratch, "under"));
	ck_assert_int_eq(mkdir(path, 0755), 0);
	ck_assert_int_eq(mkdir(under, 0755), 0);
	ck_assert_int_eq(hang_fs_mount(&fs, under, path), 0);
	set_opens(&m, &set, &op, &a);
	ck_assert_int_eq(open_recordings_join(set, path, true), 0);
	atomic_store(&fs.told->hang, true);
	ck_assert_int_eq(open_recording_get(set, "another", &other, &fault),
			 -ETIMEDOUT);
	ck_assert_int_eq(open_recording_get(set, MADE_NAME, &other, &fault), 0);
	ck_assert_ptr_eq(op, other);
	ck_assert_int_eq(open_recording_refresh(op, 0), 0);
	rd = reading(other, &whole);
	ck_assert(is_sent(&m, rd, 0, BLOCKS * MADE_BLOCK));
	cursor_close(rd);
	open_recording_put(other);
	open_recording_put(op);
	atomic_store(&fs.told->hang, false);
	finish();
}
END_TEST

/* Closed while it hangs, all of it; it answers later. */
START_TEST(test_closed_while_it_hangs)
{
	const struct open_recordings_args a = { .patience = SECOND / 4 };
	uint8_t is[MADE_BLOCK];
	struct cursor *rd;

	begin(&a);
	rd = reading(op, &whole);
	atomic_store(&fs.told->hang, true);
	ck_assert_int_eq(read_bytes(rd, MADE_BLOCK, is, sizeof is), -EIO);
	cursor_close(rd);
	open_recording_put(op);
	open_recordings_free(set);
	ck_assert_uint_gt(atomic_load(&fs.told->held), 0);
	atomic_store(&fs.told->hang, false);
	while (atomic_load(&fs.told->held))
		usleep(1000);
	usleep(100000);
	set_opens(&m, &set, &op, &a);
	open_recording_put(op);
	finish();
}
END_TEST

/* Where that was asked for, what a disk refuses is filled. */
START_TEST(test_errors)
{
	const struct view_choice zero = { .thread = -1, .fill = VIEW_ZERO };
	const struct open_recordings_args a = { .cache = 1 };
	uint8_t is[MADE_BLOCK], none[MADE_BLOCK] = { 0 };
	struct open_recording_counts counts;
	struct cursor *rd, *filled;
	unsigned bad = 0;

	begin(&a);
	rd = reading(op, &whole);
	filled = reading(op, &zero);
	atomic_store(&fs.told->fail_to, UINT64_MAX);
	for (unsigned i = 0; i < BLOCKS; i++) {
		if (!is_on(i)) {
			ck_assert(is_sent(&m, rd, i * MADE_BLOCK, MADE_BLOCK));
			ck_assert(
			    is_sent(&m, filled, i * MADE_BLOCK, MADE_BLOCK));
			continue;
		}
		bad++;
		ck_assert_int_eq(read_bytes(rd, i * MADE_BLOCK, is, sizeof is),
				 -EIO);
		ck_assert_int_eq(
		    read_bytes(filled, i * MADE_BLOCK, is, sizeof is),
		    MADE_BLOCK);
		ck_assert_mem_eq(is, none, MADE_BLOCK);
	}
	ck_assert(open_recording_counts(set, MADE_NAME, &counts));
	ck_assert_uint_eq(counts.unreadable_bytes, 2 * bad * MADE_BLOCK);
	ck_assert_uint_eq(counts.filled_bytes, bad * MADE_BLOCK);
	cursor_close(rd);
	cursor_close(filled);
	open_recording_put(op);
	finish();
}
END_TEST

/* A command that copies a file gets all that can be read, is told how much
 * cannot, and copies nothing within memory: a disk that hangs stops it once. */
START_TEST(test_once)
{
	const struct open_recordings_args a = { .patience = SECOND / 4,
						.once = true };
	uint64_t at = 0, filled = 0, end, number;
	struct cursor_answer answer;
	uint8_t sent[MADE_BLOCK];
	struct cursor *rd;

	begin(&a);
	open_recording_put(op);
	open_recordings_free(set);
	atomic_store(&fs.told->hang, true);
	set_opens(&m, &set, &op, &a);
	rd = reading(op, &whole);
	end = cursor_bytes(rd);
	ck_assert_uint_ge(end, (BLOCKS - 3) * MADE_BLOCK);
	ck_assert_ptr_nonnull(open_recording_rec(op));
	while (at < end) {
		ck_assert_int_eq(cursor_read(rd, at, end, &answer), 0);
		ck_assert_uint_eq(answer.parts, 1);
		ck_assert_uint_gt(answer.bytes, 0);
		number = at / MADE_BLOCK;
		ck_assert_uint_le(at + answer.bytes, (number + 1) * MADE_BLOCK);
		ck_assert_uint_eq(answer.filled,
				  is_on(number) ? answer.bytes : 0);
		filled += answer.filled;
		if (!is_on(number)) {
			ck_assert_ptr_null(answer.own);
			made_bytes(&m, at, sent, answer.bytes);
			ck_assert_mem_eq(answer.iov[0].iov_base, sent,
					 answer.bytes);
		}
		at += answer.bytes;
		cursor_done(rd, &answer);
	}
	ck_assert_uint_ge(filled, (BLOCKS / 3 - 1) * MADE_BLOCK);
	ck_assert_int_eq(cursor_read(rd, end, 1, &answer), 0);
	ck_assert_uint_eq(answer.bytes, 0);
	cursor_close(rd);
	open_recording_put(op);
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

SUITE_THREADS("cursor_hang", can, test_hangs_and_answers,
	      test_opened_while_it_hangs, test_opened_while_it_fails,
	      test_told_seldom, test_got_again_while_it_hangs,
	      test_joined_and_hangs, test_closed_while_it_hangs, test_errors,
	      test_once)
