/* SPDX-License-Identifier: MIT */
/*
 * The keys are those of recording_info() where both have them; null means
 * unknown (yet).
 *
 * Entries go through the socket as arrays, because keys would be two thirds of
 * the bytes, and more of the time.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "store/list/entry.h"

/* ---- objects ----------------------------------------------------------- */

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

/* ---- arrays ------------------------------------------------------------ */

enum {
	AT_NAME,
	AT_STATE,
	AT_START,
	AT_END,
	AT_BYTES,
	AT_PACKETS,
	AT_MISSING,
	AT_ABSENT,
	AT_SUBS,
	AT_PROTECTED,
	AT_DISKS,
	AT_STREAM,
	AT_FORMAT,
	AT_LAYOUT,
	AT_WHAT,
	AT_WHY,
};

enum { WORDS = ENTRY_DISKS / 64, HEX = 16 };

static void
disks_show(char text[WORDS * HEX + 1], const uint64_t disk[WORDS])
{
	unsigned words = WORDS;
	size_t at;

	while (words > 1 && !disk[words - 1])
		words--;
	at = (size_t)sprintf(text, "%" PRIx64, disk[--words]);
	while (words--)
		at += (size_t)sprintf(text + at, "%016" PRIx64, disk[words]);
}

/* Parses a bit mask in hex.  False if it is none. */
static bool
disks_read(const char *text, uint64_t disk[WORDS])
{
	size_t length = strlen(text);

	memset(disk, 0, WORDS * sizeof *disk);
	if (!length || length > WORDS * HEX ||
	    text[strspn(text, "0123456789abcdef")])
		return false;
	for (unsigned word = 0; length; word++) {
		size_t n = length < HEX ? length : HEX;
		char part[HEX + 1] = "";

		length -= n;
		memcpy(part, text + length, n);
		disk[word] = strtoull(part, NULL, 16);
	}
	return true;
}

/* text_json() makes the text valid UTF-8: it comes from files, and may have
 * been cut. */
static int
add_text(json_t *row, const char *text)
{
	return json_array_append_new(row, text_json(text));
}

static const char *
text_at(const struct entry *e, unsigned at)
{
	switch (at) {
	case AT_STREAM: return e->stream;
	case AT_FORMAT: return e->format;
	case AT_LAYOUT: return e->layout;
	case AT_WHAT: return e->what;
	default: return e->why;
	}
}

static int
add_texts(json_t *row, const struct entry *e)
{
	unsigned end = AT_WHY + 1;
	int err = 0;

	while (end > AT_STREAM && !*text_at(e, end - 1))
		end--;
	for (unsigned at = AT_STREAM; at < end && !err; at++)
		err = add_text(row, text_at(e, at));
	return err;
}

json_t *
entry_row(const struct entry *e)
{
	char disks[WORDS * HEX + 1];
	json_t *row;

	disks_show(disks, e->disk);
	row = json_pack(
	    "[o, i, I, I, o, I, I, I, i, i, s]", text_json(e->name),
	    (int)e->state, (json_int_t)e->start_ns, (json_int_t)e->end_ns,
	    e->counted ? json_integer((json_int_t)e->bytes) : json_null(),
	    (json_int_t)e->packets, (json_int_t)e->missing,
	    (json_int_t)e->absent, (int)e->subs, (int)e->protected, disks);
	if (row && !add_texts(row, e))
		return row;
	json_decref(row);
	return NULL;
}

static int64_t
number(const json_t *row, unsigned at)
{
	return json_integer_value(json_array_get(row, at));
}

static void
take_text(char *to, size_t room, const json_t *row, unsigned at)
{
	const char *text = json_string_value(json_array_get(row, at));

	snprintf(to, room, "%s", text ? text : "");
}

int
entry_from_row(struct entry *e, const json_t *row)
{
	const char *disks = json_string_value(json_array_get(row, AT_DISKS));
	int64_t state = number(row, AT_STATE);

	*e = (struct entry){ 0 };
	if (state < ENTRY_UNREAD || state >= ENTRY_STATES || !disks ||
	    !disks_read(disks, e->disk))
		return -EINVAL;
	e->state = (enum entry_state)state;
	e->start_ns = number(row, AT_START);
	e->end_ns = number(row, AT_END);
	e->counted = json_is_integer(json_array_get(row, AT_BYTES));
	e->bytes = (uint64_t)number(row, AT_BYTES);
	e->packets = (uint64_t)number(row, AT_PACKETS);
	e->missing = (uint64_t)number(row, AT_MISSING);
	e->absent = (uint64_t)number(row, AT_ABSENT);
	e->subs = (unsigned)number(row, AT_SUBS);
	e->protected = number(row, AT_PROTECTED);
	take_text(e->name, sizeof e->name, row, AT_NAME);
	take_text(e->stream, sizeof e->stream, row, AT_STREAM);
	take_text(e->format, sizeof e->format, row, AT_FORMAT);
	take_text(e->layout, sizeof e->layout, row, AT_LAYOUT);
	take_text(e->what, sizeof e->what, row, AT_WHAT);
	take_text(e->why, sizeof e->why, row, AT_WHY);
	return 0;
}

static bool
same_texts(const struct entry *a, const struct entry *b)
{
	return !strcmp(a->name, b->name) && !strcmp(a->stream, b->stream) &&
	       !strcmp(a->format, b->format) && !strcmp(a->layout, b->layout) &&
	       !strcmp(a->what, b->what) && !strcmp(a->why, b->why) &&
	       !strcmp(a->extension, b->extension);
}

static bool
same_counts(const struct entry *a, const struct entry *b)
{
	return a->counted == b->counted && a->start_ns == b->start_ns &&
	       a->end_ns == b->end_ns && a->bytes == b->bytes &&
	       a->packets == b->packets && a->missing == b->missing &&
	       a->absent == b->absent && a->subs == b->subs;
}

bool
entry_same(const struct entry *a, const struct entry *b)
{
	return a->state == b->state && same_texts(a, b) && same_counts(a, b) &&
	       a->protected == b->protected &&
	       !memcmp(a->disk, b->disk, sizeof a->disk) &&
	       a->stamp == b->stamp && a->first == b->first &&
	       a->changed_ns == b->changed_ns && a->begun_ns == b->begun_ns &&
	       a->foreign == b->foreign && a->payload == b->payload &&
	       a->store == b->store;
}
