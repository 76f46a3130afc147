/* SPDX-License-Identifier: MIT */
/*
 * An output that goes on with what is on the disks: its totals have that, its
 * numbers and runs begin above, and what comes back later counts once.
 */
#include "config.h"

#include "flow/output/output.h"
#include "flow/memory/arena.h"
#include "flow/memory/block_pool.h"
#include "lib/made.h"
#include "lib/suite.h"

static struct made m;
static struct resume *r;
static struct arena *arena;
static struct block_pool *pool;
static struct queue *queue;
static struct taker *taker;
static struct output *output;

static void
nothing(void *arg)
{
	(void)arg;
}

static void
output_open(void)
{
	const unsigned writers[MADE_DISKS] = { 4, 2, 0 };
	struct block_pool_args args = { .blocks = 4,
					.slots = MADE_SLOTS,
					.slot_bytes = MADE_PAYLOAD };
	struct fault fault;
	json_t *paths = json_array(), *line;

	ck_assert_int_eq(arena_make(&arena, 2 << 20, NULL, &fault), 0);
	ck_assert_int_eq(block_pool_borrow(arena, &pool, &args, &fault), 0);
	ck_assert_int_eq(queue_make(&queue, 4), 0);
	ck_assert_int_eq(taker_join(&taker, queue, 0), 0);
	ck_assert_int_eq(resume_look(&r, &m.disks, MADE_NAME, &fault), 0);
	line = resume_line(r, paths);
	ck_assert_int_eq(
	    output_make(&output, &(struct output_args){ .name = MADE_NAME,
							.head = r->facts->head,
							.queue = queue,
							.disks = 5,
							.changed = nothing,
							.fill = FILL_ZERO,
							.format = m.format,
							.shape = &m.shape,
							.resume = r,
							.resume_disk = writers,
							.resume_line = line }),
	    0);
	json_decref(line);
	json_decref(paths);
}

static void
output_close(void)
{
	output_drop(output);
	resume_free(r);
	taker_leave(taker);
	queue_free(queue);
	block_pool_return(pool);
	arena_free(arena);
	made_finish(&m);
}

/* Its number. */
static uint64_t
put(uint32_t run)
{
	struct block *b = block_pool_take(pool, 0);
	uint64_t number;

	b->run = run;
	b->used = b->filled = 1;
	b->present[0] = 1;
	block_close(b);
	output_put(output, b);
	ck_assert_int_eq(queue_take(taker, &b, 0), 0);
	number = b->number;
	output_seal(output, b);
	output_written(output, b, 1);
	return number;
}

START_TEST(goes_on)
{
	const struct output_run *run;

	made_begin(&m);
	made_blocks(&m, 7);
	made_end(&m, 0);
	output_open();
	ck_assert_uint_eq(output->packets, 7 * MADE_SLOTS);
	ck_assert_uint_eq(output->before, 7 * MADE_SLOTS);
	ck_assert_uint_eq(output->bytes, 7 * MADE_BLOCK);
	ck_assert_uint_eq(output->chunks, 7);
	ck_assert_uint_eq(output->records, 7);
	ck_assert_uint_eq(output->absent, 0);
	ck_assert_uint_eq(output->disk[4].chunks, 3);
	ck_assert_uint_eq(output->disk[2].chunks, 2);
	ck_assert_uint_eq(output->disk[0].bytes, 2 * MADE_BLOCK);
	ck_assert_uint_eq(put(0), 7);
	ck_assert_uint_eq(put(0), 8);
	ck_assert_uint_eq(put(1), 9);
	ck_assert_uint_eq(output->packets, 7 * MADE_SLOTS + 3);
	ck_assert_uint_eq(output->runs, 3);
	run = output->run;
	ck_assert_uint_eq(run[0].packets, 7 * MADE_SLOTS);
	ck_assert_uint_eq(run[0].base, MADE_BASE);
	ck_assert_uint_eq(run[1].run, 1);
	ck_assert_uint_eq(run[1].packets, 2);
	ck_assert_uint_eq(run[2].run, 2);
	output_close();
}
END_TEST

/* One of three was away; what it has counts when it comes, and once. */
START_TEST(a_disk_comes_later)
{
	struct index_record *record;
	struct disk away;
	size_t n;

	made_begin(&m);
	made_blocks(&m, 7); /* 6 is on the first */
	made_end(&m, 0);
	away = m.disks.disk[1];
	m.disks.disk[1] = m.disks.disk[2];
	m.disks.n = 2;
	output_open();
	ck_assert_uint_eq(output->packets, 5 * MADE_SLOTS);
	ck_assert_uint_eq(output->absent, 2);
	ck_assert_uint_eq(output->next_number, 7 + RESUME_SPARE);
	ck_assert_int_eq(folder_resume(&m.folder[1], &away, MADE_NAME, m.head,
				       output->first_number),
			 0);
	n = folder_found(m.folder[1], &record);
	ck_assert_uint_eq(n, 2);
	for (int i = 0; i < 2; i++)
		output_found(output, away.path, record, n);
	free(record);
	ck_assert_uint_eq(output->packets, 7 * MADE_SLOTS);
	ck_assert_uint_eq(output->before, 7 * MADE_SLOTS);
	ck_assert_uint_eq(output->records, 7);
	ck_assert_uint_eq(output->absent, 0);
	ck_assert_uint_eq(output->bytes, 7 * MADE_BLOCK);
	ck_assert_uint_eq(output->run[0].packets, 7 * MADE_SLOTS);
	ck_assert_uint_eq(output->run[0].missing, 0);
	/* The others are no news. */
	ck_assert_int_eq(folder_resume(&m.folder[0], &m.disks.disk[0],
				       MADE_NAME, m.head, output->first_number),
			 0);
	n = folder_found(m.folder[0], &record);
	ck_assert_uint_eq(n, 3);
	output_found(output, m.disks.disk[0].path, record, n);
	ck_assert_uint_eq(output->packets, 7 * MADE_SLOTS);
	free(record);
	ck_assert_uint_eq(put(0), 7 + RESUME_SPARE);
	m.disks.n = 3;
	m.disks.disk[2] = m.disks.disk[1];
	m.disks.disk[1] = away;
	output_close();
}
END_TEST

SUITE("output_resume", goes_on, a_disk_comes_later)
