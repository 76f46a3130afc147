/* SPDX-License-Identifier: MIT */
/*
 * Everything of a recording that is being made, once and in order, wherever
 * it is just then; and memory goes back when the recorder wants it.
 */
#include "flow/source/source_live.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdatomic.h>

#include "base/clock.h"
#include "lib/tapped.h"

static struct tapped bench;

enum { MOST = 8192, MANY = 3000, HALF = SLOTS / 2 };

static struct source *live;
static unsigned out; /* parcels of memory that are not put */

/* ---- disks ------------------------------------------------------------ */

/* What was written, and what of it is durable. */
static struct {
	struct source head;
	pthread_mutex_t lock;
	struct index_record record[MOST], waits[MOST];
	bool there[MOST];
	uint64_t top;

	uint64_t number, settled;
	unsigned half;
	unsigned asked;
} disks;

static void
disks_write(const struct block *b)
{
	struct index_record r = { .number = b->number,
				  .first = b->first,
				  .bytes = block_bytes(b),
				  .present = b->filled,
				  .kind = INDEX_BLOCK };

	ck_assert_uint_lt(b->number, MOST);
	disks.waits[b->number] = r;
	if (b->gap)
		disks.waits[b->number - 1] = index_gap(&r, (uint32_t)b->gap);
}

static void
disks_sync(uint64_t number, unsigned n)
{
	struct index_record *r = &disks.waits[number];

	pthread_mutex_lock(&disks.lock);
	for (unsigned i = 0; i < n; i++) {
		disks.record[number + i] = r[i];
		disks.there[number + i] = true;
	}
	if (disks.top < number + n)
		disks.top = number + n;
	pthread_mutex_unlock(&disks.lock);
	output_settle(bench.output, r, n);
}

static uint8_t *
disks_read(const struct index_record *r, unsigned slot)
{
	static uint8_t data[HALF * BYTES];

	for (unsigned i = 0; i < HALF; i++)
		memset(data + i * BYTES, byte_of(r->first + slot + i), BYTES);
	return data;
}

static void
disks_give(struct parcel *p)
{
	struct index_record *r = &disks.record[disks.number];
	unsigned slot = disks.half * HALF;

	*p = (struct parcel){ .record = *r, .source = &disks.head };
	p->offset = (r->first + slot) * BYTES;
	p->err = r->kind == INDEX_BLOCK ? 0 : -ENODATA;
	p->bytes = (uint64_t)r->missing * BYTES;
	if (!p->err) {
		p->at = slot * BYTES;
		p->bytes = HALF * BYTES;
		p->data = disks_read(r, slot);
		disks.half ^= 1;
	}
	disks.number += disks.half == 0;
}

static int
disks_next(struct source *s, struct parcel *p, int64_t until)
{
	int err = 0;

	(void)s;
	(void)until;
	disks.asked++;
	ck_assert_uint_eq(out, 0);
	pthread_mutex_lock(&disks.lock);
	if (disks.number < disks.top && disks.there[disks.number]) {
		disks_give(p);
	} else if (disks.number < disks.settled) {
		*p = (struct parcel){ .record.number = disks.number++,
				      .err = -ENODATA,
				      .source = &disks.head };
	} else {
		err = -ETIMEDOUT;
	}
	pthread_mutex_unlock(&disks.lock);
	return err;
}

static void
disks_put(struct source *s, struct parcel *p)
{
	ck_assert_ptr_eq(s, p->source);
}

static int
disks_seek(struct source *s, uint32_t run, uint64_t first)
{
	(void)s;
	ck_assert_uint_eq(run, 0);
	disks.number = 0;
	while (disks.record[disks.number].first + SLOTS <= first)
		disks.number++;
	disks.half = 0;
	return 0;
}

static int
disks_seek_number(struct source *s, uint64_t number)
{
	(void)s;
	ck_assert_uint_eq(out, 0);
	disks.number = number;
	disks.half = 0;
	return 0;
}

static void
disks_settled(struct source *s, uint64_t end)
{
	(void)s;
	disks.settled = end;
}

static int
disks_fd(struct source *s)
{
	(void)s;
	return -1;
}

static void
disks_facts(struct source *s, struct source_facts *f)
{
	(void)s;
	*f = (struct source_facts){ .number = disks.number };
}

static void
disks_close(struct source *s)
{
	ck_assert_ptr_eq(s, &disks.head);
	disks.asked = 0;
}

static int
disks_about(struct source *s, struct source_about *about)
{
	(void)s;
	(void)about;
	return -EAGAIN;
}

static const struct source_ops disks_ops = {
	.about = disks_about,
	.next = disks_next,
	.put = disks_put,
	.seek = disks_seek,
	.seek_number = disks_seek_number,
	.settled = disks_settled,
	.fd = disks_fd,
	.facts = disks_facts,
	.close = disks_close,
};

/* ---- */

static void
live_open(void)
{
	struct source_live_args args = { .output = bench.output,
					 .pool = bench.pool,
					 .disk = &disks.head,
					 .start_ns = 77,
					 .sub = -1 };
	struct fault fault;

	pthread_mutex_init(&disks.lock, NULL);
	atomic_store(&bench.output->folders, 1);
	disks.head.ops = &disks_ops;
	ck_assert_int_eq(source_live_make(&live, &args, &fault), 0);
}

/* Written, and durable where that is said. */
static void
record(unsigned n, uint64_t gap, bool durable)
{
	while (n--) {
		struct block *b;
		uint64_t number;

		ck_assert(put(&bench, bench.output, gap));
		b = seal(&bench);
		number = b->number;
		disks_write(b);
		output_written(bench.output, b, 0);
		if (durable)
			disks_sync(number - (gap > 0), 1 + (gap > 0));
	}
}

/* Who does not know yet what the data are is told before he gets any. */
static int
next(struct parcel *p)
{
	struct source_about about;
	int err;

	live->ops->about(live, &about);
	err = source_next(live, p, 0);
	out += !err && p->block;
	return err;
}

static void
done(struct parcel *p)
{
	out -= p->block != NULL;
	source_put(p);
}

/* The next parcel has these slots, from memory or not. */
static void
expect(uint64_t first, uint64_t slots, bool memory)
{
	struct parcel p;

	ck_assert_int_eq(next(&p), 0);
	ck_assert_int_eq(p.err, 0);
	ck_assert_int_eq(p.block != NULL, memory);
	ck_assert_uint_eq(p.record.first + p.at / BYTES, first);
	ck_assert_uint_eq(p.bytes, slots * BYTES);
	ck_assert_uint_eq(p.offset, first * BYTES);
	ck_assert(data_is(p.data, first, slots));
	done(&p);
}

static void
expect_hole(uint64_t first, uint64_t slots)
{
	struct parcel p;

	ck_assert_int_eq(next(&p), 0);
	ck_assert_int_eq(p.err, -ENODATA);
	ck_assert_ptr_null(p.data);
	ck_assert_uint_eq(p.record.first, first);
	ck_assert_uint_eq(p.record.missing, slots);
	ck_assert_uint_eq(p.bytes, slots * BYTES);
	ck_assert_uint_eq(p.offset, first * BYTES);
	done(&p);
}

static void
expect_none(int err)
{
	struct parcel p;

	ck_assert_int_eq(next(&p), err);
}

static bool
is_readable(void)
{
	struct pollfd p = { .fd = live->ops->fd(live), .events = POLLIN };

	return poll(&p, 1, 0) == 1;
}

static struct source_facts
facts(void)
{
	struct source_facts f;

	live->ops->facts(live, &f);
	return f;
}

static void
close_all(void)
{
	source_close(live);
	all_close(&bench);
}

START_TEST(from_memory)
{
	struct source_about about;
	struct parcel p;

	all_open(&bench);
	live_open();
	expect_none(-ETIMEDOUT);
	ck_assert(!is_readable());
	/* Nothing is given before it is known what it is. */
	record(1, 0, false);
	ck_assert_int_eq(source_next(live, &p, 0), -ETIMEDOUT);
	ck_assert(is_readable());
	expect(0, SLOTS, true);
	for (uint64_t i = 1; i < 100; i++) {
		record(1, 0, false);
		ck_assert(is_readable());
		expect(i * SLOTS, SLOTS, true);
		expect_none(-ETIMEDOUT);
		ck_assert(!is_readable());
	}
	ck_assert_int_eq(live->ops->about(live, &about), 0);
	ck_assert_uint_eq(about.shape->payload, BYTES);
	ck_assert(about.live && about.zero_fill);
	ck_assert_int_eq(about.start_ns, 77);
	ck_assert_uint_eq(facts().bytes_memory, 100 * SLOTS * BYTES);
	ck_assert_uint_eq(facts().bytes_disk, 0);
	ck_assert(facts().live);
	output_end(bench.output);
	ck_assert(is_readable());
	expect_none(-ENODATA);
	ck_assert(!facts().live);
	close_all();
}
END_TEST

/* A block in memory has its checksums, unless they are of other pieces. */
START_TEST(its_checksums)
{
	struct block_sum of[3] = { { .crc = 1 }, { .crc = 2 }, { .crc = 3 } };
	struct block b = { .quantum = BLOCK_QUANTUM, .sum = of };
	const struct parcel p = { .block = &b, .record.flags = INDEX_SUMMED };
	uint32_t sums[3] = { 0 };

	ck_assert(source_sums(&p, BLOCK_QUANTUM, BLOCK_QUANTUM, sums));
	ck_assert_uint_eq(sums[0], 0);
	ck_assert_uint_eq(sums[1], 2);
	ck_assert_uint_eq(sums[2], 0);
	ck_assert(source_sums(&p, 1, 2 * BLOCK_QUANTUM, sums));
	ck_assert_uint_eq(sums[2], 3);
	b.quantum = 4096;
	ck_assert(!source_sums(&p, 0, 1, sums));
}
END_TEST

/* From the beginning on, and from memory when it is there. */
START_TEST(it_comes_late)
{
	all_open(&bench);
	record(20, 0, true);
	live_open();
	record(2, 0, false);
	for (uint64_t i = 0; i < 40; i++)
		expect(i * HALF, HALF, false);
	expect(20 * SLOTS, SLOTS, true);
	expect(21 * SLOTS, SLOTS, true);
	close_all();
}
END_TEST

/* Of a block that has to be given back while it is sent, all comes again. */
START_TEST(what_is_revoked_comes_from_disk)
{
	struct block *taken[BLOCKS];
	struct parcel p;
	unsigned n = 0;

	all_open(&bench);
	live_open();
	record(2, 0, false);
	ck_assert_int_eq(next(&p), 0);
	ck_assert_ptr_nonnull(p.block);
	ck_assert(!live->ops->wanted(live));
	while (!is_readable())
		taken[n++] = block_pool_take(bench.pool, 0);
	ck_assert(live->ops->wanted(live));
	expect_none(-ETIMEDOUT);
	done(&p);
	ck_assert(!live->ops->wanted(live));
	expect_none(-ETIMEDOUT); /* it is not durable */
	disks_sync(0, 1);
	ck_assert(is_readable());
	expect(0, HALF, false);
	expect(HALF, HALF, false);
	while (n--)
		block_pool_put(taken[n]);
	ck_assert_ptr_nonnull(taken[0] = block_pool_take(bench.pool, 0));
	block_pool_put(taken[0]);
	expect_none(-ETIMEDOUT); /* that was revoked, too */
	disks_sync(1, 1);
	record(1, 0, false);
	expect(SLOTS, HALF, false);
	expect(SLOTS + HALF, HALF, false);
	expect(2 * SLOTS, SLOTS, true);
	ck_assert_uint_eq(facts().revoked, 2);
	close_all();
}
END_TEST

/* No memory is kept while a disk is asked. */
START_TEST(memory_is_put_before_a_disk_is_asked)
{
	struct parcel p;

	all_open(&bench);
	live_open();
	record(1, 0, true);
	ck_assert_int_eq(next(&p), 0);
	record(QUARTER + 2, 0, true); /* some go */
	ck_assert(!live->ops->wanted(live));
	expect_none(-ETIMEDOUT);
	ck_assert(live->ops->wanted(live));
	ck_assert(is_readable());
	ck_assert_uint_eq(disks.asked, 0);
	done(&p);
	ck_assert(!live->ops->wanted(live));
	expect(SLOTS, HALF, false);
	close_all();
}
END_TEST

/* What the recorder lost is a hole, as in the recording. */
START_TEST(lost_blocks)
{
	all_open(&bench);
	live_open();
	record(1, 0, true);
	expect(0, SLOTS, true);
	ck_assert(put(&bench, bench.output, 0));
	output_lost(bench.output, seal(&bench)); /* sealed, so it can be sent */
	expect(SLOTS, SLOTS, true);
	for (unsigned i = 0; i < 2; i++) {
		struct block *b;

		ck_assert(put(&bench, bench.output, 0));
		ck_assert_int_eq(queue_take(bench.taker, &b, 0), 0);
		block_seal(b);
		output_lost(bench.output, b);
	}
	record(1, 0, false);
	for (unsigned i = 0; i < 2; i++) { /* nobody has these */
		struct parcel p;

		ck_assert_int_eq(next(&p), 0);
		ck_assert_int_eq(p.err, -ENODATA);
		ck_assert_uint_eq(p.bytes, 0);
		done(&p);
	}
	expect_hole(2 * SLOTS, 2 * SLOTS);
	expect(4 * SLOTS, SLOTS, true);
	close_all();
}
END_TEST

/* The same of blocks that were written, but for their round. */
START_TEST(a_round_that_fails)
{
	struct index_record r = { .number = 1, .kind = INDEX_BLOCK };

	all_open(&bench);
	record(2, 0, false);
	disks_sync(0, 1);
	live_open();
	record(1, 0, true);
	expect(0, HALF, false);
	expect(HALF, HALF, false);
	expect_none(-ETIMEDOUT);
	output_unwrite(bench.output, &r);
	ck_assert(is_readable());
	expect_none(0);
	expect_hole(SLOTS, SLOTS);
	expect(2 * SLOTS, SLOTS, true);
	close_all();
}
END_TEST

/* It was written, and its disk is away. */
START_TEST(a_disk_that_is_away)
{
	struct index_record r = { .number = 1, .kind = INDEX_BLOCK };
	struct parcel p;

	all_open(&bench);
	record(3, 0, false);
	disks_sync(0, 1);
	live_open();
	record(1, 0, true);
	output_risk(bench.output, &r);
	disks_sync(2, 1);
	expect(0, HALF, false);
	expect(HALF, HALF, false);
	expect_none(0);
	ck_assert_int_eq(next(&p), 0);
	ck_assert_int_eq(p.err, -EIO);
	ck_assert_uint_eq(p.record.first, SLOTS);
	ck_assert_uint_eq(p.record.present, SLOTS);
	ck_assert_uint_eq(p.bytes, SLOTS * BYTES);
	done(&p);
	expect(2 * SLOTS, HALF, false);
	expect(2 * SLOTS + HALF, HALF, false);
	expect(3 * SLOTS, SLOTS, true);
	close_all();
}
END_TEST

/* It is resumed, and its folders are not open again yet. */
START_TEST(what_was_before_is_waited_for)
{
	all_open(&bench);
	record(2, 0, true);
	bench.output->first_number = bench.output->settled.floor;
	live_open();
	atomic_store(&bench.output->folders, 0);
	record(1, 0, false);
	expect_none(-ETIMEDOUT);
	expect_none(-ETIMEDOUT);
	atomic_store(&bench.output->folders, 1);
	for (uint64_t i = 0; i < 4; i++)
		expect(i * HALF, HALF, false);
	expect(2 * SLOTS, SLOTS, true);
	close_all();
}
END_TEST

/* No disk could take anything. */
START_TEST(without_a_folder)
{
	all_open(&bench);
	live_open();
	atomic_store(&bench.output->folders, 0);
	record(1, 0, false);
	expect(0, SLOTS, true);
	for (unsigned i = 0; i < 3; i++) {
		struct block *b;

		ck_assert(put(&bench, bench.output, 0));
		ck_assert_int_eq(queue_take(bench.taker, &b, 0), 0);
		block_seal(b);
		output_lost(bench.output, b);
	}
	expect_none(-ETIMEDOUT);
	record(1, 0, false);
	expect_hole(SLOTS, 3 * SLOTS);
	expect(4 * SLOTS, SLOTS, true);
	output_end(bench.output);
	expect_none(-ENODATA);
	ck_assert_uint_eq(disks.asked, 0);
	close_all();
}
END_TEST

START_TEST(gaps)
{
	all_open(&bench);
	live_open();
	record(1, 0, true);
	record(1, 5, true);
	record(1, 3, true);
	expect(0, SLOTS, true);
	expect_hole(SLOTS, 5);
	expect(SLOTS + 5, SLOTS, true);
	source_close(live);
	live_open();
	expect(0, HALF, false);
	expect(HALF, HALF, false);
	expect_hole(SLOTS, 5);
	expect(SLOTS + 5, HALF, false);
	close_all();
}
END_TEST

/* A hole may be sent as fill, and what is behind it not be there yet when the
 * block before it has to be given back. */
START_TEST(all_that_was_given_comes_again)
{
	struct block *taken[BLOCKS];
	struct parcel p, hole;
	unsigned n = 0;

	all_open(&bench);
	live_open();
	record(1, 0, true);
	record(1, 5, true);
	ck_assert_int_eq(next(&p), 0);
	ck_assert_int_eq(next(&hole), 0);
	ck_assert_int_eq(hole.err, -ENODATA);
	while (!live->ops->wanted(live))
		taken[n++] = block_pool_take(bench.pool, 0);
	done(&p);
	done(&hole);
	while (n--)
		block_pool_put(taken[n]);
	expect_hole(SLOTS, 5);
	expect(SLOTS + 5, HALF, false);
	close_all();
}
END_TEST

START_TEST(it_goes_back)
{
	all_open(&bench);
	live_open();
	record(3, 0, true);
	for (uint64_t i = 0; i < 3; i++)
		expect(i * SLOTS, SLOTS, true);
	ck_assert_int_eq(live->ops->seek(live, 0, SLOTS + 3), 0);
	expect(SLOTS, HALF, false);
	expect(SLOTS + HALF, HALF, false);
	ck_assert_int_eq(live->ops->seek_number(live, 0), 0);
	expect(0, HALF, false);
	/* In the middle of a block. */
	ck_assert_int_eq(live->ops->seek(live, 0, 2 * SLOTS), 0);
	for (uint64_t i = 1; i < 6; i++)
		expect(i * HALF, HALF, false);
	record(1, 0, false);
	expect(3 * SLOTS, SLOTS, true);
	close_all();
}
END_TEST

/* Until a disk has room to read for others. */
START_TEST(it_yields_while_memory_is_short)
{
	struct block *taken[BLOCKS];
	struct parcel p;
	unsigned n = 0;
	int64_t begin;

	all_open(&bench);
	record(3, 0, true);
	live_open();
	while (block_pool_plenty(bench.pool))
		taken[n++] = block_pool_take(bench.pool, 0);
	begin = clock_steady();
	for (uint64_t i = 0; i < 3; i++)
		while (source_next(live, &p, clock_steady() + 1000000000))
			;
	ck_assert_int_ge(clock_steady() - begin, 500000000);
	while (n--)
		block_pool_put(taken[n]);
	expect(3 * HALF, HALF, false);
	close_all();
}
END_TEST

/* ---- all at once ------------------------------------------------------ */

static atomic_uint durable; /* rounds that were asked for are done */

/* A disk with rounds of some blocks each. */
static void *
write_all(void *arg)
{
	uint64_t number[64];
	unsigned n = 0;
	struct block *b;
	int64_t hurry = 0;
	int err = 0;

	while (err != -EPIPE) {
		err = queue_take(bench.taker, &b, clock_steady() + 1000000);
		if (!err) {
			output_seal(bench.output, b);
			disks_write(b);
			number[n++] = b->number;
			output_written(bench.output, b, 0);
		}
		if (n < 64 && err != -EPIPE &&
		    atomic_load(&bench.output->hurry) == hurry)
			continue;
		hurry = atomic_load(&bench.output->hurry);
		atomic_fetch_add(&durable, n);
		while (n)
			disks_sync(number[--n], 1);
	}
	return arg;
}

/* Looks at every byte; its peer reads fast, stops for long, and reads on. */
static void *
read_all(void *arg)
{
	uint64_t at = 0, stops = MANY / 5;
	struct pollfd fd = { .fd = live->ops->fd(live), .events = POLLIN };
	struct parcel p;
	int err = 0;

	while (err != -ENODATA) {
		err = next(&p);
		if (err == -ETIMEDOUT)
			poll(&fd, 1, 1000);
		if (err)
			continue;
		ck_assert_int_eq(p.err, 0);
		/* Of one that was wanted back the rest comes with the rest. */
		if (p.record.first * BYTES + p.at > at * BYTES)
			ck_abort_msg("%llu is left out",
				     (unsigned long long)at);
		ck_assert(data_is(p.data, p.record.first + p.at / BYTES,
				  p.bytes / BYTES));
		while (p.record.number >= stops && !live->ops->wanted(live) &&
		       p.block)
			poll(&fd, 1, 1000);
		if (p.record.number >= stops)
			stops += MANY / 5;
		if (!live->ops->wanted(live) || !p.block)
			at = p.record.first + (p.at + p.bytes) / BYTES;
		done(&p);
	}
	ck_assert_uint_eq(at, MANY * SLOTS);
	return arg;
}

START_TEST(many_threads)
{
	struct source_facts f;
	pthread_t writer, reader;

	all_open(&bench);
	live_open();
	pthread_create(&writer, NULL, write_all, NULL);
	pthread_create(&reader, NULL, read_all, NULL);
	for (unsigned i = 0; i < MANY;) {
		/* At times it is all in memory. */
		if (i % 16 == 0 &&
		    block_pool_free_blocks(bench.pool) < BLOCKS / 2)
			sched_yield();
		else if (put(&bench, bench.output, 0))
			i++;
	}
	queue_drain(bench.queue);
	pthread_join(writer, NULL);
	output_end(bench.output);
	pthread_join(reader, NULL);
	f = facts();
	ck_assert_uint_gt(f.bytes_memory, 0);
	ck_assert_uint_gt(f.bytes_disk, 0);
	ck_assert_uint_gt(f.revoked, 0);
	close_all();
}
END_TEST

SUITE_THREADS("source_live", NULL, from_memory, its_checksums, it_comes_late,
	      what_is_revoked_comes_from_disk,
	      memory_is_put_before_a_disk_is_asked, lost_blocks,
	      a_round_that_fails, a_disk_that_is_away,
	      what_was_before_is_waited_for, without_a_folder, gaps,
	      all_that_was_given_comes_again, it_goes_back,
	      it_yields_while_memory_is_short, many_threads)
