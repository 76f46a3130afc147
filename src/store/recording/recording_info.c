/* SPDX-License-Identifier: MIT */
/*
 * Facts of a recording as a whole come from its metadata and its end records.
 *
 * The JSON of `spate info --json`.  What the indexes tell is there for every
 * recording.  What only the daemon counted (late, duplicate, dropped ...) is in
 * the last line of the metadata, and null if that is not written yet or was
 * lost: null says "unknown", 0 would be wrong.
 */
#include <string.h>

#include "base/shape.h"
#include "base/units.h"
#include "store/foreign/foreign.h"
#include "store/recording/recording_info.h"
#include "store/recording/recording_priv.h"

/* ---- disks ---- */

/* Adds paths to a set. */
static void
paths_add(json_t *set, const json_t *line)
{
	const json_t *path;
	size_t i;

	json_array_foreach(json_object_get(line, "disks"), i, path) {
		if (json_is_string(path))
			json_object_set_new(set, json_string_value(path),
					    json_true());
	}
}

unsigned
recording_disks_were(const struct recording *rec)
{
	json_t *set = json_object();
	const json_t *line;
	size_t i, n;

	paths_add(set, rec->head);
	json_array_foreach(rec->resumed, i, line)
		paths_add(set, line);
	n = json_object_size(set);
	json_decref(set);
	return (unsigned)n;
}

unsigned
recording_disks_away(const struct recording *rec)
{
	const struct recording_facts *f = &rec->facts;
	unsigned were = recording_disks_were(rec), here = 0;
	bool lacks =
	    f->computed || f->absent || f->state == RECORDING_INTERRUPTED;

	for (unsigned i = 0; i < rec->disks->n; i++)
		here += rec->part[i].dir >= 0 && !rec->part[i].hangs;
	return were > here && lacks ? were - here : 0;
}

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

/* The state as text: "complete", "failed", "recording" or "interrupted". */
static const char *
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

#define X(...) KEY_ENTRY(struct info, __VA_ARGS__)
const struct key info_keys[] = { INFO_KEYS(X){ .name = NULL } };
#undef X

#define X(...) KEY_ENTRY(struct info_sub, __VA_ARGS__)
const struct key info_sub_keys[] = { INFO_SUB_KEYS(X){ .name = NULL } };
#undef X

#define X(...) KEY_ENTRY(struct info_run, __VA_ARGS__)
const struct key info_run_keys[] = { INFO_RUN_KEYS(X){ .name = NULL } };
#undef X

#define X(...) KEY_ENTRY(struct info_disk, __VA_ARGS__)
const struct key info_disk_keys[] = { INFO_DISK_KEYS(X){ .name = NULL } };
#undef X

#define X(...) KEY_ENTRY(struct info_sender, __VA_ARGS__)
const struct key info_sender_keys[] = { INFO_SENDER_KEYS(X){ .name = NULL } };
#undef X
#define X(...) KEY_ENTRY(struct info_cause, __VA_ARGS__)
const struct key info_cause_keys[] = { INFO_CAUSE_KEYS(X){ .name = NULL } };
#undef X
#define X(...) KEY_ENTRY(struct info_no_buffer, __VA_ARGS__)
const struct key info_no_buffer_keys[] = { INFO_NO_BUFFER_KEYS(X){ .name =
								       NULL } };
#undef X

#define X(...) KEY_ENTRY(struct info_link, __VA_ARGS__)
const struct key info_link_keys[] = { INFO_LINK_KEYS(X){ .name = NULL } };
#undef X

/* The lists are NULL without memory. */

static json_t *
runs_json(const struct recording_facts *f)
{
	json_t *list = json_array();
	int err = 0;

	for (unsigned i = 0; i < f->runs && !err; i++) {
		const struct recording_run *r = &f->run[i];
		struct info_run run = { .run = r->run,
					.base = r->base,
					.first = r->first,
					.last = r->last,
					.packets = r->packets,
					.packets_lost = r->missing,
					.start = r->first_ns,
					.end = r->last_ns,
					.sub = r->sub };

		err = json_array_append_new(
		    list, keys_json(info_run_keys, &run,
				    INFO | (f->subs > 1 ? INFO_SUBS : 0)));
	}
	if (!err)
		return list;
	json_decref(list);
	return NULL;
}

/* Lists the substreams; `end` is the end line, which has what only the daemon
 * knew of them. */
static json_t *
subs_json(const struct recording_facts *f, const json_t *end)
{
	const json_t *was = json_object_get(end, "subs");
	json_t *list = json_array();
	int err = 0;

	for (unsigned i = 0; i < f->subs && !err; i++) {
		const struct recording_sub *s = &f->sub[i];
		struct info_sub sub = { .sub = i,
					.packets = s->packets,
					.packets_lost = s->missing,
					.bytes = s->bytes,
					.runs = s->runs,
					.start = s->runs ? s->first_ns : 0,
					.end = s->runs ? s->last_ns : 0 };

		keys_read(info_sub_keys, &sub, json_array_get(was, i),
			  INFO_COUNTED);
		err = json_array_append_new(
		    list, keys_json(info_sub_keys, &sub, INFO));
	}
	if (!err)
		return list;
	json_decref(list);
	return NULL;
}

static json_t *
disks_json(const struct recording *rec)
{
	json_t *list = json_array();
	int err = 0;

	for (unsigned i = 0; i < rec->disks->n && !err; i++) {
		struct info_disk disk = { .path = rec->disks->disk[i].path };

		if (rec->part[i].dir < 0)
			continue;
		for (size_t k = 0; k < rec->blocks; k++) {
			if (rec->block[k].disk != (int)i ||
			    rec->block[k].computed)
				continue;
			disk.chunks++;
			disk.bytes += rec->block[k].record.bytes;
		}
		err = json_array_append_new(
		    list, keys_json(info_disk_keys, &disk, INFO));
	}
	if (!err)
		return list;
	json_decref(list);
	return NULL;
}

json_t *
recording_info(const struct recording *rec)
{
	const struct recording_facts *f = &rec->facts;
	const json_t *end = json_object_get(f->tail, "end");
	bool heaps = f->store != HEAP_NONE;
	struct info info = {
		.name = f->name,
		.state = recording_state_show(f),
		.stream = f->stream,
		.format = f->format,
		.start = f->start_ns,
		.end = f->end_ns,
		.bytes = f->bytes,
		.payload = f->payload,
		.packets = f->packets,
		.packets_lost = f->missing,
		.packets_lost_estimated = f->estimated,
		.chunks = f->chunks,
		.gaps = f->gaps,
		.absent = f->absent,
		.parity = f->parity,
		.with_parity = f->protected,
		.with_less_parity = f->weakened,
		.computed = f->computed,
		.fill = json_string_value(json_object_get(rec->head, "fill")),
		.layout = *f->layout ? f->layout : NULL,
		.store = heaps ? shape_store_show(f->store) : NULL,
		.descriptors = f->descriptors,
		.controls = f->controls,
		.left_out = f->left_out,
		.made_by = f->made_by,
		.notes = f->notes ? json_deep_copy(f->notes) : json_array(),
		.resumed =
		    f->resumed ? json_deep_copy(f->resumed) : json_array(),
		.runs = runs_json(f),
		.subs = subs_json(f, end),
		.disks = disks_json(rec),
	};
	bool whole =
	    info.notes && info.resumed && info.runs && info.subs && info.disks;
	json_t *json;

	if (f->failed && f->state == RECORDING_COMPLETE)
		info.why = f->reason;
	keys_read(info_keys, &info, end, INFO_COUNTED);
	json = keys_json(info_keys, &info,
			 INFO | INFO_DISKS | (heaps ? INFO_HEAPS : 0));
	if (whole)
		return json;
	json_decref(json);
	return NULL;
}
