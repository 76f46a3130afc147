/* SPDX-License-Identifier: MIT */
#include "flow/write/chunk.h"

#include "lib/disk_bench.h"

/* 20 MiB are three requests. */
enum { SLOT = 1 << 16, SLOTS = 320, BLOCKS = 2 };

static const struct write_ops buffered = FAKE_WRITE_OPS("fake", 0);
static const struct write_ops direct = FAKE_WRITE_OPS("direct", WRITE_DIRECT);
static const struct write_ops nothing = FAKE_WRITE_OPS("none", WRITE_NOTHING);

static struct disk_bench bench;
static struct disk_writes plugins;
static struct disk_recording *rec;

static void
open_with(const struct write_ops *ops, struct fake_whim *whim)
{
	static struct write_plugin way;
	struct fake_whim kept = *whim;

	way = (struct write_plugin){ ops, whim };
	disk_bench_open(&bench, SLOTS, SLOT, BLOCKS);
	ck_assert_int_eq(
	    disk_recording_open(&rec, &bench.disk[0], bench.output, NULL), 0);
	disk_writes_init(
	    &plugins, &(struct disk_writes_args){
			  .disk = bench.disk[0].path, .plugin = &way, .n = 1 });
	/* The probe is another matter; its page is let pass. */
	*whim = (struct fake_whim){ .opens = 0 };
	ck_assert_int_eq(disk_writes_probe(&plugins, &bench.disk[0]), 0);
	*whim = kept;
}

/* What is on its way, until one is there. */
static int
land(void)
{
	struct writes_in_flight *f = &plugins.main.writes;
	struct file_write *job;
	struct chunk *c;
	int err;

	while (writes_push(f), !(job = writes_done(f)))
		writes_wait(f);
	c = chunk_of(job);
	err = chunk_end(c);
	if (err)
		ck_assert_int_eq(chunk_remove(c), 0);
	else
		chunk_keep(c);
	block_drop((struct block *)c->b);
	return err;
}

static int
begin(struct chunk *c, uint64_t number, uint32_t used)
{
	struct block *b = disk_bench_block(&bench, number, used);
	int err;

	block_seal(b);
	*c = (struct chunk){ .rec = rec, .b = b };
	err = chunk_begin(c, &plugins, &bench.disk[0]);
	if (err)
		block_drop(b);
	return err;
}

static int
chunk(uint64_t number, uint32_t used)
{
	struct chunk c;
	int err = begin(&c, number, used);

	return err ? err : land();
}

static void
close_all(void)
{
	ck_assert_int_eq(disk_recording_close(rec, NULL, NULL), 0);
	disk_writes_finish(&plugins);
	disk_bench_close(&bench);
}

/* Whatever its whims, what it wrote is the block. */
static void
writes(const struct write_ops *ops, struct fake_whim whim)
{
	open_with(ops, &whim);
	ck_assert_int_eq(chunk(0, SLOTS), 0);
	ck_assert_int_eq(chunk(1, 1), 0);
	disk_bench_chunk_check(&bench, 0, 0, (uint64_t)SLOTS * SLOT);
	disk_bench_chunk_check(&bench, 0, 1, SLOT);
	ck_assert_uint_eq(whim.finishes, 2);
	close_all();
	ck_assert_uint_eq(whim.closes, 1);
}

START_TEST(whole)
{
	writes(&buffered, (struct fake_whim){ .most = 0 });
}
END_TEST

START_TEST(short_writes_go_on)
{
	writes(&buffered, (struct fake_whim){ .most = 777777 });
	writes(&direct, (struct fake_whim){ .most = 12288 * 8 });
}
END_TEST

/* With O_DIRECT the rest of a write may only begin with a page. */
START_TEST(short_writes_in_mid_page)
{
	writes(&direct, (struct fake_whim){ .most = 1000448 });
}
END_TEST

START_TEST(queued_in_any_order)
{
	for (unsigned depth = 1; depth <= FAKE_QUEUE; depth *= 2) {
		writes(&buffered, (struct fake_whim){ .depth = depth });
		writes(&buffered, (struct fake_whim){ .depth = depth,
						      .most = 999999,
						      .busy = 3 });
	}
}
END_TEST

START_TEST(what_fails_is_gone)
{
	struct fake_whim whims[] = {
		{ .fail_at = 1, .fail = -EIO },
		{ .fail_at = 3, .fail = -EIO, .depth = 4 },
		{ .fail_at = 2, .fail = -ENOSPC, .depth = 1, .busy = 2 },
		{ .fail_at = 2, .fail = 0 },
		{ .fail_at = 9, .fail = -EIO, .depth = 2, .most = 777777 },
	};

	for (unsigned i = 0; i < sizeof whims / sizeof *whims; i++) {
		open_with(&buffered, &whims[i]);
		ck_assert_int_eq(chunk(0, SLOTS),
				 whims[i].fail ? whims[i].fail : -EIO);
		ck_assert_int_eq(disk_bench_size(&bench, 0, "00000000"), -1);
		ck_assert_uint_eq(whims[i].finishes, 1);
		/* And may be tried again. */
		ck_assert_int_eq(chunk(0, SLOTS), 0);
		disk_bench_chunk_check(&bench, 0, 0, (uint64_t)SLOTS * SLOT);
		close_all();
	}
}
END_TEST

START_TEST(busy_with_nothing_is_an_error)
{
	struct fake_whim whim = { .always_busy = true };

	open_with(&buffered, &whim);
	ck_assert_int_eq(chunk(0, SLOTS), -EIO);
	ck_assert_int_eq(disk_bench_size(&bench, 0, "00000000"), -1);
	close_all();
}
END_TEST

START_TEST(the_reserve_is_not_touched)
{
	struct fake_whim whim = { .most = 0 };
	struct disk_space space;

	open_with(&buffered, &whim);
	ck_assert_int_eq(disk_space(&bench.disk[0], &space), 0);
	bench.disk[0].reserve = space.total;
	ck_assert_int_eq(chunk(0, SLOTS), -ENOSPC);
	ck_assert_uint_eq(whim.submits, 0);
	ck_assert_int_eq(disk_bench_size(&bench, 0, "00000000"), -1);
	close_all();
}
END_TEST

START_TEST(a_taken_number_is_refused)
{
	struct fake_whim whim = { .most = 0 };

	open_with(&buffered, &whim);
	ck_assert_int_eq(chunk(5, 3), 0);
	ck_assert_int_eq(chunk(5, 4), -EEXIST);
	disk_bench_chunk_check(&bench, 0, 5, 3 * SLOT);
	close_all();
}
END_TEST

START_TEST(nothing_makes_no_file)
{
	struct fake_whim whim = { .fail_at = 1, .fail = SLOT };

	open_with(&nothing, &whim);
	ck_assert_int_eq(chunk(0, 1), 0);
	ck_assert_int_eq(disk_bench_size(&bench, 0, "00000000"), -1);
	/* No file, so nothing to finish either. */
	ck_assert_uint_eq(whim.finishes, 0);
	close_all();
}
END_TEST

/* The first way that works is taken; one that stops working is left. */
START_TEST(ways_are_tried_in_order)
{
	struct fake_whim bad = { .fail_at = 1, .fail = -EINVAL };
	struct fake_whim good = { .most = 0 };
	struct write_plugin list[] = { { &direct, &bad },
				       { &buffered, &good } };

	disk_bench_open(&bench, 1, SLOT, 1);
	disk_writes_init(
	    &plugins, &(struct disk_writes_args){
			  .disk = bench.disk[0].path, .plugin = list, .n = 2 });
	ck_assert_int_eq(disk_writes_probe(&plugins, &bench.disk[0]), 0);
	ck_assert_ptr_eq(plugins.main.is, &list[1]);
	ck_assert_uint_eq(plugins.main.writes.align, 1);
	ck_assert_uint_eq(bad.closes, 1);
	ck_assert_int_eq(disk_writes_probe(&plugins, &bench.disk[0]), 0);
	ck_assert_uint_eq(good.opens, 1);
	good.fail_at = good.submits + 1;
	good.fail = -ENOMEM;
	good.lasting = true;
	bad.fail_at = 0;
	ck_assert_int_eq(disk_writes_probe(&plugins, &bench.disk[0]), 0);
	ck_assert_ptr_eq(plugins.main.is, &list[0]);
	bad.fail_at = 1;
	bad.fail = -EINVAL;
	bad.lasting = true;
	ck_assert_int_eq(disk_writes_probe(&plugins, &bench.disk[0]), -ENOMEM);
	disk_writes_finish(&plugins);
	ck_assert_uint_eq(bad.opens, bad.closes);
	ck_assert_uint_eq(good.opens, good.closes);
	disk_bench_close(&bench);
}
END_TEST

/* What is written past the page cache fails at once where the disk does; through
 * it nothing would tell. */
START_TEST(no_other_way_heals_a_disk)
{
	struct fake_whim ill = { .fail_at = 1, .fail = -EIO };
	struct fake_whim good = { .most = 0 };
	struct write_plugin list[] = { { &direct, &ill },
				       { &buffered, &good } };

	disk_bench_open(&bench, 1, SLOT, 1);
	disk_writes_init(
	    &plugins, &(struct disk_writes_args){
			  .disk = bench.disk[0].path, .plugin = list, .n = 2 });
	ck_assert_int_eq(disk_writes_probe(&plugins, &bench.disk[0]), -EIO);
	ck_assert_ptr_null(plugins.main.is);
	ck_assert_uint_eq(good.opens, 0);
	ck_assert_int_eq(disk_writes_probe(&plugins, &bench.disk[0]), 0);
	ck_assert_ptr_eq(plugins.main.is, &list[0]);
	disk_writes_finish(&plugins);
	ck_assert_uint_eq(ill.opens, ill.closes);
	disk_bench_close(&bench);
}
END_TEST

SUITE("chunk", whole, short_writes_go_on, short_writes_in_mid_page,
      queued_in_any_order, what_fails_is_gone, busy_with_nothing_is_an_error,
      the_reserve_is_not_touched, a_taken_number_is_refused,
      nothing_makes_no_file, ways_are_tried_in_order, no_other_way_heals_a_disk)
