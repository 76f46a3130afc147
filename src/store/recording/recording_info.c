/* SPDX-License-Identifier: MIT */
/*
 * The JSON of `spate info --json`.  What the indexes tell is there for every
 * recording.  What only the daemon counted (late, duplicate, dropped ...) is in
 * the last line of the metadata, and null if that is not written yet or was
 * lost: null says "unknown", 0 would be wrong.
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/shape.h"
#include "base/text.h"
#include "base/units.h"
#include "store/recording/recording_priv.h"

static json_t *
time_json(int64_t ns)
{
	char text[UNITS_TEXT];

	return json_string(units_show_time_ns(text, ns));
}

/* A run.  The substream is left out if there is only one. */
static json_t *
run_json(const struct recording_facts *f, const struct recording_run *run)
{
	char base[24];
	json_t *json;

	snprintf(base, sizeof base, "%" PRIu64, run->base);
	json = json_pack(
	    "{s:I, s:s, s:I, s:I, s:I, s:I, s:o, s:o}", "run",
	    (json_int_t)run->run, "base", base, "first", (json_int_t)run->first,
	    "last", (json_int_t)run->last, "packets", (json_int_t)run->packets,
	    "packets_lost", (json_int_t)run->missing, "start",
	    time_json(run->first_ns), "end", time_json(run->last_ns));
	if (json && f->subs > 1)
		json_object_set_new(json, "sub", json_integer(run->sub));
	return json;
}

static json_t *
runs_json(const struct recording_facts *f)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < f->runs; i++) {
		if (json_array_append_new(list, run_json(f, &f->run[i]))) {
			json_decref(list);
			return NULL;
		}
	}
	return list;
}

/* Adds what only the daemon knew of a substream.  0, or -1 without memory. */
static int
add_origin(json_t *sub, const json_t *was)
{
	static const char *const keys[] = { "address", "sender", "datagrams",
					    "overruns", "arrived_end" };
	int err = 0;

	for (size_t i = 0; i < sizeof keys / sizeof *keys && !err; i++) {
		json_t *value = json_object_get(was, keys[i]);

		err = json_object_set_new(
		    sub, keys[i], value ? json_incref(value) : json_null());
	}
	return err;
}

static json_t *
sub_json(const struct recording_sub *s, unsigned number, const json_t *was)
{
	json_t *sub =
	    json_pack("{s:I, s:I, s:I, s:I, s:I, s:o, s:o}", "sub",
		      (json_int_t)number, "packets", (json_int_t)s->packets,
		      "packets_lost", (json_int_t)s->missing, "bytes",
		      (json_int_t)s->bytes, "runs", (json_int_t)s->runs,
		      "start", s->runs ? time_json(s->first_ns) : json_null(),
		      "end", s->runs ? time_json(s->last_ns) : json_null());

	if (sub && add_origin(sub, was)) {
		json_decref(sub);
		return NULL;
	}
	return sub;
}

static json_t *
subs_json(const struct recording_facts *f)
{
	const json_t *end = json_object_get(f->tail, "end");
	const json_t *was = json_object_get(end, "subs");
	json_t *list = json_array();

	for (unsigned i = 0; i < f->subs; i++) {
		if (json_array_append_new(
			list,
			sub_json(&f->sub[i], i, json_array_get(was, i)))) {
			json_decref(list);
			return NULL;
		}
	}
	return list;
}

static json_t *
disk_json(const struct recording *rec, unsigned disk)
{
	uint64_t bytes = 0;
	unsigned chunks = 0;

	for (size_t i = 0; i < rec->blocks; i++) {
		if (rec->block[i].disk != (int)disk)
			continue;
		chunks++;
		bytes += rec->block[i].record.bytes;
	}
	return json_pack("{s:s, s:I, s:I}", "path", rec->disks->disk[disk].path,
			 "chunks", (json_int_t)chunks, "bytes",
			 (json_int_t)bytes);
}

static json_t *
disks_json(const struct recording *rec)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < rec->disks->n; i++) {
		if (rec->part[i].dir < 0)
			continue;
		if (json_array_append_new(list, disk_json(rec, i))) {
			json_decref(list);
			return NULL;
		}
	}
	return list;
}

/* Adds what the daemon counted.  0, or -1 without memory. */
static int
add_counts(json_t *info, const json_t *tail)
{
	static const char *const keys[] = {
		"packets_reordered",
		"packets_late",
		"packets_duplicate",
		"packets_unreadable",
		"packets_moved",
		"packets_at_risk",
		"datagrams",
		"drops",
		"overruns",
		"heaps",
		"heaps_incomplete",
		"sources",
		"kernel",
		"silent",
	};
	const json_t *end = json_object_get(tail, "end");
	int err = 0;

	for (size_t i = 0; i < sizeof keys / sizeof *keys && !err; i++) {
		json_t *value = json_object_get(end, keys[i]);

		err = json_object_set_new(
		    info, keys[i], value ? json_deep_copy(value) : json_null());
	}
	return err;
}

/* Adds the less common facts.  0, or -1 without memory. */
static int
add_details(json_t *info, const struct recording *rec)
{
	const struct recording_facts *f = &rec->facts;
	json_t *fill = json_object_get(rec->head, "fill");

	if (f->failed && f->state == RECORDING_COMPLETE &&
	    json_object_set_new(info, "why", json_string(f->reason)))
		return -1;
	if (json_object_set_new(info, "runs", runs_json(f)) ||
	    json_object_set_new(info, "made_by", json_string(f->made_by)) ||
	    json_object_set_new(info, "notes",
				f->notes ? json_deep_copy(f->notes)
					 : json_array()) ||
	    json_object_set_new(info, "layout",
				*f->layout ? json_string(f->layout)
					   : json_null()) ||
	    json_object_set_new(info, "subs", subs_json(f)) ||
	    json_object_set_new(info, "disks", disks_json(rec)) ||
	    json_object_set_new(info, "resumed",
				f->resumed ? json_deep_copy(f->resumed)
					   : json_array()) ||
	    json_object_set_new(info, "fill",
				fill ? json_incref(fill) : json_null()))
		return -1;
	if (f->store == HEAP_NONE)
		return json_object_set_new(info, "store", json_null());
	if (json_object_set_new(info, "descriptors",
				json_integer((json_int_t)f->descriptors)) ||
	    json_object_set_new(info, "controls",
				json_integer((json_int_t)f->controls)) ||
	    json_object_set_new(info, "left_out",
				json_integer((json_int_t)f->left_out)))
		return -1;
	return json_object_set_new(info, "store",
				   json_string(shape_store_show(f->store)));
}

json_t *
recording_info(const struct recording *rec)
{
	const struct recording_facts *f = &rec->facts;
	json_t *info;

	info = json_pack(
	    "{s:o, s:s, s:s, s:s, s:o, s:o, s:I, s:I, s:I, s:I, "
	    "s:I, s:I, s:I}",
	    "name", text_json(f->name), "state", recording_state_show(f),
	    "stream", f->stream, "format", f->format, "start",
	    time_json(f->start_ns), "end", time_json(f->end_ns), "bytes",
	    (json_int_t)f->bytes, "payload", (json_int_t)f->payload, "packets",
	    (json_int_t)f->packets, "packets_lost", (json_int_t)f->missing,
	    "chunks", (json_int_t)f->chunks, "gaps", (json_int_t)f->gaps,
	    "absent", (json_int_t)f->absent);
	if (info && f->estimated)
		json_object_set_new(info, "packets_lost_estimated",
				    json_true());
	if (!info || add_counts(info, f->tail) || add_details(info, rec)) {
		json_decref(info);
		return NULL;
	}
	return info;
}
