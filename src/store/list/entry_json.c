/* SPDX-License-Identifier: MIT */
/*
 * The keys are those of recording_info() where both have them; null means
 * unknown (yet).
 */
#include "base/text.h"
#include "base/units.h"
#include "store/list/entry.h"

const char *
entry_state_show(enum entry_state state)
{
	static const char *const text[] = {
		[ENTRY_UNREAD] = "unread",
		[ENTRY_COMPLETE] = "complete",
		[ENTRY_LIVE] = "recording",
		[ENTRY_INTERRUPTED] = "interrupted",
		[ENTRY_UNREADABLE] = "unreadable",
		[ENTRY_REMOVING] = "removing",
		[ENTRY_FAILED] = "failed",
	};

	return text[state];
}

static json_t *
time_json(int64_t ns)
{
	char text[UNITS_TEXT];

	return ns ? json_string(units_show_time_ns(text, ns)) : json_null();
}

static json_t *
disks_json(const struct entry *e, const struct disks *disks)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < disks->n; i++) {
		if (entry_has(e, i))
			json_array_append_new(list,
					      text_json(disks->disk[i].path));
	}
	return list;
}

static json_t *
count_json(const struct entry *e, uint64_t n)
{
	return e->counted ? json_integer((json_int_t)n) : json_null();
}

json_t *
entry_json(const struct entry *e, const struct disks *disks)
{
	json_t *json = json_pack(
	    "{s:o, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:i}", "name",
	    text_json(e->name), "state", entry_state_show(e->state), "start",
	    time_json(e->start_ns), "end", time_json(e->end_ns), "bytes",
	    count_json(e, e->bytes), "packets", count_json(e, e->packets),
	    "packets_lost", count_json(e, e->missing), "absent",
	    count_json(e, e->absent), "disks", disks_json(e, disks),
	    "protected", (int)e->protected, "substreams", (int)e->subs);
	int err = json ? 0 : -1;

	if (!err && e->state != ENTRY_UNREAD && e->state != ENTRY_UNREADABLE)
		err = json_object_update_new(
		    json,
		    json_pack("{s:o, s:o, s:o}", "stream", text_json(e->stream),
			      "format", text_json(e->format), "layout",
			      text_json(e->layout[0] ? e->layout : "vbs")));
	if (!err && e->state == ENTRY_UNREADABLE)
		err = json_object_update_new(
		    json, json_pack("{s:o, s:o}", "what", text_json(e->what),
				    "why", text_json(e->why)));
	if (!err && e->state == ENTRY_FAILED)
		err = json_object_set_new(json, "why", text_json(e->why));
	if (!err)
		return json;
	json_decref(json);
	return NULL;
}
