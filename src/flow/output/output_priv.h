/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_OUTPUT_OUTPUT_PRIV_H
#define SPATE_FLOW_OUTPUT_OUTPUT_PRIV_H

#include "flow/output/output.h"

/*
 * What the halves of an output share: output.c is the way of a block,
 * output_runs.c the list of runs, output_told.c what was told of heaps,
 * output_resume.c what was there before, output_tap.c what transfers see.
 */

/* A block is handed on; under output::lock. */
void output_run_extend(struct output *o, const struct block *b);

/* Packets of a run are gone (negative: they are back), others were missing
 * all along.  Under output::lock. */
void output_run_change(struct output *o, unsigned sub, uint32_t run,
		       uint64_t gone, uint64_t missing);

/* Of heaps it is not known before they are sealed what is missing. */
void output_run_miss(struct output *o, const struct block *b);

/* Counts what was there before: everything else of it is made.  0 or
 * -ENOMEM. */
int output_resume(struct output *o, const struct output_args *a);

/* output_tap.c */
void output_settle_lost(struct output *o, uint64_t number, bool gap);

#endif
