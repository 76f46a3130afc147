/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_HEAPS_ROWS_H
#define SPATE_FLOW_HEAPS_ROWS_H

#include "flow/heaps/heaps_priv.h"

/*
 * Functions that the parts of a row share.
 *
 *   rows.c      blocks, the heaps in them with their memory and items, and
 *               where the next pieces should land
 *   rows_run.c  decides when a run begins
 */

/* ---- rows.c ---------------------------------------------------------- */

/* Begins an unused block with this block. */
struct row_block *rows_block_new(struct heaps *p, struct block *b);

/* Closes all open blocks. */
void rows_close_all(struct heaps *p);

/* Counts the missing heaps that no further block accounts for.  Call it when
 * the last block is closed. */
void rows_outside(struct heaps *p);

/* Ends the growth of the block's last heap, if its length is unknown: another
 * heap follows. */
void rows_endless_cut(struct heaps *p, struct row_block *row);

/* ---- rows_run.c ------------------------------------------------------ */

/* Returns the candidate's block, for a heap that was finished recently and
 * comes again.  NULL: there is no memory, and the piece was counted as dropped;
 * or heaps::again is set. */
struct row_block *rows_echo(struct heaps *p, const struct receive_packet *k,
			    const struct row_block_want *want,
			    enum finished_answer known);

/* Turns the candidate into a run if it has enough pieces. */
void rows_echo_judge(struct heaps *p);

/* True if a piece of this sender for the current run contradicts the
 * candidate. */
static inline bool
rows_opposed(const struct heaps *p, uint32_t sender)
{
	return p->candidate.b && p->candidate.sender == sender;
}

/* Drops the candidate: its pieces came too late. */
void rows_echo_dissolve(struct heaps *p);

/* Decides about a candidate that began by `since` (steady ns): it becomes a run
 * if a heap of it is complete, else it is dropped. */
void rows_echo_settle(struct heaps *p, int64_t since);

/* Handles the control heap that begins a stream: it begins a new run if it
 * comes again after max_age. */
void rows_start(struct heaps *p, const struct format_piece *piece,
		uint32_t sender);

#endif
