/* SPDX-License-Identifier: MIT */
/* Facts of a recording as a whole, from its metadata and its end records. */
#include <string.h>

#include "base/units.h"
#include "store/recording/foreign.h"
#include "store/recording/recording_priv.h"

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
