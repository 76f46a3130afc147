/* SPDX-License-Identifier: MIT */
#ifndef SPATE_TESTS_DISK_BENCH_H
#define SPATE_TESTS_DISK_BENCH_H

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/log.h"
#include "lib/fake_format.h"
#include "lib/fake_write.h"
#include "flow/output/output.h"
#include "flow/memory/arena.h"
#include "flow/memory/block_pool.h"
#include "flow/write/writer.h"
#include "lib/scratch.h"
#include "lib/suite.h"

/*
 * What stands around a writer: folders that are disks, blocks full of
 * packets, and an output that they belong to.
 */
enum { BENCH_DISKS = 3 };

static const char bench_name[] = "exp1";

struct disk_bench {
	struct scratch scratch;
	struct disk disk[BENCH_DISKS];
	struct arena *arena;
	struct block_pool *pool;
	struct queue *queue;
	struct format_shape shape;
	struct output *output;
	json_t *head;
	atomic_uint changes;
};

void disk_bench_changed(void *arg);

void disk_bench_open(struct disk_bench *b, uint32_t slots, uint32_t slot_bytes,
		     unsigned blocks);

void disk_bench_close(struct disk_bench *b);

/* A closed block with packets in its first `used` slots, but no frames: its data
 * are the noise of its number. */
struct block *disk_bench_block(struct disk_bench *b, uint64_t number,
			       uint32_t used);

const char *disk_bench_file(const struct disk_bench *b, unsigned disk,
			    const char *end);

/* Bytes of a file; -1: it is not there. */
int64_t disk_bench_size(const struct disk_bench *b, unsigned disk,
			const char *end);

/* The chunk is as long as it should be, and its bytes are the block's. */
void disk_bench_chunk_check(const struct disk_bench *b, unsigned disk,
			    uint64_t number, uint64_t bytes);

#endif
