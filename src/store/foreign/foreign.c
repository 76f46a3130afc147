/* SPDX-License-Identifier: MIT */
/*
 * A foreign recording is turned into one of ours in memory:
 *
 *   find     its files, and the blocks in them (foreign_find.c)
 *   settle   one block per number
 *   learn    format and lengths from the bytes (foreign_learn.c)
 *   single   the order of packets in one file per disk (foreign_time.c)
 *   time     sequences and times from the packets (foreign_time.c)
 *   fill     the packets that another recorder made up (foreign_fill.c)
 *   make     the first line of metadata, and index records
 *
 * Readers know records and that line only, so they work unchanged.  They ask
 * this code only where in a file a block's bytes are.
 *
 * Pieces are sorted by the number of the block that they became.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "store/foreign/foreign_piece.h"
#include "store/record/meta.h"
#include "store/disk/file.h"

void
foreign_note(struct foreign *f, const char *format, ...)
{
	enum { NOTES = 1000 };
	char sentence[512];
	va_list args;

	if (json_array_size(f->notes) >= NOTES)
		return;
	va_start(args, format);
	vsnprintf(sentence, sizeof sentence, format, args);
	va_end(args);
	json_array_append_new(f->notes, json_string(sentence));
}

int
foreign_add(struct foreign *f, const struct foreign_piece *piece)
{
	struct foreign_piece *grown = f->piece;

	/* The array is full whenever the number of pieces is a power of two. */
	if (!(f->pieces & (f->pieces - 1)))
		grown = realloc(grown, (2 * f->pieces + 1) * sizeof *grown);
	if (!grown)
		return -ENOMEM;
	f->piece = grown;
	f->piece[f->pieces++] = *piece;
	return 0;
}

/* ---- one block per number ---------------------------------------------- */

static int
by_number(const void *a, const void *b)
{
	const struct foreign_piece *x = a, *y = b;

	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	if (x->disk != y->disk)
		return x->disk < y->disk ? -1 : 1;
	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static int
add_double(struct foreign *f, const struct foreign_piece *out,
	   const struct foreign_piece *kept)
{
	struct foreign_double *grown =
	    realloc(f->twin, (f->twins + 1) * sizeof *grown);

	if (!grown)
		return -ENOMEM;
	f->twin = grown;
	f->twin[f->twins++] =
	    (struct foreign_double){ out->file, out->disk, kept->disk };
	return 0;
}

/* Keeps one piece of each number: the longest one, or the first of equals. */
static int
drop_doubles(struct foreign *f)
{
	size_t kept = 0;
	int err = 0;

	for (size_t i = 0; i < f->pieces && !err; i++) {
		struct foreign_piece *p = &f->piece[i];
		struct foreign_piece *last = kept ? &f->piece[kept - 1] : NULL;

		if (!last || last->number != p->number) {
			f->piece[kept++] = *p;
			continue;
		}
		foreign_note(f,
			     "block %" PRIu64 " is there twice, on %s and %s; "
			     "the %s one is used",
			     p->number, f->disks->disk[last->disk].path,
			     f->disks->disk[p->disk].path,
			     p->stored > last->stored ? "second, longer"
						      : "first");
		if (p->stored > last->stored) {
			err = add_double(f, last, p);
			*last = *p;
		} else {
			err = add_double(f, p, last);
		}
	}
	f->pieces = kept;
	return err;
}

/* Replaces impossible block numbers.  Numbers up to 40 times the number of
 * blocks are plausible, since most disks may be missing.  A block with a higher
 * one gets the number after that of the block before it. */
static void
correct_numbers(struct foreign *f)
{
	uint64_t most = 40 * (uint64_t)f->pieces + 4096;

	for (size_t i = 0; i < f->pieces; i++) {
		struct foreign_piece *p = &f->piece[i];

		if (p->number < most)
			continue;
		p->number = i ? p[-1].number + 1 : 0;
		foreign_note(f,
			     "block number %" PRIu64 " is implausible: %" PRIu64
			     " is used instead",
			     p->file, p->number);
	}
}

/* Sorts the pieces by number, keeps one of each number, and replaces impossible
 * numbers.  0 or -ENOMEM. */
static int
settle(struct foreign *f)
{
	int err;

	if (f->pieces)
		qsort(f->piece, f->pieces, sizeof *f->piece, by_number);
	err = drop_doubles(f);
	correct_numbers(f);
	return err;
}

/* ---- records and head -------------------------------------------------- */

static uint32_t
count_of(uint64_t n)
{
	return n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;
}

/* Packets of a piece that have data: neither lost nor fill. */
static uint64_t
packets_of(const struct foreign *f, const struct foreign_piece *p)
{
	return p->bytes / foreign_payload(f) - p->filled;
}

static struct index_record
record_of(const struct foreign *f, const struct foreign_piece *p)
{
	return (struct index_record){
		.number = p->number,
		.first = p->first,
		.first_ns = p->first_ns,
		.last_ns = p->last_ns,
		.bytes = p->bytes,
		.present = count_of(packets_of(f, p)),
		.missing = count_of(p->lost + p->filled),
		.kind = INDEX_BLOCK,
		.flags = INDEX_RECOVERED | (p->timed ? INDEX_DATA_TIME : 0),
	};
}

/* Adds to the head how packets are stored and which program stored them, as
 * readers need both, also after `recover` wrote that head into metadata of
 * ours. */
static int
add_origin(json_t *head, const struct foreign *f)
{
	int err = json_object_set_new(head, "made_by", json_string(f->made_by));

	if (!err)
		err = json_object_set_new(
		    head, "stored",
		    json_pack("{s:I, s:I}", "packet",
			      (json_int_t)f->form.packet, "prefix",
			      (json_int_t)f->form.prefix));
	return err ? -ENOMEM : 0;
}

/* Makes the first line of metadata.  `disks` has room for a path per disk. */
static json_t *
head_of(const struct foreign *f, const char **disks)
{
	static const enum layout layout[] = {
		[FOREIGN_CHUNKS] = LAYOUT_VBS,
		[FOREIGN_SINGLE] = LAYOUT_SINGLE,
		[FOREIGN_SG] = LAYOUT_MARK6,
	};
	uint32_t slots = count_of(f->full_bytes / f->form.packet);
	struct geometry g = {
		.payload = foreign_payload(f),
		.parts = f->parts,
		.quantum = f->parts,
		.slots = slots ? slots : 1,
	};
	json_t *name = text_json(f->name), *made;
	struct meta_head head = {
		.name = name ? json_string_value(name) : "",
		.stream = "",
		.layout = layout[f->kind],
		.format = f->form.format,
		.extension = f->format ? f->format->extension : "raw",
		.fill = FILL_INVALID,
		.start_ns = f->piece[0].first_ns,
		.shape = &f->shape,
		.geometry = &g,
		.disks = disks,
	};

	g.block_bytes = (uint64_t)g.slots * g.payload;
	for (unsigned i = 0; i < f->disks->n; i++) {
		if (f->part[i].dir >= 0)
			disks[head.disks_n++] = f->disks->disk[i].path;
	}
	made = meta_head(&head);
	json_decref(name);
	return made;
}

static int
make_head(struct foreign *f)
{
	const char **disks = calloc(f->disks->n + 1, sizeof *disks);

	if (disks)
		f->head = head_of(f, disks);
	free(disks);
	return f->head ? add_origin(f->head, f) : -ENOMEM;
}

/* ---- opening ----------------------------------------------------------- */

int
foreign_open(struct foreign **foreign, const struct disks *disks,
	     const char *name)
{
	struct foreign *f = calloc(1, sizeof *f);
	int err = -ENOMEM;

	*foreign = f;
	if (!f)
		return -ENOMEM;
	f->disks = disks;
	snprintf(f->name, sizeof f->name, "%s", name);
	f->notes = json_array();
	f->part = calloc(disks->n + 1, sizeof *f->part);
	if (!f->part || !f->notes)
		return -ENOMEM;
	for (unsigned i = 0; i < disks->n; i++)
		f->part[i].dir = -1;
	err = foreign_find(f);
	if (!err)
		err = settle(f);
	if (!err)
		err = foreign_learn(f);
	if (!err && f->kind == FOREIGN_SINGLE)
		err = foreign_single(f);
	if (!err)
		err = foreign_time(f);
	if (!err)
		err = foreign_fill(f);
	return err ? err : make_head(f);
}

void
foreign_close(struct foreign *f)
{
	if (!f)
		return;
	for (unsigned i = 0; f->part && i < f->disks->n; i++) {
		if (f->part[i].dir >= 0)
			file_close(f->part[i].dir);
	}
	free(f->part);
	json_decref(f->head);
	json_decref(f->notes);
	free(f->filler);
	free(f->twin);
	free(f->piece);
	free(f);
}

const char *
foreign_name(const struct foreign *f)
{
	return f->name;
}

json_t *
foreign_head(const struct foreign *f)
{
	return f->head;
}

uint64_t
foreign_base(const struct foreign *f)
{
	return f->base;
}

struct index_record
foreign_end(const struct foreign *f)
{
	const struct foreign_piece *last = &f->piece[f->pieces - 1];
	struct index_record end = { .kind = INDEX_END,
				    .number = last->number + 1,
				    .first_ns = f->piece[0].first_ns,
				    .last_ns = last->last_ns };

	for (size_t i = 0; i < f->pieces; i++)
		end.first += packets_of(f, &f->piece[i]);
	return end;
}

int
foreign_take_dir(struct foreign *f, unsigned disk)
{
	int dir = f->part[disk].dir;

	f->part[disk].dir = -1;
	return dir;
}

int
foreign_records(const struct foreign *f, unsigned disk,
		struct index_record **records, size_t *n)
{
	struct index_record *list;
	size_t most = 0;

	for (size_t i = 0; i < f->pieces; i++)
		most += f->piece[i].disk == disk;
	list = malloc((most + 1) * sizeof *list);
	if (!list)
		return -ENOMEM;
	*n = 0;
	for (size_t i = 0; i < f->pieces; i++) {
		if (f->piece[i].disk == disk)
			list[(*n)++] = record_of(f, &f->piece[i]);
	}
	*records = list;
	return 0;
}

size_t
foreign_doubles(const struct foreign *f)
{
	return f->twins;
}

struct foreign_double
foreign_double(const struct foreign *f, size_t i)
{
	return f->twin[i];
}

const json_t *
foreign_notes(const struct foreign *f)
{
	return f->notes;
}

/* ---- the bytes of a block ---------------------------------------------- */

const struct foreign_piece *
foreign_piece_find(const struct foreign *f, uint64_t number)
{
	size_t low = 0, high = f->pieces;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (f->piece[middle].number == number)
			return &f->piece[middle];
		if (f->piece[middle].number < number)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

/* Path of a piece's file, relative to its disk. */
static const char *
path_of(const struct foreign *f, const struct foreign_piece *p,
	char path[FOREIGN_PATH])
{
	const char *folder = f->name, *file = f->name;
	char chunk[LAYOUT_FILE];

	if (f->kind == FOREIGN_SG)
		folder = f->part[p->disk].folder;
	if (f->kind == FOREIGN_CHUNKS)
		file = layout_chunk(chunk, f->name, p->file);
	snprintf(path, FOREIGN_PATH, "%s/%s", folder, file);
	return path;
}

int
foreign_piece_open(const struct foreign *f, const struct foreign_piece *p)
{
	char path[FOREIGN_PATH];

	return disk_open_at(f->disks->disk[p->disk].fd, path_of(f, p, path),
			    O_RDONLY, DISK_LINKS);
}

int
foreign_chunk(const struct foreign *f, uint64_t number, uint64_t *offset)
{
	const struct foreign_piece *p = foreign_piece_find(f, number);

	if (!p)
		return -ENOENT;
	*offset = p->offset;
	return foreign_piece_open(f, p);
}

int
foreign_where(const struct foreign *f, uint64_t number, char *file,
	      uint64_t *offset)
{
	const struct foreign_piece *p = foreign_piece_find(f, number);

	if (!p)
		return -ENOENT;
	*offset = p->offset;
	path_of(f, p, file);
	return 0;
}

int64_t
foreign_chunk_bytes(const struct foreign *f, uint64_t number)
{
	const struct foreign_piece *p = foreign_piece_find(f, number);
	char path[FOREIGN_PATH];
	uint64_t there;
	struct stat st;

	if (!p)
		return -ENOENT;
	if (file_stat_at(f->disks->disk[p->disk].fd, path_of(f, p, path), &st,
			 0) < 0)
		return -errno;
	there = (uint64_t)st.st_size;
	there = there > p->offset ? there - p->offset : 0;
	if (there >= p->stored)
		return (int64_t)p->bytes;
	there = there / f->form.packet * foreign_payload(f);
	return (int64_t)(there < p->bytes ? there : p->bytes);
}

/* True if the blocks of a disk's file lie back to back under their own numbers,
 * all of them full but the last, and the file is in the disk's own folder. */
static bool
is_regular(const struct foreign *f, unsigned disk)
{
	uint64_t step = f->full_bytes + SG_BLOCK, at = SG_HEADER + SG_BLOCK;
	bool last = false;
	char dir[LAYOUT_FILE];
	struct stat here, there;

	for (size_t i = 0; i < f->pieces; i++) {
		const struct foreign_piece *p = &f->piece[i];

		if (p->disk != disk)
			continue;
		if (last || p->offset != at || p->number != p->file)
			return false;
		last = p->stored != f->full_bytes;
		at += step;
	}
	/* Our folder goes beside the file, in the disk's own folder. */
	return !file_stat_at(f->disks->disk[disk].fd, f->part[disk].folder,
			     &here, 0) &&
	       !file_stat_at(f->disks->disk[disk].fd, ".", &there, 0) &&
	       here.st_ino == there.st_ino && here.st_dev == there.st_dev &&
	       layout_dir(dir, f->name, LAYOUT_MARK6);
}

/* True if a file of the recording is a symbolic link.  An index of ours cannot
 * describe it: our own data files are opened without following links. */
static bool
has_links(const struct foreign *f)
{
	char path[FOREIGN_PATH];
	struct stat st;

	for (size_t i = 0; i < f->pieces; i++) {
		const struct foreign_piece *p = &f->piece[i];

		if (!file_stat_at(f->disks->disk[p->disk].fd,
				  path_of(f, p, path), &st,
				  AT_SYMLINK_NOFOLLOW) &&
		    S_ISLNK(st.st_mode))
			return true;
	}
	return false;
}

bool
foreign_layout(const struct foreign *f, enum layout *layout)
{
	struct layout_plan plan;

	if (!layout_folder_good(f->name) || f->kind == FOREIGN_SINGLE ||
	    has_links(f))
		return false;
	*layout = f->kind == FOREIGN_SG ? LAYOUT_MARK6 : LAYOUT_VBS;
	if (*layout == LAYOUT_VBS)
		return true;
	for (unsigned i = 0; i < f->disks->n; i++) {
		if (f->part[i].folder && !is_regular(f, i))
			return false;
	}
	return !f->twins && !f->form.prefix &&
	       f->full_bytes % (f->form.packet * f->parts) == 0 &&
	       !layout_plan_make(&plan, f->name, f->head);
}
