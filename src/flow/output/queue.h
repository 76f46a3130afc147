/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_OUTPUT_QUEUE_H
#define SPATE_FLOW_OUTPUT_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "contract/block.h"
#include "flow/output/choice.h"

/*
 * A queue is where closed blocks meet free disks.  Blocks wait in the order
 * in which they came; of the disks that wait, choice.h says which one gets
 * the next, of equals the one that has waited longest.  Mostly at most one of
 * the two lists is not empty: only who sits on the bench lets a block wait.
 *
 * Where no disk takes any, blocks wait for one that comes back.
 *
 * Bounded: `most` blocks may wait.  Many producers, a taker per disk.
 * Closing has two verbs:
 *
 *   drain   nothing more may be put; takers get what is left, then the end
 *   abort   nothing more may be put; takers get the end at once; what was
 *           left is given back to the caller of abort
 */
struct queue;

/* A disk's place in the queue; owned by its writer thread. */
struct taker;

int queue_make(struct queue **queue, unsigned most);
void queue_free(struct queue *queue); /* no taker, no block */

int taker_join(struct taker **taker, struct queue *queue);

void taker_leave(struct taker *taker);

/* Tells what the choice goes by.  True: it sits on the bench. */
bool taker_rank(struct taker *taker, const struct choice_rank *rank);

/*
 * Puts a CLOSED block behind the others, or with `first` before them (one
 * that another disk failed to write).  Never waits.  0; -ENOBUFS when `most`
 * are there; -EPIPE after drain or abort, except with `first`, which drain
 * still takes.
 */
int queue_put(struct queue *queue, struct block *b, bool first);

/*
 * Waits for a block until `until` (clock_steady; 0: does not wait, and leaves
 * what waits to others where they are better off with it).  0;
 * -ETIMEDOUT; -EINTR after taker_poke(); -EPIPE at the end.
 */
int queue_take(struct taker *taker, struct block **b, int64_t until);

/* Makes a wait, or the next one, return -EINTR.  Any thread. */
void taker_poke(struct taker *taker);

/* A block that was waiting, or NULL; for who gives up on it. */
struct block *queue_rest(struct queue *queue);

void queue_drain(struct queue *queue);
struct block *queue_abort(struct queue *queue); /* linked by next */

unsigned queue_length(struct queue *queue);

#endif
