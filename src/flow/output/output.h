/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_OUTPUT_OUTPUT_H
#define SPATE_FLOW_OUTPUT_OUTPUT_H

#include <jansson.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "store/record/block.h"
#include "flow/output/queue.h"
#include "flow/output/durable_set.h"
#include "flow/output/parity_groups.h"
#include "store/record/fill.h"
#include "store/record/index.h"
#include "store/finish/resume.h"

/*
 * An output is one recording on its way to the disks: receivers hand it their
 * blocks, and the writers of all disks share it.
 *
 *   receivers  output_put        numbers a block and queues it; several may do
 *                                so at the same time
 *   writers    output_seal       fills missing packets, once: by the first
 *                                writer that gets the block
 *              output_written    or output_lost: the block is accounted for
 *   event loop output_make, output_end, the counters
 *   transfers  taps (tap.h), and which numbers are durable or lost
 *
 * An output is counted by reference: the session that made it holds it, and so
 * does every writer that has a folder, a job or a block of it.  A disk that
 * hangs may keep its writer for hours and the session does not wait for that,
 * so everything a writer reads through an output is the output's own copy.
 */

/* One run: a stretch of a substream's sequence numbers without a restart.
 * Covers the blocks that were put so far. */
struct output_run {
	uint32_t run;
	uint16_t sub;
	uint64_t base; /* absolute sequence of its slot 0 */
	/* Sequences of the first and the last packet, relative to base. */
	uint64_t first, last;
	uint64_t packets;
	/* True: `missing` is counted explicitly (heaps, and runs of an earlier
	 * process).  False: `missing` is not used, and every number between
	 * first and last without a packet is missing. */
	bool told;
	uint64_t missing;
	/* UTC, of the first and last packet's arrival. */
	int64_t first_ns, last_ns;
	/* UTC by the data's own time stamps, of blocks that are on disk; 0:
	 * none yet, or the format has no times. */
	int64_t data_first_ns, data_last_ns;
};

/* One disk's part of the recording: chunks written there, and their bytes. */
struct output_disk {
	_Atomic uint64_t chunks, bytes;
};

/* A thread of a substream whose packets are numbered by their time, so that the
 * number of a missing one says whose it is. */
struct output_thread {
	_Atomic uint64_t packets, lost;
};

/* Most runs that are listed beyond each substream's first; further ones are
 * counted only.  The first run of a substream always has room. */
enum { OUTPUT_RUNS = 1024 };

/* Most item descriptions and control heaps that are written to the metadata: a
 * flood of them must not become a flood of metadata. */
enum { OUTPUT_DESCRIBED = 1024, OUTPUT_CONTROLS = 16384 };

/* A substream: packets with a sequence numbering of their own. */
struct output_sub {
	pthread_mutex_t lock; /* protects fill; never taken by a receiver */
	struct fill fill;
	/* The newest run, or NULL; under output::lock. */
	struct output_run *run;
	/* Totals of this substream, as in struct output. */
	_Atomic uint64_t bytes, lost_packets;
	/* Number of the first run made by this process. */
	uint32_t first_run;
	/* Packets recorded by earlier processes. */
	_Atomic uint64_t before;
};

/* Arguments of output_make, copied into the output.  Exceptions: `queue` and
 * `format` outlive all writers, and a thread list of the shape that is longer
 * than OUTPUT_THREADS is used in place. */
struct output_args {
	const char *name;
	const json_t *head; /* first line of the metadata */
	struct queue *queue;
	unsigned disks;	 /* how many there are; they are numbered from 0 */
	int64_t durable; /* ns between syncs of a disk; 0: after every block */
	/* Called when the last block in flight is accounted for; any thread. */
	void (*changed)(void *arg);
	void *arg;
	unsigned subs; /* substreams; 0 is 1 */
	enum fill_kind fill;
	/* True: a block that closed early is filled up to its last slot too,
	 * because the layout on disk wants all blocks of one length. */
	bool whole;
	const struct format_ops *format;
	/* The receiver may change the shape until it puts the first block.  The
	 * output copies it then, and writers see only the copy. */
	const struct format_shape *shape;

	/* Parity blocks of each group, from this pool, which is used until
	 * output_protect_end() is true; NULL: there is no parity. */
	unsigned parity;
	struct block_pool *parity_pool;

	/* Blocks, which all come from this pool, are kept there until they are
	 * durable, while it has room; NULL: they are not. */
	struct block_pool *hold;

	/* The recording to be continued after an interruption; NULL: a new
	 * recording.  With `resume`, `head` is the old recording's first
	 * line. */
	const struct resume *resume;
	/* Writer number of each disk of `resume`. */
	const unsigned *resume_disk;
	/* A line for each disk's metadata that says it was continued. */
	json_t *resume_line;

	/*
	 * For a recording that is copied from another machine, whose blocks
	 * come with their record: called with err 0 when the block of that
	 * record is durable here, with -errno when it is on no disk or nobody
	 * can tell.  Any thread; NULL: not called.  `freed` is called once no
	 * more calls of `fate` can come.
	 */
	void (*fate)(void *arg, const struct index_record *r, int err);
	void (*freed)(void *arg);
	void *fate_arg;
};

/* Thread IDs for which a shape's list is copied. */
enum { OUTPUT_THREADS = 1024 };

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
	/* Lines for the metadata of each disk at the end of a copied recording,
	 * or NULL.  Written by the event loop before it posts the jobs that end
	 * the recording. */
	char *closing;

	/* References; acq_rel, so the thread that frees the output sees all
	 * that others did. */
	atomic_uint holders;
	/* Blocks put and not yet written or lost.  The drop to zero
	 * (release) pairs with the event loop's acquire load, which then
	 * sees all totals. */
	atomic_uint in_flight;
	/* Jobs of writers not yet done; paired like in_flight. */
	atomic_uint jobs;
	atomic_uint folders; /* folders made on disks so far */
	/* Set by a writer (relaxed): another recorder has the name on a disk
	 * that several share. */
	atomic_bool taken;
	/* Set by the event loop (relaxed; the job that ends the recording comes
	 * behind it): the recording is refused, and leaves nothing. */
	atomic_bool refused;
	/* By substream, then place in shape->threads; NULL: they are not
	 * counted.  Set before the first block is queued. */
	struct output_thread *threads;
	/* Set (release) before the jobs that end the recording are posted;
	 * pairs with the writers' acquire: a begin that comes late makes no
	 * folder. */
	atomic_bool ended;
	_Atomic uint64_t packets, bytes, lost_packets, chunks;
	/* Part of bytes: of records in an index, with those of earlier
	 * processes. */
	_Atomic uint64_t durable_bytes;
	/* Part of lost_packets: they may be on disk, but that disk did not
	 * confirm it. */
	_Atomic uint64_t risk_packets;
	_Atomic uint64_t records; /* index records, with those of gaps */

	struct parity_groups *groups; /* NULL: there is no parity */
	/* Parity blocks that are on disks, with their bytes, and those that are
	 * on none. */
	_Atomic uint64_t parity_blocks, parity_bytes, parity_lost;
	/* Members of the groups of parity blocks that are durable: a group
	 * counts once for each of its parity blocks. */
	_Atomic uint64_t parity_members;

	/* The first number that this process gives; 0 in a new recording. */
	uint64_t first_number;
	/* This continuation's line of the metadata, and a list of the lines of
	 * all continuations.  NULL in a new recording. */
	json_t *resumed, *resumes;
	/* One more than the highest number of an earlier process that was found
	 * on its disks. */
	uint64_t seen;
	/* Packets that earlier processes recorded, and blocks of theirs that
	 * are on no disk seen so far. */
	_Atomic uint64_t before, absent;
	/* Steady ns; see output_hurry.  Relaxed: only a hint. */
	_Atomic int64_t hurry;

	const struct format_ops *format;
	const struct format_shape *shape; /* points to `own` */
	struct output_sub *sub;		  /* one per substream */

	pthread_mutex_t lock; /* protects the fields down to `controls` */
	/* The receiver's shape, not copied yet; NULL once output_put has copied
	 * it to `own`.  A writer reads `own` without the lock: its block came
	 * through the queue after the copy. */
	const struct format_shape *learning;
	struct format_shape own;
	uint32_t thread[OUTPUT_THREADS];
	/* Packets per second of a thread, from the first block that knew it; 0:
	 * no block did.  Constant once nothing more is put. */
	uint32_t fps;
	uint64_t next_number;
	json_t *here; /* paths of the disks whose old records are counted */
	struct output_run *run;
	/* Runs listed, and those of them beyond each substream's first. */
	unsigned runs, more;
	/* Item descriptions that the metadata has on some disk. */
	struct output_described {
		uint64_t hash; /* FNV-1a of the description; 0: free entry */
		uint64_t number;
		/* Only compared, never dereferenced. */
		const void *disk;
	} described[2 * OUTPUT_DESCRIBED]; /* open addressing by hash */
	unsigned described_n;
	unsigned controls;

	/* Protects the fields below.  Never held together with `lock`. */
	pthread_mutex_t tapping;
	struct tap *taps;
	struct tap *unsynced; /* keeps blocks until they are durable; NULL */
	struct durable_set
	    settled; /* numbers that are durable, or lost for good */
	bool over;
};

/* Makes an output that the caller holds.  0 or -ENOMEM. */
int output_make(struct output **output, const struct output_args *args);

/* Replaces the first line of the metadata.  Only before any other thread has
 * the output.  0, or -ENOMEM and the old line stays. */
int output_head(struct output *o, const json_t *head);

/* Adds or drops a reference.  Any thread that has the output through a
 * reference.  The last drop frees it. */
void output_hold(struct output *o);
void output_drop(struct output *o);

/* Numbers a CLOSED block and queues it for the disks; takes the block over.  A
 * block that the queue refuses is counted as lost.  Any receiver; `output` is a
 * struct output, as place_args::out wants it. */
void output_put(void *output, struct block *b);

/* Fills every missing packet of a CLOSED block, takes its checksums and makes
 * it SEALED.  Does nothing to a SEALED block.  The writer that owns it. */
void output_seal(struct output *o, struct block *b);

/*
 * Parity (parity_groups.h).  output_protect adds a SEALED block of data that
 * disk number `disk` begins to write; its writer.  output_protect_look ends
 * groups that are old; writers, now and then.  output_protect_end has them end
 * all, and is true when that is done: then in_flight counts all their parity
 * blocks.  It and output_protect_give_up, which leaves blocks without parity,
 * are for the event loop.
 */
void output_protect(struct output *o, struct block *b, unsigned disk);
void output_protect_look(struct output *o, int64_t now);
bool output_protect_end(struct output *o);
void output_protect_give_up(struct output *o);

/* Accounts for a block that is on disk number `disk`, or (lost) on no disk, and
 * drops it.  Any thread that owns the block. */
void output_written(struct output *o, struct block *b, unsigned disk);
void output_lost(struct output *o, struct block *b);
/* Accounts for a block that was counted as lost and is on this disk after all;
 * drops it. */
void output_regain(struct output *o, struct block *b, unsigned disk);

/* Counts the old records of a disk that was missing when the recording was
 * continued and has now appeared; each disk path once.  Any writer. */
void output_found(struct output *o, const char *path,
		  const struct index_record *record, size_t n);

/* Widens the run's data times by those of a block that is written.  Any
 * writer. */
void output_timed(struct output *o, const struct index_record *r);

/* Calls output_args::fate for a record, if it was given.  `err`: see there. */
void output_fate(struct output *o, const struct index_record *r, int err);

/*
 * True if this description of an item should be written to the metadata by this
 * disk: no disk has it yet, or the disk (`disk`) that wrote it had the same
 * block `number` and gave it away, so that its metadata may be lost.  Any
 * writer.
 */
bool output_described(struct output *o, const uint8_t *descriptor,
		      uint32_t bytes, uint64_t number, const void *disk);

/* True if one more control heap should be written to the metadata; counts it.
 * Any writer. */
bool output_controlled(struct output *o);

/*
 * Correct the totals for a record that was counted as written but not made
 * durable.  unwrite: the data is gone.  risk: nobody can tell; its packets are
 * counted as lost and as at risk.  unrisk: takes back a risk, the data is
 * durable after all.  Any thread.
 */
void output_unwrite(struct output *o, const struct index_record *r);
void output_risk(struct output *o, const struct index_record *r);
void output_unrisk(struct output *o, const struct index_record *r);

/* Packets recorded, lost and at risk at one moment: these change together when
 * a hung disk answers again.  Any thread. */
struct output_counts {
	uint64_t packets, lost, risk;
};

void output_counts(struct output *o, struct output_counts *c);

/*
 * Takes back a written block that is not durable yet, because its disk died or
 * does not answer.  output_rescue returns the block if it is still in memory, in
 * flight again, for the caller to queue; NULL: it is not.  Then output_forget
 * takes its record, and that of the gap before it, off all totals.  Any thread.
 */
struct block *output_rescue(struct output *o, const struct index_record *r);
void output_forget(struct output *o, const struct index_record *r);

/* Lets go of a block that is kept although nobody can take it back any more. */
void output_release(struct output *o, uint64_t number);

/* Drops the blocks that are kept until they are durable; those to come are not
 * kept.  Any thread. */
void output_hold_end(struct output *o);

/* Takes a chunk of so many bytes off a disk's counts: another disk has it. */
void output_moved(struct output *o, unsigned disk, uint64_t bytes);

/* Marks the numbers of these records as durable, counts their bytes, and wakes
 * the taps.  Any writer. */
void output_settle(struct output *o, const struct index_record *r, size_t n);

/* Opens a tap (tap.h) for the blocks of an output, which all come from `pool`,
 * and closes it (NULL is allowed).  An open tap holds the output, which pokes
 * it.  0 or -errno.  Any thread. */
struct block_pool;
struct tap;
int output_tap_open(struct output *o, struct block_pool *pool,
		    struct tap **tap);
void output_tap_close(struct output *o, struct tap *t);

/* Declares that nothing more will be put, since every receiver is done or none
 * ever started.  Blocks put before may still be in flight.  Calling it again
 * does nothing. */
void output_end(struct output *o);

/* Returns one more than the last of the consecutive settled numbers that start
 * at `from`; `from` itself if that is not settled.  Settled: durable, lost, or
 * on a disk that does not answer.  Any thread. */
uint64_t output_settled(struct output *o, uint64_t from);

/* True if this recorder lost the number, or if an earlier process gave it.  A
 * settled number for which it is false is durable or on a disk that does not
 * answer.  Any thread. */
bool output_is_lost(struct output *o, uint64_t number);

/*
 * Finds the lost stretches of numbers at or above `from` and below *floor, at
 * most `room` of them, and returns how many it found.  *floor: all numbers
 * below it are settled; lowered to the end of what was reported when `room` was
 * too small.  Any thread.
 */
struct output_stretch {
	uint64_t from, to;
};
unsigned output_floor(struct output *o, uint64_t from, uint64_t *floor,
		      struct output_stretch *lost, unsigned room);

/* True if output_end was called.  *end: one more than the last number given so
 * far, final when true.  Any thread. */
bool output_over(struct output *o, uint64_t *end);

/* Asks every disk to sync as soon as possible if it has unsynced chunks from
 * before this time (steady ns).  Each sync costs the disk a moment.  Any
 * thread. */
void output_hurry(struct output *o, int64_t before);

/* Copies the shape of the data to *shape, valid while the output is held.
 * False: the receiver has not learned it yet.  Any thread. */
bool output_learned(struct output *o, struct format_shape *shape);

#endif
