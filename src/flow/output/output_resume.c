/* SPDX-License-Identifier: MIT */
/*
 * A continued recording has the totals of its earlier part in all its own, so
 * that its last lines are true of the whole; its numbers and runs begin above
 * the old ones.  Packets that the earlier process dropped or had only in
 * memory, and did not write down, are unknown.
 */
#include <errno.h>
#include <stdlib.h>

#include "flow/output/output_priv.h"
#include "store/record/meta.h"
#include "store/recording/recording.h"

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

		if (b[i].disk < 0 || b[i].record.kind != INDEX_BLOCK ||
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

/* Paths of the disks that were looked at when the recording was continued. */
static json_t *
paths_here(const struct resume *r)
{
	json_t *here = json_object();

	for (unsigned i = 0; here && i < r->disks->n; i++)
		json_object_set_new(here, r->disks->disk[i].path, json_true());
	return here;
}

int
output_resume(struct output *o, const struct output_args *a)
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
	atomic_store(&o->chunks, f->chunks);
	atomic_store(&o->records, r->records);
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

static void
add(_Atomic uint64_t *to, uint64_t n)
{
	atomic_fetch_add_explicit(to, n, memory_order_relaxed);
}

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
		add(&sub->bytes, r->bytes);
	}
	/* The run's totals lack this record.  Passing its packets as negative
	 * losses adds them to `packets`; the sum added to `missing` is
	 * r->missing. */
	pthread_mutex_lock(&o->lock);
	output_run_change(o, r->sub, r->run, -(uint64_t)r->present,
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
