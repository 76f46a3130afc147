/* SPDX-License-Identifier: MIT */
/*
 * Who looks into memory sees the blocks that are there, and is told when they
 * go while he copies: another process does so here, while its blocks are
 * used for others as fast as can be.
 */
#include "flow/memory/shm_page.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "flow/memory/arena.h"
#include "flow/memory/tap.h"
#include "store/record/shm_blocks.h"
#include "lib/tapped.h"

static struct tapped bench;

enum { ID = 7, ROUNDS = 4000, WRITERS = 2 };

static struct shm_page *own_page;
static const struct shm_blocks *page; /* as others see it */
static const uint8_t *memory;

static const void *
map_in(int fd, uint64_t bytes)
{
	const void *at = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);

	ck_assert(at != MAP_FAILED);
	return at;
}

static void
begin(void)
{
	const struct arena_wishes way = { .node = -1, .share = true };
	struct block_pool_args args = { .blocks = BLOCKS,
					.slots = SLOTS,
					.slot_bytes = BYTES,
					.quantum = BLOCK_QUANTUM };
	struct fault fault;
	uint64_t bytes;
	const void *own;

	log_level_set(LEVEL_ERROR);
	ck_assert_int_eq(arena_make(&bench.arena, 2 << 20, &way, &fault), 0);
	ck_assert_int_eq(
	    block_pool_borrow(bench.arena, &bench.pool, &args, &fault), 0);
	ck_assert_int_eq(queue_make(&bench.queue, BLOCKS), 0);
	ck_assert_int_eq(taker_join(&bench.taker, bench.queue, 0), 0);
	bench.shape = (struct format_shape){ .payload = BYTES, .parts = 1 };
	bench.output = output_new(&bench);
	own = arena_memory(bench.arena, &bytes);
	ck_assert_int_eq(shm_page_make(&own_page, own, bytes), 0);
	page = map_in(shm_page_fd(own_page), shm_page_bytes(own_page));
	memory = map_in(arena_fd(bench.arena), bytes);
	ck_assert(shm_blocks_good(page, shm_page_bytes(own_page), bytes));
}

static unsigned
shown(void)
{
	unsigned n = 0;

	for (uint32_t i = 0; i < page->entries; i++)
		n += !(atomic_load(&page->entry[i].generation) & 1);
	return n;
}

static void
end(void)
{
	ck_assert_uint_eq(shown(), 0);
	all_close(&bench);
	shm_page_free(own_page);
}

/* It is there, says what it is, and has the packets from this one on. */
static void
is_there(uint64_t number, uint64_t first, uint32_t gap)
{
	uint8_t copy[SLOTS * BYTES];
	struct shm_block b;

	ck_assert(shm_blocks_find(page, ID, number, &b));
	ck_assert_uint_eq(b.record.number, number);
	ck_assert_uint_eq(b.record.first, first);
	ck_assert_uint_eq(b.record.bytes, sizeof copy);
	ck_assert_uint_eq(b.gap, gap);
	ck_assert(shm_blocks_copy(&b, memory, 0, sizeof copy, copy));
	ck_assert(data_is(copy, first, SLOTS));
	ck_assert(shm_blocks_copy(&b, memory, BYTES, BYTES, copy));
	ck_assert(data_is(copy, first + 1, 1));
	ck_assert(!shm_blocks_copy(&b, memory, 1, sizeof copy, copy));
	ck_assert(!shm_blocks_copy(&b, memory, UINT64_MAX, 2, copy));
}

START_TEST(what_is_tapped_is_seen)
{
	struct shm_block b;
	struct tap *tap, *again;
	struct block *block;

	begin();
	ck_assert(put(&bench, bench.output, 0));
	output_written(bench.output, seal(&bench), 0);
	ck_assert_uint_eq(shown(), 0);
	ck_assert_int_eq(output_tap_open(bench.output, bench.pool, &tap), 0);
	ck_assert_int_eq(output_tap_open(bench.output, bench.pool, &again), 0);
	ck_assert(put(&bench, bench.output, 0));
	block = seal(&bench);
	/* Also what it has already, and what others show as well. */
	tap_show(tap, own_page, ID);
	tap_show(again, own_page, ID);
	is_there(1, SLOTS, 0);
	output_written(bench.output, block, 0);
	is_there(1, SLOTS, 0);
	ck_assert(put(&bench, bench.output, 5));
	output_written(bench.output, seal(&bench), 0);
	is_there(3, 2 * SLOTS + 5, 5);
	ck_assert_uint_eq(shown(), 2);
	/* By the gap before it; others not. */
	ck_assert(shm_blocks_find(page, ID, 2, &b));
	ck_assert_uint_eq(b.record.number, 3);
	ck_assert(!shm_blocks_find(page, ID, 0, &b));
	ck_assert(!shm_blocks_find(page, ID, 4, &b));
	ck_assert(!shm_blocks_find(page, ID + 1, 3, &b));
	/* The recorder wants them back. */
	ck_assert(shm_blocks_find(page, ID, 3, &b));
	output_tap_close(bench.output, tap);
	ck_assert(shm_blocks_is(&b));
	output_tap_close(bench.output, again);
	ck_assert(!shm_blocks_is(&b));
	ck_assert(!shm_blocks_find(page, ID, 3, &b));
	end();
}
END_TEST

/* Its writer has it; the shelf would not take it. */
START_TEST(also_what_no_tap_can_keep)
{
	struct block *b[BLOCKS];
	struct tap *tap;
	unsigned n = 0;

	begin();
	ck_assert_int_eq(output_tap_open(bench.output, bench.pool, &tap), 0);
	tap_show(tap, own_page, ID);
	while (put(&bench, bench.output, 0))
		b[n++] = seal(&bench);
	ck_assert_uint_eq(n, BLOCKS);
	ck_assert_uint_eq(shown(), BLOCKS);
	for (unsigned i = 0; i < n; i++)
		is_there(i, (uint64_t)i * SLOTS, 0);
	for (unsigned i = 0; i < n; i++)
		output_written(bench.output, b[i], 0);
	output_tap_close(bench.output, tap);
	end();
}
END_TEST

/* A block that is lost is hidden like any other, and the floor says so. */
START_TEST(the_floor_tells_what_is_lost)
{
	struct output_stretch lost[2];
	struct index_record r = { .kind = INDEX_BLOCK };
	struct block *b[6];
	uint64_t floor;

	begin();
	for (unsigned i = 0; i < 6; i++) {
		ck_assert(put(&bench, bench.output, 0));
		b[i] = seal(&bench);
	}
	ck_assert_uint_eq(output_floor(bench.output, 0, &floor, lost, 2), 0);
	ck_assert_uint_eq(floor, 0);
	for (unsigned i = 0; i < 6; i++) {
		if (i % 2) {
			output_lost(bench.output, b[i]);
			continue;
		}
		r.number = i;
		output_written(bench.output, b[i], 0);
		output_settle(bench.output, &r, 1);
	}
	ck_assert_uint_eq(output_floor(bench.output, 0, &floor, lost, 2), 2);
	ck_assert_uint_eq(floor, 5);
	ck_assert(lost[0].from == 1 && lost[0].to == 2);
	ck_assert(lost[1].from == 3 && lost[1].to == 4);
	ck_assert_uint_eq(output_floor(bench.output, 4, &floor, lost, 2), 1);
	ck_assert_uint_eq(floor, 6);
	ck_assert(lost[0].from == 5 && lost[0].to == 6);
	ck_assert_uint_eq(output_floor(bench.output, 100, &floor, lost, 2), 0);
	ck_assert_uint_eq(floor, 6);
	end();
}
END_TEST

/* ---- a storm ---------------------------------------------------------- */

/* What the reader found; it is another process. */
struct found {
	_Atomic uint64_t end; /* numbers that there are; the recorder's */
	atomic_bool stop;
	_Atomic uint64_t whole, torn, wrong;
};

static void
look(struct found *f, uint64_t number)
{
	uint8_t copy[SLOTS * BYTES];
	struct shm_block b;

	if (!shm_blocks_find(page, ID, number, &b))
		return;
	/* With one processor for all, writers would hardly come in between. */
	if (number % 4 == 0)
		sched_yield();
	if (!shm_blocks_copy(&b, memory, 0, sizeof copy, copy))
		f->torn++;
	else if (b.record.number == number &&
		 data_is(copy, b.record.first, SLOTS))
		f->whole++;
	else
		f->wrong++;
}

static void
reader(struct found *f)
{
	while (!atomic_load(&f->stop)) {
		uint64_t to = atomic_load(&f->end);

		for (uint64_t n = to > 2 * BLOCKS ? to - 2 * BLOCKS : 0; n < to;
		     n++)
			look(f, n);
	}
}

/* The queue's; one that takes a moment to write. */
static void *
writer(void *arg)
{
	struct taker *own = arg;
	struct block *b;

	while (queue_take(own, &b, INT64_MAX) == 0) {
		output_seal(bench.output, b);
		sched_yield();
		output_written(bench.output, b, 0);
	}
	return NULL;
}

static void
record(struct found *f)
{
	for (unsigned i = 0; i < ROUNDS;) {
		if (!put(&bench, bench.output, 0)) {
			sched_yield();
			continue;
		}
		atomic_store(&f->end, ++i);
	}
}

static void
storm(struct found *f)
{
	pthread_t thread[WRITERS];
	struct taker *own[WRITERS];

	for (unsigned i = 0; i < WRITERS; i++) {
		ck_assert_int_eq(taker_join(&own[i], bench.queue, 0), 0);
		ck_assert_int_eq(
		    pthread_create(&thread[i], NULL, writer, own[i]), 0);
	}
	for (unsigned n = 0;
	     n < 2 || (n < 100 && !f->wrong && !(f->torn && f->whole)); n++)
		record(f);
	while (atomic_load(&bench.output->in_flight))
		sched_yield();
	queue_drain(bench.queue);
	for (unsigned i = 0; i < WRITERS; i++) {
		ck_assert_int_eq(pthread_join(thread[i], NULL), 0);
		taker_leave(own[i]);
	}
}

START_TEST(a_torn_copy_is_found_out)
{
	struct found *f = mmap(NULL, sizeof *f, PROT_READ | PROT_WRITE,
			       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct tap *tap;
	pid_t pid;
	int status;

	ck_assert(f != MAP_FAILED);
	begin();
	ck_assert_int_eq(output_tap_open(bench.output, bench.pool, &tap), 0);
	tap_show(tap, own_page, ID);
	pid = fork();
	if (!pid) {
		reader(f);
		_exit(0);
	}
	storm(f);
	atomic_store(&f->stop, true);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	ck_assert_uint_eq(f->wrong, 0);
	ck_assert_uint_gt(f->whole, 0);
	ck_assert_uint_gt(f->torn, 0);
	output_tap_close(bench.output, tap);
	end();
	munmap(f, sizeof *f);
}
END_TEST

/* Nobody is to be led out of the memory. */
START_TEST(what_cannot_be_is_refused)
{
	union {
		struct shm_blocks head;
		uint8_t
		    room[sizeof(struct shm_blocks) + sizeof(struct shm_entry)];
	} p;
	struct shm_entry *e = (struct shm_entry *)(p.room + sizeof p.head);
	struct index_record r = { .bytes = 101, .kind = INDEX_BLOCK };
	struct shm_block b;

	memset(&p, 0, sizeof p);
	p.head.version = SHM_BLOCKS_VERSION;
	p.head.entries = 1;
	p.head.arena_bytes = 100;
	memcpy(p.head.magic, SHM_BLOCKS_MAGIC, 7);
	ck_assert(!shm_blocks_good(&p.head, sizeof p, 100));
	p.head.magic[7] = 'p';
	ck_assert(shm_blocks_good(&p.head, sizeof p, 100));
	ck_assert(!shm_blocks_good(&p.head, sizeof p - 1, 100));
	ck_assert(!shm_blocks_good(&p.head, sizeof p.head - 1, 100));
	ck_assert(!shm_blocks_good(&p.head, sizeof p, 99));
	p.head.entries = 3;
	ck_assert(!shm_blocks_good(&p.head, UINT64_MAX, 100));
	p.head.entries = 1;
	index_pack(e->record, &r);
	ck_assert(!shm_blocks_find(&p.head, 0, 0, &b));
	r.bytes = 50;
	index_pack(e->record, &r);
	e->at = 51;
	ck_assert(!shm_blocks_find(&p.head, 0, 0, &b));
	e->at = 50;
	ck_assert(shm_blocks_find(&p.head, 0, 0, &b));
	e->record[3] ^= 1;
	ck_assert(!shm_blocks_find(&p.head, 0, 0, &b));
}
END_TEST

SUITE_THREADS("shm_page", NULL, what_is_tapped_is_seen,
	      also_what_no_tap_can_keep, the_floor_tells_what_is_lost,
	      what_cannot_be_is_refused, a_torn_copy_is_found_out)
