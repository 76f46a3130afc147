/* SPDX-License-Identifier: MIT */
/*
 * Makes records of chunks of heaps that no index names.
 *
 * A row is packets one behind the other: it ends with the last whole packet
 * before anything that was never written.  The number of pieces of its heaps is
 * known only from the writer's note; without one, a packet counts as one piece,
 * and an incomplete heap lacks one.
 *
 * A cube is slots without a header.  A slot that is all zeros counts as
 * missing, and such slots at the end are cut off, unless the note says that the
 * block was that long.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/disk/file.h"
#include "store/repair/recover_priv.h"
#include "store/record/row.h"

int
rescue_row(struct rescue *r, const struct orphan *o, int fd,
	   struct index_record *record)
{
	const struct index_record *note = rescue_noted(r, o->number);
	off_t hole = lseek(fd, 0, SEEK_HOLE);
	uint64_t bytes = o->bytes;
	struct row row;
	int err;

	if (hole >= 0 && (uint64_t)hole < bytes)
		bytes = (uint64_t)hole;
	err = row_look(r->format, fd, bytes, &row);
	if (err)
		return err;
	if (!row.packets)
		return rescue_remove(r, o);
	record->first = row.first;
	record->bytes = row.bytes;
	record->present = (uint32_t)row.packets;
	record->missing = (uint32_t)row.incomplete;
	if (note && note->bytes == row.bytes) {
		record->present = note->present;
		record->missing = note->missing;
	}
	return rescue_cut(r, o, fd, record);
}

/* State of looking through a chunk of a cube. */
struct look {
	int fd;
	uint32_t payload, slots;
	uint32_t used;	/* slots up to the last that is not zero */
	uint32_t zeros; /* zero slots before that */
	json_t *holes;
	uint8_t *slot;
	bool *written; /* by slot: wholly written */
};

static bool
is_zero(const uint8_t *data, size_t bytes)
{
	return !bytes || (!*data && !memcmp(data, data + 1, bytes - 1));
}

static int
add_hole(struct look *l, uint32_t from, uint32_t to)
{
	l->zeros += to - from;
	return json_array_append_new(
	    l->holes, json_pack("[I, I]", (json_int_t)from * l->payload,
				(json_int_t)(to - from) * l->payload));
}

/* Finds holes before anything is read: see rescue_is_written(). */
static int
look_for_holes(struct look *l)
{
	l->written = calloc(l->slots + 1, sizeof *l->written);
	if (!l->written)
		return -ENOMEM;
	for (uint32_t i = 0; i < l->slots; i++)
		l->written[i] = rescue_is_written(
		    l->fd, (uint64_t)i * l->payload, l->payload);
	return 0;
}

static int
look_through(struct look *l, uint32_t until)
{
	for (uint32_t i = 0; i < l->slots; i++) {
		ssize_t got = read_whole(l->fd, l->slot, l->payload,
					 (uint64_t)i * l->payload);

		if (got < 0)
			return (int)got;
		if (got < (ssize_t)l->payload || is_zero(l->slot, l->payload) ||
		    !l->written[i])
			continue;
		if (i > l->used && add_hole(l, l->used, i))
			return -ENOMEM;
		l->used = i + 1;
	}
	if (l->used && until > l->used && until <= l->slots) {
		if (add_hole(l, l->used, until))
			return -ENOMEM;
		l->used = until;
	}
	return 0;
}

/* Returns the pieces per heap, as in another block of the substream. */
static uint32_t
pieces_of(const struct rescue *r, const struct index_record *record)
{
	uint32_t payload = r->rec->shape.payload;

	for (size_t i = r->knowns; i; i--) {
		const struct index_record *k = &r->known[i - 1];
		uint64_t slots = k->bytes / payload;

		if (k->sub == record->sub && k->kind == INDEX_BLOCK && slots)
			return (uint32_t)(((uint64_t)k->present + k->missing +
					   slots / 2) /
					  slots);
	}
	return 1;
}

/*
 * Notes the missing items, unless the writer's line with them is there already.
 */
static int
note_holes(struct rescue *r, const struct orphan *o, const struct look *l)
{
	json_t *line;
	int err;

	if (!json_array_size(l->holes))
		return 0;
	for (size_t i = 0; i < r->rec->lines; i++) {
		if (r->rec->line[i].number == o->number &&
		    r->rec->line[i].disk == o->disk)
			return 0;
	}
	line = json_pack("{s:I, s:O, s:s}", "block", (json_int_t)o->number,
			 "holes", l->holes, "unit", "byte");
	err = line ? rescue_note(r, o->disk, line) : -ENOMEM;
	json_decref(line);
	return err;
}

static int
make_record(struct rescue *r, const struct orphan *o, const struct look *l,
	    struct index_record *record)
{
	const struct index_record *note = rescue_noted(r, o->number);
	uint32_t pieces = pieces_of(r, record);
	int err;

	record->bytes = (uint64_t)l->used * l->payload;
	record->present = (l->used - l->zeros) * pieces;
	record->missing = l->zeros * pieces;
	if (note && note->bytes == record->bytes) {
		record->present = note->present;
		record->missing = note->missing;
	}
	err = rescue_cut(r, o, l->fd, record);
	return err ? err : note_holes(r, o, l);
}

int
rescue_cube(struct rescue *r, const struct orphan *o, int fd,
	    struct index_record *record)
{
	const struct index_record *note = rescue_noted(r, o->number);
	struct look l = { .fd = fd, .payload = r->rec->shape.payload };
	uint64_t until = note ? note->bytes / l.payload : 0;
	int err = -ENOMEM;

	if (o->bytes / l.payload > UINT32_MAX)
		return -EFBIG;
	l.slots = (uint32_t)(o->bytes / l.payload);
	l.slot = malloc(l.payload);
	l.holes = json_array();
	if (l.slot && l.holes)
		err = look_for_holes(&l);
	if (!err)
		err = look_through(&l,
				   until < l.slots ? (uint32_t)until : l.slots);
	if (!err && l.used)
		err = make_record(r, o, &l, record);
	else if (!err)
		err = rescue_remove(r, o);
	json_decref(l.holes);
	free(l.slot);
	free(l.written);
	return err;
}
