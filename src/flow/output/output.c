/* SPDX-License-Identifier: MIT */
/*
 * Everything here happens once per block, so locks are cheap enough: one over
 * numbers and runs, which receivers extend and the event loop shows, and one
 * for each substream over its fill, which learns from the blocks that pass and
 * has to see them one at a time.  Filling is done on the writers' threads, and
 * a receiver never waits for it: a block of 64 MiB that lost half its packets
 * takes ten milliseconds.
 */
#include "flow/output/output.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "contract/bytes.h"
#include "flow/memory/block_record.h"
#include "flow/memory/block_pool.h"
#include "flow/memory/checksums.h"
#include "flow/output/parity_groups.h"
#include "flow/memory/tap.h"
#include "store/record/geometry.h"
#include "store/record/meta.h"
#include "store/record/notes.h"
#include "store/recording/recording.h"

static void
add(_Atomic uint64_t *to, uint64_t n)
{
	atomic_fetch_add_explicit(to, n, memory_order_relaxed);
}

/* ---- runs -------------------------------------------------------------- */

/*
 * The runs of an output's substreams.  Receivers extend them as blocks are put,
 * and writers correct them when a block was lost or its data gave a time.  Done
 * once per block, under output::lock.
 *
 * Runs are numbered per substream; the list has them in the order in which they
 * began.
 */

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

/* Adds a block that is being queued to its run, or starts a new run.  Caller
 * holds output::lock. */
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

/* Corrects a run's totals: `gone` packets were lost (negative: found again),
 * `missing` more were never received.  No effect on a run that is not listed.
 * Caller holds output::lock. */
static void
run_change(struct output *o, unsigned sub, uint32_t run, uint64_t gone,
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

/* Adds to a run what a block of heaps misses, which is known when it is sealed.  A
 * gap in a recording of cubes counts as many packets per heap as the block
 * behind it has. */
static void
run_miss(struct output *o, const struct block *b)
{
	uint64_t pieces = (uint64_t)b->filled + b->missing;
	uint64_t gap = b->gap ? b->gap * pieces / b->used : 0;

	pthread_mutex_lock(&o->lock);
	run_change(o, b->sub, b->run, 0, b->missing + gap);
	pthread_mutex_unlock(&o->lock);
}

/* ---- what transfers ask ------------------------------------------------ */

/* Answers to transfers that follow a recording while it is made: which numbers
 * are durable or lost, whether more will come, and a wake-up when that changes.
 * A writer reports a whole sync at once. */

/* Wakes every tap; caller holds output::tapping. */
static void
taps_poke(struct output *o)
{
	for (struct tap *t = o->taps; t; t = *tap_peer(t))
		tap_poke(t);
}

/* Notes that the blocks of these records need no further write.  `durable`: nor
 * need they be kept in memory. */
static void
numbers_settle(struct output *o, const struct index_record *r, size_t n,
	       bool durable)
{
	pthread_mutex_lock(&o->tapping);
	for (size_t i = 0; i < n; i++) {
		durable_set_add(&o->settled, r[i].number);
		if (durable && o->unsynced)
			tap_release(o->unsynced, r[i].number);
	}
	taps_poke(o);
	pthread_mutex_unlock(&o->tapping);
}

/* Marks a block's number as lost for good, with `gap` also the number before
 * it, and wakes the taps. */
static void
settle_lost(struct output *o, uint64_t number, bool gap)
{
	pthread_mutex_lock(&o->tapping);
	durable_set_lose(&o->settled, number);
	if (gap)
		durable_set_lose(&o->settled, number - 1);
	if (o->unsynced)
		tap_release(o->unsynced, number);
	taps_poke(o);
	pthread_mutex_unlock(&o->tapping);
}

bool
output_is_lost(struct output *o, uint64_t number)
{
	bool lost;

	pthread_mutex_lock(&o->tapping);
	lost = durable_set_is_lost(&o->settled, number);
	pthread_mutex_unlock(&o->tapping);
	return lost || number < o->first_number;
}

uint64_t
output_settled(struct output *o, uint64_t from)
{
	uint64_t end;

	pthread_mutex_lock(&o->tapping);
	end = durable_set_end(&o->settled, from);
	pthread_mutex_unlock(&o->tapping);
	return end;
}

unsigned
output_floor(struct output *o, uint64_t from, uint64_t *floor,
	     struct output_stretch *lost, unsigned room)
{
	const struct durable_set *s = &o->settled;
	unsigned n = 0;

	pthread_mutex_lock(&o->tapping);
	*floor = durable_set_end(s, 0);
	from = durable_set_next(s, from, true);
	for (; from < *floor && n < room; n++) {
		lost[n].from = from;
		lost[n].to = durable_set_next(s, from, false);
		if (lost[n].to > *floor)
			lost[n].to = *floor;
		from = durable_set_next(s, lost[n].to, true);
	}
	if (from < *floor)
		*floor = from;
	pthread_mutex_unlock(&o->tapping);
	return n;
}

void
output_end(struct output *o)
{
	pthread_mutex_lock(&o->tapping);
	o->over = true;
	taps_poke(o);
	pthread_mutex_unlock(&o->tapping);
}

/* Reads `over` before next_number: after the end no number is added, so *end is
 * final if `over` is true. */
bool
output_over(struct output *o, uint64_t *end)
{
	bool over;

	pthread_mutex_lock(&o->tapping);
	over = o->over;
	pthread_mutex_unlock(&o->tapping);
	pthread_mutex_lock(&o->lock);
	*end = o->next_number;
	pthread_mutex_unlock(&o->lock);
	return over;
}

void
output_hurry(struct output *o, int64_t before)
{
	atomic_store_explicit(&o->hurry, before, memory_order_relaxed);
	/* Without this a writer that waits for a block would see it only a second
	 * later.  The queue's lock orders the store before its look. */
	queue_poke(o->queue);
}

bool
output_learned(struct output *o, struct format_shape *shape)
{
	bool learned;

	pthread_mutex_lock(&o->lock);
	learned = !o->learning;
	if (learned)
		*shape = o->own;
	if (learned && !shape->fps)
		shape->fps = o->fps;
	pthread_mutex_unlock(&o->lock);
	return learned;
}

int
output_tap_open(struct output *o, struct block_pool *pool, struct tap **tap)
{
	const struct tap_of of = { .session = o,
				   .format = o->format,
				   .shape = o->shape };
	struct tap *t;
	int err = tap_make(&t, &of, pool);

	if (err)
		return err;
	output_hold(o);
	pthread_mutex_lock(&o->tapping);
	*tap_peer(t) = o->taps;
	o->taps = t;
	pthread_mutex_unlock(&o->tapping);
	*tap = t;
	return 0;
}

void
output_tap_close(struct output *o, struct tap *t)
{
	struct tap **at;

	if (!t)
		return;
	pthread_mutex_lock(&o->tapping);
	for (at = &o->taps; *at != t; at = tap_peer(*at))
		;
	*at = *tap_peer(t);
	pthread_mutex_unlock(&o->tapping);
	tap_free(t);
	output_drop(o);
}

/* ---- blocks that are kept until they are durable ------------------------ */

static int
hold_begin(struct output *o, struct block_pool *pool)
{
	const struct tap_of of = { .session = o,
				   .format = o->format,
				   .shape = o->shape,
				   .keeps = true };

	return tap_make(&o->unsynced, &of, pool);
}

void
output_hold_end(struct output *o)
{
	struct tap *t;

	pthread_mutex_lock(&o->tapping);
	t = o->unsynced;
	o->unsynced = NULL;
	pthread_mutex_unlock(&o->tapping);
	tap_free(t);
}

struct block *
output_rescue(struct output *o, const struct index_record *r)
{
	struct block *b = NULL;

	/* Under the lock: behind output_hold_end() a block is in flight, or none
	 * will be taken back. */
	pthread_mutex_lock(&o->tapping);
	if (o->unsynced)
		b = tap_rescue(o->unsynced, r->number);
	if (b)
		atomic_fetch_add_explicit(&o->in_flight, 1,
					  memory_order_relaxed);
	pthread_mutex_unlock(&o->tapping);
	return b;
}

void
output_release(struct output *o, uint64_t number)
{
	pthread_mutex_lock(&o->tapping);
	if (o->unsynced)
		tap_release(o->unsynced, number);
	pthread_mutex_unlock(&o->tapping);
}

/* ---- lines about heaps ------------------------------------------------- */

/* Decides which facts about a stream of heaps are written to the metadata, on
 * whichever disk: each description of an item once, and control heaps until
 * there are OUTPUT_CONTROLS of them. */

/* FNV-1a, 64 bits: two descriptions that differ have the same hash only by a
 * rare accident, which costs one line of metadata. */
static uint64_t
hash(const uint8_t *data, uint32_t bytes)
{
	uint64_t h = bytes_hash(BYTES_HASH, data, bytes);

	return h ? h : 1;
}

/* Returns the entry that has the hash, or the free one where it belongs.  Half
 * of the table is always free, so the search ends. */
static unsigned
described_at(const struct output *o, uint64_t h)
{
	unsigned mask = 2 * OUTPUT_DESCRIBED - 1, i = (unsigned)h & mask;

	while (o->described[i].hash && o->described[i].hash != h)
		i = (i + 1) & mask;
	return i;
}

bool
output_described(struct output *o, const uint8_t *descriptor, uint32_t bytes,
		 uint64_t number, const void *disk)
{
	uint64_t h = hash(descriptor, bytes);
	struct output_described *entry;
	bool added, again;

	pthread_mutex_lock(&o->lock);
	entry = &o->described[described_at(o, h)];
	added = !entry->hash && o->described_n < OUTPUT_DESCRIBED;
	again = entry->hash && entry->number == number && entry->disk != disk;
	if (added || again)
		*entry = (struct output_described){ h, number, disk };
	o->described_n += added;
	pthread_mutex_unlock(&o->lock);
	return added || again;
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

/* ---- a recording that is continued ------------------------------------- */

/*
 * A continued recording has the totals of its earlier part in all its own, so
 * that its last lines are true of the whole; its numbers and runs begin above
 * the old ones.  Packets that the earlier process dropped or had only in
 * memory, and did not write down, are unknown.
 */

static void
take_run(struct output *o, const struct recording_run *r)
{
	o->run[o->runs++] = (struct output_run){
		.run = r->run,
		.sub = r->sub,
		.base = r->base,
		.first = r->first,
		.last = r->last,
		.packets = r->packets,
		.told = true,
		.missing = r->missing,
		.first_ns = r->first_ns,
		.last_ns = r->last_ns,
		.data_first_ns = r->first_ns,
		.data_last_ns = r->last_ns,
	};
}

static void
take_subs(struct output *o, const struct resume *r)
{
	const struct recording_facts *f = r->facts;

	for (unsigned i = 0; i < o->subs && i < f->subs; i++) {
		struct output_sub *sub = &o->sub[i];

		sub->first_run = r->run[i];
		atomic_store(&sub->before, f->sub[i].packets);
		atomic_store(&sub->bytes, f->sub[i].bytes);
	}
}

static void
take_disks(struct output *o, const struct output_args *a)
{
	const struct recording_block *b;
	size_t n;

	b = recording_blocks(a->resume->rec, &n);
	for (size_t i = 0; i < n; i++) {
		struct output_disk *d;

		if (b[i].disk < 0 || b[i].computed ||
		    b[i].record.kind != INDEX_BLOCK ||
		    a->resume_disk[b[i].disk] >= o->disks)
			continue;
		d = &o->disk[a->resume_disk[b[i].disk]];
		atomic_fetch_add(&d->chunks, 1);
		atomic_fetch_add(&d->bytes, b[i].record.bytes);
	}
}

/* Marks the item descriptions that the metadata has, so that they are not
 * written again. */
static void
take_described(struct output *o, const json_t *described)
{
	const json_t *text;
	size_t i;

	json_array_foreach(described, i, text) {
		uint32_t bytes;
		uint8_t *raw;

		if (meta_read_descriptor(json_string_value(text), &raw, &bytes))
			continue;
		output_described(o, raw, bytes, UINT64_MAX, o);
		free(raw);
	}
}

/* Lists the disks that were looked at when the recording was continued. */
static json_t *
paths_here(const struct resume *r)
{
	json_t *here = json_object();

	for (unsigned i = 0; here && i < r->disks->n; i++)
		json_object_set_new(here, r->disks->disk[i].path, json_true());
	return here;
}

/* Loads the totals of a recording that is being continued into an output whose
 * other fields are set.  0 or -ENOMEM. */
static int
totals_resume(struct output *o, const struct output_args *a)
{
	const struct resume *r = a->resume;
	const struct recording_facts *f = r->facts;

	o->resumed = json_deep_copy(a->resume_line);
	o->resumes = f->resumed ? json_deep_copy(f->resumed) : json_array();
	o->here = paths_here(r);
	if (!o->resumed || !o->resumes || !o->here ||
	    json_array_append(o->resumes, o->resumed))
		return -ENOMEM;
	o->first_number = o->next_number = r->next;
	o->seen = r->seen;
	atomic_store(&o->before, f->packets);
	atomic_store(&o->absent, r->absent);
	o->controls = (unsigned)f->controls;
	atomic_store(&o->packets, f->packets);
	atomic_store(&o->bytes, r->bytes);
	atomic_store(&o->durable_bytes, r->bytes);
	atomic_store(&o->chunks, f->chunks);
	atomic_store(&o->records, r->records);
	atomic_store(&o->parity_members, (uint64_t)f->protected * a->parity);
	for (unsigned i = 0; i < f->runs; i++) {
		if (f->run[i].sub < o->subs)
			take_run(o, &f->run[i]);
	}
	take_described(o, f->described);
	take_subs(o, r);
	take_disks(o, a);
	return 0;
}

/* ---- a disk that comes later -------------------------------------------- */

/* Adds a record on a disk that appeared late to the totals.  An absent number
 * was counted as absent until now, and where the recording is one file, as a
 * block of fill. */
static void
found(struct output *o, const struct index_record *r)
{
	struct output_sub *sub = &o->sub[r->sub];
	bool absent = r->number < o->seen;

	add(&o->records, 1);
	add(&o->chunks, r->kind == INDEX_BLOCK);
	add(&o->packets, r->present);
	add(&o->before, r->present);
	add(&sub->before, r->present);
	if (absent)
		add(&o->absent, (uint64_t)-1);
	if (o->subs > 1 || !absent || o->shape->store == HEAP_ROW) {
		add(&o->bytes, r->bytes);
		add(&o->durable_bytes, r->bytes);
		add(&sub->bytes, r->bytes);
	}
	/* The run's totals lack this record.  Passing its packets as negative
	 * losses adds them to `packets`; the sum added to `missing` is
	 * r->missing. */
	pthread_mutex_lock(&o->lock);
	run_change(o, r->sub, r->run, -(uint64_t)r->present,
		   (uint64_t)r->present + r->missing);
	pthread_mutex_unlock(&o->lock);
}

void
output_found(struct output *o, const char *path,
	     const struct index_record *record, size_t n)
{
	bool known;

	pthread_mutex_lock(&o->lock);
	known = json_object_get(o->here, path);
	if (o->here && !known)
		json_object_set_new(o->here, path, json_true());
	pthread_mutex_unlock(&o->lock);
	for (size_t i = 0; o->here && !known && i < n; i++) {
		if (record[i].number < o->first_number &&
		    record[i].sub < o->subs)
			found(o, &record[i]);
	}
}

/* ---- the blocks -------------------------------------------------------  */

static void
output_free(struct output *o)
{
	tap_free(o->unsynced);
	parity_groups_free(o->groups);
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
	free(o->threads);
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

/* Makes the counts of threads, once it is known which there are.  Without memory
 * they are not counted. */
static void
threads_make(struct output *o)
{
	size_t n = (size_t)o->subs * o->own.threads_n;

	if (o->own.sequence == SEQUENCE_TIME && o->own.threads_n > 1 &&
	    o->own.threads_n <= OUTPUT_THREADS && o->own.parts == 1 &&
	    n <= 4 * OUTPUT_THREADS)
		o->threads = calloc(n, sizeof *o->threads);
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

static unsigned
parity_disks(void *arg, struct block_bars *disks)
{
	const struct output *o = arg;

	return queue_disks(o->queue, disks);
}

static void
parity_put(void *arg, struct block *const *b, unsigned n)
{
	struct output *o = arg;

	for (unsigned i = 0; i < n; i++)
		b[i]->session = o;
	atomic_fetch_add_explicit(&o->in_flight, n, memory_order_relaxed);
	queue_put_parity(o->queue, b, n);
}

static void
parity_ended(void *arg)
{
	const struct output *o = arg;

	o->changed(o->arg);
}

static int
groups_make(struct output *o, const struct output_args *a)
{
	const struct parity_groups_args args = {
		.rows = a->parity,
		.pool = a->parity_pool,
		.age = a->durable > NS_SECOND ? a->durable : NS_SECOND,
		.disks = parity_disks,
		.put = parity_put,
		.ended = parity_ended,
		.arg = o,
	};

	return parity_groups_make(&o->groups, &args);
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
		err = totals_resume(o, a);
	if (!err && a->parity_pool)
		err = groups_make(o, a);
	if (!err && a->hold)
		err = hold_begin(o, a->hold);
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
	run_extend(o, b);
}

void
output_put(void *output, struct block *b)
{
	struct output *o = output;

	/* The parts of a split stream are substreams in the memory that they
	 * share, and each is a recording of its own. */
	if (o->subs == 1)
		b->sub = 0;
	b->session = o;
	pthread_mutex_lock(&o->lock);
	if (o->learning) {
		shape_copy(o, o->learning);
		threads_make(o);
	}
	o->learning = NULL;
	if (!o->fps)
		o->fps = b->fps;
	if (b->brought)
		b->number = b->brought->record.number;
	else
		number(o, b);
	pthread_mutex_unlock(&o->lock);
	atomic_fetch_add_explicit(&o->in_flight, 1, memory_order_relaxed);
	if (queue_put(o->queue, b) < 0) {
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

/* Counts the slots of a block, and of the gap before it, by thread.  What is
 * missing before the first packet of a run was not lost. */
static void
threads_count(struct output *o, const struct block *b)
{
	uint32_t n = o->own.threads_n, count[2][OUTPUT_THREADS] = { { 0 } };
	struct output_thread *to = &o->threads[(size_t)b->sub * n];
	uint64_t begin, from = b->first - b->gap;
	const struct output_run *r;

	pthread_mutex_lock(&o->lock);
	r = run_find(o, b->sub, b->run);
	begin = r ? r->first : from;
	pthread_mutex_unlock(&o->lock);
	if (begin < from)
		begin = from;
	for (uint64_t at = begin; at < b->first + b->used; at++) {
		bool has =
		    at >= b->first && block_has(b, (uint32_t)(at - b->first));

		count[has][(b->base + at) % n]++;
	}
	for (uint32_t i = 0; i < n; i++) {
		add(&to[i].lost, count[0][i]);
		add(&to[i].packets, count[1][i]);
	}
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
		run_miss(o, b);
	} else {
		if (o->threads)
			threads_count(o, b);
		pthread_mutex_lock(&sub->lock);
		if (o->whole)
			fill_whole(&sub->fill, b);
		else
			fill_block(&sub->fill, b);
		pthread_mutex_unlock(&sub->lock);
	}
	checksums_seal(b);
	if (!o->whole)
		page_clear(b);
	block_seal(b);
	if (b->pool)
		lent_blocks_offer(block_pool_lent(b->pool), b);
}

/* Lines of the metadata, each with its newline; NULL: none. */
struct member_lines {
	struct output *o;
	const struct block *b;
	char *text;
};

/* Adds a line, which it drops.  Memory that runs out costs lines, which the
 * block's own disk has too. */
static void
line_add(struct member_lines *l, json_t *line)
{
	char *text = line ? json_dumps(line, JSON_COMPACT) : NULL;
	size_t had = l->text ? strlen(l->text) : 0;
	char *grown = NULL;

	if (text)
		grown = realloc(l->text, had + strlen(text) + 2);
	if (grown) {
		l->text = grown;
		sprintf(grown + had, "%s\n", text);
	}
	free(text);
	json_decref(line);
}

static void
descriptor_add(void *arg, const struct notes_event *e)
{
	struct member_lines *l = arg;

	if (e->control == PIECE_DATA &&
	    output_described(l->o, e->descriptor, e->bytes, l->b->number,
			     l->o->groups))
		line_add(l, meta_heap_event(l->b, l->o->subs, e));
}

/* Makes the lines of metadata about a block that the disk with its parity gets, too,
 * because a disk that is lost takes its own along: the block's run, which
 * packets are missing, and what items are.  Readers drop a line that they have
 * twice.  Malloc'ed, or NULL. */
static char *
member_lines(struct output *o, const struct block *b)
{
	struct member_lines l = { .o = o, .b = b };

	if (b->brought)
		return strndup(b->brought->lines, b->brought->lines_bytes);
	line_add(&l, meta_run(b, o->subs, o->shape));
	if (b->notes && o->shape->store == HEAP_CUBE)
		line_add(&l, meta_heap_holes(b));
	else if (!b->notes && b->filled < b->used)
		line_add(&l, meta_holes(b));
	if (b->notes)
		notes_events(b, o->format, descriptor_add, &l);
	return l.text;
}

void
output_protect(struct output *o, struct block *b, unsigned disk)
{
	struct index_record r;
	char *lines;

	if (!o->groups || b->parity)
		return;
	r = block_record(o->format, o->shape, b);
	lines = member_lines(o, b);
	parity_groups_add(o->groups, b, &r, lines, disk);
	free(lines);
}

void
output_protect_look(struct output *o, int64_t now)
{
	if (o->groups)
		parity_groups_look(o->groups, now);
}

bool
output_protect_end(struct output *o)
{
	if (!o->groups || parity_groups_end(o->groups))
		return true;
	queue_poke(o->queue);
	return false;
}

void
output_protect_give_up(struct output *o)
{
	if (o->groups)
		parity_groups_give_up(o->groups);
}

static void
account(struct output *o, struct block *b)
{
	block_drop(b);
	if (atomic_fetch_sub_explicit(&o->in_flight, 1, memory_order_release) ==
	    1)
		o->changed(o->arg);
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

static void
parity_count(struct output *o, const struct block *b, unsigned disk)
{
	add(&o->disk[disk].bytes, block_bytes(b));
	add(&o->parity_bytes, block_bytes(b));
	add(&o->parity_blocks, 1);
}

void
output_written(struct output *o, struct block *b, unsigned disk)
{
	if (b->parity)
		parity_count(o, b, disk);
	else
		written_count(o, b, disk);
	account(o, b);
	if (o->groups)
		parity_groups_relieve(o->groups);
}

/* Adds a block to the lost packets, or with sign -1 takes it off again.  Caller
 * holds output::lock. */
static void
lost_count(struct output *o, const struct block *b, int64_t sign)
{
	uint64_t packets = (uint64_t)sign * b->filled;

	add(&o->lost_packets, packets);
	add(&o->sub[b->sub].lost_packets, packets);
	run_change(o, b->sub, b->run, packets, 0);
}

void
output_regain(struct output *o, struct block *b, unsigned disk)
{
	pthread_mutex_lock(&o->lock);
	if (b->parity) {
		add(&o->parity_lost, (uint64_t)-1);
		parity_count(o, b, disk);
	} else {
		lost_count(o, b, -1);
		written_count(o, b, disk);
	}
	pthread_mutex_unlock(&o->lock);
	block_drop(b);
}

void
output_lost(struct output *o, struct block *b)
{
	if (b->parity) {
		add(&o->parity_lost, 1);
		account(o, b);
		return;
	}
	pthread_mutex_lock(&o->lock);
	lost_count(o, b, 1);
	pthread_mutex_unlock(&o->lock);
	settle_lost(o, b->number, b->gap > 0);
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

/* Adds a record to the totals that output_written and disk_recording_add
 * changed, or with sign -1 takes it off again.  Caller holds output::lock. */
static void
written_change(struct output *o, const struct index_record *r, int64_t sign)
{
	uint64_t bytes = (uint64_t)sign * record_bytes(o, r);

	add(&o->packets, (uint64_t)sign * r->present);
	add(&o->bytes, bytes);
	add(&o->sub[r->sub].bytes, bytes);
	add(&o->records, (uint64_t)sign);
	add(&o->chunks, (uint64_t)sign * (r->kind == INDEX_BLOCK));
}

void
output_forget(struct output *o, const struct index_record *r)
{
	pthread_mutex_lock(&o->lock);
	written_change(o, r, -1);
	pthread_mutex_unlock(&o->lock);
}

void
output_moved(struct output *o, unsigned disk, uint64_t bytes)
{
	atomic_fetch_sub(&o->disk[disk].chunks, 1);
	atomic_fetch_sub(&o->disk[disk].bytes, bytes);
}

/* Adds a record to all totals, or with sign -1 takes it off again; lost packets
 * change the other way, with `risk` packets at risk too.  All under the lock, so
 * that output_counts never sees half of it. */
static void
record_count(struct output *o, const struct index_record *r, int64_t sign,
	     bool risk)
{
	uint64_t packets = (uint64_t)sign * r->present;

	pthread_mutex_lock(&o->lock);
	written_change(o, r, sign);
	add(&o->lost_packets, -packets);
	add(&o->sub[r->sub].lost_packets, -packets);
	run_change(o, r->sub, r->run, -packets, 0);
	add(&o->risk_packets, risk ? -packets : 0);
	pthread_mutex_unlock(&o->lock);
}

void
output_unwrite(struct output *o, const struct index_record *r)
{
	record_count(o, r, -1, false);
	settle_lost(o, r->number, false);
}

void
output_risk(struct output *o, const struct index_record *r)
{
	record_count(o, r, -1, true);
	numbers_settle(o, r, 1, false);
}

void
output_settle(struct output *o, const struct index_record *r, size_t n)
{
	for (size_t i = 0; i < n; i++)
		add(&o->durable_bytes, record_bytes(o, &r[i]));
	numbers_settle(o, r, n, true);
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
