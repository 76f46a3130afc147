/* SPDX-License-Identifier: MIT */
#include "cli/disks/disk_try.c"

#include <sys/statvfs.h>

#include "lib/fake_write.h"
#include "lib/scratch.h"
#include "lib/suite.h"

static const struct write_ops ops = FAKE_WRITE_OPS("fake", 0);
static const struct write_ops direct = FAKE_WRITE_OPS("direct", WRITE_DIRECT);

static struct scratch scratch;
static struct fake_whim whim;
static struct disk_try try;
static _Atomic uint64_t done;

enum { REQUESTS = 5 };

static void
measure_with(const struct write_ops *of)
{
	static struct try_way way;

	way = (struct try_way){ of, &whim };
	atomic_store(&done, 0);
	try = (struct disk_try){ .path = scratch.path,
				 .bytes = REQUESTS * (uint64_t)TRY_REQUEST,
				 .way = &way,
				 .ways = 1,
				 .done = &done };
	disk_try(&try);
	ck_assert_uint_eq(whim.opens, whim.closes);
}

static void
works(struct fake_whim like)
{
	scratch_make(&scratch);
	whim = like;
	measure_with(&ops);
	ck_assert_int_eq(try.err, 0);
	ck_assert_str_eq(try.writer, "fake");
	ck_assert_double_gt(try.result.write, 0);
	ck_assert_double_gt(try.result.read, 0);
	ck_assert_int_gt(try.result.write_p50, 0);
	ck_assert_int_ge(try.result.write_p99, try.result.write_p50);
	ck_assert_uint_eq(atomic_load(&done),
			  2 * REQUESTS * (uint64_t)TRY_REQUEST);
	/* Nothing is left: the folder can be removed. */
	ck_assert_int_eq(rmdir(scratch.path), 0);
}

START_TEST(whims_are_borne)
{
	works((struct fake_whim){ 0 });
	works((struct fake_whim){ .depth = 3 });
	works((struct fake_whim){ .depth = 2, .busy = 2 });
	works((struct fake_whim){ .most = 3000000 });
	works((struct fake_whim){ .depth = 8, .most = 1000000, .busy = 3 });
}
END_TEST

START_TEST(errors_are_told)
{
	scratch_make(&scratch);
	whim = (struct fake_whim){ .fail_at = 3, .fail = -EIO, .depth = 2 };
	measure_with(&ops);
	ck_assert_int_eq(try.err, -EIO);
	ck_assert_str_eq(try.doing, "write");
	whim = (struct fake_whim){ .fail_at = 1, .fail = -EROFS };
	measure_with(&ops);
	ck_assert_int_eq(try.err, -EROFS);
	ck_assert_str_eq(try.doing, "make a file");
	scratch_remove(&scratch);
	measure_with(&ops);
	ck_assert_int_eq(try.err, -ENOENT);
}
END_TEST

/* The first that does not work is passed over. */
START_TEST(another_way_is_taken)
{
	struct fake_whim bad = { .fail_at = 1, .fail = -EINVAL };
	struct try_way way[2] = { { &direct, &bad }, { &ops, &whim } };

	scratch_make(&scratch);
	whim = (struct fake_whim){ 0 };
	try = (struct disk_try){ .path = scratch.path,
				 .bytes = TRY_REQUEST,
				 .way = way,
				 .ways = 2,
				 .done = &done };
	disk_try(&try);
	ck_assert_int_eq(try.err, 0);
	ck_assert_str_eq(try.writer, "fake");
	scratch_remove(&scratch);
}
END_TEST

/* A disk that says yes and writes elsewhere. */
static enum write_answer
submit_elsewhere(struct write_state *s, struct write_request *r)
{
	uint64_t offset = r->offset;
	enum write_answer answer;

	if (offset == 2 * (uint64_t)TRY_REQUEST)
		r->offset = 0;
	answer = fake_write_submit(s, r);
	r->offset = offset;
	return answer;
}

START_TEST(what_is_read_is_looked_at)
{
	struct write_ops liar = ops;

	liar.submit = submit_elsewhere;
	scratch_make(&scratch);
	whim = (struct fake_whim){ 0 };
	measure_with(&liar);
	ck_assert_int_eq(try.err, -EBADMSG);
	ck_assert_str_eq(try.doing, "read back");
	scratch_remove(&scratch);
}
END_TEST

SUITE("disk_try", whims_are_borne, errors_are_told, another_way_is_taken,
      what_is_read_is_looked_at)
