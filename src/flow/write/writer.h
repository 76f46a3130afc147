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
#include "flow/write/disk_writes.h"
#include "store/disk/disk.h"
#include "store/record/index.h"

/*
 * A writer is the thread of one disk.  It takes blocks from the queue and
 * writes them as chunks, two at a time where its plugin queues; every few
 * seconds it makes its chunks durable and names them in the index (a sync, in
 * the code a "round").
 *
 *                  begin                     end
 *   no folder  ------------>  folder open  ------->  no folder
 *
 *   MISSING/FAILED/FULL --- a probe that works ---> IDLE <--> WRITING
 *        ^         ^                                  |          |
 *        |         +---- an error, or no space left --+----------+
 *        |                                            | no answer for 5 s
 *        +------------ it answers again ------------ HUNG
 *                      (IDLE again if it works)
 *
 * A disk that fails returns its block to the queue and logs one line.  It is
 * probed after 5 s, then less and less often, up to once a minute; and also
 * whenever a recording begins, or no other disk takes the blocks that wait.  A
 * disk that comes back takes blocks of recordings that are running.
 *
 * A disk that hangs keeps its thread inside the kernel, and nothing can be done
 * about that but to go on without it: the event loop notices (writer_watch),
 * gives the disk's blocks to other disks (writer_relieve), and waits for none
 * of its jobs.  When the thread comes back it removes the chunks of blocks that
 * were given away.
 *
 * Jobs are posted with writer_begin, writer_sync and writer_end.  The event loop calls all functions of this header, unless said
 * otherwise.
 */
struct writer;

enum writer_state {
	WRITER_IDLE,
	WRITER_WRITING,
	WRITER_FULL,
	WRITER_FAILED,
	/* Nothing is mounted there, or the folder is not there. */
	WRITER_MISSING,
	WRITER_HUNG, /* the disk does not answer */
};

enum { WRITER_PLUGINS = 4 };

struct writer_facts {
	enum writer_state state;
	/* A sentence, in states FULL, FAILED, MISSING and HUNG. */
	char why[160];
	int64_t hung_ns;   /* ns since it last answered, in state HUNG */
	int64_t silent_ns; /* the same in any state, while it has to do */
	const char
	    *plugin;	  /* name of the write plugin in use; NULL: none yet */
	uint64_t written; /* bytes of data */
	uint64_t chunks;
	uint64_t errors;
	struct disk_space space; /* as of the last look at it */
	/* Writers with the same device share their space; 0: not known. */
	dev_t device;
	/* Blocks that this disk has and did not finish. */
	unsigned queued;
	/* Ns that the last block took, and within which 99 of 100 did. */
	int64_t latency, latency_p99;
	double speed; /* bytes per second, while it writes */
	bool benched; /* slow: other disks get its blocks, see disk_choice.h */
};

struct writer_args {
	unsigned number;	 /* position among the writers, from 0 */
	const struct disk *disk; /* the writer opens a copy of its own */
	struct queue *queue;
	const struct write_plugin *plugin;
	unsigned plugins;
	const void *arena; /* memory of all blocks, see write_args; or NULL */
	size_t arena_bytes;
	const _Atomic size_t *arena_ready;
	unsigned files; /* most chunks that may be open files at a time */
	/* Called when a job is done, and when the disk comes into use or is
	 * left; any thread. */
	void (*changed)(void *arg);
	void *arg;
};

/* Starts the thread.  Everything that the arguments point to outlives it.  0 or
 * -errno. */
int writer_start(struct writer **writer, const struct writer_args *args);

/*
 * Ends the thread and frees the writer; called after every output has ended.
 * Waits for the thread, which closes its disk, and folders that are open
 * without an end record.  False: the disk does not answer; the thread is left
 * behind, and all that it uses must stay untouched from now on.
 */
bool writer_stop(struct writer *w);

/*
 * Tells the thread to end, and returns at once.  Blocks in flight are written
 * and made durable first, and folders are closed without an end record.
 * writer_dropped() is true when that is done (`changed` was called), and
 * writer_stop() does not wait then.  Post no job in the meantime.
 */
void writer_drop(struct writer *w);
bool writer_dropped(struct writer *w);

/* Asks the thread to probe the disk now, unless a recording is being written to
 * it: it may be there again, or gone. */
void writer_retry(struct writer *w);

/*
 * Post a job for the writer's thread, which does it before it takes another
 * block.  They never wait.  0 or -ENOMEM.  Each decrements output->jobs when
 * the job is done, or when the disk turns out to hang.  Every writer gets a
 * begin and an end for each output.
 */
int writer_begin(struct writer *w, struct output *o);
/* Syncs the output's chunks on this disk.  When this is done and no block is in
 * flight, the output knows what became of each block here. */
int writer_sync(struct writer *w, struct output *o);
/* Ends the recording here.  `end` is copied; `tail` is a reference that is
 * taken over, also on -ENOMEM.  Both NULL: the folder is closed without an end
 * record, like that of an interrupted recording. */
int writer_end(struct writer *w, struct output *o,
	       const struct index_record *end, json_t *tail);

void writer_facts(struct writer *w, struct writer_facts *facts);
const char *writer_path(const struct writer *w);

/* True if the disk takes blocks, or may do so soon. */
bool writer_works(const struct writer_facts *facts);

/* ---- a disk that hangs; the event loop's thread ----------------------- */

/* Notes a disk that has not answered for 5 s as hung: its unsynced chunks count
 * as at risk, and its jobs as done.  Call once a second. */
void writer_watch(struct writer *w, int64_t now);

/* True if the disk takes blocks: it has a place in the queue and answers. */
bool writer_takes(struct writer *w);

/* Gives the blocks of a hung disk back to the queue, and takes its place there
 * away.  Only while another disk takes blocks. */
void writer_relieve(struct writer *w);

/* Counts a hung disk's blocks of this output as lost, unless it writes them
 * after all.  For an output whose end is awaited while no disk takes blocks. */
void writer_abandon(struct writer *w, const struct output *o);

#endif
