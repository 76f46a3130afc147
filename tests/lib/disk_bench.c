/* SPDX-License-Identifier: MIT */
#include "lib/disk_bench.h"

#include "lib/noise.h"

void
disk_bench_changed(void *arg)
{
	struct disk_bench *b = arg;

	atomic_fetch_add(&b->changes, 1);
}

static void
disk_bench_disks(struct disk_bench *b)
{
	for (unsigned i = 0; i < BENCH_DISKS; i++) {
		char name[8] = { 'd', (char)('0' + i), 0 };

		b->disk[i] = (struct disk){
			.path = strdup(scratch_path(&b->scratch, name)),
			.fd = -1,
			.reserve_asked = 1,
		};
		ck_assert_int_eq(mkdir(b->disk[i].path, 0755), 0);
		ck_assert_int_eq(disk_open(&b->disk[i]), 0);
	}
}

void
disk_bench_open(struct disk_bench *b, uint32_t slots, uint32_t slot_bytes,
		unsigned blocks)
{
	struct block_pool_args args = { .blocks = blocks,
					.slots = slots,
					.slot_bytes = slot_bytes,
					.quantum = 4096 };
	struct output_args output;
	struct fault fault;

	log_level_set(LEVEL_ERROR);
	memset(b, 0, sizeof *b);
	scratch_make(&b->scratch);
	disk_bench_disks(b);
	ck_assert_int_eq(
	    arena_make(&b->arena, block_pool_need(&args), NULL, &fault), 0);
	ck_assert_int_eq(block_pool_borrow(b->arena, &b->pool, &args, &fault),
			 0);
	ck_assert_int_eq(queue_make(&b->queue, blocks), 0);
	b->shape = (struct format_shape){ .payload = slot_bytes,
					  .parts = 1,
					  .header = FAKE_HEADER,
					  .sequence = SEQUENCE_TIME,
					  .sequence_bits = 64,
					  .fps = 1000,
					  .threads_n = 1 };
	b->head = json_pack("{s:i}", "spate", 1);
	output = (struct output_args){ .name = bench_name,
				       .head = b->head,
				       .queue = b->queue,
				       .disks = BENCH_DISKS,
				       .durable = INT64_MAX / 2,
				       .changed = disk_bench_changed,
				       .arg = b,
				       .fill = FILL_ZERO,
				       .format = &fake_format,
				       .shape = &b->shape };
	ck_assert_int_eq(output_make(&b->output, &output), 0);
}

void
disk_bench_close(struct disk_bench *b)
{
	ck_assert_uint_eq(block_pool_free_blocks(b->pool),
			  block_pool_blocks(b->pool));
	output_drop(b->output);
	json_decref(b->head);
	queue_free(b->queue);
	block_pool_return(b->pool);
	arena_free(b->arena);
	for (unsigned i = 0; i < BENCH_DISKS; i++) {
		disk_close(&b->disk[i]);
		free(b->disk[i].path);
	}
	scratch_remove(&b->scratch);
}

struct block *
disk_bench_block(struct disk_bench *b, uint64_t number, uint32_t used)
{
	struct block *k = block_pool_take(b->pool, 0);

	if (!k)
		return NULL;
	noise_fill(number, 0, k->data, (uint64_t)k->slots * k->slot_bytes);
	for (uint32_t i = 0; i < used; i++)
		k->present[i / 64] |= 1ull << i % 64;
	k->used = k->filled = used;
	k->run = 0;
	k->base = 0;
	k->first = number * k->slots;
	k->number = number;
	k->first_ns = 1000 + (int64_t)number;
	k->last_ns = 2000 + (int64_t)number;
	k->session = b->output;
	block_close(k);
	return k;
}

const char *
disk_bench_file(const struct disk_bench *b, unsigned disk, const char *end)
{
	static char path[4][256];
	static unsigned turn;
	char *p = path[turn++ % 4];

	snprintf(p, sizeof path[0], "%s/%s/%s.%s", b->disk[disk].path,
		 bench_name, bench_name, end);
	return p;
}

int64_t
disk_bench_size(const struct disk_bench *b, unsigned disk, const char *end)
{
	struct stat st;

	if (stat(disk_bench_file(b, disk, end), &st) < 0)
		return -1;
	return st.st_size;
}

void
disk_bench_chunk_check(const struct disk_bench *b, unsigned disk,
		       uint64_t number, uint64_t bytes)
{
	char end[16];
	static uint8_t data[1 << 16];
	uint64_t at = 0;
	ssize_t n;
	int fd;

	snprintf(end, sizeof end, "%08u", (unsigned)number);
	ck_assert_int_eq(disk_bench_size(b, disk, end), (int64_t)bytes);
	fd = open(disk_bench_file(b, disk, end), O_RDONLY);
	ck_assert_int_ge(fd, 0);
	while ((n = read(fd, data, sizeof data)) > 0) {
		if (!noise_is(number, at, data, (uint64_t)n))
			ck_abort_msg("%zd bytes at %llu of chunk %llu are "
				     "wrong",
				     n, (unsigned long long)at,
				     (unsigned long long)number);
		at += (uint64_t)n;
	}
	ck_assert_uint_eq(at, bytes);
	close(fd);
}
