/* SPDX-License-Identifier: MIT */
/*
 * Objects are made with json_pack, whose "o" takes over a reference even when
 * json_pack fails, so a NULL anywhere makes the whole line NULL and nothing
 * leaks.
 *
 * A descriptor is kept as the packet that it is, so a reader that knows such
 * packets needs nothing of ours.
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/shape.h"
#include "base/units.h"
#include "store/record/meta.h"

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

/* Adds a number unless it is 0 or 1, the default. */
static int
add_number(json_t *line, const char *key, unsigned n)
{
	return n > 1 ? json_object_set_new(line, key, json_integer(n)) : 0;
}

static int
add_id(json_t *line, uint64_t id)
{
	char text[17];

	if (!id)
		return 0;
	snprintf(text, sizeof text, "%016" PRIx64, id);
	return json_object_set_new(line, "uid", json_string(text));
}

bool
meta_differs(const json_t *head, const json_t *other)
{
	const char *a = json_string_value(json_object_get(head, "uid"));
	const char *b = json_string_value(json_object_get(other, "uid"));

	return a && b && strcmp(a, b) != 0;
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

	if (line && head->parity &&
	    json_object_set_new(line, "parity", json_integer(head->parity))) {
		json_decref(line);
		return NULL;
	}
	if (line && !add_id(line, head->id) &&
	    !add_number(line, "subs", head->subs) &&
	    !add_number(line, "channels_per_file", head->channels_per_file) &&
	    (!head->vbs_cfg ||
	     !json_object_set_new(line, "vbs_cfg", json_true())))
		return line;
	json_decref(line);
	return NULL;
}

/* Adds the substream to a line if there are several.  Takes over `line`;
 * returns NULL if that is NULL, or without memory. */
static json_t *
with_sub(json_t *line, const struct block *b, unsigned subs)
{
	if (!line || subs < 2 ||
	    !json_object_set_new(line, "sub", json_integer(b->sub)))
		return line;
	json_decref(line);
	return NULL;
}

int
meta_learned(json_t *line, uint32_t fps, const struct format_shape *shape)
{
	json_t *threads = json_array();
	int err = 0;

	for (uint32_t i = 0; i < shape->threads_n && !err; i++)
		err = json_array_append_new(threads,
					    json_integer(shape->threads[i]));
	err |= json_object_set_new(line, "fps", json_integer(fps));
	err |= json_object_set_new(line, "threads", threads);
	return err ? -ENOMEM : 0;
}

json_t *
meta_run(const struct block *b, unsigned subs, const struct format_shape *shape)
{
	char text[24];
	json_t *line;

	snprintf(text, sizeof text, "%" PRIu64, b->base);
	line = json_pack("{s:I, s:s, s:o}", "run", (json_int_t)b->run, "base",
			 text, "time", time_json(b->first_ns));
	if (line && b->fps && meta_learned(line, b->fps, shape)) {
		json_decref(line);
		return NULL;
	}
	return with_sub(line, b, subs);
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
meta_written(const struct index_record *r, uint64_t gap)
{
	char first[24];
	json_t *line;

	snprintf(first, sizeof first, "%" PRIu64, r->first);
	line = json_pack(
	    "{s:I, s:I, s:s, s:I, s:I, s:I, s:[o, o], s:i, s:I}", "written",
	    (json_int_t)r->number, "run", (json_int_t)r->run, "first", first,
	    "bytes", (json_int_t)r->bytes, "present", (json_int_t)r->present,
	    "missing", (json_int_t)r->missing, "times", time_json(r->first_ns),
	    time_json(r->last_ns), "flags", (int)r->flags, "crc",
	    (json_int_t)r->crc);
	if (line && r->sub)
		json_object_set_new(line, "sub", json_integer(r->sub));
	if (line && gap)
		json_object_set_new(line, "gap", json_integer((json_int_t)gap));
	return line;
}

/* Reads an integer of at most `most`; 0 if the key is absent.  False if it is
 * anything else. */
static bool
read_number(const json_t *line, const char *key, uint64_t most, uint64_t *n)
{
	const json_t *value = json_object_get(line, key);
	json_int_t is = json_integer_value(value);

	if (is < 0 || (uint64_t)is > most)
		return false;
	*n = (uint64_t)is;
	return !value || json_is_integer(value);
}

static bool
read_time(const json_t *times, size_t i, int64_t *ns)
{
	const char *text = json_string_value(json_array_get(times, i));

	return text && units_time(text, 0, ns) == 0;
}

int
meta_read_written(const json_t *line, struct index_record *r, uint32_t *gap)
{
	const json_t *times = json_object_get(line, "times");
	const char *first = json_string_value(json_object_get(line, "first"));
	uint64_t run, present, missing, sub, flags, crc, before;

	*r = (struct index_record){ .kind = INDEX_BLOCK };
	if (!first || !json_is_integer(json_object_get(line, "written")) ||
	    !read_number(line, "written", LAYOUT_CHUNKS, &r->number) ||
	    !read_number(line, "bytes", INT64_MAX, &r->bytes) ||
	    !read_number(line, "run", UINT32_MAX, &run) ||
	    !read_number(line, "present", UINT32_MAX, &present) ||
	    !read_number(line, "missing", UINT32_MAX, &missing) ||
	    !read_number(line, "sub", UINT16_MAX, &sub) ||
	    !read_number(line, "flags", UINT8_MAX, &flags) ||
	    !read_number(line, "crc", UINT32_MAX, &crc) ||
	    !read_number(line, "gap", UINT32_MAX, &before) ||
	    !read_time(times, 0, &r->first_ns) ||
	    !read_time(times, 1, &r->last_ns))
		return -EBADMSG;
	r->first = strtoull(first, NULL, 10);
	r->run = (uint32_t)run;
	r->present = (uint32_t)present;
	r->missing = (uint32_t)missing;
	r->sub = (uint16_t)sub;
	r->flags = (uint8_t)flags;
	r->crc = (uint32_t)crc;
	*gap = (uint32_t)before;
	return 0;
}

static uint64_t
text_number(const json_t *line, const char *key)
{
	const char *text = json_string_value(json_object_get(line, key));

	return text ? strtoull(text, NULL, 10) : 0;
}

int
meta_read_chunk(const json_t *line, struct index_record *r)
{
	uint64_t run, present, missing, sub;

	*r = (struct index_record){ .kind = INDEX_BLOCK,
				    .first = text_number(line, "first") };
	if (!read_number(line, "chunk", LAYOUT_CHUNKS, &r->number) ||
	    !read_number(line, "bytes", INT64_MAX, &r->bytes) ||
	    !read_number(line, "run", UINT32_MAX, &run) ||
	    !read_number(line, "present", UINT32_MAX, &present) ||
	    !read_number(line, "missing", UINT32_MAX, &missing) ||
	    !read_number(line, "sub", UINT16_MAX, &sub))
		return -EBADMSG;
	r->run = (uint32_t)run;
	r->present = (uint32_t)present;
	r->missing = (uint32_t)missing;
	r->sub = (uint16_t)sub;
	return 0;
}

uint64_t
meta_read_cut(const json_t *line)
{
	return text_number(line, "cut");
}

/* Sets *end behind the last newline between `from` and *end; to `from` if there
 * is none.  0 or -errno. */
static int
last_line(int fd, uint64_t from, uint64_t *end)
{
	char piece[4096];

	while (*end > from) {
		uint64_t left = *end - from;
		size_t part = left < sizeof piece ? (size_t)left : sizeof piece;
		ssize_t got = read_whole(fd, piece, part, *end - part);
		const char *newline;

		if (got != (ssize_t)part)
			return got < 0 ? (int)got : -EIO;
		newline = memrchr(piece, '\n', part);
		*end -= part;
		if (!newline)
			continue;
		*end += (uint64_t)(newline - piece) + 1;
		break;
	}
	return 0;
}

int
meta_cut_torn(struct append_file *meta)
{
	struct stat st;
	uint64_t end;
	int err;

	if (file_stat(meta->fd, &st) < 0)
		return -errno;
	if (st.st_size < meta->bytes) /* it lost lines that were read */
		meta->bytes = 0;
	end = (uint64_t)st.st_size;
	err = last_line(meta->fd, (uint64_t)meta->bytes, &end);
	if (err)
		return err;
	if (end < (uint64_t)st.st_size && file_cut(meta->fd, (off_t)end) < 0)
		return -errno;
	meta->bytes = (off_t)end;
	return 0;
}

int
meta_append(struct append_file *to, const json_t *line)
{
	char *text = json_dumps(line, JSON_COMPACT);
	size_t length;
	int err;

	if (!text)
		return -ENOMEM;
	length = strlen(text);
	text[length] = '\n'; /* replaces the terminating 0 */
	err = append_bytes(to, text, length + 1);
	free(text);
	return err;
}

uint64_t
meta_most(const struct index_record *record, size_t records)
{
	enum { LINES = 64 << 10, HOLES_PART = 4, BLOCK_MOST = 1 << 30 };
	/* room for lines of blocks that the index does not have yet */
	uint64_t most = UINT64_C(1) << 30;

	for (size_t i = 0; i < records; i++)
		most += LINES + (record[i].bytes < BLOCK_MOST ? record[i].bytes
							      : BLOCK_MOST) /
				    HOLES_PART;
	return most;
}

/* ---- heaps ------------------------------------------------------------ */

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
