/* SPDX-License-Identifier: MIT */
/*
 * A recording that goes on has what was there before in all its totals, so
 * that its last words are true of the whole; and its numbers and runs begin
 * above.  What the daemon that died had counted and did not write down (what
 * it dropped, or had in memory) nobody knows.
 */
#include <errno.h>
#include <stdlib.h>

#include "flow/output_priv.h"
#include "store/meta.h"
#include "store/recording.h"

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
		sub->before = f->sub[i].packets;
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

/* What was told need not be told again. */
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

int
output_resume(struct output *o, const struct output_args *a)
{
	const struct resume *r = a->resume;
	const struct recording_facts *f = r->facts;

	o->resumed = json_deep_copy(a->resume_line);
	o->resumes = f->resumed ? json_deep_copy(f->resumed) : json_array();
	if (!o->resumed || !o->resumes ||
	    json_array_append(o->resumes, o->resumed))
		return -ENOMEM;
	o->first_number = o->next_number = r->next;
	o->before = f->packets;
	o->absent = r->absent;
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
