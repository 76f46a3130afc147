/* SPDX-License-Identifier: MIT */
/*
 * Keeps items, and turns them into findings: by kind, and on each disk in the order of its
 * blocks.  Adjacent items of a kind become one finding: quanta of a chunk that
 * follow each other, and chunks of a disk that are wrong from end to end.
 *
 * The packets and times of bytes follow from their block's record: the packets
 * of a block are equal in size and taken to come at an even pace.
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "store/repair/verify_items.h"

/* ---- items --------------------------------------------------------------- */

/* Keeps what was found, disk by disk, until it is reported. */

const char *
verify_path(const struct verify_part *p)
{
	return p->check->disks->disk[p->disk].path;
}

static struct verify_item *
item_new(struct verify_part *p, enum verify_kind kind)
{
	struct verify_item *grown;
	size_t room = p->room ? 2 * p->room : 16;

	if (p->items == p->room) {
		grown = realloc(p->item, room * sizeof *grown);
		if (!grown) {
			p->err = -ENOMEM;
			p->spare = (struct verify_item){ .kind = kind };
			return &p->spare;
		}
		p->item = grown;
		p->room = room;
	}
	p->item[p->items] =
	    (struct verify_item){ .kind = kind, .place = p->items };
	return &p->item[p->items++];
}

struct verify_item *
verify_say(struct verify_part *p, enum verify_kind kind, const char *format,
	   ...)
{
	struct verify_item *i;
	char *text;
	va_list args;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0) {
		text = NULL;
		p->err = -ENOMEM;
	}
	va_end(args);
	i = item_new(p, kind);
	if (i == &p->spare)
		free(text);
	else
		i->text = text;
	return i;
}

struct verify_item *
verify_add(struct verify_part *p, enum verify_kind kind,
	   const struct recording_block *b, size_t place)
{
	struct verify_item *i = item_new(p, kind);

	i->b = b;
	i->place = place;
	i->number = i->last = b->record.number;
	i->chunks = 1;
	i->bytes = b->record.bytes;
	return i;
}

void
verify_take_back(struct verify_part *p, enum verify_kind kind, size_t n)
{
	size_t kept = n;

	for (size_t i = n; i < p->items; i++) {
		if (p->item[i].kind == kind)
			free(p->item[i].text);
		else
			p->item[kept++] = p->item[i];
	}
	p->items = kept;
}

void
verify_items_free(struct verification *c)
{
	for (unsigned i = 0; i <= c->disks->n; i++) {
		struct verify_part *p = &c->part[i];

		for (size_t k = 0; k < p->items; k++)
			free(p->item[k].text);
		free(p->item);
		free(p->buffer);
		free(p->ahead);
		sums_clear(&p->sums);
	}
}

/* ---- findings ------------------------------------------------------------ */

const char *
verify_word(enum verify_kind kind)
{
	static const char *const word[] = {
		[VERIFY_DAMAGED] = "damaged",
		[VERIFY_UNREADABLE] = "unreadable",
		[VERIFY_MISSING] = "missing",
		[VERIFY_LENGTH] = "length",
		[VERIFY_MISPLACED] = "misplaced",
		[VERIFY_DUPLICATE] = "duplicate",
		[VERIFY_UNINDEXED] = "unindexed",
		[VERIFY_ABSENT] = "absent",
		[VERIFY_COMPUTED] = "computed",
		[VERIFY_PARITY] = "parity",
		[VERIFY_INDEX] = "index",
		[VERIFY_SUMS] = "checksums",
		[VERIFY_UNSUMMED] = "unsummed",
		[VERIFY_CONTENTS] = "contents",
		[VERIFY_END] = "no-end",
	};

	return word[kind];
}

static int
by_kind(const void *a, const void *b)
{
	const struct verify_item *x = a, *y = b;

	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (x->place != y->place)
		return x->place < y->place ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

static bool
is_next(const struct verify_item *x, const struct verify_item *y)
{
	if (!x->b || !y->b || x->text || y->text || x->kind != y->kind ||
	    x->kind == VERIFY_LENGTH || x->err != y->err)
		return false;
	if (x->b == y->b)
		return x->at + x->bytes == y->at;
	return y->place == x->place + 1 && !y->at &&
	       x->at + x->bytes >= x->b->record.bytes;
}

static uint64_t
item_end(const struct verify_item *i)
{
	uint64_t end = i->at + i->bytes;

	return end < i->b->record.bytes ? end : i->b->record.bytes;
}

/* Returns the time of the packet in a slot: of arrival, or of its data. */
static int64_t
slot_time(const struct index_record *r, uint64_t slot, uint64_t slots)
{
	double share = slots > 1 ? (double)slot / (double)(slots - 1) : 0;

	return r->first_ns +
	       (int64_t)(share * (double)(r->last_ns - r->first_ns) + 0.5);
}

static void
packets_set(const struct verification *c, struct verify_finding *f,
	    const struct verify_item *first, const struct verify_item *last)
{
	const struct index_record *a = &first->b->record, *b = &last->b->record;
	uint32_t payload = c->rec->shape.payload;
	uint64_t from = first->at / payload;
	uint64_t to = item_end(last) ? (item_end(last) - 1) / payload : 0;

	f->packets = a->run == b->run && a->sub == b->sub;
	f->run = a->run;
	f->first = a->first + from;
	f->last = b->first + to;
	f->first_ns = slot_time(a, from, a->bytes / payload);
	f->last_ns = slot_time(b, to, b->bytes / payload);
}

/* Sets the place of a finding that covers items `first` to `last`. */
static void
place_set(const struct verification *c, struct verify_finding *f,
	  const struct verify_item *first, const struct verify_item *last)
{
	const struct recording_block *a = first->b, *b = last->b;

	f->at = first->at;
	f->data_time = a->record.flags & INDEX_DATA_TIME;
	f->first_ns = a->record.first_ns;
	f->last_ns = b->record.last_ns;
	f->filed = a->record.sub == b->record.sub && first->at < a->bytes &&
		   first->at < item_end(first);
	f->sub = a->record.sub;
	f->offset = a->offset + first->at;
	f->end =
	    b->offset + (item_end(last) < b->bytes ? item_end(last) : b->bytes);
	if (c->rec->shape.store != HEAP_ROW)
		packets_set(c, f, first, last);
}

enum { TEXT = 1024 };

struct verify_text {
	char text[TEXT];
	size_t n;
};

__attribute__((format(printf, 2, 3))) static void
words_add(struct verify_text *w, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	w->n += (size_t)vsnprintf(w->text + w->n, TEXT - w->n, format, args);
	va_end(args);
	if (w->n >= TEXT)
		w->n = TEXT - 1;
}

/* Adds ": bytes 0 to 99 of the recording, packets 0 to 7 of run 0, data time
 * ... to ...". */
static void
words_place(struct verify_text *w, const struct verification *c,
	    const struct verify_finding *f)
{
	char from[UNITS_TEXT], to[UNITS_TEXT];

	if (!f->filed)
		return;
	words_add(w, ": %sbytes %" PRIu64 " to %" PRIu64 " of ",
		  f->chunks > 1 ? "of " : "", f->offset, f->end - 1);
	if (c->rec->facts.subs > 1)
		words_add(w, "substream %u", f->sub);
	else
		words_add(w, "the recording");
	if (f->packets)
		words_add(w, ", %s %" PRIu64 " to %" PRIu64 " of run %" PRIu32,
			  c->rec->shape.store == HEAP_CUBE ? "items"
							   : "packets",
			  f->first, f->last, f->run);
	words_add(w, ", %s %s to %s", f->data_time ? "data time" : "arrived",
		  units_show_time_ns(from, f->first_ns),
		  units_show_time_ns(to, f->last_ns));
}

/* Adds "chunk 3 on /mnt/disk0" or "7 chunks on /mnt/disk0, from 3 to 30,". */
static void
words_chunks(struct verify_text *w, const struct verify_finding *f)
{
	if (f->chunks == 1)
		words_add(w, "chunk %" PRIu64 " on %s", f->number, f->disk);
	else
		words_add(w,
			  "%u chunks on %s, from %" PRIu64 " to %" PRIu64 ",",
			  f->chunks, f->disk, f->number, f->last_number);
}

static void
words_bytes(struct verify_text *w, const struct verify_finding *f)
{
	if (f->chunks == 1)
		words_add(w, ", %" PRIu64 " bytes from byte %" PRIu64 " on,",
			  f->bytes, f->at);
	else
		words_add(w,
			  " %" PRIu64 " bytes from byte %" PRIu64
			  " of the first on,",
			  f->bytes, f->at);
}

static void
words_length(struct verify_text *w, const struct verification *c,
	     const struct verify_item *i)
{
	/* A name of a remote disk may stay when its object is gone. */
	if (!i->there && i->b->disk >= 0 &&
	    file_is_remote(c->rec->part[i->b->disk].dir)) {
		words_add(w,
			  " is missing: its name is there, and none of its "
			  "%" PRIu64 " bytes",
			  i->b->record.bytes);
		return;
	}
	words_add(w, " has %" PRIu64 " bytes, the index says %" PRIu64,
		  i->there, i->b->record.bytes);
}

static void
words_make(struct verify_text *w, const struct verification *c,
	   const struct verify_finding *f, const struct verify_item *i)
{
	const char *are = f->chunks == 1 ? "is" : "are";

	words_chunks(w, f);
	switch (f->kind) {
	case VERIFY_DAMAGED:
		words_bytes(w, f);
		words_add(w, " are damaged");
		break;
	case VERIFY_UNREADABLE:
		words_bytes(w, f);
		words_add(w, " cannot be read (%s)", strerror(-i->err));
		break;
	case VERIFY_MISSING:
		words_add(w, " %s not there, though the index there names %s",
			  are, f->chunks == 1 ? "it" : "them");
		break;
	case VERIFY_LENGTH: words_length(w, c, i); break;
	case VERIFY_UNSUMMED:
		words_add(w,
			  " %s without checksums of pieces: damage is known "
			  "by whole chunks",
			  are);
		return;
	default: break;
	}
	words_place(w, c, f);
}

/* The time of the last packet before a block, or of the first one behind it. */
static int64_t
time_near(const struct recording *rec, uint64_t number, int way)
{
	while (number < rec->blocks) {
		const struct index_record *r = &rec->block[number].record;

		if (r->kind == INDEX_BLOCK)
			return way < 0 ? r->last_ns : r->first_ns;
		number += (uint64_t)way;
	}
	return 0;
}

const char *
verify_place(const struct recording *rec, uint64_t from, uint64_t to,
	     char text[VERIFY_PLACE])
{
	const struct recording_block *a = &rec->block[from];
	const struct recording_block *b = &rec->block[to];
	bool known = a->record.kind == INDEX_BLOCK;
	uint64_t end = b->record.first + b->bytes / rec->shape.payload;
	char one[UNITS_TEXT], two[UNITS_TEXT];
	int64_t first_ns, last_ns;
	int n = 0;

	*text = '\0';
	if (rec->shape.store != HEAP_ROW && (known || rec->facts.subs == 1) &&
	    a->record.run == b->record.run && a->record.sub == b->record.sub &&
	    end > a->record.first)
		n = snprintf(text, VERIFY_PLACE,
			     ": %s %" PRIu64 " to %" PRIu64 " of run %" PRIu32,
			     rec->shape.store == HEAP_CUBE ? "items"
							   : "packets",
			     a->record.first, end - 1, a->record.run);
	first_ns = known ? a->record.first_ns : time_near(rec, from, -1);
	last_ns = b->record.kind == INDEX_BLOCK ? b->record.last_ns
						: time_near(rec, to, 1);
	if (first_ns && last_ns)
		snprintf(text + n, (size_t)(VERIFY_PLACE - n), "%s %s to %s",
			 n ? "," : ":", units_show_time_ns(one, first_ns),
			 units_show_time_ns(two, last_ns));
	else if (first_ns || last_ns) /* nothing else is behind, or before */
		snprintf(
		    text + n, (size_t)(VERIFY_PLACE - n), "%s %s %s",
		    n ? "," : ":", first_ns ? "after" : "before",
		    units_show_time_ns(one, first_ns ? first_ns : last_ns));
	return text;
}

static void
tell(struct verification *c, const struct verify_finding *f)
{
	if (c->hooks->found)
		c->hooks->found(c->hooks->arg, f);
	if (c->found < INT_MAX)
		c->found++;
}

/* groups that are read to see whether they mend a finding, of which one says it of
 * all */
enum { MEND_TRIES = 8 };

/* Says what parity does about a finding. */
static enum verify_mend
item_mend(struct verification *c, const struct verify_item *i)
{
	switch (i->kind) {
	case VERIFY_COMPUTED: return VERIFY_REBUILDS;
	case VERIFY_PARITY: return VERIFY_SCRUBS;
	case VERIFY_DAMAGED:
	case VERIFY_UNREADABLE:
	case VERIFY_MISSING:
	case VERIFY_LENGTH: break;
	default: return VERIFY_NOT_MENDED;
	}
	if (!c->mends && i->b && c->mend_tries < MEND_TRIES &&
	    recording_protects(c->rec, i->b->record.number)) {
		c->mend_tries++;
		c->mends = !recording_heal(c->rec, i->b, NULL, 0, 0);
	}
	return c->mends ? VERIFY_SCRUBS : VERIFY_NOT_MENDED;
}

/* Reports items [from, to) as one finding. */
static void
items_tell(struct verify_part *p, const struct verify_item *from,
	   const struct verify_item *to)
{
	const struct verify_item *last = to - 1;
	struct verification *c = p->check;
	struct verify_finding f = { .kind = from->kind,
				    .mend = item_mend(c, from),
				    .chunks = from->chunks,
				    .number = from->number,
				    .last_number = last->last };
	struct verify_text w = { .n = 0 };

	if (p->disk < c->disks->n)
		f.disk = verify_path(p);
	for (const struct verify_item *i = from; i < to; i++) {
		f.bytes += i->bytes;
		f.chunks += i > from && i->b != i[-1].b;
	}
	f.sentence = from->text;
	if (from->b)
		place_set(c, &f, from, last);
	if (from->b && !from->text) {
		words_make(&w, c, &f, from);
		f.sentence = w.text;
	}
	tell(c, &f);
}

void
verify_tell(struct verification *c)
{
	for (unsigned i = 0; i <= c->disks->n; i++) {
		struct verify_part *p = &c->part[i];
		size_t from = 0, to;

		if (p->items)
			qsort(p->item, p->items, sizeof *p->item, by_kind);
		for (; from < p->items; from = to) {
			to = from + 1;
			while (to < p->items &&
			       is_next(&p->item[to - 1], &p->item[to]))
				to++;
			items_tell(p, &p->item[from], &p->item[to]);
		}
	}
}
