/* SPDX-License-Identifier: MIT */
/*
 * Finds where a chunk without a record belongs.
 *
 *   sub     from the writer's note; else, of several substreams, the one that
 *           lacks slots between its blocks before and behind the number, if
 *           there is only one such
 *   run     from the note; else that of the substream's block before, or run 0
 *           if there is none
 *   first   from the note; else the end of the block before, as chunks of a
 *           substream are numbered in the order of time.  With a single
 *           substream, numbers in between that no disk has are taken for full
 *           blocks.  A gap that is not in an index yet is missed, but the
 *           times in the frames are right all the same.
 *
 * Notes are lines of the metadata, {"chunk":12,"sub":3,...}.  Only recovery
 * needs them, so readers do not parse them.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/repair/recover_priv.h"

/* ---- notes --------------------------------------------------------------- */

uint64_t
rescue_number(const json_t *line, const char *key)
{
	const json_t *value = json_object_get(line, key);

	if (json_is_string(value))
		return strtoull(json_string_value(value), NULL, 10);
	return (uint64_t)json_integer_value(value);
}

static int
add_note(struct rescue *r, const json_t *line)
{
	struct index_record *grown = r->note;

	/* The array doubles when its length is a power of two. */
	if (!(r->notes & (r->notes - 1)))
		grown = realloc(grown, (2 * r->notes + 1) * sizeof *grown);
	if (!grown)
		return -ENOMEM;
	r->note = grown;
	r->note[r->notes++] = (struct index_record){
		.number = rescue_number(line, "chunk"),
		.first = rescue_number(line, "first"),
		.bytes = rescue_number(line, "bytes"),
		.run = (uint32_t)rescue_number(line, "run"),
		.present = (uint32_t)rescue_number(line, "present"),
		.missing = (uint32_t)rescue_number(line, "missing"),
		.sub = (uint16_t)rescue_number(line, "sub"),
		.kind = INDEX_BLOCK,
	};
	if (r->note[r->notes - 1].sub >= r->subs)
		r->subs = r->note[r->notes - 1].sub + 1u;
	return 0;
}

static int
read_notes(struct rescue *r, unsigned disk)
{
	char file[LAYOUT_FILE], *text = NULL;
	size_t room = 0;
	int fd, err = 0;
	ssize_t length;
	FILE *from;

	fd = rescue_open(r, disk, layout_meta(file, r->rec->name), O_RDONLY);
	from = fd < 0 ? NULL : fdopen(fd, "r");
	if (!from)
		return 0;
	while (!err && (length = getline(&text, &room, from)) > 0) {
		json_t *line;

		if (strncmp(text, "{\"chunk\":", 9) != 0)
			continue;
		line = json_loadb(text, (size_t)length, 0, NULL);
		if (line)
			err = add_note(r, line);
		json_decref(line);
	}
	free(text);
	fclose(from);
	return err;
}

static int
by_number(const void *a, const void *b)
{
	const struct index_record *x = a, *y = b;

	return x->number < y->number ? -1 : x->number > y->number;
}

int
rescue_notes(struct rescue *r)
{
	int err = 0;

	for (unsigned i = 0; i < r->disks->n && !err; i++) {
		if (r->index[i] >= 0)
			err = read_notes(r, i);
	}
	if (r->notes)
		qsort(r->note, r->notes, sizeof *r->note, by_number);
	return err;
}

int
rescue_remember(struct rescue *r, const struct index_record *record)
{
	struct index_record *grown =
	    realloc(r->note, (r->notes + 1) * sizeof *grown);

	if (!grown)
		return -ENOMEM;
	r->note = grown;
	r->note[r->notes++] = *record;
	if (record->sub >= r->subs)
		r->subs = record->sub + 1u;
	qsort(r->note, r->notes, sizeof *r->note, by_number);
	return 0;
}

const struct index_record *
rescue_noted(const struct rescue *r, uint64_t number)
{
	const struct index_record key = { .number = number };

	if (!r->notes)
		return NULL;
	return bsearch(&key, r->note, r->notes, sizeof key, by_number);
}

/* ---- neighbours ---------------------------------------------------------- */

/* The blocks of one substream next to a number, known or noted. */
struct neighbours {
	const struct index_record *before, *behind;
};

static void
take(struct neighbours *n, const struct index_record *k, uint64_t number)
{
	if (k->number < number && (!n->before || k->number > n->before->number))
		n->before = k;
	if (k->number > number && (!n->behind || k->number < n->behind->number))
		n->behind = k;
}

static uint64_t
end_of(const struct rescue *r, const struct index_record *k)
{
	uint64_t bytes = k->bytes;

	if (k->kind == INDEX_GAP)
		return k->first + k->missing;
	return k->first + bytes / r->rec->shape.payload;
}

/* True if slots are missing between them: a chunk may fit there. */
static bool
has_hole(const struct rescue *r, const struct neighbours *n)
{
	return n->before && n->behind && n->before->run == n->behind->run &&
	       end_of(r, n->before) < n->behind->first;
}

/* Returns the only substream with a hole at a number; else -1. */
static int
find_hole(const struct rescue *r, const struct neighbours *n)
{
	int found = -1;

	for (unsigned i = 0; i < r->subs; i++) {
		if (!has_hole(r, &n[i]))
			continue;
		if (found >= 0)
			return -1;
		found = (int)i;
	}
	return found;
}

static void
follow(const struct rescue *r, const struct index_record *before,
       struct index_record *record)
{
	uint64_t number = 0;

	if (before) {
		record->run = before->run;
		record->first = end_of(r, before);
		number = before->number + 1;
	}
	if (r->subs == 1)
		record->first += (record->number - number) * r->rec->slots;
}

bool
rescue_place(const struct rescue *r, struct index_record *record)
{
	const struct index_record *note = rescue_noted(r, record->number);
	struct neighbours *n;
	int sub = 0;

	if (note) {
		record->sub = note->sub;
		record->run = note->run;
		record->first = note->first;
		return true;
	}
	n = calloc(r->subs, sizeof *n);
	if (!n)
		return false;
	for (size_t i = 0; i < r->knowns; i++)
		take(&n[r->known[i].sub], &r->known[i], record->number);
	for (size_t i = 0; i < r->notes; i++)
		take(&n[r->note[i].sub], &r->note[i], record->number);
	/*
	 * Heaps of rows have counters with unknown steps: holes cannot be seen.
	 */
	if (r->subs > 1)
		sub = r->rec->shape.store == HEAP_ROW ? -1 : find_hole(r, n);
	if (sub >= 0) {
		record->sub = (uint16_t)sub;
		follow(r, n[sub].before, record);
	}
	free(n);
	return sub >= 0;
}
