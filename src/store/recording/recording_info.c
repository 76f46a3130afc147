/* SPDX-License-Identifier: MIT */
/*
 * Facts of a recording as a whole come from its metadata and its end records.
 *
 * The JSON of `spate info --json`.  What the indexes tell is there for every
 * recording.  What only the daemon counted (late, duplicate, dropped ...) is in
 * the last line of the metadata, and null if that is not written yet or was
 * lost: null says "unknown", 0 would be wrong.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/shape.h"
#include "base/text.h"
#include "base/units.h"
#include "store/foreign/foreign.h"
#include "store/recording/recording_priv.h"

/* ---- facts ------------------------------------------------------------- */

bool
recording_end(const struct recording *rec, struct index_record *end)
{
	bool ended = false;

	for (unsigned i = 0; i < rec->disks->n; i++) {
		const struct recording_part *part = &rec->part[i];

		if (part->ended && (!ended || part->end.number > end->number))
			*end = part->end;
		ended |= part->ended;
	}
	return ended;
}

static enum recording_state
state_of(const struct recording *rec)
{
	struct index_record end;

	if (recording_end(rec, &end))
		return RECORDING_COMPLETE;
	for (unsigned i = 0; i < rec->disks->n; i++) {
		if (rec->part[i].locked)
			return RECORDING_LIVE;
	}
	return RECORDING_INTERRUPTED;
}

/* The state.  The disks end one after the other: a live recording stays live
 * until its last disk has ended, or else the last blocks of the others would
 * seem to be lost. */
static enum recording_state
state_now(const struct recording *rec)
{
	enum recording_state state = state_of(rec);

	if (rec->facts.state != RECORDING_LIVE || state != RECORDING_COMPLETE)
		return state;
	for (unsigned i = 0; i < rec->disks->n; i++) {
		if (rec->part[i].locked && !rec->part[i].ended)
			return RECORDING_LIVE;
	}
	return state;
}

/* Recordings from before there was `failed` tell it by the reason. */
bool
recording_failed(const json_t *tail)
{
	const json_t *end = json_object_get(tail, "end");
	const json_t *failed = json_object_get(end, "failed");
	const char *reason = json_string_value(json_object_get(end, "reason"));

	if (failed)
		return json_is_true(failed);
	return reason && (!strcmp(reason, "no disk is left") ||
			  !strcmp(reason, "no disk could take it"));
}

const char *
recording_state_show(const struct recording_facts *f)
{
	switch (f->state) {
	case RECORDING_COMPLETE: return f->failed ? "failed" : "complete";
	case RECORDING_LIVE: return "recording";
	default: return "interrupted";
	}
}

static const char *
head_text(const struct recording *rec, const char *key)
{
	const char *text = json_string_value(json_object_get(rec->head, key));

	return text ? text : "";
}

void
recording_describe(struct recording *rec)
{
	struct recording_facts *f = &rec->facts;
	const json_t *end = json_object_get(rec->tail, "end");
	const char *reason = json_string_value(json_object_get(end, "reason"));
	json_t *channels = json_object_get(rec->head, "channels_per_file");

	f->name = rec->name;
	f->stream = head_text(rec, "stream");
	f->format = head_text(rec, "format");
	f->extension = head_text(rec, "extension");
	f->made_by = head_text(rec, "made_by");
	if (!*f->made_by)
		f->made_by = "spate";
	f->notes = rec->foreign ? foreign_notes(rec->foreign) : NULL;
	f->estimated = rec->foreign && foreign_estimates(rec->foreign);
	f->layout = head_text(rec, "layout");
	f->payload = rec->shape.payload;
	f->store = rec->shape.store;
	f->channels_per_file = 1;
	if (json_integer_value(channels) > 1 &&
	    json_integer_value(channels) <= RECORDING_SUBS)
		f->channels_per_file = (unsigned)json_integer_value(channels);
	f->head = rec->head;
	f->tail = rec->tail;
	f->resumed = rec->resumed;
	f->described = rec->described;
	f->state = state_now(rec);
	f->reason = reason ? reason : "";
	f->failed = recording_failed(rec->tail);
	f->torn = 0;
	for (unsigned i = 0; i < rec->disks->n; i++)
		f->torn += rec->part[i].torn;
}

void
recording_date(struct recording *rec)
{
	struct recording_facts *f = &rec->facts;
	struct index_record end;

	if (units_time(head_text(rec, "start"), 0, &f->start_ns))
		f->start_ns = 0;
	f->end_ns = f->start_ns;
	for (size_t i = 0; i < rec->blocks; i++) {
		if (rec->block[i].record.last_ns > f->end_ns)
			f->end_ns = rec->block[i].record.last_ns;
	}
	if (!recording_end(rec, &end))
		return;
	if (end.first_ns)
		f->start_ns = end.first_ns;
	if (end.last_ns)
		f->end_ns = end.last_ns;
}

/* ---- as JSON ----------------------------------------------------------- */

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
