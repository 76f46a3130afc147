/* SPDX-License-Identifier: MIT */
/*
 * A foreign recording is turned into one of ours in memory:
 *
 *   find     its files, and the blocks in them (foreign_find.c, foreign_sg.c,
 *            foreign_single.c)
 *   settle   one block per number
 *   learn    format and lengths from the bytes (foreign_learn.c)
 *   time     sequences and times from the packets (foreign_time.c)
 *   fill     the packets that another recorder made up (foreign_fill.c)
 *   make     index records and the first line of metadata, in memory
 *
 * Readers know records and that line only, so they work unchanged.  They ask
 * this code only where in a file a block's bytes are.
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
#include "store/recording/foreign_priv.h"
#include "store/record/meta.h"

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

/* ---- one block per number ------------------------------------------------ */

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
drop_doubles(const struct recording *rec, struct foreign *f)
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
			     p->number, rec->disks->disk[last->disk].path,
			     rec->disks->disk[p->disk].path,
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
			     "block number %" PRIu64 " cannot be: it is taken "
			     "for %" PRIu64,
			     p->file, p->number);
	}
}

int
foreign_settle(const struct recording *rec, struct foreign *f)
{
	int err;

	if (f->pieces)
		qsort(f->piece, f->pieces, sizeof *f->piece, by_number);
	err = drop_doubles(rec, f);
	correct_numbers(f);
	return err;
}

/* ---- records and head --------------------------------------------------- */

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
make_record(const struct foreign *f, const struct foreign_piece *p)
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

static int
make_parts(struct recording *rec, const struct foreign *f)
{
	const struct foreign_piece *last = &f->piece[f->pieces - 1];
	struct index_record end = { .kind = INDEX_END,
				    .number = last->number + 1,
				    .first_ns = f->piece[0].first_ns,
				    .last_ns = last->last_ns };
	struct recording_part *part;

	for (size_t i = 0; i < f->pieces; i++) {
		end.first += packets_of(f, &f->piece[i]);
		rec->part[f->piece[i].disk].records++;
	}
	for (unsigned i = 0; i < rec->disks->n; i++) {
		part = &rec->part[i];
		if (part->dir < 0)
			continue;
		part->record =
		    malloc((part->records + 1) * sizeof *part->record);
		if (!part->record)
			return -ENOMEM;
		part->records = 0;
		part->ended = true;
		part->end = end;
	}
	for (size_t i = 0; i < f->pieces; i++) {
		part = &rec->part[f->piece[i].disk];
		part->record[part->records++] = make_record(f, &f->piece[i]);
	}
	return 0;
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

static json_t *
make_head(const struct recording *rec, const struct foreign *f,
	  const char **disks)
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
	json_t *name = text_json(rec->name), *made;
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
	for (unsigned i = 0; i < rec->disks->n; i++) {
		if (rec->part[i].dir >= 0)
			disks[head.disks_n++] = rec->disks->disk[i].path;
	}
	made = meta_head(&head);
	json_decref(name);
	return made;
}

static int
make(struct recording *rec, const struct foreign *f)
{
	const char **disks = calloc(rec->disks->n + 1, sizeof *disks);
	int err = -ENOMEM;

	rec->base = malloc(sizeof *rec->base);
	if (disks && rec->base) {
		rec->base[0] = (struct recording_base){ .base = f->base };
		rec->bases = 1;
		rec->head = make_head(rec, f, disks);
	}
	if (rec->head)
		err = add_origin(rec->head, f);
	free(disks);
	return err ? err : make_parts(rec, f);
}

int
foreign_open(struct recording *rec)
{
	struct foreign *f = calloc(1, sizeof *f);
	int err = -ENOMEM;

	rec->foreign = f;
	if (f)
		f->notes = json_array();
	if (f && f->notes)
		err = foreign_find(rec, f);
	if (err)
		return err;
	err = foreign_settle(rec, f);
	if (!err)
		err = foreign_learn(rec, f);
	if (!err && f->kind == FOREIGN_SINGLE)
		err = foreign_single(rec, f);
	if (!err)
		err = foreign_time(rec, f);
	if (!err)
		err = foreign_fill(rec, f);
	return err ? err : make(rec, f);
}

void
foreign_close(struct foreign *f)
{
	if (!f)
		return;
	json_decref(f->notes);
	free(f->filler);
	free(f->twin);
	free(f->piece);
	free(f);
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
