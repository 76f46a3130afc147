/* SPDX-License-Identifier: MIT */
/*
 * Metadata is read once, and of a live recording only what was added since.  A
 * line counts when its newline is there.
 *
 * Most lines are holes, and few of those are ever needed.  So their positions
 * are remembered, and they are parsed on demand.  They are recognised by their
 * first bytes, which meta.c guarantees (it writes "block" first).
 *
 * A daemon that resumes a recording after another one was killed writes a line
 * on every disk that takes part from then on, when the disk has records of all
 * that it will ever have of earlier numbers.  So in a live recording a number
 * below may be missing for good: a block that was in flight.  That is certain
 * when every disk here has the line and no disk was missing at the time; else
 * readers wait, since bytes below the visible end never change.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/units.h"
#include "store/disk/file.h"
#include "store/record/meta.h"
#include "store/foreign/foreign.h"
#include "store/recording/recording_priv.h"

/* A piece of one disk's metadata while it is read. */
struct piece {
	struct recording *rec;
	unsigned disk;
	uint64_t offset; /* position of `text` in the file */
	char *text;
	size_t bytes;
};

static const char holes_begin[] = "{\"block\":";

/* used by `recover` only */
static const char chunk_begin[] = "{\"chunk\":";

/* used after a crash only (adopt.c) */
static const char written_begin[] = "{\"written\":";

static int
add_line(struct piece *p, const char *line, size_t bytes)
{
	struct recording *rec = p->rec;
	struct recording_line *grown = rec->line;

	/* The array doubles: it is full whenever the number is a power of
	 * two. */
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

/* Adds the base of a run.  Every disk repeats this line; duplicates are removed
 * after all disks are read. */
static int
add_base(struct recording *rec, const json_t *object)
{
	json_t *run = json_object_get(object, "run");
	json_t *base = json_object_get(object, "base");
	json_t *sub = json_object_get(object, "sub");
	const char *time = json_string_value(json_object_get(object, "time"));
	struct recording_base *grown = rec->base;
	int64_t arrival;

	if (!json_is_integer(run) || !json_is_string(base))
		return 0;
	if (!(rec->bases & (rec->bases - 1)))
		grown = realloc(grown, (2 * rec->bases + 1) * sizeof *grown);
	if (!grown)
		return -ENOMEM;
	rec->base = grown;
	if (!time || units_time(time, 0, &arrival))
		arrival = 0;
	rec->base[rec->bases++] = (struct recording_base){
		.sub = (uint32_t)json_integer_value(sub),
		.run = (uint32_t)json_integer_value(run),
		.base = strtoull(json_string_value(base), NULL, 10),
		.arrival_ns = arrival,
	};
	return 0;
}

static int
by_run(const void *a, const void *b)
{
	const struct recording_base *x = a, *y = b;

	if (x->sub != y->sub)
		return x->sub < y->sub ? -1 : 1;
	return x->run < y->run ? -1 : x->run > y->run;
}

/* Orders by run; of several disks' lines of one run, the earliest comes
 * first. */
static int
by_arrival(const void *a, const void *b)
{
	const struct recording_base *x = a, *y = b;
	int order = by_run(a, b);

	if (order)
		return order;
	return x->arrival_ns < y->arrival_ns ? -1
					     : x->arrival_ns > y->arrival_ns;
}

static int
by_number(const void *a, const void *b)
{
	const struct recording_line *x = a, *y = b;

	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	return x->disk < y->disk ? -1 : x->disk > y->disk;
}

static void
sort(struct recording *rec)
{
	size_t kept = 0;

	if (rec->lines)
		qsort(rec->line, rec->lines, sizeof *rec->line, by_number);
	if (!rec->bases)
		return;
	qsort(rec->base, rec->bases, sizeof *rec->base, by_arrival);
	for (size_t i = 0; i < rec->bases; i++) {
		if (!kept || by_run(&rec->base[kept - 1], &rec->base[i]))
			rec->base[kept++] = rec->base[i];
	}
	rec->bases = kept;
}

static const struct recording_base *
find_base(const struct recording *rec, unsigned sub, uint32_t run)
{
	const struct recording_base key = { .sub = sub, .run = run };

	return rec->bases
		   ? bsearch(&key, rec->base, rec->bases, sizeof key, by_run)
		   : NULL;
}

uint64_t
recording_base(const struct recording *rec, unsigned sub, uint32_t run)
{
	const struct recording_base *found = find_base(rec, sub, run);

	return found ? found->base : 0;
}

int64_t
recording_arrival(const struct recording *rec, unsigned sub, uint32_t run)
{
	const struct recording_base *found = find_base(rec, sub, run);

	return found ? found->arrival_ns : 0;
}

/* ---- resumed ----------------------------------------------------------- */

static uint64_t
number_of(const json_t *line, const char *key)
{
	json_int_t n = json_integer_value(json_object_get(line, key));

	return n > 0 ? (uint64_t)n : 0;
}

/* Adds a line in the order of the numbers, once: many disks have it. */
static int
add_resumed(struct recording *rec, json_t *line, uint64_t number)
{
	size_t at = 0, n = json_array_size(rec->resumed);

	while (at < n &&
	       number_of(json_array_get(rec->resumed, at), "number") < number)
		at++;
	if (at < n &&
	    number_of(json_array_get(rec->resumed, at), "number") == number)
		return 0;
	return json_array_insert(rec->resumed, at, line) ? -ENOMEM : 0;
}

static int
take_resumed(struct recording *rec, unsigned disk, json_t *line)
{
	struct recording_part *part = &rec->part[disk];
	uint64_t number = number_of(line, "number");

	if (!json_is_string(json_object_get(line, "resumed")))
		return 0;
	if (!rec->resumed)
		rec->resumed = json_array();
	if (!rec->resumed)
		return -ENOMEM;
	if (number > part->resumed)
		part->resumed = number;
	return add_resumed(rec, line, number);
}

/* The number from which on a daemon last resumed with all disks.  0 if none
 * did, a disk was missing then, or a disk lacks its line. */
static uint64_t
settled_before(const struct recording *rec)
{
	size_t n = json_array_size(rec->resumed);
	const json_t *last = n ? json_array_get(rec->resumed, n - 1) : NULL;
	uint64_t number = number_of(last, "number");

	if (!last || number_of(last, "missing"))
		return 0;
	for (unsigned i = 0; i < rec->disks->n; i++) {
		if (rec->part[i].dir >= 0 && rec->part[i].resumed != number)
			return 0;
	}
	return number;
}

void
recording_settle(struct recording *rec, uint64_t end)
{
	if (end <= rec->settled)
		return;
	rec->settled = end;
	rec->stale = true;
}

uint64_t
recording_settled(const struct recording *rec)
{
	uint64_t resumed = settled_before(rec);

	return resumed > rec->settled ? resumed : rec->settled;
}

bool
recording_unused(const struct recording *rec, uint64_t number)
{
	const json_t *line;
	size_t i;

	json_array_foreach(rec->resumed, i, line) {
		if (number >= number_of(line, "seen") &&
		    number < number_of(line, "number"))
			return true;
	}
	return false;
}

/* ---- lines ------------------------------------------------------------- */

static bool
is_head(const json_t *object)
{
	return json_integer_value(json_object_get(object, "spate")) == 1 &&
	       json_is_object(json_object_get(object, "shape"));
}

static int
add_descriptor(struct recording *rec, json_t *text)
{
	const json_t *other;
	size_t i;

	if (!json_is_string(text))
		return 0;
	/* a disk that hung may repeat it */
	json_array_foreach(rec->described, i, other) {
		if (json_equal(other, text))
			return 0;
	}
	rec->facts.descriptors++;
	if (!rec->described)
		rec->described = json_array();
	return json_array_append(rec->described, text) ? -ENOMEM : 0;
}

/* Counts a control heap once: with parity several disks have its line. */
static int
add_control(struct recording *rec, const json_t *object)
{
	char *line;
	int err = 0;

	if (!json_is_string(json_object_get(object, "control")))
		return 0;
	line = json_dumps(object, JSON_COMPACT | JSON_SORT_KEYS);
	if (!rec->controlled)
		rec->controlled = json_object();
	if (line && !json_object_get(rec->controlled, line)) {
		err = json_object_set_new(rec->controlled, line, json_true());
		rec->facts.controls += !err;
	}
	free(line);
	return err || !line ? -ENOMEM : 0;
}

/* Finds the line with frames per second and threads: that of a run, or the end
 * line, which is the only one to have them in a copied recording.  A new
 * reference, or NULL. */
static json_t *
find_learned(json_t *object)
{
	json_t *end = json_object_get(object, "end");

	if (json_object_get(object, "fps"))
		return json_incref(object);
	return json_object_get(end, "fps") ? json_incref(end) : NULL;
}

static int
take_object(struct piece *p, json_t *object, bool first)
{
	struct recording *rec = p->rec;
	int err;

	if (first && !rec->head && is_head(object))
		rec->head = json_incref(object);
	else if (first)
		rec->part[p->disk].other = meta_differs(rec->head, object);
	if (!rec->tail && json_is_object(json_object_get(object, "end")))
		rec->tail = json_incref(object);
	err = add_control(rec, object);
	if (!err)
		err =
		    add_descriptor(rec, json_object_get(object, "descriptor"));
	if (!rec->learned)
		rec->learned = find_learned(object);
	if (!err)
		err = take_resumed(rec, p->disk, object);
	return err ? err : add_base(rec, object);
}

static bool
begins(const char *line, size_t bytes, const char *with)
{
	size_t length = strlen(with);

	return bytes > length && !memcmp(line, with, length);
}

static int
take_line(struct piece *p, const char *line, size_t bytes)
{
	json_t *object;
	int err;

	if (begins(line, bytes, holes_begin))
		return add_line(p, line, bytes);
	if (begins(line, bytes, chunk_begin) ||
	    begins(line, bytes, written_begin))
		return 0;
	object = json_loadb(line, bytes, 0, NULL);
	if (!object)
		return 0; /* torn: skipped */
	err = take_object(p, object, !p->offset && line == p->text);
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

/* Reads from p->offset to the last whole line before `end`, a piece at a time,
 * so that long metadata takes little memory; the buffer grows only for a line
 * that is longer. */
static int
read_pieces(struct piece *p, int fd, uint64_t end)
{
	enum { PIECE = 1 << 20, LINE_MOST = 256 << 20 };
	size_t room = PIECE;
	int err = 0;

	while (!err && p->offset < end) {
		uint64_t left = end - p->offset, from = p->offset;
		char *grown = realloc(p->text, room + 1);
		ssize_t got;

		if (!grown)
			return -ENOMEM;
		p->text = grown;
		got = read_whole(fd, p->text, left < room ? left : room, from);
		if (got < 0)
			p->rec->part[p->disk].meta_err = (int)got;
		if (got <= 0)
			break;
		p->bytes = (size_t)got;
		p->text[p->bytes] = '\0';
		err = take_lines(p);
		p->offset = p->rec->part[p->disk].meta_bytes;
		if (p->offset > from)
			continue;
		if ((size_t)got < room || room >= LINE_MOST)
			break;
		room *= 4;
	}
	return err;
}

/* Reads what is new on one disk.  A file that is missing, or that cannot be read
 * to its end, is no error.  0 or -ENOMEM. */
static int
read_part(struct recording *rec, unsigned disk)
{
	struct recording_part *part = &rec->part[disk];
	struct piece p = { rec, disk, part->meta_bytes, NULL, 0 };
	char file[LAYOUT_FILE];
	struct stat st;
	int fd, err = 0;

	fd = disk_open_at(part->dir, layout_meta(file, rec->name), O_RDONLY,
			  DISK_NO_LINKS);
	part->meta_err = fd < 0 && fd != -ENOENT ? fd : 0;
	if (fd < 0)
		return 0;
	if (file_stat(fd, &st) < 0 || (uint64_t)st.st_size <= p.offset)
		goto out;
	if ((uint64_t)st.st_size > meta_most(part->record, part->records)) {
		recording_refuse(rec, disk, file, (uint64_t)st.st_size);
		goto out;
	}
	rec->stale = true;
	err = read_pieces(&p, fd, (uint64_t)st.st_size);
	free(p.text);
out:
	file_close(fd);
	return err;
}

int
recording_meta(struct recording *rec)
{
	size_t lines = rec->lines, bases = rec->bases;
	int err = 0;

	for (unsigned i = 0; i < rec->disks->n && !err; i++) {
		if (rec->part[i].dir >= 0 && !rec->part[i].hangs)
			err = read_part(rec, i);
	}
	if (rec->lines != lines || rec->bases != bases)
		sort(rec);
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
	fd =
	    disk_open_at(rec->part[line->disk].dir,
			 layout_meta(file, rec->name), O_RDONLY, DISK_NO_LINKS);
	if (fd >= 0 && file_read(fd, text, line->bytes, (off_t)line->offset) ==
			   (ssize_t)line->bytes)
		object = json_loadb(text, line->bytes, 0, NULL);
	if (fd >= 0)
		file_close(fd);
	free(text);
	return object;
}

static const struct recording_line *
seek_line(const struct recording *rec, uint64_t number, unsigned disk)
{
	const struct recording_line key = { .number = number, .disk = disk };

	return rec->lines
		   ? bsearch(&key, rec->line, rec->lines, sizeof key, by_number)
		   : NULL;
}

/* Parses the line of holes of a block, from its own disk; else from another one,
 * that has parity of its group, or had the block before.  NULL if there is none
 * that can be read. */
static json_t *
find_line(const struct recording *rec, const struct recording_block *b)
{
	const struct recording_line *found;
	json_t *line = NULL;

	if (b->disk >= 0 && !rec->part[b->disk].hangs) {
		found = seek_line(rec, b->record.number, (unsigned)b->disk);
		line = found ? load_line(rec, found) : NULL;
	}
	for (unsigned i = 0; i < rec->disks->n && !line; i++) {
		if (rec->part[i].dir < 0 || rec->part[i].hangs)
			continue;
		found = seek_line(rec, b->record.number, i);
		line = found ? load_line(rec, found) : NULL;
	}
	return line;
}

json_t *
recording_line(const struct recording *rec, uint64_t number)
{
	const struct recording_block none = { .record.number = number,
					      .disk = -1 };

	return find_line(rec,
			 number < rec->blocks ? &rec->block[number] : &none);
}

bool
recording_has_line(const struct recording *rec, uint64_t number, unsigned disk)
{
	return seek_line(rec, number, disk) != NULL;
}

static uint64_t
pair_value(const json_t *pair, size_t i)
{
	json_int_t n = json_integer_value(json_array_get(pair, i));

	return n > 0 ? (uint64_t)n : 0;
}

int
recording_holes(struct recording *rec, uint64_t number,
		void (*hole)(void *arg, uint64_t at, uint64_t count), void *arg)
{
	uint64_t unit = rec->shape.store == HEAP_NONE ? 1 : rec->shape.payload;
	const struct recording_block *b;
	json_t *line, *pair;
	size_t i;

	if (number >= rec->blocks)
		return -ENOENT;
	b = &rec->block[number];
	if (!b->record.missing && rec->shape.store != HEAP_CUBE)
		/* a cube's number of missing packets is an estimate, so 0 may
		 * be wrong */
		return 0;
	if (b->record.kind != INDEX_BLOCK) {
		hole(arg, 0,
		     rec->shape.store == HEAP_NONE ? b->record.missing
						   : b->bytes);
		return 0;
	}
	if (rec->foreign)
		return foreign_holes(rec->foreign, number, hole, arg);
	line = find_line(rec, b);
	if (!line && recording_is_awaited(rec, number))
		return -EAGAIN;
	if (!line)
		return b->record.missing ? -ENODATA : 0;
	if (json_object_get(line, "unit"))
		unit = 1; /* "byte" is the only unit */
	json_array_foreach(json_object_get(line, "holes"), i, pair)
		hole(arg, pair_value(pair, 0) * unit,
		     pair_value(pair, 1) * unit);
	json_decref(line);
	return 0;
}

static void
hole_set(void *arg, uint64_t at, uint64_t count)
{
	struct block *b = arg;

	for (; count--; at++)
		b->present[at / 64] &= ~(UINT64_C(1) << at % 64);
}

int
recording_foreign_note(const struct recording *rec, struct index_record *record,
		       json_t **line)
{
	uint32_t slots = (uint32_t)(record->bytes / rec->shape.payload);
	struct block b = { .number = record->number, .used = slots };

	*line = NULL;
	if (record->present == slots)
		return 0;
	if (!foreign_knows_holes(rec->foreign, record->number)) {
		record->present = slots; /* readers take all slots as packets */
		return 0;
	}
	b.present = malloc(((size_t)slots / 64 + 1) * sizeof *b.present);
	if (!b.present)
		return -ENOMEM;
	memset(b.present, 0xff, ((size_t)slots / 64 + 1) * sizeof *b.present);
	if (!foreign_holes(rec->foreign, record->number, hole_set, &b))
		*line = meta_holes(&b);
	free(b.present);
	return 0;
}

/* A part of a block's slots, and a bit for each. */
struct slot_bits {
	uint64_t from, *present;
	uint32_t slots;
	uint32_t unit; /* bytes of a slot, if holes are in bytes; else 1 */
};

/* Metadata may be damaged: a hole may begin and end anywhere. */
static void
clear_hole(void *arg, uint64_t at, uint64_t count)
{
	const struct slot_bits *s = arg;
	uint64_t end;

	if (__builtin_add_overflow(at, count, &end))
		end = UINT64_MAX;
	if (!count || end / s->unit < s->from)
		return;
	end = (end - 1) / s->unit + 1 - s->from;
	at = at / s->unit > s->from ? at / s->unit - s->from : 0;
	for (; at < end && at < s->slots; at++)
		s->present[at / 64] &= ~(UINT64_C(1) << at % 64);
}

int
recording_present(struct recording *rec, uint64_t number, uint64_t from,
		  uint32_t slots, uint64_t *present)
{
	uint32_t unit = rec->shape.store == HEAP_NONE ? 1 : rec->shape.payload;
	struct slot_bits s = { from, present, slots, unit };

	return recording_holes(rec, number, clear_hole, &s);
}
