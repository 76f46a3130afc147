/* SPDX-License-Identifier: MIT */
/*
 * The runs of an output's substreams.  Receivers extend them as blocks are put,
 * and writers correct them when a block was lost or its data gave a time.  Done
 * once per block, under output::lock.
 *
 * Runs are numbered per substream; the list has them in the order in which they
 * began.
 */
#include "flow/output/output_priv.h"
#include "store/record/notes.h"

static uint64_t
last_present(const struct block *b)
{
	uint32_t slot = b->used;

	if (b->notes)
		return notes_span(b);
	while (slot && !block_has(b, slot - 1))
		slot--;
	return slot ? slot - 1 : 0;
}

static uint32_t
first_present(const struct block *b)
{
	uint32_t slot = 0;

	if (b->notes)
		return 0;
	while (slot < b->used && !block_has(b, slot))
		slot++;
	return slot;
}

/* Starts a new run with its first block; NULL: the list is full. */
static struct output_run *
run_add(struct output *o, const struct block *b)
{
	struct output_run *r = &o->run[o->runs];
	struct output_sub *sub = &o->sub[b->sub];
	bool more = sub->run;

	if (more && o->more == OUTPUT_RUNS)
		return NULL;
	*r = (struct output_run){ .run = b->run,
				  .sub = b->sub,
				  .base = b->base,
				  .told = b->notes != 0,
				  .first = b->first + first_present(b),
				  .first_ns = b->first_ns };
	sub->run = r;
	o->runs++;
	o->more += more;
	return r;
}

void
output_run_extend(struct output *o, const struct block *b)
{
	struct output_run *r = o->sub[b->sub].run;

	if (!r || r->run != b->run)
		r = run_add(o, b);
	if (!r)
		return;
	r->last = b->first + last_present(b);
	r->last_ns = b->last_ns;
	r->packets += b->filled;
}

/* Finds a run in the list; NULL: the run is not listed.  Caller holds
 * output::lock. */
static struct output_run *
run_find(struct output *o, unsigned sub, uint32_t run)
{
	for (unsigned i = o->runs; i--;) {
		struct output_run *r = &o->run[i];

		if (r->run == run && r->sub == sub)
			return r;
	}
	return NULL;
}

void
output_run_change(struct output *o, unsigned sub, uint32_t run, uint64_t gone,
		  uint64_t missing)
{
	struct output_run *r = run_find(o, sub, run);

	if (!r)
		return;
	r->packets -= gone;
	r->missing += gone + missing;
}

/* Chunks reach the disks in any order, so both ends may move. */
void
output_timed(struct output *o, const struct index_record *r)
{
	struct output_run *run;

	pthread_mutex_lock(&o->lock);
	run = run_find(o, r->sub, r->run);
	if (run && (!run->data_first_ns || r->first_ns < run->data_first_ns))
		run->data_first_ns = r->first_ns;
	if (run && r->last_ns > run->data_last_ns)
		run->data_last_ns = r->last_ns;
	pthread_mutex_unlock(&o->lock);
}

/* Sealing finds out what a block of heaps misses.  A gap in a recording of
 * cubes counts as many packets per heap as the block behind it has. */
void
output_run_miss(struct output *o, const struct block *b)
{
	uint64_t pieces = (uint64_t)b->filled + b->missing;
	uint64_t gap = b->gap ? b->gap * pieces / b->used : 0;

	pthread_mutex_lock(&o->lock);
	output_run_change(o, b->sub, b->run, 0, b->missing + gap);
	pthread_mutex_unlock(&o->lock);
}
