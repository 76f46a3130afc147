/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_HEAPS_ROWS_H
#define SPATE_FLOW_HEAPS_ROWS_H

#include "flow/heaps/heaps_priv.h"

/*
 * What the parts of a row share.
 *
 *   rows.c        bays, open and closed, and the heaps in them
 *   rows_lay.c    where a heap goes
 *   rows_move.c   and when that has not enough room
 *   rows_items.c  its items
 *   rows_aim.c    where the next ones will land
 *   rows_run.c    when a run begins
 */

/* ---- rows.c ---------------------------------------------------------- */

/* A bay that is not in use, begun with this block. */
struct bay *rows_bay_new(struct heaps *p, struct block *b);

/* The bay in which the next heap goes, if it has room; NULL: none is open. */
struct bay *rows_newest(const struct heaps *p);

/* Memory for the next one; NULL when there is none. */
struct block *rows_ahead(struct heaps *p);

/* The next one; the oldest closes, where there were two.  NULL without
 * memory. */
struct bay *rows_open(struct heaps *p);

/* Closes a bay that takes no more heaps, if all of its own are finished. */
void rows_done(struct heaps *p, struct bay *bay);

/* Closes all that is open. */
void rows_close_all(struct heaps *p);

/* Heaps that are missing, and that no block tells of any more: the last one is
 * closed. */
void rows_outside(struct heaps *p);

/* The block was for nothing. */
void rows_unused(struct heaps *p, struct block *b);

/* ---- rows_lay.c ------------------------------------------------------ */

/* What a heap needs of which this is the first piece that came. */
struct bay_want rows_want(const struct heaps *p,
			  const struct format_piece *piece);

/* Ranges that a heap of so many bytes should be allowed. */
uint32_t rows_ranges(const struct heaps *p, uint64_t length);

/* What a heap may need, all in all, so that a block has room for it. */
uint64_t rows_most(const struct heaps *p);

/* Says, once, that there is one that needs more. */
void rows_large(struct heaps *p, const struct format_piece *piece,
		const struct bay_want *want);

/* Before notes grow by so many bytes, where packets may have landed. */
void rows_guard(struct heaps *p, const struct bay *bay, uint64_t bytes);

/* Gives a heap its memory; it fits. */
void rows_lay(struct heaps *p, struct heap *h, struct bay *bay,
	      const struct bay_want *want, const struct format_piece *piece);

/* A heap without length, if it is the last, gets no more: others follow. */
void rows_endless_cut(struct heaps *p, struct bay *bay);

/* heaps_kind::reach */
bool rows_reach(struct heaps *p, struct heap *h,
		const struct format_piece *piece);

/* ---- rows_move.c ----------------------------------------------------- */

/* Lays a heap anew, so that there is room for this piece and so many more
 * items.  False: there is none, and it stays where it is. */
bool rows_move(struct heaps *p, struct heap *h,
	       const struct format_piece *piece, uint32_t more);

/* ---- rows_items.c: heaps_kind::items --------------------------------- */

bool rows_items(struct heaps *p, struct heap *h,
		const struct format_piece *piece, bool in_place);

/* ---- rows_aim.c: heaps_kind::aim ------------------------------------- */

unsigned rows_aim(struct heaps *p, struct receive_pair *pair, unsigned n);

/* ---- rows_run.c ------------------------------------------------------ */

/* The memory for a heap that was finished lately, or seems so: of a candidate
 * for the next run.  NULL, counted: there is none. */
struct bay *rows_echo(struct heaps *p, const struct receive_packet *k,
		      const struct bay_want *want, enum recent_answer known);

/* Is it a run by now? */
void rows_echo_judge(struct heaps *p);

/* A piece of this sender came where the run is: does that oppose it? */
static inline bool
rows_opposed(const struct heaps *p, uint32_t sender)
{
	return p->rows.parked && p->rows.candidate.sender == sender;
}

/* The candidate is none: its pieces came too late. */
void rows_echo_dissolve(struct heaps *p);

/* Unopposed since then, it is the next run; else it is none. */
void rows_echo_settle(struct heaps *p, int64_t since);

/* A stream begins, by a control heap: anew? */
void rows_start(struct heaps *p, const struct format_piece *piece,
		uint32_t sender);

#endif
