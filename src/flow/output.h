/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_OUTPUT_H
#define SPATE_FLOW_OUTPUT_H

#include <jansson.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "contract/block.h"
#include "flow/queue.h"
#include "store/fill.h"
#include "store/index.h"

/*
 * An output is one recording on its way to the disks: what the receiver
 * hands its blocks to, and what the writers of all disks share of it.
 *
 *   receivers  output_put        numbers a block and queues it; several, of
 *                                one recording, may at the same time
 *   writers    output_seal       fill, once, by the first that gets it
 *              output_written    or output_lost: the block is accounted for
 *   event loop output_init, the counters, output_finish
 */

/* One run of a substream's sequence, as far as blocks were handed on. */
struct output_run {
	uint32_t run;
	uint16_t sub;
	uint64_t base;	      /* absolute sequence of its slot 0 */
	uint64_t first, last; /* relative, of packets */
	uint64_t packets;
	bool heaps; /* of heaps: `missing` are lost, else what is missing
		       of the slots from first to last */
	uint64_t missing;
	int64_t first_ns, last_ns;	     /* arrival */
	int64_t data_first_ns, data_last_ns; /* of what is written; 0: its
						 format does not tell */
};

/* What one disk has of it. */
struct output_disk {
	_Atomic uint64_t chunks, bytes;
};

/* Runs beyond each substream's first one; more are counted, not listed, and
 * none of them takes the room of another substream's first. */
enum { OUTPUT_RUNS = 1024 };

/* Descriptors and control heaps; more are not told, or a flood of them would
 * be one of metadata. */
enum { OUTPUT_DESCRIBED = 1024, OUTPUT_CONTROLS = 16384 };

/* A sequence of its own, and what it is known by. */
struct output_sub {
	pthread_mutex_t lock; /* over fill; never a receiver's */
	struct fill fill;
	struct output_run *run; /* its newest, or NULL; output::lock */
	_Atomic uint64_t bytes, lost_packets; /* as output's own */
};

struct output {
	const char *name;
	const json_t *head; /* the first line of the metadata */
	struct queue *queue;
	struct output_disk *disk; /* one per writer, in their order */
	int64_t durable;	  /* ns between rounds; 0 every block */
	/* Called when the last block in flight is accounted for; any thread. */
	void (*changed)(void *arg);
	void *arg;
	unsigned subs; /* substreams; 0 is 1 */

	atomic_uint in_flight; /* put, not yet written or lost; the drop to
				   zero (release) pairs with the event loop's
				   acquire: it then sees all totals */
	atomic_uint errands;   /* of writers, not yet done; the same pairing */
	atomic_uint folders;   /* that were made */
	_Atomic uint64_t packets, bytes, lost_packets, chunks;
	_Atomic uint64_t records; /* of indexes, gaps too */

	const struct format_ops *format;
	const struct format_shape *shape;
	struct output_sub *sub; /* each substream */

	pthread_mutex_t lock; /* over what is below */
	uint64_t next_number;
	struct output_run *run;
	unsigned runs, more; /* all; beyond the first of each substream */
	uint64_t described[2 * OUTPUT_DESCRIBED]; /* hashes, by themselves */
	unsigned described_n;
	unsigned controls;
};

/* What is above `in_flight` is set.  0 or -ENOMEM. */
int output_init(struct output *o, enum fill_kind kind,
		const struct format_ops *format,
		const struct format_shape *shape);
void output_finish(struct output *o);

/* Takes a CLOSED block over.  Any receiver. */
void output_put(struct output *o, struct block *b);

/* CLOSED -> SEALED, with every hole filled; nothing where it is sealed. */
void output_seal(struct output *o, struct block *b);

/* The block is on this disk, or on none; it is dropped. */
void output_written(struct output *o, struct block *b, unsigned disk);
void output_lost(struct output *o, struct block *b);

/* The data's own times of a block that is written.  Any writer. */
void output_timed(struct output *o, const struct index_record *r);

/* Is this description of an item new to the recording?  Any writer. */
bool output_described(struct output *o, const uint8_t *descriptor,
		      uint32_t bytes);

/* Is one more control heap to be told?  Any writer. */
bool output_controlled(struct output *o);

/* Of a block that was written but could not be made durable. */
void output_unwrite(struct output *o, const struct index_record *r);

#endif
