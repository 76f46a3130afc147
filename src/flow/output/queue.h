/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_OUTPUT_QUEUE_H
#define SPATE_FLOW_OUTPUT_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "store/record/block.h"
#include "flow/output/disk_choice.h"

/*
 * A queue is where closed blocks meet idle disks.  Blocks wait in the order in
 * which they came; disk_choice.h decides which waiting disk gets the next one,
 * and of equal disks the one that has waited longest gets it.  Usually only one
 * of the two lists has entries: blocks and disks wait at the same time only if
 * all waiting disks are benched as slow.
 *
 * Blocks for which no disk is left wait until a disk comes back.  A disk may
 * refuse a session's blocks for a while, because its recording there is another
 * one's: they wait for other disks, and those of other sessions pass by.
 *
 * A block of parity waits for a disk that may have it, while others pass
 * by.  If no such disk is left, it goes to any.  It goes before data, unless
 * these become short of memory: then it waits until no data do.
 *
 * At most `most` blocks wait, beside those that are returned, and parity.  Many
 * producers; each disk's writer is one taker.  After queue_drain nothing more
 * may be put; takers get what is left, then the end.
 */
struct queue;

/* A disk's place in the queue.  Its writer thread owns it; the event loop takes
 * it away from a disk that hangs. */
struct taker;

int queue_make(struct queue **queue, unsigned most);
/* All takers have left, and no block waits. */
void queue_free(struct queue *queue);

/* `disk`: the number of its writer, by which parity blocks are kept away. */
int taker_join(struct taker **taker, struct queue *queue, unsigned disk);

void taker_leave(struct taker *taker);

/* Reports the disk's figures for the choice.  True if the disk is benched as
 * slow. */
bool taker_report(struct taker *taker, const struct disk_figures *figures);

/* Keeps the blocks of a session (block::session) from this disk, which refuses
 * its recording, until the time `until` (clock_steady).  Then the disk may try
 * again; queue_serves() counts it as refusing until taker_admit().  0;
 * -ENOBUFS: the disk refuses too many. */
int taker_refuse(struct taker *taker, const void *session, int64_t until);
void taker_admit(struct taker *taker, const void *session);

/* True if a disk takes blocks that does not refuse this session.  Any thread.
 */
bool queue_serves(struct queue *queue, const void *session);

/* Puts a CLOSED block behind the waiting ones.  Never waits, any thread.  0,
 * and the queue or a disk owns the block; -ENOBUFS when `most` blocks wait
 * already; -EPIPE after queue_drain. */
int queue_put(struct queue *queue, struct block *b);

/* Puts a block that another disk failed to write before the waiting ones; it
 * may be SEALED.  Never refused, also after queue_drain.  Any thread. */
void queue_return(struct queue *queue, struct block *b);

/* Puts the parity blocks of a group before the waiting ones, each for another
 * disk, which has no block of the group, as long as there is one; else for one
 * that has no parity of it, and at last for any.  Never refused.  Any
 * thread. */
void queue_put_parity(struct queue *queue, struct block *const *b, unsigned n);

/* Returns how many disks take blocks, without those that are benched, and
 * which. Any thread. */
unsigned queue_disks(struct queue *queue, struct block_bars *disks);

/*
 * Waits for a block until the time `until` (clock_steady).  With `until` 0 it
 * does not wait, and takes a block only if the choice does not rather keep it
 * for another disk.  0; -ETIMEDOUT; -EINTR after taker_poke(); -EPIPE when the
 * queue is closed and has no block for this disk.
 */
int queue_take(struct taker *taker, struct block **b, int64_t until);

/* Makes the taker's wait, or its next one, return -EINTR.  Any thread. */
void taker_poke(struct taker *taker);

/* Pokes all takers that wait.  Any thread. */
void queue_poke(struct queue *queue);

/* Takes the first waiting block of a session (block::session) out of the queue,
 * for a caller that gives up on it; NULL: none waits. */
struct block *queue_rest(struct queue *queue, const void *session);

void queue_drain(struct queue *queue);

/* True if blocks wait, also of parity. */
bool queue_waits(struct queue *queue);

#endif
