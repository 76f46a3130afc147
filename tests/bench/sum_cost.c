/* SPDX-License-Identifier: MIT */
/*
 * What do checksums cost, and where?  Packets are copied into blocks as the
 * kernel would do it, a train of them at a time, from memory as large as a
 * socket's buffer; and CPU seconds per GB are compared:
 *
 *   copy    without checksums
 *   batch   each train is summed up when it is there (checksums_extend)
 *   seal    the whole block at its end, by the same thread, from memory
 *
 *   sum_cost [PACKET_BYTES [PACKETS_A_TRAIN [BLOCK_MIB [GB]]]]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "flow/memory/arena.h"
#include "flow/memory/block_pool.h"
#include "flow/memory/checksums.h"

enum { SOURCE = 32 << 20, BLOCKS = 8 };
enum mode { MODE_COPY, MODE_BATCH, MODE_SEAL };

struct bench {
	uint32_t packet, train, slots;
	uint64_t bytes;
	uint8_t *source;
	uint64_t at; /* in the source */
	struct arena *arena;
	struct block_pool *pool;
};

static double
cpu(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void
train_land(struct bench *b, struct block *k, uint32_t slot, uint32_t n)
{
	for (uint32_t i = slot; i < slot + n; i++) {
		if (b->at + b->packet > SOURCE)
			b->at = 0;
		memcpy(block_slot(k, i), b->source + b->at, b->packet);
		b->at += b->packet;
		k->present[i / 64] |= 1ull << i % 64;
	}
	k->filled += n;
	k->used = slot + n;
}

static void
block_do(struct bench *b, struct block *k, enum mode mode)
{
	for (uint32_t slot = 0; slot < b->slots; slot += b->train) {
		uint32_t left = b->slots - slot;

		train_land(b, k, slot, left < b->train ? left : b->train);
		if (mode == MODE_BATCH)
			checksums_extend(k);
	}
	if (mode != MODE_COPY)
		checksums_seal(k);
}

/* All blocks in turn, as if the disks were just fast enough. */
static double
run(struct bench *b, enum mode mode)
{
	struct block *k[BLOCKS];
	uint64_t done = 0;
	double begin;

	for (int i = 0; i < BLOCKS; i++)
		k[i] = block_pool_take(b->pool, 0);
	begin = cpu();
	for (unsigned i = 0; done < b->bytes; i = (i + 1) % BLOCKS) {
		block_pool_put(k[i]);
		k[i] = block_pool_take(b->pool, 0);
		block_do(b, k[i], mode);
		done += block_bytes(k[i]);
	}
	begin = cpu() - begin;
	for (int i = 0; i < BLOCKS; i++)
		block_pool_put(k[i]);
	return begin / ((double)done / 1e9);
}

static uint64_t
argument(int argc, char **argv, int i, uint64_t fallback)
{
	return argc > i ? strtoull(argv[i], NULL, 10) : fallback;
}

int
main(int argc, char **argv)
{
	struct bench b = { .packet = (uint32_t)argument(argc, argv, 1, 8032),
			   .train = (uint32_t)argument(argc, argv, 2, 8) };
	uint64_t block = argument(argc, argv, 3, 64) << 20;
	struct block_pool_args args = { .blocks = BLOCKS,
					.slot_bytes = b.packet,
					.quantum = BLOCK_QUANTUM };
	struct fault fault;
	double best[3] = { 1e9, 1e9, 1e9 };

	log_level_set(LEVEL_ERROR);
	b.bytes = argument(argc, argv, 4, 4) * 1000000000;
	args.slots = b.slots = (uint32_t)(block / b.packet);
	b.source = malloc(SOURCE);
	if (!b.source ||
	    arena_make(&b.arena, block_pool_need(&args), NULL, &fault) ||
	    block_pool_borrow(b.arena, &b.pool, &args, &fault))
		return 1;
	memset(b.source, 0x5a, SOURCE);
	for (int turn = 0; turn < 5; turn++) {
		for (int mode = 0; mode < 3; mode++) {
			double s = run(&b, (enum mode)mode);

			best[mode] = s < best[mode] ? s : best[mode];
		}
	}
	printf("CPU seconds per GB, the best of 5: copy %.4f, in batches "
	       "+%.4f, at the seal +%.4f\n",
	       best[MODE_COPY], best[MODE_BATCH] - best[MODE_COPY],
	       best[MODE_SEAL] - best[MODE_COPY]);
	block_pool_return(b.pool);
	arena_free(b.arena);
	free(b.source);
	return 0;
}
