/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_OUTPUT_OUTPUT_H
#define SPATE_FLOW_OUTPUT_OUTPUT_H

#include <jansson.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "contract/block.h"
#include "flow/output/queue.h"
#include "flow/output/settled.h"
#include "store/record/fill.h"
#include "store/record/index.h"
#include "store/write/resume.h"

/*
 * An output is one recording on its way to the disks: what the receiver
 * hands its blocks to, and what the writers of all disks share of it.
 *
 *   receivers  output_put        numbers a block and queues it; several, of
 *                                one recording, may at the same time
 *   writers    output_seal       fill, once, by the first that gets it
 *              output_written    or output_lost: the block is accounted for
 *   event loop output_make, output_end, the counters
 *   transfers  taps (tap.h), and what is settled
 *
 * It lives as long as anybody holds it: the session that made it, and every
 * writer that has a folder, an errand or a block of it.  A disk that hangs
 * may keep its writer for hours, and the session does not wait for it; so all
 * that a writer reads of an output is the output's own.
 */

/* One run of a substream's sequence, as far as blocks were handed on. */
struct output_run {
	uint32_t run;
	uint16_t sub;
	uint64_t base;	      /* absolute sequence of its slot 0 */
	uint64_t first, last; /* relative, of packets */
	uint64_t packets;
	bool told; /* `missing` are lost, as of heaps and of what was there
		      before; else what is missing of the slots from first to
		      last */
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
	uint32_t first_run;		      /* that this process makes */
	_Atomic uint64_t before;	      /* packets of others' runs */
};

/* What is made into an output; copied, but for `queue` and `format`, which
 * outlive all writers, and the shape's own arrays where they are too long. */
struct output_args {
	const char *name;
	const json_t *head; /* the first line of the metadata */
	struct queue *queue;
	unsigned disks;	 /* writers, which count from 0 */
	int64_t durable; /* ns between rounds; 0 every block */
	/* Called when the last block in flight is accounted for; any thread. */
	void (*changed)(void *arg);
	void *arg;
	unsigned subs; /* substreams; 0 is 1 */
	enum fill_kind fill;
	bool whole; /* blocks are filled to their last slot, also those that
		       closed early: their layout has them all of one length */
	const struct format_ops *format;
	/* Its receiver may learn until it puts the first block, which is when
	 * the copy is made that writers see. */
	const struct format_shape *shape;

	/* Goes on with a recording that was interrupted; NULL: it is new.
	 * `head` is that recording's, then. */
	const struct resume *resume;
	const unsigned *resume_disk; /* the writer of each of its disks */
	json_t *resume_line;	     /* for the metadata of each disk */

	/*
	 * Of a copy, whose blocks bring their numbers with them: 0, a block
	 * with that record is durable; or -errno, it is on no disk, or nobody
	 * can tell.  Any thread; NULL: nobody asks.  `freed` is called when
	 * nobody can call `fate` any more.
	 */
	void (*fate)(void *arg, const struct index_record *r, int err);
	void (*freed)(void *arg);
	void *fate_arg;
};

enum { OUTPUT_THREADS = 1024 }; /* as many have their list copied */

struct output {
	char *name;
	json_t *head;
	struct queue *queue;
	struct output_disk *disk; /* one per writer, in their order */
	unsigned disks;
	int64_t durable;
	void (*changed)(void *arg);
	void *arg;
	unsigned subs;
	bool whole;
	void (*fate)(void *arg, const struct index_record *r, int err);
	void (*freed)(void *arg);
	void *fate_arg;
	/* Of a copy, for the metadata of each disk when it ends, or NULL;
	 * written before errands that end it. */
	char *closing;

	atomic_uint holders;   /* acq_rel: the last sees all that others did */
	atomic_uint in_flight; /* put, not yet written or lost; the drop to
				   zero (release) pairs with the event loop's
				   acquire: it then sees all totals */
	atomic_uint errands;   /* of writers, not yet done; the same pairing */
	atomic_uint folders;   /* that were made */
	atomic_bool ended;     /* set (release) before errands that end it: a
				  begin that is late makes no folder */
	_Atomic uint64_t packets, bytes, lost_packets, chunks;
	_Atomic uint64_t risk_packets; /* of the lost: they may be there */
	_Atomic uint64_t records;      /* of indexes, gaps too */

	/* Of one that goes on: numbers below are not this process's, and what
	 * the metadata of each disk says of it.  0 and NULL: it is new. */
	uint64_t first_number;
	json_t *resumed, *resumes;	 /* and what it says of all times */
	uint64_t seen;			 /* numbers below may be of blocks */
	_Atomic uint64_t before, absent; /* packets, and blocks, of others */
	_Atomic int64_t hurry;		 /* steady; see output_hurry */

	const struct format_ops *format;
	const struct format_shape *shape; /* the copy below */
	struct output_sub *sub;		  /* each substream */

	pthread_mutex_t lock; /* over what is below */
	/* Written by the first output_put at the latest; read by who has a
	 * block, which came by the queue. */
	const struct format_shape *learning; /* NULL: it is copied */
	struct format_shape own;
	uint32_t thread[OUTPUT_THREADS];
	uint32_t fps; /* that blocks told, as the first of them; 0: none did;
			 constant when nothing more is put */
	uint64_t next_number;
	json_t *here; /* paths of disks whose records count already */
	struct output_run *run;
	unsigned runs, more; /* all; beyond the first of each substream */
	struct output_told {
		uint64_t hash; /* 0: free */
		uint64_t number;
		const void *leaf;	   /* never looked into */
	} described[2 * OUTPUT_DESCRIBED]; /* by their hashes */
	unsigned described_n;
	unsigned controls;

	pthread_mutex_t tapping; /* over what is below; of the two locks neither
				    is held while the other is taken */
	struct tap *taps;
	struct settled settled; /* numbers: on disk, or lost, for good */
	bool over;
};

/* One that the caller holds.  0 or -ENOMEM. */
int output_make(struct output **output, const struct output_args *args);

/* Another head, before anybody else has the output.  0 or -ENOMEM, and the
 * head that it had. */
int output_head(struct output *o, const json_t *head);

/* Any thread that has it by somebody's hold. */
void output_hold(struct output *o);
void output_drop(struct output *o);

/* Takes a CLOSED block over.  Any receiver. */
void output_put(struct output *o, struct block *b);

/* CLOSED -> SEALED, with every hole filled; nothing where it is sealed. */
void output_seal(struct output *o, struct block *b);

/* The block is on this disk, or on none; it is dropped. */
void output_written(struct output *o, struct block *b, unsigned disk);
void output_lost(struct output *o, struct block *b);
/* The block was lost, and is on this disk after all; it is dropped. */
void output_regain(struct output *o, struct block *b, unsigned disk);

/* A disk that was missing when the recording went on is there, with these
 * records of before.  Counted once.  Any writer. */
void output_found(struct output *o, const char *path,
		  const struct index_record *record, size_t n);

/* The data's own times of a block that is written.  Any writer. */
void output_timed(struct output *o, const struct index_record *r);

/* Tells what became of a block with such a record, where somebody asks. */
void output_fate(struct output *o, const struct index_record *r, int err);

/*
 * Is this description of an item new to the recording?  It is that of a block,
 * told by a leaf: when another leaf comes with the same block, that was given
 * away, and what the first one wrote may be lost.  Any writer.
 */
bool output_described(struct output *o, const uint8_t *descriptor,
		      uint32_t bytes, uint64_t number, const void *leaf);

/* Is one more control heap to be told?  Any writer. */
bool output_controlled(struct output *o);

/*
 * Of a block that was written but not made durable: it is gone (unwrite), or
 * nobody can tell (risk): its packets are taken for lost, and told as packets
 * at risk besides.  unrisk: it was made durable after all.
 */
void output_unwrite(struct output *o, const struct index_record *r);
void output_risk(struct output *o, const struct index_record *r);
void output_unrisk(struct output *o, const struct index_record *r);

/* What it has, and what it lost, as they belong together: a disk that answers
 * again may change both at any time.  Any thread. */
struct output_counts {
	uint64_t packets, lost, risk;
};

void output_counts(struct output *o, struct output_counts *c);

/* These were made durable.  Any writer. */
void output_settle(struct output *o, const struct index_record *r, size_t n);

/* Nothing more will be put: every receiver is done, or none ever began.  What
 * was put may be on its way yet.  Again: nothing. */
void output_end(struct output *o);

/*
 * One behind the last number of those in a row, from this one on, that are
 * settled: durable, lost, or on a disk that does not answer; itself where it
 * is not.  Any thread.
 */
uint64_t output_settled(struct output *o, uint64_t from);

/* Was the number lost by this recorder, or is of before?  Else, if it is
 * settled, it is durable or on a disk that does not answer.  Any thread. */
bool output_is_lost(struct output *o, uint64_t number);

/*
 * All numbers below *floor are settled; of these, from one on, the stretches
 * that were lost by this recorder, up to `room` of them.  Where there are more
 * the floor is that of what was told.  How many; any thread.
 */
struct output_stretch {
	uint64_t from, to;
};
unsigned output_floor(struct output *o, uint64_t from, uint64_t *floor,
		      struct output_stretch *lost, unsigned room);

/* Has it ended?  *end: one behind the last number that it gave.  Any
 * thread. */
bool output_over(struct output *o, uint64_t *end);

/* What was written before (steady) is wanted from disk: its rounds come as
 * soon as can be.  Each costs a disk a moment.  Any thread. */
void output_hurry(struct output *o, int64_t before);

/* A copy of its shape, which is good while the output is held; false: its
 * receiver still learns.  Any thread. */
bool output_learned(struct output *o, struct format_shape *shape);

#endif
