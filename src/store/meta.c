/* SPDX-License-Identifier: MIT */
/*
 * Objects are made with json_pack, whose "o" takes a reference over even
 * when it fails, so one NULL anywhere makes the whole line NULL and nothing
 * leaks.
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/shape.h"
#include "base/units.h"
#include "store/meta.h"

static json_t *
time_json(int64_t ns)
{
	char text[UNITS_TEXT];

	return json_string(units_show_time_ns(text, ns));
}

static json_t *
geometry_json(const struct geometry *g)
{
	return json_pack("{s:I, s:I, s:I, s:I, s:I}", "payload",
			 (json_int_t)g->payload, "parts", (json_int_t)g->parts,
			 "quantum", (json_int_t)g->quantum, "slots",
			 (json_int_t)g->slots, "block_bytes",
			 (json_int_t)g->block_bytes);
}

static json_t *
disks_json(const char *const *disks, unsigned n)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < n; i++) {
		if (json_array_append_new(list, json_string(disks[i]))) {
			json_decref(list);
			return NULL;
		}
	}
	return list;
}

/* What is not 1. */
static int
add_number(json_t *line, const char *key, unsigned n)
{
	return n > 1 ? json_object_set_new(line, key, json_integer(n)) : 0;
}

json_t *
meta_head(const struct meta_head *head)
{
	json_t *line = json_pack(
	    "{s:i, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:o, s:o, s:o, s:o, "
	    "s:f}",
	    "spate", 1, "software", PACKAGE_STRING, "name", head->name,
	    "stream", head->stream, "format", head->format, "extension",
	    head->extension, "layout", layout_word(head->layout), "fill",
	    head->fill == FILL_ZERO ? "zero" : "invalid", "start",
	    time_json(head->start_ns), "shape", shape_to_json(head->shape),
	    "geometry", geometry_json(head->geometry), "disks",
	    disks_json(head->disks, head->disks_n), "max_loss", head->max_loss);

	if (line && !add_number(line, "subs", head->subs) &&
	    !add_number(line, "channels_per_file", head->channels_per_file))
		return line;
	json_decref(line);
	return NULL;
}

/* Takes the line over: NULL where there is none, or no memory. */
static json_t *
with_sub(json_t *line, const struct block *b, unsigned subs)
{
	if (!line || subs < 2 ||
	    !json_object_set_new(line, "sub", json_integer(b->sub)))
		return line;
	json_decref(line);
	return NULL;
}

json_t *
meta_run(const struct block *b, unsigned subs)
{
	char text[24];

	snprintf(text, sizeof text, "%" PRIu64, b->base);
	return with_sub(json_pack("{s:I, s:s, s:o}", "run", (json_int_t)b->run,
				  "base", text, "time", time_json(b->first_ns)),
			b, subs);
}

json_t *
meta_chunk(const struct block *b, unsigned subs)
{
	char first[24];

	snprintf(first, sizeof first, "%" PRIu64, b->first);
	return with_sub(json_pack("{s:I, s:I, s:s, s:I, s:I, s:I}", "chunk",
				  (json_int_t)b->number, "run",
				  (json_int_t)b->run, "first", first, "bytes",
				  (json_int_t)block_bytes(b), "present",
				  (json_int_t)b->filled, "missing",
				  (json_int_t)block_missing(b)),
			b, subs);
}

json_t *
meta_holes(const struct block *b)
{
	json_t *holes = json_array();
	uint32_t slot = 0, first;
	int err = 0;

	while (slot < b->used && !err) {
		if (block_has(b, slot)) {
			slot++;
			continue;
		}
		first = slot;
		while (slot < b->used && !block_has(b, slot))
			slot++;
		err = json_array_append_new(
		    holes, json_pack("[I, I]", (json_int_t)first,
				     (json_int_t)(slot - first)));
	}
	if (err || !json_array_size(holes)) {
		json_decref(holes);
		return NULL;
	}
	return json_pack("{s:I, s:o}", "block", (json_int_t)b->number, "holes",
			 holes);
}

json_t *
meta_cut(uint64_t bytes)
{
	char text[24];

	snprintf(text, sizeof text, "%" PRIu64, bytes);
	return json_pack("{s:s}", "cut", text);
}

json_t *
meta_error(const char *text, int64_t now_ns)
{
	return json_pack("{s:s, s:o}", "error", text, "time",
			 time_json(now_ns));
}
