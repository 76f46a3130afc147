/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_WRITE_WRITER_H
#define SPATE_FLOW_WRITE_WRITER_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/fault.h"
#include "contract/write.h"
#include "flow/output/output.h"
#include "flow/output/queue.h"
#include "flow/output/way.h"
#include "store/disk/disk.h"
#include "store/record/index.h"

/*
 * A writer is the thread of one disk: it takes blocks from the queue and
 * makes them chunks, two at a time where its plugin queues, and every so often
 * makes what it wrote durable and names it in the index (a round).
 *
 *                  begin                     end
 *   no folder  ------------>  folder open  ------->  no folder
 *
 *   MISSING/FAILED/FULL --- a probe that works ---> IDLE <--> WRITING
 *        ^         ^                                  |          |
 *        |         +---- an error, or no space left --+----------+
 *        |                                            | no answer for 5 s
 *        +------------ it answers again ------------ HUNG
 *                      (and goes on where it works)
 *
 * A disk that fails gives its block back to the queue, says so in one line,
 * and is probed after 5 s, then less and less often, up to once a minute; and
 * whenever a recording begins, or nobody else takes the blocks that wait.  A
 * disk that comes back takes blocks of what is being recorded.
 *
 * A disk that hangs keeps its thread inside the kernel.  Nothing can be done
 * about that but to go on without: the event loop sees it (writer_watch),
 * gives the disk's blocks to others (writer_relieve), and waits for nothing
 * that it was asked for.  When the thread is back it takes its own chunks
 * away again.
 */
struct writer;

enum writer_state {
	WRITER_IDLE,
	WRITER_WRITING,
	WRITER_FULL,
	WRITER_FAILED,
	WRITER_MISSING, /* the folder is not there */
	WRITER_HUNG,	/* it does not answer */
};

enum { WRITER_WAYS = 4 };

struct writer_facts {
	enum writer_state state;
	char why[160];	  /* of FULL, FAILED, MISSING and HUNG */
	int64_t hung_ns;  /* of HUNG: for how long */
	const char *way;  /* the plugin in use; NULL: none yet */
	uint64_t written; /* bytes */
	uint64_t chunks;
	uint64_t errors;
	struct disk_space space; /* when it was last looked at */
	dev_t device; /* those with the same share their space; 0: not known */
	unsigned queued;	      /* blocks that it has */
	int64_t latency, latency_p99; /* ns of the last block; of 99 of 100 */
	double speed;		      /* bytes per second, while it writes */
	bool benched; /* slow: others get its blocks, see choice.h */
};

struct writer_args {
	unsigned number;	 /* among the writers, from 0 */
	const struct disk *disk; /* it opens a copy of its own */
	struct queue *queue;
	const struct writer_way *way;
	unsigned ways;
	const void *arena; /* see write_args; or NULL */
	size_t arena_bytes;
	unsigned files; /* chunks that may be open at a time */
	/* Called when an errand is done; any thread. */
	void (*changed)(void *arg);
	void *arg;
};

/* Starts the thread.  What the arguments point to outlives it.  0, -errno. */
int writer_start(struct writer **writer, const struct writer_args *args);

/*
 * After every output has ended; waits for the thread, which lets go of its
 * disk and of folders without an end.  False: the disk does not answer; the
 * thread, and all that it uses, has to be left alone from now on.
 */
bool writer_stop(struct writer *w);

/*
 * Orders it to end, without waiting: what it has just now is written, made
 * durable, and its folders are closed without an end.  writer_dropped() is
 * true when that is done (`changed` was called), and writer_stop() does not
 * wait any more then.  It must be given no errand meanwhile.
 */
void writer_drop(struct writer *w);
bool writer_dropped(struct writer *w);

/* The disk is tried now, where nothing is recorded to it: it may be there
 * again, or gone. */
void writer_retry(struct writer *w);

/*
 * Errands for the writer's thread, done before any block; never wait.  0 or
 * -ENOMEM.  Each counts output->errands down when it is done, or when the
 * disk turns out to hang.  Every writer gets a begin and an end, in pairs.
 */
int writer_begin(struct writer *w, struct output *o);
/* Makes durable what it has of the output: when this is done, and no block is in
 * flight, the output knows what became of each block here. */
int writer_sync(struct writer *w, struct output *o);
/* `end` is copied; `tail` is a new reference, taken over.  Both NULL: the
 * folder is closed without an end, as of one that was interrupted. */
int writer_end(struct writer *w, struct output *o,
	       const struct index_record *end, json_t *tail);

void writer_facts(struct writer *w, struct writer_facts *facts);
const char *writer_path(const struct writer *w);

/* Is there hope that it takes blocks? */
bool writer_works(const struct writer_facts *facts);

/* ---- a disk that hangs; the event loop's thread ----------------------- */

/* Looks whether the disk answers; once a second. */
void writer_watch(struct writer *w, int64_t now);

/* Has it a place in the queue, and answers? */
bool writer_takes(struct writer *w);

/* The blocks of a disk that hangs go to others; there are some that take. */
void writer_relieve(struct writer *w);

/* No disk takes blocks and somebody waits for this output's end: blocks of it
 * that a hung disk has are lost, unless it writes them after all. */
void writer_abandon(struct writer *w, const struct output *o);

#endif
