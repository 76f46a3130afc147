/* SPDX-License-Identifier: MIT */
/*
 * The metadata of each disk is read once, and afterwards what was added.  A
 * line of holes names its block.  A descriptor or control heap belongs to the
 * block whose "written" line comes next on that disk: disk_recording_note()
 * writes them together.
 */
#include "store/write/copy_lines.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/units.h"
#include "store/disk/file.h"
#include "store/recording/recording_priv.h"

/* Position of a line, and its block. */
struct copy_line {
	uint64_t number, offset;
	size_t bytes;
	unsigned disk;
};

#define OPEN UINT64_MAX /* copy_line::number: block not known yet */

struct copy_lines {
	struct recording *rec;
	uint64_t *seen; /* bytes read of each disk's metadata */
	struct copy_line *line;
	size_t n, room;
	size_t sorted; /* the first `sorted` of these n are in order */
};

int
copy_lines_make(struct copy_lines **lines, struct recording *rec)
{
	struct copy_lines *t = calloc(1, sizeof *t);

	if (t)
		t->seen = calloc(rec->disks->n + 1, sizeof *t->seen);
	if (!t || !t->seen) {
		free(t);
		return -ENOMEM;
	}
	t->rec = rec;
	*lines = t;
	return copy_lines_refresh(t);
}

void
copy_lines_free(struct copy_lines *t)
{
	if (!t)
		return;
	free(t->seen);
	free(t->line);
	free(t);
}

/* ---- reading ------------------------------------------------------------- */

static int
add(struct copy_lines *t, const struct copy_line *s)
{
	struct copy_line *grown = t->line;

	if (t->n == t->room) {
		size_t room = t->room ? 2 * t->room : 64;

		grown = realloc(grown, room * sizeof *grown);
		if (!grown)
			return -ENOMEM;
		t->line = grown;
		t->room = room;
	}
	grown[t->n++] = *s;
	return 0;
}

static bool
begins(const char *line, size_t bytes, const char *with, uint64_t *number)
{
	size_t n = strlen(with);

	if (bytes <= n || memcmp(line, with, n) != 0)
		return false;
	if (number)
		*number = strtoull(line + n, NULL, 10);
	return true;
}

/* Assigns a disk's lines that wait for their block to this one. */
static void
settle(struct copy_lines *t, unsigned disk, uint64_t number)
{
	for (size_t i = t->n; i-- > t->sorted;) {
		if (t->line[i].number == OPEN && t->line[i].disk == disk)
			t->line[i].number = number;
	}
}

static int
take_line(struct copy_lines *t, const char *line, struct copy_line *s)
{
	uint64_t number;

	if (begins(line, s->bytes, "{\"written\":", &number)) {
		settle(t, s->disk, number);
		return 0;
	}
	s->number = OPEN;
	if (begins(line, s->bytes, "{\"block\":", &number))
		s->number = number;
	else if (!begins(line, s->bytes, "{\"descriptor\":", NULL) &&
		 !begins(line, s->bytes, "{\"control\":", NULL))
		return 0;
	return add(t, s);
}

static int
take_lines(struct copy_lines *t, unsigned disk, const char *text, size_t bytes)
{
	const char *at = text, *end = text + bytes, *newline;
	uint64_t from = t->seen[disk];
	int err = 0;

	while (!err && (newline = memchr(at, '\n', (size_t)(end - at)))) {
		struct copy_line s = { .offset = from + (uint64_t)(at - text),
				       .bytes = (size_t)(newline - at) + 1,
				       .disk = disk };

		err = take_line(t, at, &s);
		at = newline + 1;
	}
	t->seen[disk] = from + (uint64_t)(at - text);
	return err;
}

static int
meta_open(const struct copy_lines *t, unsigned disk)
{
	char file[LAYOUT_FILE];

	return disk_open_at(t->rec->part[disk].dir,
			    layout_meta(file, t->rec->name), O_RDONLY,
			    DISK_NO_LINKS);
}

/* A disk that is missing contributes no lines, and none of its blocks is
 * copied. */
static int
read_disk(struct copy_lines *t, unsigned disk)
{
	int fd = meta_open(t, disk), err = 0;
	struct stat st;
	char *text;
	ssize_t got;

	if (fd < 0)
		return 0;
	if (file_stat(fd, &st) < 0 || (uint64_t)st.st_size <= t->seen[disk]) {
		file_close(fd);
		return 0;
	}
	text = malloc((size_t)st.st_size - t->seen[disk] + 1);
	if (text) {
		got = read_whole(fd, text, (size_t)st.st_size - t->seen[disk],
				 t->seen[disk]);
		if (got > 0) {
			text[got] = '\0';
			err = take_lines(t, disk, text, (size_t)got);
		}
	}
	file_close(fd);
	free(text);
	return text ? err : -ENOMEM;
}

static int
by_place(const void *a, const void *b)
{
	const struct copy_line *x = a, *y = b;

	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	if (x->disk != y->disk)
		return x->disk < y->disk ? -1 : 1;
	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

int
copy_lines_refresh(struct copy_lines *t)
{
	int err = 0;

	for (unsigned i = 0; i < t->rec->disks->n && !err; i++) {
		if (t->rec->part[i].dir >= 0)
			err = read_disk(t, i);
	}
	if (t->n)
		qsort(t->line, t->n, sizeof *t->line, by_place);
	/* Lines that wait for their block are sorted last. */
	for (t->sorted = t->n;
	     t->sorted && t->line[t->sorted - 1].number == OPEN;)
		t->sorted--;
	return err;
}

/* ---- a block ------------------------------------------------------------- */

static size_t
first_of(const struct copy_lines *t, uint64_t number)
{
	size_t from = 0, to = t->sorted;

	while (from < to) {
		size_t mid = from + (to - from) / 2;

		if (t->line[mid].number < number)
			from = mid + 1;
		else
			to = mid;
	}
	return from;
}

static int
load(const struct copy_lines *t, const struct copy_line *s,
     struct copy_lines_block *b)
{
	char *grown = realloc(b->lines, b->bytes + s->bytes);
	int fd, err = 0;

	if (!grown)
		return -ENOMEM;
	b->lines = grown;
	fd = meta_open(t, s->disk);
	if (fd < 0)
		return fd;
	if (read_whole(fd, grown + b->bytes, s->bytes, s->offset) !=
	    (ssize_t)s->bytes)
		err = -EIO;
	b->bytes += err ? 0 : s->bytes;
	file_close(fd);
	return err;
}

/* Takes only lines from the disk that has the block: another disk may have had
 * it first and failed to write it. */
static int
lines_of(struct copy_lines *t, const struct recording_block *at,
	 struct copy_lines_block *b)
{
	uint64_t number = at->record.number;
	int err = 0;

	for (size_t i = first_of(t, number);
	     !err && i < t->sorted && t->line[i].number == number; i++) {
		if ((int)t->line[i].disk == at->disk)
			err = load(t, &t->line[i], b);
	}
	return err;
}

/* Appends a line to a text, which it takes over.  Returns the new text; NULL
 * without memory. */
static char *
line_add(char *text, const json_t *line)
{
	char *more = text ? json_dumps(line, JSON_COMPACT) : NULL;
	char *grown = NULL;

	if (more)
		grown = realloc(text, strlen(text) + strlen(more) + 2);
	if (grown) {
		strcat(grown, more);
		strcat(grown, "\n");
	} else {
		free(text);
	}
	free(more);
	return grown;
}

/* Makes up what the metadata of another program's recording would say. */
static int
line_of_foreign(const struct copy_lines *t, struct copy_lines_block *b)
{
	json_t *line;
	int err = recording_foreign_note(t->rec, &b->record, &line);

	if (err || !line)
		return err;
	b->lines = calloc(1, 1);
	b->lines = line_add(b->lines, line);
	b->bytes = b->lines ? strlen(b->lines) : 0;
	json_decref(line);
	return b->lines ? 0 : -ENOMEM;
}

json_t *
copy_lines_head(const struct copy_lines *t)
{
	const struct recording_facts *f = &t->rec->facts;
	json_t *head = json_deep_copy(t->rec->head), *of;
	char start[UNITS_TEXT];

	if (!head || !strcmp(f->made_by, "spate"))
		return head;
	/*
	 * Name and start tell its copy from those of others: all else that was
	 * made up of their files may be the same.
	 */
	of = json_pack("{s:s, s:s, s:s}", "made_by", f->made_by, "name",
		       t->rec->name, "start",
		       units_show_time_ns(start, f->start_ns));
	json_object_del(head, "made_by");
	json_object_del(head, "stored");
	if (of && !json_object_set_new(head, "copied_of", of))
		return head;
	json_decref(head);
	return NULL;
}

int
copy_lines_block(struct copy_lines *t, const struct index_record *r,
		 struct copy_lines_block *b)
{
	const struct recording *rec = t->rec;
	const struct recording_block *at = &rec->block[r->number];
	int err;

	*b = (struct copy_lines_block){
		.record = *r,
		.base = recording_base(rec, r->sub, r->run),
		.arrival_ns = recording_arrival(rec, r->sub, r->run),
	};
	if (r->number && at[-1].record.kind == INDEX_GAP)
		b->gap = at[-1].record.missing;
	err = rec->foreign ? line_of_foreign(t, b) : lines_of(t, at, b);
	if (err) {
		free(b->lines);
		b->lines = NULL;
		b->bytes = 0;
	}
	return err;
}

/* ---- the end ------------------------------------------------------------- */

bool
copy_lines_end(const struct copy_lines *t, struct index_record *end,
	       char **lines)
{
	const struct recording *rec = t->rec;
	const json_t *line;
	bool ended = false;
	size_t i;

	*lines = calloc(1, 1);
	json_array_foreach(rec->resumed, i, line)
		*lines = line_add(*lines, line);
	if (rec->tail)
		*lines = line_add(*lines, rec->tail);
	for (unsigned d = 0; d < rec->disks->n; d++) {
		const struct recording_part *part = &rec->part[d];

		if (part->ended && (!ended || part->end.number > end->number))
			*end = part->end;
		ended |= part->ended;
	}
	return ended;
}
