/* SPDX-License-Identifier: MIT */
/*
 * Once per block, so locks are fine: one over the numbers and runs, which the
 * receivers extend and the event loop shows, and one for each substream over
 * its fill, which learns from the blocks that pass and so wants to see them
 * one at a time.  Filling itself is done on the writers' threads, and a receiver never waits for it:
 * a block of 64 MiB that lost half its packets takes ten milliseconds.
 *
 * Runs are numbered by their substream; the list has them in the order in
 * which they began.
 */
#include "flow/output.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "flow/pool.h"
#include "store/geometry.h"
#include "store/notes.h"

int
output_init(struct output *o, enum fill_kind kind,
	    const struct format_ops *format, const struct format_shape *shape)
{
	o->format = format;
	o->shape = shape;
	if (!o->subs)
		o->subs = 1;
	o->run = calloc(o->subs + OUTPUT_RUNS, sizeof *o->run);
	o->sub = calloc(o->subs, sizeof *o->sub);
	if (!o->run || !o->sub) {
		free(o->run);
		free(o->sub);
		return -ENOMEM;
	}
	pthread_mutex_init(&o->lock, NULL);
	for (unsigned i = 0; i < o->subs; i++) {
		pthread_mutex_init(&o->sub[i].lock, NULL);
		fill_init(&o->sub[i].fill, kind, format, shape);
	}
	return 0;
}

void
output_finish(struct output *o)
{
	for (unsigned i = 0; i < o->subs; i++) {
		fill_finish(&o->sub[i].fill);
		pthread_mutex_destroy(&o->sub[i].lock);
	}
	pthread_mutex_destroy(&o->lock);
	free(o->sub);
	free(o->run);
}

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

/* A new one of this block; NULL where there is no room. */
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
				  .heaps = b->notes != 0,
				  .first = b->first + first_present(b),
				  .first_ns = b->first_ns };
	sub->run = r;
	o->runs++;
	o->more += more;
	return r;
}

static void
run_extend(struct output *o, const struct block *b)
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

/* NULL: it is one of those that are not listed.  Under the lock. */
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

/* Packets of a run are gone, others were missing all along. */
static void
run_change(struct output *o, unsigned sub, uint32_t run, uint64_t gone,
	   uint64_t missing)
{
	struct output_run *r;

	pthread_mutex_lock(&o->lock);
	r = run_find(o, sub, run);
	if (r) {
		r->packets -= gone;
		r->missing += gone + missing;
	}
	pthread_mutex_unlock(&o->lock);
}

/* Chunks reach the disks in any order. */
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

/* Of heaps it is not known before what is missing.  In a gap of a cube they
 * are as many for each heap as in the block behind it. */
static void
run_miss(struct output *o, const struct block *b)
{
	uint64_t pieces = (uint64_t)b->filled + b->missing;
	uint64_t gap = b->gap ? b->gap * pieces / b->used : 0;

	run_change(o, b->sub, b->run, 0, b->missing + gap);
}

void
output_put(struct output *o, struct block *b)
{
	b->session = o;
	pthread_mutex_lock(&o->lock);
	if (b->gap)
		o->next_number++;
	b->number = o->next_number++;
	run_extend(o, b);
	pthread_mutex_unlock(&o->lock);
	atomic_fetch_add_explicit(&o->in_flight, 1, memory_order_relaxed);
	if (queue_put(o->queue, b, false) < 0) {
		block_seal(b);
		output_lost(o, b);
	}
}

/* O_DIRECT writes whole pages: what goes along behind the data of a short
 * block is zero, never a packet of long ago. */
static void
page_clear(struct block *b)
{
	uint64_t end = block_bytes(b);
	uint64_t rest = -end % GEOMETRY_PAGE;

	memset(b->data + end, 0, rest);
}

void
output_seal(struct output *o, struct block *b)
{
	struct output_sub *sub = &o->sub[b->sub];

	if (b->state == BLOCK_SEALED)
		return;
	if (b->notes) {
		notes_seal(b, o->format);
		run_miss(o, b);
	} else {
		pthread_mutex_lock(&sub->lock);
		fill_block(&sub->fill, b);
		pthread_mutex_unlock(&sub->lock);
	}
	page_clear(b);
	block_seal(b);
}

/* FNV-1a: two that differ are told apart by all but chance. */
static uint64_t
hash(const uint8_t *data, uint32_t bytes)
{
	uint64_t h = 0xcbf29ce484222325;

	for (uint32_t i = 0; i < bytes; i++)
		h = (h ^ data[i]) * 0x100000001b3;
	return h ? h : 1;
}

/* Where it is in the table, or would be; a half of that is always free. */
static unsigned
described_at(const struct output *o, uint64_t h)
{
	unsigned mask = 2 * OUTPUT_DESCRIBED - 1, i = (unsigned)h & mask;

	while (o->described[i] && o->described[i] != h)
		i = (i + 1) & mask;
	return i;
}

bool
output_described(struct output *o, const uint8_t *descriptor, uint32_t bytes)
{
	uint64_t h = hash(descriptor, bytes);
	unsigned i;
	bool added;

	pthread_mutex_lock(&o->lock);
	i = described_at(o, h);
	added = !o->described[i] && o->described_n < OUTPUT_DESCRIBED;
	if (added) {
		o->described[i] = h;
		o->described_n++;
	}
	pthread_mutex_unlock(&o->lock);
	return added;
}

bool
output_controlled(struct output *o)
{
	bool told;

	pthread_mutex_lock(&o->lock);
	told = o->controls < OUTPUT_CONTROLS;
	o->controls += told;
	pthread_mutex_unlock(&o->lock);
	return told;
}

static void
account(struct output *o, struct block *b)
{
	block_drop(b);
	if (atomic_fetch_sub_explicit(&o->in_flight, 1, memory_order_release) ==
	    1)
		o->changed(o->arg);
}

static void
add(_Atomic uint64_t *to, uint64_t n)
{
	atomic_fetch_add_explicit(to, n, memory_order_relaxed);
}

void
output_written(struct output *o, struct block *b, unsigned disk)
{
	uint64_t bytes = block_bytes(b);

	add(&o->disk[disk].chunks, 1);
	add(&o->disk[disk].bytes, bytes);
	add(&o->packets, b->filled);
	add(&o->bytes, bytes + b->gap * b->slot_bytes);
	add(&o->sub[b->sub].bytes, bytes + b->gap * b->slot_bytes);
	add(&o->chunks, 1);
	account(o, b);
}

void
output_lost(struct output *o, struct block *b)
{
	add(&o->lost_packets, b->filled);
	add(&o->sub[b->sub].lost_packets, b->filled);
	run_change(o, b->sub, b->run, b->filled, 0);
	account(o, b);
}

void
output_unwrite(struct output *o, const struct index_record *r)
{
	uint64_t bytes = r->bytes;

	if (r->kind == INDEX_GAP)
		bytes = (uint64_t)r->missing * o->shape->payload;
	atomic_fetch_sub_explicit(&o->packets, r->present,
				  memory_order_relaxed);
	atomic_fetch_sub_explicit(&o->bytes, bytes, memory_order_relaxed);
	atomic_fetch_sub_explicit(&o->sub[r->sub].bytes, bytes,
				  memory_order_relaxed);
	atomic_fetch_sub_explicit(&o->records, 1, memory_order_relaxed);
	atomic_fetch_sub_explicit(&o->chunks, r->kind == INDEX_BLOCK,
				  memory_order_relaxed);
	add(&o->lost_packets, r->present);
	add(&o->sub[r->sub].lost_packets, r->present);
	run_change(o, r->sub, r->run, r->present, 0);
}
