/* SPDX-License-Identifier: MIT */
/*
 * Everything here happens once per block, so locks are cheap enough: one over
 * numbers and runs, which receivers extend and the event loop shows, and one
 * for each substream over its fill, which learns from the blocks that pass and
 * has to see them one at a time.  Filling is done on the writers' threads, and
 * a receiver never waits for it: a block of 64 MiB that lost half its packets
 * takes ten milliseconds.
 */
#include "flow/output/output_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "flow/memory/brought.h"
#include "flow/memory/pool.h"
#include "flow/memory/quanta.h"
#include "flow/memory/shelf.h"
#include "store/record/geometry.h"
#include "store/record/notes.h"

static void
output_free(struct output *o)
{
	for (unsigned i = 0; o->sub && i < o->subs; i++) {
		fill_finish(&o->sub[i].fill);
		pthread_mutex_destroy(&o->sub[i].lock);
	}
	pthread_mutex_destroy(&o->lock);
	pthread_mutex_destroy(&o->tapping);
	durable_set_finish(&o->settled);
	if (o->freed)
		o->freed(o->fate_arg);
	free(o->closing);
	json_decref(o->head);
	json_decref(o->resumed);
	json_decref(o->resumes);
	json_decref(o->here);
	free(o->disk);
	free(o->sub);
	free(o->run);
	free(o->name);
	free(o);
}

/* Copies the shape of the data, because the session may end, and the receiver's
 * memory with it, while a writer still reads it.  A thread list too long to
 * copy belongs to the configuration and outlives writers. */
static void
shape_copy(struct output *o, const struct format_shape *from)
{
	o->own = *from;
	if (!from->threads || from->threads_n > OUTPUT_THREADS)
		return;
	memcpy(o->thread, from->threads, from->threads_n * sizeof *o->thread);
	o->own.threads = o->thread;
}

static int
parts_make(struct output *o, const struct output_args *a)
{
	size_t runs = (size_t)o->subs + OUTPUT_RUNS;

	if (a->resume)
		runs += a->resume->facts->runs;
	o->name = strdup(a->name);
	o->head = json_deep_copy(a->head);
	o->disk = calloc(a->disks + 1, sizeof *o->disk);
	o->run = calloc(runs, sizeof *o->run);
	o->sub = calloc(o->subs, sizeof *o->sub);
	for (unsigned i = 0; o->sub && i < o->subs; i++) {
		pthread_mutex_init(&o->sub[i].lock, NULL);
		fill_init(&o->sub[i].fill, a->fill, a->format, &o->own);
	}
	return o->name && o->head && o->disk && o->run && o->sub ? 0 : -ENOMEM;
}

int
output_make(struct output **output, const struct output_args *a)
{
	struct output *o = calloc(1, sizeof *o);
	int err;

	if (!o)
		return -ENOMEM;
	atomic_init(&o->holders, 1);
	o->queue = a->queue;
	o->disks = a->disks;
	o->durable = a->durable;
	o->changed = a->changed;
	o->arg = a->arg;
	o->subs = a->subs ? a->subs : 1;
	o->whole = a->whole;
	o->fate = a->fate;
	o->fate_arg = a->fate_arg;
	o->format = a->format;
	o->shape = &o->own;
	o->learning = a->shape;
	shape_copy(o, a->shape);
	pthread_mutex_init(&o->lock, NULL);
	pthread_mutex_init(&o->tapping, NULL);
	err = parts_make(o, a);
	if (!err && a->resume)
		err = output_resume(o, a);
	durable_set_init(&o->settled, o->first_number);
	if (err) {
		output_free(o);
		return err;
	}
	/* Set only now: after a failure the caller still owns what `freed`
	 * would free. */
	o->freed = a->freed;
	*output = o;
	return 0;
}

int
output_head(struct output *o, const json_t *head)
{
	json_t *copy = json_deep_copy(head);

	if (!copy)
		return -ENOMEM;
	json_decref(o->head);
	o->head = copy;
	return 0;
}

/* Relaxed: the caller holds the output, so it cannot be freed meanwhile. */
void
output_hold(struct output *o)
{
	atomic_fetch_add_explicit(&o->holders, 1, memory_order_relaxed);
}

void
output_drop(struct output *o)
{
	if (atomic_fetch_sub_explicit(&o->holders, 1, memory_order_acq_rel) ==
	    1)
		output_free(o);
}

/* Gives a block its number, and its gap the number before; caller holds
 * output::lock. */
static void
number(struct output *o, struct block *b)
{
	if (b->gap)
		o->next_number++;
	b->number = o->next_number++;
	b->run += o->sub[b->sub].first_run;
	output_run_extend(o, b);
}

void
output_put(struct output *o, struct block *b)
{
	b->session = o;
	pthread_mutex_lock(&o->lock);
	if (o->learning)
		shape_copy(o, o->learning);
	o->learning = NULL;
	if (!o->fps)
		o->fps = b->fps;
	if (b->brought)
		b->number = b->brought->record.number;
	else
		number(o, b);
	pthread_mutex_unlock(&o->lock);
	atomic_fetch_add_explicit(&o->in_flight, 1, memory_order_relaxed);
	if (queue_put(o->queue, b, false) < 0) {
		block_seal(b);
		output_lost(o, b);
	}
}

/* Clears the end of a short block's last page: O_DIRECT writes whole pages, and
 * the bytes behind the data must not be an old packet. */
static void
page_clear(struct block *b)
{
	uint64_t end = block_bytes(b);
	uint64_t rest = -end % GEOMETRY_PAGE;

	memset(b->data + end, 0, rest);
}

/* Fills a block up to its last slot, as if the packets behind its last were
 * missing too; block::used stays. */
static void
fill_whole(struct fill *fill, struct block *b)
{
	uint32_t used = b->used;

	b->used = b->slots;
	fill_block(fill, b);
	b->used = used;
}

/* Clears the slots behind the data of a copied block. */
static void
rest_clear(struct block *b)
{
	uint64_t room = (uint64_t)b->slots * b->slot_bytes;

	memset(b->data + b->bytes, 0, room - b->bytes);
}

void
output_seal(struct output *o, struct block *b)
{
	struct output_sub *sub = &o->sub[b->sub];

	if (b->state == BLOCK_SEALED)
		return;
	if (b->brought) {
		if (o->whole)
			rest_clear(b);
	} else if (b->notes) {
		notes_seal(b, o->format);
		output_run_miss(o, b);
	} else {
		pthread_mutex_lock(&sub->lock);
		if (o->whole)
			fill_whole(&sub->fill, b);
		else
			fill_block(&sub->fill, b);
		pthread_mutex_unlock(&sub->lock);
	}
	quanta_seal(b);
	if (!o->whole)
		page_clear(b);
	block_seal(b);
	if (b->home)
		shelf_offer(stock_shelf(b->home), b);
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

/* Bytes that the gap before a block takes in its substream's file. */
static uint64_t
gap_bytes(const struct output *o, const struct block *b)
{
	return b->gap * (b->brought ? o->shape->payload : b->slot_bytes);
}

static void
written_count(struct output *o, const struct block *b, unsigned disk)
{
	uint64_t bytes = block_bytes(b), gap = gap_bytes(o, b);

	add(&o->disk[disk].chunks, 1);
	add(&o->disk[disk].bytes, bytes);
	add(&o->packets, b->filled);
	add(&o->bytes, bytes + gap);
	add(&o->sub[b->sub].bytes, bytes + gap);
	add(&o->chunks, 1);
}

void
output_written(struct output *o, struct block *b, unsigned disk)
{
	written_count(o, b, disk);
	account(o, b);
}

/* Adds a block to the lost packets, or with sign -1 takes it off again.  Caller
 * holds output::lock. */
static void
lost_count(struct output *o, const struct block *b, int64_t sign)
{
	uint64_t packets = (uint64_t)sign * b->filled;

	add(&o->lost_packets, packets);
	add(&o->sub[b->sub].lost_packets, packets);
	output_run_change(o, b->sub, b->run, packets, 0);
}

void
output_regain(struct output *o, struct block *b, unsigned disk)
{
	pthread_mutex_lock(&o->lock);
	lost_count(o, b, -1);
	written_count(o, b, disk);
	pthread_mutex_unlock(&o->lock);
	block_drop(b);
}

void
output_lost(struct output *o, struct block *b)
{
	pthread_mutex_lock(&o->lock);
	lost_count(o, b, 1);
	pthread_mutex_unlock(&o->lock);
	output_settle_lost(o, b->number, b->gap > 0);
	if (b->brought)
		output_fate(o, &b->brought->record, -EIO);
	account(o, b);
}

void
output_fate(struct output *o, const struct index_record *r, int err)
{
	if (o->fate && r->kind == INDEX_BLOCK)
		o->fate(o->fate_arg, r, err);
}

/* Bytes of a record in its substream's file; a gap's record counts slots
 * only. */
static uint64_t
record_bytes(const struct output *o, const struct index_record *r)
{
	return r->kind == INDEX_GAP ? (uint64_t)r->missing * o->shape->payload
				    : r->bytes;
}

/*
 * Adds a record to all totals that output_written and disk_recording_add changed, or with
 * sign -1 takes it off again; lost packets change the other way, with `risk`
 * packets at risk too.  All under the lock, so that output_counts never sees
 * half of it.
 */
static void
record_count(struct output *o, const struct index_record *r, int64_t sign,
	     bool risk)
{
	uint64_t bytes = record_bytes(o, r);
	uint64_t packets = (uint64_t)sign * r->present;

	pthread_mutex_lock(&o->lock);
	add(&o->packets, packets);
	add(&o->bytes, (uint64_t)sign * bytes);
	add(&o->sub[r->sub].bytes, (uint64_t)sign * bytes);
	add(&o->records, (uint64_t)sign);
	add(&o->chunks, (uint64_t)sign * (r->kind == INDEX_BLOCK));
	add(&o->lost_packets, -packets);
	add(&o->sub[r->sub].lost_packets, -packets);
	output_run_change(o, r->sub, r->run, -packets, 0);
	add(&o->risk_packets, risk ? -packets : 0);
	pthread_mutex_unlock(&o->lock);
}

void
output_unwrite(struct output *o, const struct index_record *r)
{
	record_count(o, r, -1, false);
	output_settle_lost(o, r->number, false);
}

void
output_risk(struct output *o, const struct index_record *r)
{
	record_count(o, r, -1, true);
	output_settle(o, r, 1);
}

void
output_unrisk(struct output *o, const struct index_record *r)
{
	record_count(o, r, 1, true);
}

void
output_counts(struct output *o, struct output_counts *c)
{
	pthread_mutex_lock(&o->lock);
	*c = (struct output_counts){ .packets = o->packets,
				     .lost = o->lost_packets,
				     .risk = o->risk_packets };
	pthread_mutex_unlock(&o->lock);
}
