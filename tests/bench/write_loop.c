/* SPDX-License-Identifier: MIT */
/*
 * Blocks from nowhere to the disks: what scripts/bench measures of the
 * recorder behind its receivers.  The blocks are full, and go through the
 * queue, the writers and the index as the daemon's do.
 *
 *   write_loop [-w WRITER] [-l LAYOUT] [-b BLOCK_MIB] [-t TOTAL_MIB] [-c]
 *              [-k MIB] [-r MIB] [-s MIB] [-p ROWS] FOLDER..
 *   write_loop -i ROWS
 *
 *   -l  vbs, mark6 or file; blocks of mark6 have 9 MiB at most
 *   -c  takes checksums, on the writers' threads: the blocks' memory was in
 *       no receiver's cache
 *   -k  the last disk answers EIO once all have been given so many MiB
 *   -p  so many parity blocks for each group
 *   -i  computes parity over memory, and nothing else: bytes and cpu_s
 *   -s  blocks come at so many MiB per second, instead of at once
 *   -r  pwrite, and each disk takes so many MiB per second: folders of one
 *       disk are as good as disks then
 *
 * The recording is named bench.  It prints one JSON line: bytes, seconds from
 * the first block to the last index, cpu_s of the whole process in that time
 * but the thread that makes the blocks, lost_packets, and for each disk its
 * path, way, bytes written, state, p99_s of a block.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/module.h"
#include "flow/output/output.h"
#include "flow/memory/arena.h"
#include "flow/memory/block_pool.h"
#include "flow/write/writer.h"
#include "store/parity/code.h"
#include "store/record/meta.h"
#include "store/disk/remote.h"
#include "write_disks.h"

enum { PAYLOAD = 8192, MOST = 64, FILES = 512, PARITY_GROUPS = 6 };

static const char name[] = "bench";

struct loop {
	const char *writer;
	uint64_t block_bytes, total, kill, rate, source;
	bool sums;
	unsigned rows;
	enum layout layout;
	struct disk disk[MOST];
	struct writer *w[MOST];
	unsigned disks;

	struct arena *arena;
	struct block_pool *pool, *parity;
	struct queue *queue;
	struct output *output;
	struct format_shape shape;
	struct write_plugin way;
	uint64_t made; /* bytes */
};

static void
die(const char *what, int err)
{
	fprintf(stderr, "write_loop: %s: %s\n", what, strerror(-err));
	exit(1);
}

static void
check(const char *what, int err)
{
	if (err < 0)
		die(what, err);
}

static void
changed(void *arg)
{
	(void)arg;
}

/* ---- what stands around the writers ---------------------------------- */

static void
way_open(struct loop *l)
{
	const struct write_ops *ops = l->rate ? write_paced(l->rate) : NULL;
	struct fault fault;

	if (!ops && module_write(l->writer, &ops, &fault) < 0) {
		fprintf(stderr, "write_loop: %s\n", fault.what);
		exit(1);
	}
	if (l->kill)
		ops = write_dying(ops, l->disk[l->disks - 1].path, l->kill);
	if (!ops)
		die("the last folder", -errno);
	l->way = (struct write_plugin){ ops, calloc(1, ops->head.options_bytes +
							   1) };
}

static void
blocks_open(struct loop *l, struct geometry *g)
{
	struct block_pool_args args = { .blocks = 4 * l->disks,
					.slot_bytes = PAYLOAD };
	struct block_pool_args parity = { .blocks = PARITY_GROUPS * l->rows,
					  .slot_bytes = PAYLOAD,
					  .extra = parity_groups_extra() };
	struct fault fault;
	uint64_t need;

	check("geometry", geometry_make(g, PAYLOAD, 1, l->block_bytes));
	args.slots = parity.slots = g->slots;
	args.quantum = l->sums ? BLOCK_QUANTUM : 0;
	need = block_pool_need(&args);
	if (l->rows)
		need += block_pool_need(&parity);
	if (arena_make(&l->arena, need, NULL, &fault) < 0 ||
	    block_pool_borrow(l->arena, &l->pool, &args, &fault) < 0 ||
	    (l->rows &&
	     block_pool_borrow(l->arena, &l->parity, &parity, &fault) < 0)) {
		fprintf(stderr, "write_loop: %s\n", fault.what);
		exit(1);
	}
	while (arena_facts(l->arena).ready < arena_facts(l->arena).bytes)
		usleep(1000);
	check("queue", queue_make(&l->queue, args.blocks));
}

static void
output_open(struct loop *l, const struct geometry *g)
{
	const char *path[MOST];
	const struct format_ops *format;
	struct meta_head head = { .name = name,
				  .stream = name,
				  .format = "raw",
				  .extension = "raw",
				  .shape = &l->shape,
				  .layout = l->layout,
				  .geometry = g,
				  .parity = l->rows,
				  .disks = path,
				  .disks_n = l->disks };
	struct output_args args = { .name = name,
				    .queue = l->queue,
				    .disks = l->disks,
				    .durable = 5000000000,
				    .changed = changed,
				    .parity = l->rows,
				    .parity_pool = l->parity,
				    .shape = &l->shape };
	struct fault fault;
	char why[160];
	json_t *line;

	for (unsigned i = 0; i < l->disks; i++)
		path[i] = l->disk[i].path;
	l->shape = (struct format_shape){ .payload = PAYLOAD };
	check("format raw", module_format("raw", &format, &fault));
	check("shape", format->shape(&l->shape, why, sizeof why));
	args.format = format;
	args.head = line = meta_head(&head);
	check("output", output_make(&l->output, &args));
	json_decref(line);
}

static void
errands_wait(struct loop *l)
{
	while (atomic_load_explicit(&l->output->jobs, memory_order_acquire))
		usleep(1000);
}

static void
writers_start(struct loop *l)
{
	struct writer_args args = { .queue = l->queue,
				    .plugin = &l->way,
				    .plugins = 1,
				    .files = FILES / l->disks,
				    .changed = changed };
	uint64_t arena_bytes;

	args.arena = arena_memory(l->arena, &arena_bytes);
	args.arena_bytes = arena_bytes;
	atomic_store(&l->output->jobs, l->disks);
	for (args.number = 0; args.number < l->disks; args.number++) {
		args.disk = &l->disk[args.number];
		check("writer", writer_start(&l->w[args.number], &args));
		check("begin", writer_begin(l->w[args.number], l->output));
	}
	errands_wait(l);
}

/* ---- the run --------------------------------------------------------- */

static void
block_put(struct loop *l, struct block *b)
{
	memset(b->present, 0xff, b->slots / 8);
	for (uint32_t i = b->slots / 64 * 64; i < b->slots; i++)
		b->present[i / 64] |= UINT64_C(1) << i % 64;
	b->used = b->filled = b->slots;
	b->first = l->made / PAYLOAD;
	b->first_ns = b->last_ns = clock_now();
	block_close(b);
	l->made += (uint64_t)b->slots * PAYLOAD;
	output_put(l->output, b);
}

static void
flights_wait(struct loop *l)
{
	while (
	    atomic_load_explicit(&l->output->in_flight, memory_order_acquire))
		usleep(1000);
}

/* Waits until the next block is due. */
static void
source_wait(const struct loop *l, int64_t start)
{
	double due = (double)l->made / (double)l->source * 1e9;

	while (l->source && (double)(clock_steady() - start) < due)
		usleep(500);
}

static void
blocks_make(struct loop *l)
{
	int64_t start = clock_steady();

	while (l->made < l->total) {
		source_wait(l, start);
		struct block *b = block_pool_take(l->pool, 0);

		if (b)
			block_put(l, b);
		else
			usleep(1000);
	}
	flights_wait(l);
	while (!output_protect_end(l->output))
		usleep(1000);
	flights_wait(l);
}

static void
writers_end(struct loop *l)
{
	struct index_record end = {
		.number = atomic_load(&l->output->records),
		.first = atomic_load(&l->output->packets),
		.kind = INDEX_END,
	};

	atomic_store(&l->output->jobs, l->disks);
	for (unsigned i = 0; i < l->disks; i++)
		check("end", writer_end(l->w[i], l->output, &end,
					json_pack("{s:{s:s}}", "end", "reason",
						  "bench")));
	errands_wait(l);
}

static double
cpu_of(int who)
{
	struct rusage u;

	getrusage(who, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static double
cpu(void)
{
	return cpu_of(RUSAGE_SELF) - cpu_of(RUSAGE_THREAD);
}

static void
disks_tell(struct loop *l)
{
	static const char *const state[] = {
		[WRITER_IDLE] = "idle",	      [WRITER_WRITING] = "writing",
		[WRITER_FULL] = "full",	      [WRITER_FAILED] = "failed",
		[WRITER_MISSING] = "missing", [WRITER_HUNG] = "hung",
	};

	printf(",\"disks\":[");
	for (unsigned i = 0; i < l->disks; i++) {
		struct writer_facts f;

		writer_facts(l->w[i], &f);
		printf("%s{\"path\":\"%s\",\"way\":\"%s\",\"written\":%llu,"
		       "\"state\":\"%s\",\"p99_s\":%.4f}",
		       i ? "," : "", l->disk[i].path, f.plugin ? f.plugin : "",
		       (unsigned long long)f.written, state[f.state],
		       (double)f.latency_p99 / 1e9);
	}
	puts("]}");
	fflush(stdout);
}

static void
run(struct loop *l)
{
	int64_t start = clock_steady();
	double before = cpu(), used;

	blocks_make(l);
	writers_end(l);
	used = cpu() - before;
	printf("{\"bytes\":%llu,\"seconds\":%.4f,\"cpu_s\":%.4f,"
	       "\"lost_packets\":%llu,\"chunks\":%llu,\"protected\":%llu",
	       (unsigned long long)atomic_load(&l->output->bytes),
	       (double)(clock_steady() - start) / 1e9, used,
	       (unsigned long long)atomic_load(&l->output->lost_packets),
	       (unsigned long long)atomic_load(&l->output->chunks),
	       (unsigned long long)(l->rows ? parity_groups_counts(
						  l->output->groups)
						  .members
					    : 0));
	disks_tell(l);
}

static void
finish(struct loop *l)
{
	queue_drain(l->queue);
	for (unsigned i = 0; i < l->disks; i++) {
		if (!writer_stop(l->w[i]))
			_exit(0);
	}
	output_drop(l->output);
	queue_free(l->queue);
	block_pool_return(l->pool);
	if (l->parity)
		block_pool_return(l->parity);
	arena_free(l->arena);
	free((void *)l->way.options);
}

/* Parity of blocks of 64 MiB, as fast as a processor has it. */
static void
sum_only(unsigned rows)
{
	enum { BYTES = 64 << 20, TIMES = 40 };
	uint8_t *data = malloc(BYTES), *row[PARITY_ROWS];
	double before;

	for (unsigned i = 0; i < PARITY_ROWS; i++)
		row[i] = calloc(1, BYTES);
	if (!data || !row[0] || !row[1] || rows > PARITY_ROWS)
		die("parity", -ENOMEM);
	memset(data, 0x5a, BYTES);
	before = cpu_of(RUSAGE_SELF);
	for (unsigned i = 0; i < TIMES; i++)
		parity_add(row, rows, i, data, BYTES);
	printf("{\"bytes\":%llu,\"cpu_s\":%.4f}\n",
	       (unsigned long long)BYTES * TIMES, cpu_of(RUSAGE_SELF) - before);
}

static uint64_t
mib(const char *text)
{
	return strtoull(text, NULL, 10) << 20;
}

static bool
arguments(struct loop *l, int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, "w:l:b:t:ck:r:s:p:i:")) != -1) {
		switch (c) {
		case 'w': l->writer = optarg; break;
		case 'l':
			if (!layout_parse(optarg, &l->layout))
				return false;
			break;
		case 'b': l->block_bytes = mib(optarg); break;
		case 't': l->total = mib(optarg); break;
		case 'c': l->sums = true; break;
		case 'p': l->rows = (unsigned)atoi(optarg); break;
		case 'i': sum_only((unsigned)atoi(optarg)); exit(0);
		case 'k': l->kill = mib(optarg); break;
		case 'r': l->rate = mib(optarg); break;
		case 's': l->source = mib(optarg); break;
		default: return false;
		}
	}
	for (; optind < argc && l->disks < MOST; optind++)
		l->disk[l->disks++] = (struct disk){ .path = argv[optind],
						     .fd = -1,
						     .reserve_asked = 1 };
	if (l->layout == LAYOUT_MARK6 && l->block_bytes > LAYOUT_SG_MOST)
		l->block_bytes = mib("9");
	return l->disks && l->block_bytes;
}

int
main(int argc, char **argv)
{
	struct loop l = { .writer = "uring",
			  .block_bytes = 64 << 20,
			  .total = 1 << 30 };
	struct geometry geometry;

	remote_makes();
	if (!arguments(&l, argc, argv)) {
		fprintf(stderr, "usage: write_loop [-w WRITER] [-l LAYOUT] "
				"[-b MIB] [-t MIB] [-c] [-k MIB] [-r MIB] "
				"[-s MIB] [-p ROWS] FOLDER..\n");
		return 2;
	}
	log_level_set(LEVEL_WARN);
	blocks_open(&l, &geometry);
	way_open(&l);
	output_open(&l, &geometry);
	writers_start(&l);
	run(&l);
	finish(&l);
	return 0;
}
