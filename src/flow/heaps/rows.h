/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_HEAPS_ROWS_H
#define SPATE_FLOW_HEAPS_ROWS_H

#include "flow/heaps/heaps_priv.h"

/*
 * Functions that the parts of a row share.
 *
 *   rows.c        bays, open and closed, and the heaps in them
 *   rows_lay.c    chooses the memory of a heap
 *   rows_move.c   moves a heap whose memory is too small
 *   rows_items.c  keeps the items of heaps
 *   rows_aim.c    predicts where the next pieces will land
 *   rows_run.c    decides when a run begins
 */

/* ---- rows.c ---------------------------------------------------------- */

/* Begins an unused bay with this block. */
struct bay *rows_bay_new(struct heaps *p, struct block *b);

/* Returns the bay where the next heap goes, if it has room.  NULL: none is
 * open. */
struct bay *rows_newest(const struct heaps *p);

/* Returns the block to open next, and takes it from the stock if needed.  NULL:
 * none is free. */
struct block *rows_ahead(struct heaps *p);

/* Opens the next bay; if two are open, the older one closes.  NULL: no block is
 * free. */
struct bay *rows_open(struct heaps *p);

/* Closes a full bay if all of its heaps are finished. */
void rows_done(struct heaps *p, struct bay *bay);

/* Closes all open bays. */
void rows_close_all(struct heaps *p);

/* Counts the missing heaps that no further block accounts for.  Call it when
 * the last block is closed. */
void rows_outside(struct heaps *p);

/* Puts an unused block aside; it returns to the stock with the batch. */
void rows_unused(struct heaps *p, struct block *b);

/* ---- rows_lay.c ------------------------------------------------------ */

/* Memory that a heap needs, judged by the first piece of it that came. */
struct bay_want rows_want(const struct heaps *p,
			  const struct format_piece *piece);

/* Number of ranges that a heap of so many bytes may have. */
uint32_t rows_ranges(const struct heaps *p, uint64_t length);

/* Bytes that a heap may need, with header and notes, to fit into a block. */
uint64_t rows_most(const struct heaps *p);

/* Logs, once per feed, that a heap does not fit into any block. */
void rows_large(struct heaps *p, const struct format_piece *piece,
		const struct bay_want *want);

/* Call it before notes grow by so many bytes: packets of the batch may have
 * landed there. */
void rows_guard(struct heaps *p, const struct bay *bay, uint64_t bytes);

/* Gives a heap its memory; the caller has checked that it fits. */
void rows_lay(struct heaps *p, struct heap *h, struct bay *bay,
	      const struct bay_want *want, const struct format_piece *piece);

/* Ends the growth of the bay's last heap, if its length is unknown: another
 * heap follows. */
void rows_endless_cut(struct heaps *p, struct bay *bay);

/* heaps_kind::reach */
bool rows_reach(struct heaps *p, struct heap *h,
		const struct format_piece *piece);

/* ---- rows_move.c ----------------------------------------------------- */

/* Lays a heap elsewhere, with room for this piece and `more` items.  False:
 * there is no room, and the heap stays where it is. */
bool rows_move(struct heaps *p, struct heap *h,
	       const struct format_piece *piece, uint32_t more);

/* ---- rows_items.c: heaps_kind::items --------------------------------- */

bool rows_items(struct heaps *p, struct heap *h,
		const struct format_piece *piece, bool in_place);

/* ---- rows_aim.c: heaps_kind::aim ------------------------------------- */

unsigned rows_aim(struct heaps *p, struct receive_pair *pair, unsigned n);

/* ---- rows_run.c ------------------------------------------------------ */

/* Returns the candidate's bay, for a heap that was finished recently and comes
 * again.  NULL: there is no memory, and the piece was counted as dropped; or
 * heaps::again is set. */
struct bay *rows_echo(struct heaps *p, const struct receive_packet *k,
		      const struct bay_want *want, enum recent_answer known);

/* Turns the candidate into a run if it has enough pieces. */
void rows_echo_judge(struct heaps *p);

/* True if a piece of this sender for the current run contradicts the
 * candidate. */
static inline bool
rows_opposed(const struct heaps *p, uint32_t sender)
{
	return p->rows.parked && p->rows.candidate.sender == sender;
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
