/* SPDX-License-Identifier: MIT */
/*
 * A shape is written with the names that the configuration and the metadata
 * use.  JSON is read as foreign text: every number is checked against the
 * member it is read into, so that a damaged file is refused and never half
 * read.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/shape.h"

enum { COUNTER_AT_MAX = 65535 }; /* no datagram is longer */

struct kind {
	const char *name;
	unsigned bits;
	bool placed; /* the name is followed by '@' and the byte */
};

static const struct kind kinds[SEQUENCE_KINDS] = {
	[SEQUENCE_DEFAULT] = { "default", 64, false },
	[SEQUENCE_ARRIVAL] = { "arrival", 64, false },
	[SEQUENCE_EDV2] = { "edv2", 64, false },
	[SEQUENCE_TIME] = { "time", 64, false },
#define X(kind, name, bits, other) [SEQUENCE_##kind] = { #name, bits, true },
	SEQUENCE_COUNTERS(X)
#undef X
};

static const char *const stores[] = {
	[HEAP_NONE] = "none", [HEAP_ROW] = "heap", [HEAP_CUBE] = "cube"
};
enum { STORES = sizeof stores / sizeof *stores };

static const struct kind *
find_kind(const char *name, size_t length)
{
	for (int i = 0; i < SEQUENCE_KINDS; i++)
		if (strlen(kinds[i].name) == length &&
		    memcmp(kinds[i].name, name, length) == 0)
			return &kinds[i];
	return NULL;
}

int
shape_sequence_parse(struct format_shape *shape, const char *text)
{
	size_t length = strcspn(text, "@");
	const struct kind *kind = find_kind(text, length);
	unsigned long at = 0;
	char *end;

	if (!kind || kind->placed != (text[length] == '@'))
		return -EINVAL;
	if (kind->placed) {
		text += length + 1;
		if (!isdigit((unsigned char)*text))
			return -EINVAL;
		at = strtoul(text, &end, 10);
		if (*end || at > COUNTER_AT_MAX)
			return -EINVAL;
	}
	shape->sequence = (enum sequence_kind)(kind - kinds);
	shape->sequence_at = at;
	return 0;
}

const char *
shape_sequence_show(const struct format_shape *shape,
		    char text[SHAPE_SEQUENCE_TEXT])
{
	const struct kind *kind = &kinds[shape->sequence];

	if (kind->placed)
		snprintf(text, SHAPE_SEQUENCE_TEXT, "%s@%u", kind->name,
			 shape->sequence_at);
	else
		snprintf(text, SHAPE_SEQUENCE_TEXT, "%s", kind->name);
	return text;
}

int
shape_store_parse(enum heap_store *store, const char *text)
{
	for (unsigned i = HEAP_ROW; i < STORES; i++) {
		if (strcmp(stores[i], text) == 0) {
			*store = i;
			return 0;
		}
	}
	return -EINVAL;
}

const char *
shape_store_show(enum heap_store store)
{
	return stores[store];
}

/* Adds the keys that only shapes with heaps have. */
static int
add_heaps(json_t *json, const struct format_shape *s)
{
	const struct {
		const char *key;
		uint64_t value;
	} numbers[] = {
		{ "item", s->item },
		{ "time_item", s->time_item },
		{ "time_step", s->time_step },
	};

	if (s->store == HEAP_NONE)
		return 0;
	if (json_object_set_new(json, "store", json_string(stores[s->store])))
		return -ENOMEM;
	for (unsigned i = 0; i < sizeof numbers / sizeof *numbers; i++) {
		if (numbers[i].value &&
		    json_object_set_new(
			json, numbers[i].key,
			json_integer((json_int_t)numbers[i].value)))
			return -ENOMEM;
	}
	return 0;
}

json_t *
shape_to_json(const struct format_shape *s)
{
	char sequence[SHAPE_SEQUENCE_TEXT];
	json_t *threads = json_array(), *json;

	for (uint32_t i = 0; i < s->threads_n; i++)
		if (json_array_append_new(threads, json_integer(s->threads[i])))
			goto fail;
	json =
	    json_pack("{s:I s:I s:s s:I s:I s:I s:I s:o s:I s:I}", "prefix",
		      (json_int_t)s->prefix, "payload", (json_int_t)s->payload,
		      "sequence", shape_sequence_show(s, sequence), "bits",
		      (json_int_t)s->sequence_bits, "parts",
		      (json_int_t)s->parts, "header", (json_int_t)s->header,
		      "fps", (json_int_t)s->fps, "threads", threads, "rate",
		      (json_int_t)s->rate, "around", (json_int_t)s->around);
	if (json && add_heaps(json, s)) {
		json_decref(json);
		json = NULL;
	}
	return json;
fail:
	json_decref(threads);
	return NULL;
}

/* Reads a number; a missing one is zero, one that does not fit is an error. */
static int
read_u32(uint32_t *value, const json_t *json)
{
	json_int_t n = json_integer_value(json);

	if (json && (!json_is_integer(json) || n < 0 || n > UINT32_MAX))
		return -EINVAL;
	*value = n;
	return 0;
}

static int
read_numbers(struct format_shape *shape, const json_t *json)
{
	const struct {
		const char *key;
		uint32_t *value;
	} numbers[] = {
		{ "prefix", &shape->prefix },
		{ "payload", &shape->payload },
		{ "bits", &shape->sequence_bits },
		{ "parts", &shape->parts },
		{ "header", &shape->header },
		{ "fps", &shape->fps },
		{ "item", &shape->item },
		{ "time_item", &shape->time_item },
	};
	const json_t *rate = json_object_get(json, "rate");
	const json_t *around = json_object_get(json, "around");

	for (unsigned i = 0; i < sizeof numbers / sizeof *numbers; i++)
		if (read_u32(numbers[i].value,
			     json_object_get(json, numbers[i].key)))
			return -EINVAL;
	if ((rate && !json_is_integer(rate)) || json_integer_value(rate) < 0 ||
	    (around && !json_is_integer(around)))
		return -EINVAL;
	shape->rate = json_integer_value(rate);
	shape->around = json_integer_value(around);
	return shape->payload ? 0 : -EINVAL;
}

static int
read_heaps(struct format_shape *shape, const json_t *json)
{
	const json_t *store = json_object_get(json, "store");
	const json_t *step = json_object_get(json, "time_step");

	if (store &&
	    (!json_is_string(store) ||
	     shape_store_parse(&shape->store, json_string_value(store))))
		return -EINVAL;
	if ((step && !json_is_integer(step)) || json_integer_value(step) < 0)
		return -EINVAL;
	shape->time_step = json_integer_value(step);
	return 0;
}

static int
read_threads(struct format_shape *shape, const json_t *json)
{
	size_t n = json_array_size(json);
	uint32_t *threads;

	if (json && !json_is_array(json))
		return -EINVAL;
	if (n == 0)
		return 0;
	threads = calloc(n, sizeof *threads);
	if (!threads)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		if (read_u32(&threads[i], json_array_get(json, i))) {
			free(threads);
			return -EINVAL;
		}
	}
	shape->threads = threads;
	shape->threads_n = n;
	return 0;
}

int
shape_learned(struct format_shape *shape, const json_t *line)
{
	if (!shape->fps && read_u32(&shape->fps, json_object_get(line, "fps")))
		return -EINVAL;
	if (shape->threads_n)
		return 0;
	return read_threads(shape, json_object_get(line, "threads"));
}

int
shape_from_json(struct format_shape *shape, const json_t *json)
{
	struct format_shape s = { .options = shape->options };
	const char *sequence =
	    json_string_value(json_object_get(json, "sequence"));
	int err;

	if (!sequence || shape_sequence_parse(&s, sequence) ||
	    read_numbers(&s, json) || read_heaps(&s, json))
		return -EINVAL;
	if (s.sequence_bits == 0)
		s.sequence_bits = kinds[s.sequence].bits;
	if (s.sequence_bits != 32 && s.sequence_bits != 64)
		return -EINVAL;
	err = read_threads(&s, json_object_get(json, "threads"));
	if (!err)
		*shape = s;
	return err;
}

void
shape_clear(struct format_shape *shape)
{
	free((void *)shape->threads);
	shape->threads = NULL;
	shape->threads_n = 0;
}
