/* SPDX-License-Identifier: MIT */
/*
 * The metadata names each block when its writing begins and when it was
 * written.  If every block has a file of its own, that file must exist, be long
 * enough and have no hole: a power cut may have taken the data and left the
 * line.  If all share a file, a block's place follows from those before it, so
 * blocks are adopted in order, up to the first that is not whole.  The lines
 * "chunk" (begun) and "cut" (cut off again) are read as recover reads them
 * (recover_data.c).
 */
#include "store/finish/index_orphans.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/record/meta.h"

/* A block whose writing was begun, and maybe ended. */
struct begun_block {
	struct index_record record;
	uint32_t gap;
	bool written;
	uint64_t end; /* offset behind it in the shared file */
};

struct orphan_scan {
	const struct index_orphans_args *a;
	uint64_t *known; /* numbers in the index, sorted */
	struct begun_block *begun;
	size_t n;
	uint64_t from; /* offset behind the index's blocks in the shared file */
	uint64_t next;
};

/* ---- the index ----------------------------------------------------------- */

static int
by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static int
know(struct orphan_scan *l)
{
	const struct index_orphans_args *a = l->a;
	struct layout_spot spot;

	l->known = malloc((a->records + 1) * sizeof *l->known);
	if (!l->known)
		return -ENOMEM;
	l->from = layout_plan_begin(a->plan, NULL);
	for (size_t i = 0; i < a->records; i++) {
		l->known[i] = a->record[i].number;
		if (l->known[i] >= l->next)
			l->next = l->known[i] + 1;
		if (a->record[i].kind != INDEX_BLOCK)
			continue;
		layout_plan_spot(a->plan, l->from, a->record[i].number,
				 a->record[i].bytes, &spot);
		l->from = spot.end;
	}
	qsort(l->known, a->records, sizeof *l->known, by_value);
	return 0;
}

static bool
is_known(const struct orphan_scan *l, uint64_t number)
{
	return bsearch(&number, l->known, l->a->records, sizeof number,
		       by_value);
}

/* ---- the metadata -------------------------------------------------------- */

static struct begun_block *
find(struct orphan_scan *l, uint64_t number)
{
	for (size_t i = l->n; i--;) {
		if (l->begun[i].record.number == number)
			return &l->begun[i];
	}
	return NULL;
}

static struct begun_block *
add(struct orphan_scan *l, uint64_t number)
{
	struct begun_block *grown = l->begun;

	/* The array doubles when its length is a power of two. */
	if (!(l->n & (l->n - 1)))
		grown = realloc(grown, (2 * l->n + 1) * sizeof *grown);
	if (!grown)
		return NULL;
	l->begun = grown;
	l->begun[l->n] = (struct begun_block){ .record.number = number };
	return &l->begun[l->n++];
}

static uint64_t
end_of(const struct orphan_scan *l)
{
	return l->n ? l->begun[l->n - 1].end : l->from;
}

/* Notes a {"chunk":..} line, which matters only in a shared file. */
static int
take_begun(struct orphan_scan *l, const json_t *line, uint64_t number)
{
	json_int_t bytes = json_integer_value(json_object_get(line, "bytes"));
	struct layout_spot spot;
	uint64_t end = end_of(l);
	struct begun_block *b;

	if (!layout_plan_shared(l->a->plan))
		return 0;
	b = add(l, number);
	if (!b)
		return -ENOMEM;
	layout_plan_spot(l->a->plan, end, number,
			 bytes > 0 ? (uint64_t)bytes : 0, &spot);
	b->end = spot.end;
	return 0;
}

static int
take_written(struct orphan_scan *l, const json_t *line)
{
	struct index_record r;
	struct begun_block *b;
	uint32_t gap;

	if (meta_read_written(line, &r, &gap))
		return 0;
	b = find(l, r.number);
	if (!b && !layout_plan_shared(l->a->plan)) {
		b = add(l, r.number);
		if (!b)
			return -ENOMEM;
	}
	if (!b)
		return 0;
	b->record = r;
	b->gap = gap;
	b->written = true;
	return 0;
}

static void
take_cut(struct orphan_scan *l, const json_t *line)
{
	const char *text = json_string_value(json_object_get(line, "cut"));
	uint64_t bytes = text ? strtoull(text, NULL, 10) : 0;

	while (l->n && l->begun[l->n - 1].end > bytes)
		l->n--;
}

/* Returns the text behind `key`, or NULL if the line does not begin with it. */
static const char *
behind(const char *line, size_t bytes, const char *key)
{
	size_t length = strlen(key);

	return bytes > length && !memcmp(line, key, length) ? line + length
							    : NULL;
}

static int
take_line(struct orphan_scan *l, const char *text, size_t bytes)
{
	const char *chunk = behind(text, bytes, "{\"chunk\":");
	const char *written = behind(text, bytes, "{\"written\":");
	const char *cut = behind(text, bytes, "{\"cut\":");
	uint64_t number = 0;
	json_t *line;
	int err = 0;

	if (!chunk && !written && !cut)
		return 0;
	if (!cut) {
		number = strtoull(chunk ? chunk : written, NULL, 10);
		if (number < LAYOUT_CHUNKS && number >= l->next)
			l->next = number + 1;
		if (is_known(l, number)) {
			/* The index has this block: blocks noted before it were
			 * taken back. */
			if (chunk && layout_plan_shared(l->a->plan))
				l->n = 0;
			return 0;
		}
	}
	line = json_loadb(text, bytes, 0, NULL);
	if (line && cut)
		take_cut(l, line);
	else if (line && chunk)
		err = take_begun(l, line, number);
	else if (line)
		err = take_written(l, line);
	json_decref(line);
	return err;
}

static int
take_lines(struct orphan_scan *l)
{
	const char *at = l->a->text, *end = at + l->a->bytes, *newline;
	int err = 0;

	while (!err && at < end &&
	       (newline = memchr(at, '\n', (size_t)(end - at)))) {
		err = take_line(l, at, (size_t)(newline - at));
		at = newline + 1;
	}
	return err;
}

/* ---- the data ------------------------------------------------------------ */

/* True if the file has all these bytes, and no hole among them. */
static bool
is_there(int dir, const char *file, uint64_t from, uint64_t bytes)
{
	int fd = disk_open_at(dir, file, O_RDONLY, DISK_NO_LINKS);
	struct stat st;
	bool there;
	off_t hole;

	if (fd < 0)
		return false;
	there = fstat(fd, &st) == 0 && (uint64_t)st.st_size >= from + bytes;
	if (there && bytes) {
		hole = lseek(fd, (off_t)from, SEEK_HOLE);
		there = hole < 0 || (uint64_t)hole >= from + bytes;
	}
	close(fd);
	return there;
}

static bool
is_whole(const struct orphan_scan *l, const struct begun_block *b,
	 uint64_t start, struct layout_spot *spot)
{
	const struct index_record *r = &b->record;

	if (!b->written || r->number >= l->a->below ||
	    (b->gap &&
	     (!r->number || r->first < b->gap || is_known(l, r->number - 1))))
		return false;
	layout_plan_spot(l->a->plan, start, r->number, r->bytes, spot);
	return is_there(l->a->dir, spot->file, spot->offset, r->bytes);
}

static void
see_torn(struct index_orphans *to, const struct begun_block *b)
{
	if (b->record.number < to->torn)
		to->torn = b->record.number;
}

static int
take_whole(struct orphan_scan *l, struct index_orphans *to)
{
	bool shared = layout_plan_shared(l->a->plan);
	uint64_t start = l->from;

	to->record = malloc((2 * l->n + 1) * sizeof *to->record);
	if (!to->record)
		return -ENOMEM;
	for (size_t i = 0; i < l->n; i++) {
		const struct begun_block *b = &l->begun[i];
		struct layout_spot spot;

		if (!is_whole(l, b, start, &spot)) {
			see_torn(to, b);
			if (shared)
				break;
			continue;
		}
		if (b->gap)
			to->record[to->n++] = index_gap(&b->record, b->gap);
		to->record[to->n++] = b->record;
		if (shared)
			start = spot.end;
	}
	return 0;
}

int
index_orphans_find(const struct index_orphans_args *args,
		   struct index_orphans *orphans)
{
	struct orphan_scan l = { .a = args };
	int err = know(&l);

	*orphans = (struct index_orphans){ 0 };
	if (!err)
		err = take_lines(&l);
	orphans->next = orphans->torn = l.next;
	if (!err)
		err = take_whole(&l, orphans);
	free(l.known);
	free(l.begun);
	return err;
}

void
index_orphans_clear(struct index_orphans *orphans)
{
	free(orphans->record);
}
