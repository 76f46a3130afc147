/* SPDX-License-Identifier: MIT */
/*
 * The metadata is read once, and of a live recording only what was added: a
 * line counts when its newline is there.
 *
 * Lines with holes are most of it, and few are ever asked for.  They are not
 * parsed but remembered by place: a line is known by its beginning, which is
 * ours to promise (meta.c writes "block" first), and parsed when asked for.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/recording_priv.h"

/* A piece of one disk's metadata, while it is read. */
struct piece {
	struct recording *rec;
	unsigned disk;
	uint64_t offset; /* of text in the file */
	char *text;
	size_t bytes;
};

static const char holes_begin[] = "{\"block\":";

static int
add_line(struct piece *p, const char *line, size_t bytes)
{
	struct recording *rec = p->rec;
	struct recording_line *grown = rec->line;

	/* Room doubles: whenever the number is a power of two, it is full. */
	if (!(rec->lines & (rec->lines - 1)))
		grown = realloc(grown, (2 * rec->lines + 1) * sizeof *grown);
	if (!grown)
		return -ENOMEM;
	rec->line = grown;
	rec->line[rec->lines++] = (struct recording_line){
		.number = strtoull(line + sizeof holes_begin - 1, NULL, 10),
		.offset = p->offset + (uint64_t)(line - p->text),
		.bytes = bytes,
		.disk = p->disk,
	};
	return 0;
}

static int
add_base(struct recording *rec, const json_t *run, const char *base)
{
	struct recording_base *grown;
	uint32_t number = (uint32_t)json_integer_value(run);

	for (size_t i = 0; i < rec->bases; i++) {
		if (rec->base[i].run == number)
			return 0;
	}
	grown = realloc(rec->base, (rec->bases + 1) * sizeof *grown);
	if (!grown)
		return -ENOMEM;
	rec->base = grown;
	rec->base[rec->bases++] =
	    (struct recording_base){ number, strtoull(base, NULL, 10) };
	return 0;
}

uint64_t
recording_base(const struct recording *rec, uint32_t run)
{
	for (size_t i = 0; i < rec->bases; i++) {
		if (rec->base[i].run == run)
			return rec->base[i].base;
	}
	return 0;
}

static bool
is_head(const json_t *object)
{
	return json_integer_value(json_object_get(object, "spate")) == 1 &&
	       json_is_object(json_object_get(object, "shape"));
}

static int
take_object(struct recording *rec, json_t *object, bool first)
{
	json_t *run = json_object_get(object, "run");
	json_t *base = json_object_get(object, "base");

	if (first && !rec->head && is_head(object))
		rec->head = json_incref(object);
	if (!rec->tail && json_is_object(json_object_get(object, "end")))
		rec->tail = json_incref(object);
	if (json_is_integer(run) && json_is_string(base))
		return add_base(rec, run, json_string_value(base));
	return 0;
}

static int
take_line(struct piece *p, const char *line, size_t bytes)
{
	json_t *object;
	int err;

	if (bytes >= sizeof holes_begin &&
	    !memcmp(line, holes_begin, sizeof holes_begin - 1))
		return add_line(p, line, bytes);
	object = json_loadb(line, bytes, 0, NULL);
	if (!object)
		return 0; /* torn: passed over */
	err = take_object(p->rec, object, !p->offset && line == p->text);
	json_decref(object);
	return err;
}

static int
take_lines(struct piece *p)
{
	char *at = p->text, *end = p->text + p->bytes, *newline;
	int err = 0;

	while (!err && (newline = memchr(at, '\n', (size_t)(end - at)))) {
		err = take_line(p, at, (size_t)(newline - at));
		at = newline + 1;
	}
	p->rec->part[p->disk].meta_bytes = p->offset + (uint64_t)(at - p->text);
	return err;
}

/* Reads what is new on one disk; a file that is not there is no error. */
static int
read_part(struct recording *rec, unsigned disk)
{
	struct recording_part *part = &rec->part[disk];
	struct piece p = { rec, disk, part->meta_bytes, NULL, 0 };
	char file[LAYOUT_FILE];
	struct stat st;
	ssize_t got;
	int fd, err = 0;

	fd = openat(part->dir, layout_meta(file, rec->name),
		    O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	if (fstat(fd, &st) < 0 || (uint64_t)st.st_size <= p.offset)
		goto out;
	p.bytes = (size_t)st.st_size - p.offset;
	p.text = malloc(p.bytes + 1);
	err = -ENOMEM;
	if (!p.text)
		goto out;
	got = pread(fd, p.text, p.bytes, (off_t)p.offset);
	p.bytes = got < 0 ? 0 : (size_t)got;
	p.text[p.bytes] = '\0';
	err = take_lines(&p);
	free(p.text);
out:
	close(fd);
	return err;
}

int
recording_meta(struct recording *rec)
{
	int err = 0;

	for (unsigned i = 0; i < rec->disks->n && !err; i++) {
		if (rec->part[i].dir >= 0)
			err = read_part(rec, i);
	}
	return err;
}

static json_t *
load_line(const struct recording *rec, const struct recording_line *line)
{
	char file[LAYOUT_FILE], *text = malloc(line->bytes);
	json_t *object = NULL;
	int fd;

	if (!text)
		return NULL;
	fd = openat(rec->part[line->disk].dir, layout_meta(file, rec->name),
		    O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && pread(fd, text, line->bytes, (off_t)line->offset) ==
			   (ssize_t)line->bytes)
		object = json_loadb(text, line->bytes, 0, NULL);
	if (fd >= 0)
		close(fd);
	free(text);
	return object;
}

int
recording_holes(struct recording *rec, uint64_t number,
		void (*hole)(void *arg, uint32_t slot, uint32_t count),
		void *arg)
{
	const struct recording_block *b;
	json_t *object = NULL, *list, *pair;
	size_t i;

	if (number >= rec->blocks)
		return -ENOENT;
	b = &rec->block[number];
	if (!b->record.missing)
		return 0;
	if (b->record.kind != INDEX_BLOCK) {
		hole(arg, 0, b->record.missing);
		return 0;
	}
	for (i = 0; i < rec->lines && !object; i++) {
		if (rec->line[i].number == number &&
		    (int)rec->line[i].disk == b->disk)
			object = load_line(rec, &rec->line[i]);
	}
	if (!object)
		return -ENODATA;
	list = json_object_get(object, "holes");
	json_array_foreach(list, i, pair)
		hole(arg, (uint32_t)json_integer_value(json_array_get(pair, 0)),
		     (uint32_t)json_integer_value(json_array_get(pair, 1)));
	json_decref(object);
	return 0;
}
