/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_WRITE_WRITER_PRIV_H
#define SPATE_FLOW_WRITE_WRITER_PRIV_H

#include <pthread.h>

#include "flow/memory/beat.h"
#include "flow/write/chunk.h"
#include "flow/output/leaf.h"
#include "flow/output/pace.h"
#include "flow/output/way.h"
#include "flow/write/writer.h"

/*
 * What the parts of a writer share:
 *
 *   writer.c         the thread, and what it does in which order
 *   writer_load.c    blocks on their way to the disk
 *   writer_errand.c  begin and end of recordings here
 *   writer_disk.c    how the disk leaves, and comes back
 *   writer_doom.c    chunks that could not be removed yet
 *   writer_rank.c    what it tells of itself
 *   writer_watch.c   what others do when the disk hangs; not on its thread
 *
 * Lock order: writer::lock, leaf::lock, output::lock; queue and stock have
 * theirs inside.  None is ever held while the disk is asked for something.
 */

/* No answer for so long, and the disk hangs; for so long, and it is gone. */
#define WRITER_PATIENCE INT64_C(5000000000)
#define WRITER_GONE	INT64_C(60000000000)

enum errand_kind { ERRAND_BEGIN, ERRAND_SYNC, ERRAND_END };

struct errand {
	struct output *output; /* held */
	enum errand_kind kind;
	bool counted; /* under writer::lock: nobody waits for it any more */
	struct index_record record;
	bool endless; /* there is no end to be written */
	json_t *tail;
	struct errand *next; /* writer::errands */
};

/*
 * A load is a block that this disk has.  It is accounted for by who has the
 * claim to it, which is decided under the lock, once: by the thread, when it
 * empties the load, or by who gives it away, or up, before that.  What was given
 * up is lost, unless the thread writes it after all: nobody else has it.
 */
struct load {
	struct output *output; /* held */
	struct chunk chunk;
	bool begun;    /* the chunk is */
	int64_t since; /* steady */

	/* Under writer::lock. */
	struct block *b; /* sealed, and held; NULL: empty */
	/* Another disk has it now.  Atomic for the flight, which looks at it
	 * without the lock, to write no more than it must. */
	atomic_bool away;
	bool given_up;
};

struct doom;

struct writer {
	struct writer_args a;
	struct queue *queue;
	pthread_t thread;
	struct beat beat; /* see beat.h */

	/* The thread's own. */
	struct disk disk; /* open while something is recorded */
	struct ways ways;
	unsigned loads; /* that are not empty */
	bool ended;	/* the queue is */
	bool leaving;	/* the disk left; its folders are still open */
	unsigned tries; /* since it last wrote a chunk */
	int64_t try_at; /* when it is probed again; steady */
	struct pace pace;
	bool told;	  /* the queue knows its last block */
	int64_t ended_ns; /* when the last one was written; steady */
	uint64_t need;	  /* bytes that there was no room for */
	struct doom *doom;

	pthread_mutex_t lock; /* over what is below */
	pthread_cond_t wake;  /* while it has no place in the queue */
	/* NULL: it has no place there.  The thread's own but for a HUNG one,
	 * from which writer_relieve takes it. */
	struct taker *taker;
	struct leaf *leaves; /* changed by the thread alone */
	struct errand *errands, **errands_end, *errand; /* errand: at work */
	struct load load[FLIGHT_JOBS];
	bool busy; /* asks something of the disk, which may take long */
	bool stop, finished;
	bool retry; /* the disk is to be tried now */
	int64_t hung_since;
	struct writer_facts facts;
};

/* ---- writer.c -------------------------------------------------------- */

/* From here on the disk may be asked for something. */
void writer_busy(struct writer *w);
bool writer_hangs(struct writer *w);

/* Does the rounds that are due by now; returns when to ask again. */
int64_t writer_rounds(struct writer *w, int64_t now);

/* ---- writer_load.c --------------------------------------------------- */

/* A block from the queue; there is room for it. */
void load_take(struct writer *w, struct block *b);

/* Takes what is on its way one step further; waits for the disk. */
void loads_step(struct writer *w);

/* ---- writer_errand.c ------------------------------------------------- */

void errands_do(struct writer *w);
/* Nobody waits for those that are there any more; under the lock. */
void errands_count(struct writer *w);

/* The recording's folder here, made or opened again where that is needed. */
int writer_leaf(struct writer *w, struct output *o, struct leaf **leaf);

/* ---- writer_disk.c --------------------------------------------------- */

/* How much room there is, for others to know.  Asked here, because a disk
 * that hangs may hang this thread, and no other. */
void writer_space_look(struct writer *w);

/* Is the disk fit to take blocks?  Then it has a place in the queue.  0 or
 * -errno; then it has left. */
int writer_disk_try(struct writer *w);

/* One line, where it is decided; the rest goes elsewhere.  Nothing where it
 * has left already. */
void writer_disk_leave(struct writer *w, int err, const char *doing);
bool writer_disk_left(struct writer *w);

/* The thread is back from a disk that hung. */
void writer_disk_return(struct writer *w);

/* Takes no more blocks; those that wait do so for others. */
void writer_queue_leave(struct writer *w);

/* ---- writer_rank.c --------------------------------------------------- */

/* A block is written: it took so many nanoseconds, and followed the one
 * before after so many. */
void writer_took(struct writer *w, uint64_t bytes, int64_t took,
		 int64_t behind);

/* Tells the queue how it stands; just before a block is taken. */
void writer_rank(struct writer *w);

/* ---- writer_doom.c --------------------------------------------------- */

/* A chunk that is elsewhere, too, and could not be removed. */
void doom_add(struct writer *w, const struct chunk *c);
/* Removes them; 0 or -errno. */
int dooms_try(struct writer *w);
void dooms_forget(struct writer *w);

#endif
