/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_OUTPUT_H
#define SPATE_FLOW_OUTPUT_H

#include <jansson.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "contract/block.h"
#include "flow/queue.h"
#include "store/fill.h"
#include "store/index.h"

/*
 * An output is one recording on its way to the disks: what the receiver
 * hands its blocks to, and what the writers of all disks share of it.
 *
 *   receiver   output_put        numbers a block and queues it
 *   writers    output_seal       fill, once, by the first that gets it
 *              output_written    or output_lost: the block is accounted for
 *   event loop output_init, the counters, output_finish
 */

/* One run of the sequence, as far as blocks were handed on. */
struct output_run {
	uint32_t run;
	uint64_t base;	      /* absolute sequence of its slot 0 */
	uint64_t first, last; /* relative, of packets */
	uint64_t packets;
	int64_t first_ns, last_ns; /* arrival */
};

/* What one disk has of it. */
struct output_disk {
	_Atomic uint64_t chunks, bytes;
};

enum { OUTPUT_RUNS = 1024 }; /* more are counted, not listed */

struct output {
	const char *name;
	const json_t *head; /* the first line of the metadata */
	struct queue *queue;
	struct output_disk *disk; /* one per writer, in their order */
	int64_t durable;	  /* ns between rounds; 0 every block */
	/* Called when the last block in flight is accounted for; any thread. */
	void (*changed)(void *arg);
	void *arg;

	uint64_t next_number; /* the receiver's */

	atomic_uint in_flight; /* put, not yet written or lost; the drop to
				   zero (release) pairs with the event loop's
				   acquire: it then sees all totals */
	atomic_uint errands;   /* of writers, not yet done; the same pairing */
	atomic_uint folders;   /* that were made */
	_Atomic uint64_t packets, bytes, lost_packets, chunks;
	_Atomic uint64_t records; /* of indexes, gaps too */

	pthread_mutex_t fill_lock; /* over fill; never the receiver's */
	struct fill fill;

	pthread_mutex_t lock; /* over what is below */
	struct output_run run[OUTPUT_RUNS];
	unsigned runs;
};

int output_init(struct output *o, enum fill_kind kind,
		const struct format_ops *format,
		const struct format_shape *shape);
void output_finish(struct output *o);

void output_put(struct output *o, struct block *b); /* receiver */

/* CLOSED -> SEALED, with every hole filled; nothing where it is sealed. */
void output_seal(struct output *o, struct block *b);

/* The block is on this disk, or on none; it is dropped. */
void output_written(struct output *o, struct block *b, unsigned disk);
void output_lost(struct output *o, struct block *b);

/* Of a block that was written but could not be made durable. */
void output_unwrite(struct output *o, const struct index_record *r);

#endif
