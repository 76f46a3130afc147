/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_ROW_H
#define SPATE_FLOW_ROW_H

#include "flow/heaps_priv.h"

/*
 * What the two halves of a row share: row.c lays heaps in bays, row_run.c
 * knows when a run begins.
 */

/* A bay that is not in use, begun with this block. */
struct bay *row_bay_new(struct heaps *p, struct block *b);

/* Closes all that is open. */
void row_close_all(struct heaps *p);

/* A heap without length, if it is the last, gets no more: others follow. */
void row_endless_cut(struct heaps *p, struct bay *bay);

/* The block was for nothing. */
void row_unused(struct heaps *p, struct block *b);

/* The memory for a heap that was finished lately, or seems so: of a candidate
 * for the next run.  NULL, counted: there is none. */
struct bay *row_echo(struct heaps *p, const struct receive_packet *k,
		     const struct bay_want *want, enum recent_answer known);

/* A piece of the candidate was taken. */
void row_echo_taken(struct heaps *p, const struct heap *h, uint32_t bytes);

/* Is it a run by now? */
void row_echo_judge(struct heaps *p);

/* A heap of it is finished. */
void row_echo_finish(struct heaps *p, const struct heap *h, bool complete);

/* A piece of this sender came where the run is. */
static inline bool
row_opposed(const struct heaps *p, uint32_t sender)
{
	const struct row_candidate *c = &p->row.candidate;

	return c->bay && c->sender == sender;
}

/* The candidate is none: its pieces came too late. */
void row_echo_dissolve(struct heaps *p);

/* Unopposed since then, it is the next run; else it is none. */
void row_echo_settle(struct heaps *p, int64_t since);

/* A stream begins, by a control heap: anew? */
void row_start(struct heaps *p, const struct format_piece *piece,
	       uint32_t sender);

#endif
