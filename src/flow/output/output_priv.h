/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_OUTPUT_OUTPUT_PRIV_H
#define SPATE_FLOW_OUTPUT_OUTPUT_PRIV_H

#include "flow/output/output.h"

/*
 * Functions shared by the files that make up an output:
 *
 *   output.c         a block's path: put, seal, written or lost; the totals
 *   output_runs.c    the list of runs of each substream
 *   output_told.c    which lines about heaps are still to be written
 *   output_resume.c  totals of a recording that is being continued
 *   output_tap.c     what transfers ask: durable numbers, end, wake-ups
 */

/* Adds a block that is being queued to its run, or starts a new run.  Caller
 * holds output::lock. */
void output_run_extend(struct output *o, const struct block *b);

/* Corrects a run's totals: `gone` packets were lost (negative: found again),
 * `missing` more were never received.  No effect on a run that is not listed.
 * Caller holds output::lock. */
void output_run_change(struct output *o, unsigned sub, uint32_t run,
		       uint64_t gone, uint64_t missing);

/* Adds the missing packets of a sealed block of heaps to its run: only sealing
 * finds out how many there are.  Takes output::lock. */
void output_run_miss(struct output *o, const struct block *b);

/* Loads the totals of a recording that is being continued into an output whose
 * other fields are set.  0 or -ENOMEM. */
int output_resume(struct output *o, const struct output_args *a);

/* Marks a block's number as lost for good, with `gap` also the number before
 * it, and wakes the taps.  In output_tap.c. */
void output_settle_lost(struct output *o, uint64_t number, bool gap);

#endif
