/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_WRITER_PRIV_H
#define SPATE_FLOW_WRITER_PRIV_H

#include <pthread.h>

#include "flow/chunk.h"
#include "flow/leaf.h"
#include "flow/pace.h"
#include "flow/writer.h"

/*
 * What the two halves of a writer share: writer.c is the thread and what it
 * does, writer_disk.c is how its disk leaves and comes back.
 */
struct errand {
	struct output *output;
	bool end;
	struct index_record record;
	json_t *tail;
	struct errand *next; /* writer::errands */
};

struct writer {
	struct writer_args a;
	struct queue *queue;
	pthread_t thread;

	/* The thread's own. */
	struct disk disk; /* open while something is recorded */
	struct chunk_maker maker;
	struct leaf *leaves;
	struct pace pace;
	bool told; /* the queue knows its last block */

	pthread_mutex_t lock; /* over what is below */
	pthread_cond_t wake;  /* while it has no place in the queue */
	struct taker *taker;  /* NULL: FULL, FAILED or MISSING */
	struct errand *errands, **errands_end;
	bool stop, finished;
	bool retry; /* the disk is to be tried now */
	struct writer_facts facts;
};

void writer_state_set(struct writer *w, enum writer_state state);

/* How much room there is, for others to know.  Asked here, because a disk
 * that hangs may hang this thread, and no other. */
void writer_space_look(struct writer *w);

/* A block is written, and took so many nanoseconds. */
void writer_took(struct writer *w, uint64_t bytes, int64_t took);

/* Tells the queue how it stands, with so many blocks on their way; before a
 * block is taken. */
void writer_rank(struct writer *w, unsigned flight);

/* Is the disk fit to take blocks?  Asked at the start, and of a disk that
 * left whenever a recording begins.  0 or -errno; then it has left. */
int writer_disk_try(struct writer *w);

/* One line, where it is decided; the rest of the recording goes elsewhere. */
void writer_disk_leave(struct writer *w, int err, const char *doing);

/* Takes no more blocks; the last writer sees to those that wait. */
void writer_queue_leave(struct writer *w);

#endif
