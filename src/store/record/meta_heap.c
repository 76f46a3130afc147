/* SPDX-License-Identifier: MIT */
/*
 * Metadata lines of heaps.  A descriptor is kept as the packet that it is, so a
 * reader that knows such packets needs nothing of ours.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "store/record/meta.h"

static void
hole_add(void *arg, uint64_t at, uint64_t bytes)
{
	json_t *holes = arg;

	json_array_append_new(
	    holes, json_pack("[I, I]", (json_int_t)at, (json_int_t)bytes));
}

json_t *
meta_heap_holes(const struct block *b)
{
	json_t *holes = json_array();

	notes_holes(b, hole_add, holes);
	if (!json_array_size(holes) && !b->missing) {
		json_decref(holes);
		return NULL;
	}
	return json_pack("{s:I, s:o, s:s}", "block", (json_int_t)b->number,
			 "holes", holes, "unit", "byte");
}

static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
			    "abcdefghijklmnopqrstuvwxyz0123456789+/";

static char *
base64(const uint8_t *data, uint32_t bytes)
{
	char *text = malloc(bytes / 3 * 4 + 5), *to = text;

	if (!text)
		return NULL;
	for (uint32_t i = 0; i < bytes; i += 3) {
		uint32_t left = bytes - i, v = (uint32_t)data[i] << 16;

		if (left > 1)
			v |= (uint32_t)data[i + 1] << 8;
		if (left > 2)
			v |= data[i + 2];
		*to++ = digit[v >> 18];
		*to++ = digit[v >> 12 & 63];
		*to++ = left > 1 ? digit[v >> 6 & 63] : '=';
		*to++ = left > 2 ? digit[v & 63] : '=';
	}
	*to = 0;
	return text;
}

int
meta_read_descriptor(const char *text, uint8_t **raw, uint32_t *bytes)
{
	size_t digits = strspn(text, digit), length = strlen(text);
	uint32_t v = 0, n = 0;
	uint8_t *to;

	if (!digits || length % 4 || length - digits > 2 ||
	    length / 4 * 3 > UINT32_MAX)
		return -EBADMSG;
	to = malloc(length / 4 * 3);
	if (!to)
		return -ENOMEM;
	for (size_t i = 0; i < digits; i++) {
		v = v << 6 | (uint32_t)(strchr(digit, text[i]) - digit);
		if (i % 4)
			to[n++] = (uint8_t)(v >> (6 - i % 4 * 2));
	}
	*raw = to;
	*bytes = n;
	return 0;
}

static json_t *
descriptor_json(const struct notes_event *e)
{
	char *text = base64(e->descriptor, e->bytes);
	json_t *line;

	line = json_pack("{s:s, s:I}", "descriptor", text ? text : "", "id",
			 (json_int_t)e->id);
	free(text);
	return line;
}

static json_t *
control_json(const struct notes_event *e, int64_t ns)
{
	static const char *const name[] = {
		[PIECE_START] = "start",
		[PIECE_REISSUE] = "reissue",
		[PIECE_STOP] = "stop",
		[PIECE_UPDATE] = "update",
	};
	char time[UNITS_TEXT];

	return json_pack("{s:s, s:s}", "control", name[e->control], "time",
			 units_show_time_ns(time, ns));
}

json_t *
meta_heap_event(const struct block *b, unsigned subs,
		const struct notes_event *e)
{
	json_t *line = e->control == PIECE_DATA ? descriptor_json(e)
						: control_json(e, b->first_ns);
	char heap[24];

	snprintf(heap, sizeof heap, "%" PRIu64, e->heap);
	if (subs > 1)
		json_object_set_new(line, "sub", json_integer(b->sub));
	json_object_set_new(line, "heap", json_string(heap));
	return line;
}
