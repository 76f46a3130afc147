/* SPDX-License-Identifier: MIT */
/*
 * Makes the record of a chunk that no index names: where it belongs, and what
 * it holds.  If its line says that it was written, and it is what was written,
 * the line has the record.  Else it is nothing but slots, and the record is made
 * from their contents.
 *
 * present   The writer fills every slot before writing, so a slot is missing
 *           if it is fill (its data is the pattern throughout), or if it was
 *           never written (its header makes no sense, or a part of it is a
 *           hole of the file: several requests of a chunk are in flight, and
 *           a crash may lose any of them).  A frame that its sender marked
 *           invalid, with other data, counts as present.  Fill "zero" is
 *           recognised only in formats with a header.
 * first     The packets' own counter if the format has one, else as
 *           find_place() finds it.
 * times     The data's own, else those of the file.
 *
 * Everything behind the last slot with a packet is cut off: the torn end of a
 * write, and the padding to whole pages of a block that closed early.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/ease.h"
#include "store/disk/file.h"
#include "store/record/meta.h"
#include "store/record/heap_chunk.h"
#include "store/finish/recover_priv.h"

/* ---- where a chunk belongs ----------------------------------------------- */

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
 * Notes are lines of the metadata (leftovers.h).  Only recovery needs them, so
 * readers do not parse them.
 */

int
recover_remember(struct recovery *r, const struct index_record *record)
{
	struct index_record *grown = r->note;

	/* The array doubles when its length is a power of two. */
	if (!(r->notes & (r->notes - 1)))
		grown = realloc(grown, (2 * r->notes + 1) * sizeof *grown);
	if (!grown)
		return -ENOMEM;
	r->note = grown;
	grown[r->notes++] = *record;
	if (record->sub >= r->subs)
		r->subs = record->sub + 1u;
	return 0;
}

static int
by_number(const void *a, const void *b)
{
	const struct index_record *x = a, *y = b;

	return x->number < y->number ? -1 : x->number > y->number;
}

void
recover_sort_notes(struct recovery *r)
{
	if (r->notes)
		qsort(r->note, r->notes, sizeof *r->note, by_number);
}

const struct index_record *
recover_noted(const struct recovery *r, uint64_t number)
{
	const struct index_record key = { .number = number };

	if (!r->notes)
		return NULL;
	return bsearch(&key, r->note, r->notes, sizeof key, by_number);
}

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
end_of(const struct recovery *r, const struct index_record *k)
{
	uint64_t bytes = k->bytes;

	if (k->kind == INDEX_GAP)
		return k->first + k->missing;
	return k->first + bytes / r->rec->shape.payload;
}

/* True if slots are missing between them: a chunk may fit there. */
static bool
has_hole(const struct recovery *r, const struct neighbours *n)
{
	return n->before && n->behind && n->before->run == n->behind->run &&
	       end_of(r, n->before) < n->behind->first;
}

/* Returns the only substream with a hole at a number; else -1. */
static int
find_hole(const struct recovery *r, const struct neighbours *n)
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
follow(const struct recovery *r, const struct index_record *before,
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

/* Sets the substream, run and first sequence of a record from notes or from
 * neighbouring blocks.  False if its substream is unknown. */
static bool
find_place(const struct recovery *r, struct index_record *record)
{
	const struct index_record *note = recover_noted(r, record->number);
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

/* ---- chunks of slots ----------------------------------------------------- */

/* State of looking through a chunk. */
struct slots_scan {
	struct recovery *r;
	int fd;
	uint64_t at;	/* offset of slot 0 in the file */
	uint32_t slots; /* whole ones in the file */
	uint32_t used;	/* slots up to the last with a packet */
	uint32_t present_n;
	uint64_t *present; /* one bit per slot; before it is read: wholly
			      written */
	uint8_t *payload;
	bool timed, counted;
	int64_t first_ns, last_ns;
	uint64_t sequence; /* absolute, of slot 0, if counted */
};

/* True if the data is one 32-bit word repeated. */
static bool
is_all(const uint8_t *data, size_t bytes, uint32_t word)
{
	uint32_t value;

	for (size_t i = 0; i + sizeof value <= bytes; i += sizeof value) {
		memcpy(&value, data + i, sizeof value);
		if (value != word)
			return false;
	}
	return true;
}

/*
 * True if all these bytes of a file were written, not a hole.  Ask before
 * anything reads the file: reading may fill holes with cached pages, after
 * which SEEK_HOLE no longer shows them.
 */
static bool
is_written(int fd, uint64_t at, uint64_t bytes)
{
	off_t hole = file_seek(fd, (off_t)at, SEEK_HOLE);

	return hole < 0 || (uint64_t)hole >= at + bytes;
}

static bool
is_present(const struct slots_scan *l, uint32_t slot, struct format_packet *p)
{
	const struct format_shape *shape = &l->r->rec->shape;
	bool headed = slot % shape->parts == 0;
	uint32_t header = headed ? shape->header : 0;

	*p = (struct format_packet){ 0 };
	if (headed) {
		l->r->format->parse(shape, NULL, l->payload, p);
		if (!(p->has & FORMAT_READABLE))
			return false;
	} else if (is_all(l->payload, shape->payload, 0)) {
		return false;
	}
	return header + sizeof(uint32_t) > shape->payload ||
	       !is_all(l->payload + header, shape->payload - header,
		       htole32(FILL_PATTERN));
}

static void
take_packet(struct slots_scan *l, uint32_t slot, const struct format_packet *p)
{
	const struct format_shape *shape = &l->r->rec->shape;

	l->present_n++;
	l->used = slot + 1;
	if (p->has & FORMAT_TIME) {
		l->last_ns = format_time_ns(shape, p);
		if (!l->timed)
			l->first_ns = l->last_ns;
		l->timed = true;
	}
	if (p->has & FORMAT_SEQUENCE && !l->counted) {
		l->sequence = p->sequence - slot;
		l->counted = true;
	}
}

/* Finds the holes of all slots before any slot is read: see
 * is_written(). */
static void
look_for_holes(struct slots_scan *l)
{
	uint32_t payload = l->r->rec->shape.payload;

	for (uint32_t slot = 0; slot < l->slots; slot++) {
		if (is_written(l->fd, l->at + (uint64_t)slot * payload,
			       payload))
			l->present[slot / 64] |= UINT64_C(1) << slot % 64;
	}
}

static int
look_through(struct slots_scan *l)
{
	uint32_t payload = l->r->rec->shape.payload;

	look_for_holes(l);
	for (uint32_t slot = 0; slot < l->slots; slot++) {
		uint64_t bit = UINT64_C(1) << slot % 64;
		struct format_packet p;
		ssize_t got;

		if (!(l->present[slot / 64] & bit))
			continue;
		got = file_read(l->fd, l->payload, payload,
				(off_t)(l->at + (uint64_t)slot * payload));
		if (got < 0)
			return -errno;
		if (got == (ssize_t)payload && is_present(l, slot, &p))
			take_packet(l, slot, &p);
		else
			l->present[slot / 64] &= ~bit;
	}
	return 0;
}

/* Sets the first sequence from the packets, which know it better than the
 * neighbouring blocks. */
static void
count(const struct slots_scan *l, struct index_record *record)
{
	const struct recording *rec = l->r->rec;
	uint64_t base = recording_base(rec, record->sub, record->run);

	if (!l->counted || !base)
		return;
	/*
	 * A counter of 32 bits wraps: take the value nearest to the estimate.
	 */
	if (rec->shape.sequence_bits == 32)
		record->first +=
		    (uint64_t)(int32_t)(uint32_t)(l->sequence - base -
						  record->first);
	else if (l->sequence >= base)
		record->first = l->sequence - base;
}

/* Returns the end of the block in slots, rounded up to whole frames. */
static uint32_t
whole_frames(const struct slots_scan *l)
{
	uint32_t parts = l->r->rec->shape.parts;
	uint32_t end = (l->used + parts - 1) / parts * parts;

	return end < l->slots ? end : l->slots;
}

static int
note_holes(const struct slots_scan *l, const struct orphan *o)
{
	struct block b = {
		.present = l->present,
		.slots = l->slots,
		.used = l->used,
		.number = o->number,
	};
	json_t *line = meta_holes(&b);
	int err = line ? recover_note(l->r, o->disk, line) : 0;

	json_decref(line);
	return err;
}

/* Cuts a chunk to the length in its record, durably. */
static int
cut_chunk(struct recovery *r, const struct orphan *o, int fd,
	  const struct index_record *record)
{
	/*
	 * Truncate even to the same length: that frees space reserved behind.
	 */
	if (layout_plan_shared(
		&r->rec->plan)) /* cut once all blocks are known */
		return r->dry || file_sync_data(fd) == 0 ? 0 : -errno;
	if (!r->dry &&
	    (file_cut(fd, (off_t)record->bytes) < 0 || file_sync_data(fd) < 0))
		return -errno;
	if (o->bytes > record->bytes)
		r->report->cut += o->bytes - record->bytes;
	return 0;
}

/* Removes a chunk without a packet, or renames it if it has any data: nobody
 * knows what they are.  Returns 1 or -errno. */
static int
remove_chunk(struct recovery *r, const struct orphan *o, int fd)
{
	char file[LAYOUT_FILE];
	int err = 0;

	r->report->empty++;
	if (layout_plan_shared(&r->rec->plan)) {
		recover_say(r, "chunk %" PRIu64 " on %s had no packet",
			    o->number, r->disks->disk[o->disk].path);
	} else if (file_has_data(fd, 0)) {
		err = recover_rename(r, o->disk, o->number, file);
		if (!err)
			recover_say(r,
				    "chunk %" PRIu64 " on %s has no whole "
				    "packet, and is renamed to %s",
				    o->number, r->disks->disk[o->disk].path,
				    file);
	} else {
		layout_chunk(file, r->rec->name, o->number);
		if (!r->dry &&
		    file_remove_at(r->rec->part[o->disk].dir, file, 0) < 0)
			err = -errno;
		recover_say(r,
			    "chunk %" PRIu64 " on %s had no packet, and is "
			    "removed",
			    o->number, r->disks->disk[o->disk].path);
	}
	return err ? err : 1;
}

static int
make_record(struct slots_scan *l, const struct orphan *o,
	    struct index_record *record)
{
	int err;

	l->used = o->left.full ? l->slots : whole_frames(l);
	record->bytes = (uint64_t)l->used * l->r->rec->shape.payload;
	record->present = l->present_n;
	record->missing = l->used - l->present_n;
	if (l->timed) {
		record->first_ns = l->first_ns;
		record->last_ns = l->last_ns;
		record->flags |= INDEX_DATA_TIME;
	}
	count(l, record);
	err = cut_chunk(l->r, o, l->fd, record);
	return err ? err : note_holes(l, o);
}

static int
slots_record(struct recovery *r, const struct orphan *o, int fd,
	     struct index_record *record)
{
	uint32_t payload = r->rec->shape.payload;
	struct slots_scan l = { .r = r, .fd = fd, .at = o->left.at };
	int err = -ENOMEM;

	if (o->bytes / payload > UINT32_MAX)
		return -EFBIG;
	l.slots = (uint32_t)(o->bytes / payload);
	l.present = calloc(l.slots / 64 + 1, sizeof *l.present);
	l.payload = malloc(payload);
	if (!l.present || !l.payload)
		goto out;
	err = look_through(&l);
	if (!err && (l.used || o->left.full))
		err = make_record(&l, o, record);
	else if (!err)
		err = remove_chunk(r, o, fd);
out:
	free(l.present);
	free(l.payload);
	return err;
}

/* ---- chunks of heaps ----------------------------------------------------- */

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

static int
row_record(struct recovery *r, const struct orphan *o, int fd,
	   struct index_record *record)
{
	const struct index_record *note = recover_noted(r, o->number);
	off_t hole = file_seek(fd, 0, SEEK_HOLE);
	uint64_t bytes = o->bytes;
	struct heap_chunk row;
	int err;

	if (hole >= 0 && (uint64_t)hole < bytes)
		bytes = (uint64_t)hole;
	err = heap_chunk_read(r->format, fd, bytes, &row);
	if (err)
		return err;
	if (!row.packets)
		return remove_chunk(r, o, fd);
	record->first = row.first;
	record->bytes = row.bytes;
	record->present = (uint32_t)row.packets;
	record->missing = (uint32_t)row.incomplete;
	if (note && note->bytes == row.bytes) {
		record->present = note->present;
		record->missing = note->missing;
	}
	return cut_chunk(r, o, fd, record);
}

/* State of looking through a chunk of a cube. */
struct cube_scan {
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
cube_add_hole(struct cube_scan *l, uint32_t from, uint32_t to)
{
	l->zeros += to - from;
	return json_array_append_new(
	    l->holes, json_pack("[I, I]", (json_int_t)from * l->payload,
				(json_int_t)(to - from) * l->payload));
}

/* Finds holes before anything is read: see is_written(). */
static int
cube_look_for_holes(struct cube_scan *l)
{
	l->written = calloc(l->slots + 1, sizeof *l->written);
	if (!l->written)
		return -ENOMEM;
	for (uint32_t i = 0; i < l->slots; i++)
		l->written[i] =
		    is_written(l->fd, (uint64_t)i * l->payload, l->payload);
	return 0;
}

static int
cube_look_through(struct cube_scan *l, uint32_t until)
{
	for (uint32_t i = 0; i < l->slots; i++) {
		ssize_t got = read_whole(l->fd, l->slot, l->payload,
					 (uint64_t)i * l->payload);

		if (got < 0)
			return (int)got;
		if (got < (ssize_t)l->payload || is_zero(l->slot, l->payload) ||
		    !l->written[i])
			continue;
		if (i > l->used && cube_add_hole(l, l->used, i))
			return -ENOMEM;
		l->used = i + 1;
	}
	if (l->used && until > l->used && until <= l->slots) {
		if (cube_add_hole(l, l->used, until))
			return -ENOMEM;
		l->used = until;
	}
	return 0;
}

/* Returns the pieces per heap, as in another block of the substream. */
static uint32_t
pieces_of(const struct recovery *r, const struct index_record *record)
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
cube_note_holes(struct recovery *r, const struct orphan *o,
		const struct cube_scan *l)
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
	err = line ? recover_note(r, o->disk, line) : -ENOMEM;
	json_decref(line);
	return err;
}

static int
cube_make_record(struct recovery *r, const struct orphan *o,
		 const struct cube_scan *l, struct index_record *record)
{
	const struct index_record *note = recover_noted(r, o->number);
	uint32_t pieces = pieces_of(r, record);
	int err;

	record->bytes = (uint64_t)l->used * l->payload;
	record->present = (l->used - l->zeros) * pieces;
	record->missing = l->zeros * pieces;
	if (note && note->bytes == record->bytes) {
		record->present = note->present;
		record->missing = note->missing;
	}
	err = cut_chunk(r, o, l->fd, record);
	return err ? err : cube_note_holes(r, o, l);
}

static int
cube_record(struct recovery *r, const struct orphan *o, int fd,
	    struct index_record *record)
{
	const struct index_record *note = recover_noted(r, o->number);
	struct cube_scan l = { .fd = fd, .payload = r->rec->shape.payload };
	uint64_t until = note ? note->bytes / l.payload : 0;
	int err = -ENOMEM;

	if (o->bytes / l.payload > UINT32_MAX)
		return -EFBIG;
	l.slots = (uint32_t)(o->bytes / l.payload);
	l.slot = malloc(l.payload);
	l.holes = json_array();
	if (l.slot && l.holes)
		err = cube_look_for_holes(&l);
	if (!err)
		err = cube_look_through(&l, until < l.slots ? (uint32_t)until
							    : l.slots);
	if (!err && l.used)
		err = cube_make_record(r, o, &l, record);
	else if (!err)
		err = remove_chunk(r, o, fd);
	json_decref(l.holes);
	free(l.slot);
	free(l.written);
	return err;
}

/* ---- a chunk ------------------------------------------------------------- */

static int
leave(struct recovery *r, const struct orphan *o)
{
	r->report->unplaced++;
	recover_say(r,
		    "chunk %" PRIu64 " on %s stays as it is: it is unknown "
		    "to which of %u substreams it belongs",
		    o->number, r->disks->disk[o->disk].path,
		    r->rec->facts.subs);
	return 1;
}

/* Removes the name of a chunk whose data is gone: a recorder that ended while it
 * removed a chunk leaves that in a pool of Ceph.  Returns 1 or -errno. */
static int
remove_name(struct recovery *r, const struct orphan *o)
{
	char file[LAYOUT_FILE];
	int dir = r->rec->part[o->disk].dir;

	r->report->empty++;
	layout_chunk(file, r->rec->name, o->number);
	if (!r->dry && file_remove_at(dir, file, 0) < 0 && errno != ENOENT)
		return -errno;
	recover_say(r,
		    "chunk %" PRIu64 " on %s was being removed: its data is "
		    "gone, and its name is removed",
		    o->number, r->disks->disk[o->disk].path);
	return 1;
}

/* Opens a chunk.  -ENOENT: there is no more than a name. */
static int
chunk_open(const struct recovery *r, const struct orphan *o)
{
	int fd = recover_chunk_open(r, o->disk, o->number,
				    r->dry ? O_RDONLY : O_RDWR);
	struct stat st;

	if (fd < 0 || file_stat(fd, &st) < 0 || st.st_nlink)
		return fd;
	file_close(fd);
	return -ENOENT;
}

int
recover_chunk(struct recovery *r, const struct orphan *o,
	      struct index_record *record)
{
	bool written = recover_is_written(r, o);
	struct stat st;
	int fd, err;

	*record = written ? o->left.record
			  : (struct index_record){ .number = o->number,
						   .kind = INDEX_BLOCK,
						   .flags = INDEX_RECOVERED };
	if (!written && !find_place(r, record))
		return leave(r, o);
	fd = chunk_open(r, o);
	if (fd == -ENOENT && !layout_plan_shared(&r->rec->plan))
		return remove_name(r, o);
	if (fd < 0)
		return fd;
	if (written) {
		err = cut_chunk(r, o, fd, record);
		file_close(fd);
		return err;
	}
	if (!file_stat(fd, &st)) /* unless packets say more */
		record->first_ns = record->last_ns =
		    (int64_t)st.st_mtim.tv_sec * NS_SECOND + st.st_mtim.tv_nsec;
	ease_file(fd);
	file_advise(fd, 0, 0, POSIX_FADV_DONTNEED);
	switch (r->rec->shape.store) {
	case HEAP_ROW: err = row_record(r, o, fd, record); break;
	case HEAP_CUBE: err = cube_record(r, o, fd, record); break;
	default: err = slots_record(r, o, fd, record); break;
	}
	file_close(fd);
	return err;
}
