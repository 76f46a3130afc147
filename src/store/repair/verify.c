/* SPDX-License-Identifier: MIT */
/*
 * Verify looks at lengths and names first: one stat per chunk, one listing per
 * disk.  It reads contents if they have headers that can be followed, and if
 * there are checksums, with one thread per disk.  Of a recording that is being
 * written it does not demand what cannot be there yet: chunks on their way to
 * the index, and the end.  Findings are reported at the end, when it is known
 * which of them are adjacent.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/crc32c.h"
#include "base/ease.h"
#include "base/units.h"
#include "store/disk/disk.h"
#include "store/disk/file.h"
#include "store/record/heap_chunk.h"
#include "store/parity/parity_file.h"
#include "store/repair/verify_items.h"

/* ---- the file that blocks share ------------------------------------------ */

/*
 * Checks the file that all blocks of a disk share, in layouts that have one.
 * The headers of blocks must say what the index says, because other programs
 * read the file without the index; and the file must end where the index ends.
 */

/* State of checking one disk's file. */
struct data_look {
	struct verify_part *p;
	const struct recording *rec;
	int fd;
	uint64_t bytes; /* length of the file */
};

/* Compares the header of a block, if it has one, with its record.  A block that
 * is cut short is reported by its length instead. */
static void
hold_header(const struct data_look *l, const struct recording_block *b,
	    uint64_t start, uint64_t end)
{
	uint64_t left = l->bytes > start ? l->bytes - start : 0;
	uint64_t number = 0, bytes = 0;
	uint8_t raw[SG_BLOCK] = { 0 };
	ssize_t got = read_whole(l->fd, raw, sizeof raw, start);
	int err;

	err = got < 0
		  ? (int)got
		  : layout_plan_back(&l->rec->plan, raw, left, &number, &bytes);
	if (err == -ENOTSUP || err == -ENODATA)
		return;
	if (err)
		verify_say(l->p, VERIFY_CONTENTS,
			   "block %" PRIu64 " on %s has no header that can "
			   "be read: %s",
			   b->record.number, verify_path(l->p),
			   err == -EBADMSG ? "it makes no sense"
					   : strerror(-err));
	else if (number != b->record.number ||
		 (bytes != end - b->at && start + SG_BLOCK + bytes != l->bytes))
		verify_say(l->p, VERIFY_CONTENTS,
			   "block %" PRIu64 " on %s says in its header that "
			   "it is block %" PRIu64 " of %" PRIu64 " bytes",
			   b->record.number, verify_path(l->p), number, bytes);
}

/* Goes through the index; returns the offset behind its last block. */
static uint64_t
walk(const struct data_look *l)
{
	const struct recording *rec = l->rec;
	const struct recording_part *part = &rec->part[l->p->disk];
	uint64_t start = layout_plan_begin(&rec->plan, NULL), end;

	for (size_t i = 0; i < part->records; i++) {
		struct recording_block b = { .record = part->record[i],
					     .disk = (int)l->p->disk };

		if (b.record.kind != INDEX_BLOCK)
			continue;
		end = recording_block_at(rec, &b, start);
		hold_header(l, &b, start, end);
		start = end;
	}
	return start;
}

/* Checks the file that all blocks of a disk share, if the layout has one. */
static void
check_data(struct verify_part *p)
{
	struct data_look l = { .p = p, .rec = p->check->rec };
	const struct recording_block any = { .disk = (int)p->disk };
	struct stat st;
	uint64_t end;

	if (!layout_plan_shared(&l.rec->plan))
		return;
	l.fd = recording_chunk_open(l.rec, &any);
	if (l.fd < 0)
		return; /* reported for each of its blocks, if it has any */
	if (file_stat(l.fd, &st) == 0)
		l.bytes = (uint64_t)st.st_size;
	end = walk(&l);
	if (l.bytes > end && l.rec->facts.state != RECORDING_LIVE)
		verify_say(p, VERIFY_UNINDEXED,
			   "%" PRIu64 " bytes on %s are behind the last block "
			   "that the index names; spate recover %s looks at "
			   "them",
			   l.bytes - end, verify_path(p), l.rec->name);
	file_close(l.fd);
}

/* ---- reading back -------------------------------------------------------- */

/*
 * Reads blocks back.  There are up to three witnesses of a block: its data, the
 * checksums of its quanta in the disk's .sums, and the checksum of the whole
 * block in the index.  (sums.c has checked that a record of .sums is consistent
 * in itself.)
 *
 *   quanta = index     data that differs is damaged: those quanta
 *   quanta = data      the index is wrong
 *   index = data       the quanta are wrong
 *   none agree         the data is damaged, and one of the others wrong
 *   no quanta          the data is as the index says, or damaged somewhere
 *
 * If all of the data is wrong, and is that of another block, two chunks were
 * exchanged.
 *
 * Cached pages of a chunk are dropped first, as far as the kernel allows: the
 * disk is to be read.  Holes are not read: they are known to be zeros, and the
 * longest takes no time.
 */

/* State of reading a block back. */
struct readback {
	struct verify_part *p;
	const struct recording_block *b;
	const struct sums *sums; /* NULL: none */
	size_t place, items;	 /* place among its disk's blocks; items before
				    it */
	uint64_t bytes;		 /* bytes that should be there */
	uint64_t there;
	uint32_t quantum, crc; /* crc: of the data read so far */
	bool broken;	       /* some of it could not be read */
	bool damaged;	       /* a quantum has a wrong checksum */
	bool right;	       /* a quantum has the right checksum */
	uint64_t data;	       /* next byte that is no hole, */
	uint64_t looked;       /* as searched from here on */
	uint64_t from, have;   /* what part.ahead has of the block */
	int fd;
};

/* Returns how many bytes from `at` on are a hole; 0: there is data. */
static uint64_t
hole_at(struct readback *r, uint64_t at)
{
	off_t found;

	if (at < r->looked || at >= r->data) {
		found = file_seek(r->fd, (off_t)(r->b->at + at), SEEK_DATA);
		if (found >= 0)
			r->data = (uint64_t)found - r->b->at;
		else /* ENXIO: a hole to the end; else SEEK_DATA is not
			supported */
			r->data = errno == ENXIO ? UINT64_MAX : at;
		r->looked = at;
	}
	return r->data - at;
}

/* Returns bytes of a remote disk's block, which are read with many that follow;
 * NULL: they are to be read by themselves. */
static const uint8_t *
read_ahead(struct readback *r, uint64_t at, uint64_t bytes)
{
	uint64_t left = r->bytes - at;
	uint64_t ask = left < VERIFY_AHEAD ? left : VERIFY_AHEAD;
	ssize_t got;

	if (!file_is_remote(r->fd) || r->broken)
		return NULL;
	if (at < r->from || at + bytes > r->from + r->have) {
		if (!r->p->ahead)
			r->p->ahead = malloc(VERIFY_AHEAD);
		if (!r->p->ahead)
			return NULL;
		got = read_whole(r->fd, r->p->ahead, ask, r->b->at + at);
		r->from = at;
		r->have = got > 0 ? (uint64_t)got : 0;
		if (r->have < bytes)
			return NULL;
	}
	return r->p->ahead + (at - r->from);
}

static ssize_t
piece_sum(struct readback *r, uint64_t at, uint64_t bytes, uint32_t *crc)
{
	uint64_t done = 0;

	*crc = 0;
	if (hole_at(r, at) >= bytes) {
		*crc = crc32c_zeros(bytes);
		done = bytes;
		atomic_fetch_add_explicit(&r->p->check->done, bytes,
					  memory_order_relaxed);
	}
	while (done < bytes) {
		uint64_t left = bytes - done;
		size_t ask = left < VERIFY_BUFFER ? left : VERIFY_BUFFER;
		const uint8_t *data = read_ahead(r, at + done, ask);
		ssize_t got = (ssize_t)ask;

		if (!data) {
			data = r->p->buffer;
			got = read_whole(r->fd, r->p->buffer, ask,
					 r->b->at + at + done);
		}
		if (got < 0)
			return got;
		*crc = crc32c(*crc, data, (uint64_t)got);
		done += (uint64_t)got;
		atomic_fetch_add_explicit(&r->p->check->done, (uint64_t)got,
					  memory_order_relaxed);
		if ((size_t)got < ask)
			break;
	}
	r->p->report.bytes += done;
	return (ssize_t)done;
}

static void
item_add(struct readback *r, enum verify_kind kind, uint64_t at, uint64_t bytes,
	 int err)
{
	struct verify_item *i = verify_add(r->p, kind, r->b, r->place);

	i->at = at;
	i->bytes = bytes;
	i->err = err;
}

static void
quantum_read(struct readback *r, uint32_t number, uint64_t at, uint64_t bytes)
{
	uint32_t crc;
	ssize_t got = piece_sum(r, at, bytes, &crc);

	if (got < 0) {
		item_add(r, VERIFY_UNREADABLE, at, bytes, (int)got);
		r->broken = true;
		return;
	}
	r->crc = crc32c_join(crc32c_shift(bytes), r->crc, crc);
	if (!r->sums)
		return;
	if (crc == sums_at(r->sums, number)) {
		r->right = true;
	} else {
		item_add(r, VERIFY_DAMAGED, at, bytes, 0);
		r->damaged = true;
	}
}

/* Reads all quanta that are whole; a wrong length was reported before. */
static void
quanta_read(struct readback *r)
{
	uint64_t at = 0, step;

	for (uint32_t i = 0; at < r->bytes; i++, at += step) {
		uint64_t left = r->bytes - at;

		step = r->quantum;
		/* Without checksums of quanta, a whole hole is taken in one
		 * step. */
		if (!r->sums && hole_at(r, at) > step)
			step = hole_at(r, at);
		if (step > left)
			step = left;
		if (step > r->there - at) {
			r->broken = true;
			return;
		}
		quantum_read(r, i, at, step);
	}
}

/* Returns another block with this checksum and length, or NULL. */
static const struct recording_block *
find_owner(const struct readback *r)
{
	const struct recording *rec = r->p->check->rec;

	for (size_t i = 0; i < rec->blocks; i++) {
		const struct index_record *o = &rec->block[i].record;

		if (o->kind == INDEX_BLOCK && o->flags & INDEX_SUMMED &&
		    o->crc == r->crc && o->bytes == r->bytes &&
		    &rec->block[i] != r->b)
			return &rec->block[i];
	}
	return NULL;
}

/* Judges a block none of whose data is right. */
static void
judge_wrong(struct readback *r)
{
	const struct recording_block *owner = r->broken ? NULL : find_owner(r);

	if (owner) {
		verify_take_back(r->p, VERIFY_DAMAGED, r->items);
		verify_say(r->p, VERIFY_MISPLACED,
			   "chunk %" PRIu64 " on %s holds the data of block "
			   "%" PRIu64 ": they were mixed up",
			   r->b->record.number, verify_path(r->p),
			   owner->record.number);
	} else if (!r->sums) {
		item_add(r, VERIFY_DAMAGED, 0, r->bytes, 0);
	}
}

static void
judge_index(struct readback *r)
{
	const struct index_record *k = &r->b->record;

	if (r->broken || (r->damaged && r->crc != k->crc)) {
		verify_say(r->p, VERIFY_INDEX,
			   "index and checksums on %s contradict each other "
			   "about chunk %" PRIu64,
			   verify_path(r->p), k->number);
	} else if (r->damaged) {
		verify_take_back(r->p, VERIFY_DAMAGED, r->items);
		r->damaged = false;
		verify_say(r->p, VERIFY_SUMS,
			   "the checksums on %s are wrong about chunk %" PRIu64
			   ": its data is as the index says",
			   verify_path(r->p), k->number);
	} else {
		verify_say(r->p, VERIFY_INDEX,
			   "the index on %s is wrong about chunk %" PRIu64
			   ": its data is as the checksums say",
			   verify_path(r->p), k->number);
	}
}

static void
judge(struct readback *r)
{
	const struct index_record *k = &r->b->record;
	bool summed = k->flags & INDEX_SUMMED;

	if (r->sums && summed &&
	    (r->sums->crc != k->crc || r->sums->bytes != k->bytes))
		judge_index(r);
	if (r->sums ? r->damaged && !r->right
		    : summed && !r->broken && r->crc != k->crc)
		judge_wrong(r);
}

/* Reads the checksums of a disk. */
static void
read_sums(struct verify_part *p)
{
	const struct recording *rec = p->check->rec;
	char file[LAYOUT_FILE];
	int fd, err;

	fd = disk_open_at(rec->part[p->disk].dir, layout_sums(file, rec->name),
			  O_RDONLY, DISK_NO_LINKS);
	if (fd == -ENOENT)
		return;
	err = fd < 0 ? fd : sums_read(fd, &p->sums);
	if (fd >= 0)
		file_close(fd);
	if (err)
		verify_say(p, VERIFY_SUMS,
			   "the checksums on %s cannot be read: %s",
			   verify_path(p),
			   err == -EFBIG ? "there are more than can be right"
					 : disk_why(err));
	if (p->sums.torn && rec->facts.state != RECORDING_LIVE)
		verify_say(p, VERIFY_SUMS,
			   "the checksums on %s end in %" PRIu64
			   " bytes that are no record; spate recover %s cuts "
			   "them off",
			   verify_path(p), p->sums.torn, rec->name);
	if (p->sums.damaged)
		verify_say(p, VERIFY_SUMS,
			   "%" PRIu64 " bytes of the checksums on %s are "
			   "damaged",
			   p->sums.damaged, verify_path(p));
}

static bool
readback_begin(struct readback *r)
{
	const struct index_record *k = &r->b->record;
	bool summed = k->flags & INDEX_SUMMED;

	r->sums = sums_find(&r->p->sums, k->number);
	r->quantum = r->sums ? r->sums->quantum : BLOCK_QUANTUM;
	r->bytes = r->sums ? r->sums->bytes : k->bytes;
	if (!r->sums && !summed)
		r->p->report.unsummed++;
	else
		r->p->report.summed++;
	if (!r->sums && summed)
		verify_add(r->p, VERIFY_UNSUMMED, r->b, r->place);
	return r->sums || summed;
}

/* Reads a block back, whose chunk has `there` bytes. */
static void
read_back(struct verify_part *p, const struct recording_block *b, size_t place,
	  uint64_t there)
{
	struct readback r = { .p = p,
			      .b = b,
			      .place = place,
			      .items = p->items,
			      .there = there };

	if (!readback_begin(&r))
		return;
	r.fd = recording_chunk_open(p->check->rec, b);
	if (r.fd < 0) {
		item_add(&r, VERIFY_UNREADABLE, 0, r.bytes, r.fd);
		return;
	}
	ease_file(r.fd);
	file_advise(r.fd, (off_t)b->at, (off_t)r.bytes, POSIX_FADV_DONTNEED);
	quanta_read(&r);
	file_advise(r.fd, (off_t)b->at, (off_t)r.bytes, POSIX_FADV_DONTNEED);
	file_close(r.fd);
	judge(&r);
}

/* ---- contents of a chunk ------------------------------------------------- */

/*
 * Checks of a chunk beyond its length.  A row tells where each of its packets
 * ends, and the last must end with the chunk.  A cube has no headers, but its
 * length must be whole items and its holes must lie within it.
 */

/* Finds the format plugin that is needed to look into chunks. */
static void
find_format(struct verification *c)
{
	struct verify_part *none = &c->part[c->disks->n];
	struct fault fault;

	if (!recording_format(c->rec, &c->format, &fault))
		return;
	c->format = NULL;
	if (c->rec->shape.store != HEAP_ROW)
		return;
	verify_say(none, VERIFY_CONTENTS, "its heaps cannot be checked: %s: %s",
		   fault.what, fault.why);
}

/* Compares a row with its record. */
static void
hold_row(struct verify_part *p, const struct index_record *r,
	 const struct heap_chunk *row)
{
	const char *path = verify_path(p);

	if (row->bytes != r->bytes)
		verify_say(p, VERIFY_CONTENTS,
			   "chunk %" PRIu64 " on %s: at byte %" PRIu64
			   " there is no whole packet of a heap",
			   r->number, path, row->bytes);
	else if (row->first != r->first)
		verify_say(p, VERIFY_INDEX,
			   "chunk %" PRIu64 " on %s begins with heap %" PRIu64
			   ", the index says %" PRIu64,
			   r->number, path, row->first, r->first);
	if (row->contradicted)
		verify_say(p, VERIFY_CONTENTS,
			   "chunk %" PRIu64 " on %s: %" PRIu64 " packets "
			   "contradict others of their heap",
			   r->number, path, row->contradicted);
	if (row->packets > r->present)
		verify_say(p, VERIFY_INDEX,
			   "chunk %" PRIu64 " on %s has %" PRIu64
			   " packets of heaps, the index says that %" PRIu32
			   " pieces came",
			   r->number, path, row->packets, r->present);
}

static void
check_row(struct verify_part *p, const struct recording_block *b)
{
	const struct verification *c = p->check;
	struct heap_chunk row = { 0 };
	int fd, err;

	if (!c->format)
		return;
	fd = recording_chunk_open(c->rec, b);
	err =
	    fd < 0 ? fd : heap_chunk_read(c->format, fd, b->record.bytes, &row);
	if (fd >= 0)
		file_close(fd);
	if (err) {
		verify_say(p, VERIFY_UNREADABLE,
			   "chunk %" PRIu64 " on %s cannot be read: %s",
			   b->record.number, verify_path(p), strerror(-err));
		return;
	}
	p->report.heaps += row.heaps;
	p->report.incomplete += row.incomplete;
	hold_row(p, &b->record, &row);
}

struct hole_check {
	uint64_t bytes; /* length of the block */
	bool outside;
};

static void
take_hole(void *arg, uint64_t at, uint64_t count)
{
	struct hole_check *h = arg;

	h->outside |= at > h->bytes || count > h->bytes - at;
}

static void
check_cube(struct verify_part *p, const struct recording_block *b)
{
	const struct verification *c = p->check;
	const struct index_record *r = &b->record;
	const char *path = verify_path(p);
	struct hole_check holes = { .bytes = r->bytes };

	if (r->bytes % c->rec->shape.payload)
		verify_say(p, VERIFY_CONTENTS,
			   "chunk %" PRIu64 " on %s is not whole items of "
			   "%" PRIu32 " bytes",
			   r->number, path, c->rec->shape.payload);
	if (!r->missing)
		return;
	if (recording_holes(c->rec, r->number, take_hole, &holes))
		verify_say(p, VERIFY_CONTENTS,
			   "chunk %" PRIu64 " on %s lacks %" PRIu32
			   " pieces, and the metadata there does not say "
			   "where",
			   r->number, path, r->missing);
	else if (holes.outside)
		verify_say(p, VERIFY_CONTENTS,
			   "chunk %" PRIu64 " on %s lacks pieces, and the "
			   "metadata there says that it is at bytes which it "
			   "does not have",
			   r->number, path);
}

static void
look_into(struct verify_part *p, const struct recording_block *b)
{
	switch (p->check->rec->shape.store) {
	case HEAP_ROW: check_row(p, b); break;
	case HEAP_CUBE: check_cube(p, b); break;
	default: break;
	}
}

/*
 * Compares a packet's own sequence and time with the record.  Times are
 * compared to the second, because the frames per second may have been unknown
 * when the record was made.
 */
static void
hold_packet(struct verify_part *p, const struct recording_block *b,
	    const struct format_packet *f)
{
	const struct recording *rec = p->check->rec;
	const struct index_record *r = &b->record;
	uint64_t base = recording_base(rec, r->sub, r->run);
	uint64_t away = f->sequence - base - r->first;
	char is[UNITS_TEXT], says[UNITS_TEXT];
	int64_t ns;

	if (rec->shape.sequence_bits == 32)
		away = (uint32_t)away;
	if (f->has & FORMAT_SEQUENCE && base && away &&
	    rec->shape.sequence != SEQUENCE_TIME)
		verify_say(p, VERIFY_INDEX,
			   "the index on %s says that chunk %" PRIu64
			   " begins with packet %" PRIu64 ", its data says "
			   "%" PRIu64,
			   verify_path(p), r->number, r->first,
			   r->first + away);
	if (!(f->has & FORMAT_TIME) || !(r->flags & INDEX_DATA_TIME))
		return;
	ns = format_time_ns(&rec->shape, f);
	if (ns > r->first_ns + NS_SECOND || ns < r->first_ns - NS_SECOND)
		verify_say(p, VERIFY_INDEX,
			   "the index on %s says that chunk %" PRIu64
			   " begins at %s, its data says %s",
			   verify_path(p), r->number,
			   units_show_time_ns(says, r->first_ns),
			   units_show_time_ns(is, ns));
}

/* Checks the first packet, if no packet of the block is missing. */
static void
check_first(struct verify_part *p, const struct recording_block *b)
{
	const struct verification *c = p->check;
	const struct format_shape *shape = &c->rec->shape;
	struct format_packet f = { 0 };
	ssize_t got = -1;
	int fd;

	if (!c->format || c->rec->foreign || shape->store != HEAP_NONE ||
	    b->record.missing || shape->payload > VERIFY_BUFFER)
		return;
	fd = recording_chunk_open(c->rec, b);
	if (fd >= 0) {
		got = read_whole(fd, p->buffer, shape->payload, b->at);
		file_close(fd);
	}
	if (got != (ssize_t)shape->payload)
		return;
	c->format->parse(shape, NULL, p->buffer, &f);
	hold_packet(p, b, &f);
}

/* Reports a wrong length: the bytes that are missing, if any. */
static void
length_say(struct verify_part *p, const struct recording_block *b, size_t place,
	   uint64_t there)
{
	struct verify_item *i = verify_add(p, VERIFY_LENGTH, b, place);

	i->at = there < b->record.bytes ? there : b->record.bytes;
	i->bytes = b->record.bytes - i->at;
	i->there = there;
}

/* Checks a chunk: length, contents, checksums. */
static void
check_chunk(struct verify_part *p, const struct recording_block *b,
	    size_t place)
{
	int64_t there = recording_chunk_bytes(p->check->rec, b);
	size_t items = p->items;

	if (there == -ENOENT) {
		verify_add(p, VERIFY_MISSING, b, place);
		return;
	}
	if (there < 0) {
		verify_add(p, VERIFY_UNREADABLE, b, place)->err = (int)there;
		return;
	}
	if ((uint64_t)there == b->record.bytes)
		look_into(p, b);
	else
		length_say(p, b, place, (uint64_t)there);
	read_back(p, b, place, (uint64_t)there);
	if (p->items == items)
		check_first(p, b);
}

/* Checks that the sequences of all blocks ascend.  Rows are skipped: their
 * heaps count in steps that are unknown here. */
static void
check_order(struct verification *c)
{
	const struct recording *rec = c->rec;
	struct verify_part *none = &c->part[c->disks->n];
	size_t placed = rec->from[rec->facts.subs];

	for (size_t i = 1; i < placed && rec->shape.store != HEAP_ROW; i++) {
		const struct recording_block *b = recording_at(rec, i);
		const struct recording_block *last = recording_at(rec, i - 1);

		if (b->record.kind == RECORDING_ABSENT ||
		    last->record.kind == RECORDING_ABSENT ||
		    b->record.sub != last->record.sub ||
		    b->record.run != last->record.run ||
		    b->record.first >=
			last->record.first + last->bytes / rec->shape.payload)
			continue;
		verify_say(none, VERIFY_INDEX,
			   "block %" PRIu64 " begins before block %" PRIu64
			   " ends",
			   b->record.number, last->record.number);
	}
}

/* ---- names and indexes --------------------------------------------------- */

/* Returns the part for items that concern the whole recording. */
static struct verify_part *
part_none(struct verification *c)
{
	return &c->part[c->disks->n];
}

/* Reports a stretch of numbers that no disk has; returns its last. */
static size_t
absent_say(struct verification *c, size_t from)
{
	const struct recording *rec = c->rec;
	struct verify_part *none = part_none(c);
	char place[VERIFY_PLACE];
	size_t to = from;

	while (to + 1 < rec->blocks &&
	       rec->block[to + 1].record.kind == RECORDING_ABSENT)
		to++;
	verify_place(rec, from, to, place);
	if (to == from)
		verify_say(none, VERIFY_ABSENT,
			   "block %zu is on none of the disks%s", from, place);
	else
		verify_say(none, VERIFY_ABSENT,
			   "blocks %zu to %zu are on none of the disks%s", from,
			   to, place);
	return to;
}

/* True if parity gives a block whose disk is away. */
static bool
computed_is_given(struct verification *c, size_t i)
{
	const struct recording_block *b = &c->rec->block[i];
	bool gives = !recording_heal(c->rec, b, NULL, 0, 0);

	c->done += b->record.bytes;
	if (c->hooks->progress)
		c->hooks->progress(c->hooks->arg, c->done, c->total);
	return gives;
}

static void
computed_say(struct verification *c, size_t from, size_t to, bool gives)
{
	char place[VERIFY_PLACE];

	verify_say(part_none(c), gives ? VERIFY_COMPUTED : VERIFY_ABSENT,
		   gives ? "block%s %zu to %zu: on none of the disks, parity "
			   "gives the data%s"
			 : "block%s %zu to %zu: on none of the disks, and of "
			   "the other blocks of the group too many cannot be "
			   "read%s",
		   to > from ? "s" : "", from, to,
		   verify_place(c->rec, from, to, place));
}

/* Reports the stretches of blocks whose disk is away: those that parity gives, and
 * those that it does not give. */
static void
check_computed(struct verification *c)
{
	const struct recording *rec = c->rec;
	bool open = false, was = false;
	size_t from = 0;

	for (size_t i = 0; i <= rec->blocks; i++) {
		bool is = i < rec->blocks && rec->block[i].computed;
		bool gives = is && computed_is_given(c, i);

		if (open && (!is || gives != was)) {
			computed_say(c, from, i - 1, was);
			open = false;
		}
		if (is && !open) {
			open = true;
			was = gives;
			from = i;
		}
	}
}

static void
parity_read_on(void *arg, size_t bytes)
{
	struct verify_part *p = arg;

	p->report.bytes += bytes;
}

/* Reads a parity block back. */
static void
parity_check(struct verify_part *p, const struct parity_block *b)
{
	const struct recording *rec = p->check->rec;
	char file[LAYOUT_FILE];
	int fd, err;

	layout_parity(file, rec->name, b->record.group, b->record.generation);
	fd =
	    disk_open_at(rec->part[p->disk].dir, file, O_RDONLY, DISK_NO_LINKS);
	err =
	    fd < 0 ? fd : parity_data_check(fd, &b->record, parity_read_on, p);
	if (fd >= 0)
		file_close(fd);
	if (err == -EBADMSG)
		verify_say(p, VERIFY_PARITY,
			   "the parity of group %" PRIu64 " on %s is damaged",
			   b->record.group, verify_path(p));
	else if (err)
		verify_say(p, VERIFY_PARITY,
			   "the parity of group %" PRIu64 " on %s cannot be "
			   "read: %s",
			   b->record.group, verify_path(p),
			   err == -ENODATA ? "it is too short" : disk_why(err));
}

static void
check_absent(struct verification *c)
{
	const struct recording *rec = c->rec;

	for (size_t i = 0; i < rec->blocks; i++) {
		if (rec->block[i].record.kind == RECORDING_ABSENT)
			i = absent_say(c, i);
	}
}

/* Reports what was noticed when another program's recording was opened. */
static void
check_notes(struct verification *c)
{
	const json_t *note;
	size_t i;

	json_array_foreach(c->rec->facts.notes, i, note)
		verify_say(part_none(c), VERIFY_CONTENTS, "%s",
			   json_string_value(note));
}

/* Reports disks whose folder is not read, because a link is in its place. */
static void
check_links(struct verification *c)
{
	for (unsigned i = 0; i < c->disks->n; i++) {
		const struct disk *disk = &c->disks->disk[i];
		int dir;

		if (c->rec->part[i].dir >= 0 || disk->fd < 0)
			continue;
		dir = layout_dir_open(disk->fd, c->rec->name, DISK_LINKS);
		if (dir >= 0)
			file_close(dir);
		else if (dir == -EXDEV || dir == -ELOOP)
			verify_say(part_none(c), VERIFY_INDEX,
				   "%s/%s is not read: %s", disk->path,
				   c->rec->name, disk_why(dir));
	}
}

static void
check_index(struct verify_part *p)
{
	const struct recording_part *part = &p->check->rec->part[p->disk];
	enum recording_state state = p->check->rec->facts.state;

	if (!part->indexed) {
		verify_say(p, VERIFY_INDEX,
			   "%s has no index of it; spate recover %s makes one",
			   verify_path(p), p->check->rec->name);
		return;
	}
	if (part->torn && state != RECORDING_LIVE)
		verify_say(p, VERIFY_INDEX,
			   "the index on %s ends in %" PRIu64 " bytes that are "
			   "no record; spate recover %s cuts them off",
			   verify_path(p), part->torn, p->check->rec->name);
	if (part->beyond)
		verify_say(p, VERIFY_INDEX,
			   "%zu records of the index on %s name blocks that "
			   "cannot exist, and are ignored",
			   part->beyond, verify_path(p));
	if (!part->ended && state == RECORDING_COMPLETE)
		verify_say(
		    p, VERIFY_INDEX,
		    "the index on %s has no end, as those on other disks "
		    "have; spate recover %s adds it",
		    verify_path(p), p->check->rec->name);
}

static bool
is_indexed(const struct recording *rec, unsigned disk, uint64_t number)
{
	const struct recording_part *part = &rec->part[disk];

	if (number < rec->blocks && rec->block[number].disk == (int)disk &&
	    !rec->block[number].computed)
		return true;
	for (size_t i = 0; i < part->records; i++) {
		if (part->record[i].number == number &&
		    part->record[i].kind == INDEX_BLOCK)
			return true;
	}
	return false;
}

/* Chunks of a disk that are reported together. */
struct several {
	uint64_t first, last;
	unsigned n;
};

static void
several_add(struct several *s, uint64_t number)
{
	if (!s->n || number < s->first)
		s->first = number;
	if (!s->n || number > s->last)
		s->last = number;
	s->n++;
}

static void
several_set(const struct several *s, struct verify_item *i)
{
	i->number = s->first;
	i->last = s->last;
	i->chunks = s->n;
}

static void
orphans_say(struct verify_part *p, const struct several *s)
{
	const struct recording *rec = p->check->rec;
	char help[LAYOUT_FILE + 40] = "";
	struct verify_item *i;

	if (!s->n)
		return;
	/* On a disk that can only be read the index may be on its way. */
	if (!recording_reads_only(rec))
		snprintf(help, sizeof help, "; spate recover %s looks at %s",
			 rec->name, s->n == 1 ? "it" : "them");
	if (s->n == 1)
		i = verify_say(p, VERIFY_UNINDEXED,
			       "chunk %" PRIu64 " on %s is in no index%s",
			       s->first, verify_path(p), help);
	else
		i = verify_say(p, VERIFY_UNINDEXED,
			       "%u chunks on %s, from %" PRIu64 " to %" PRIu64
			       ", are in no index%s",
			       s->n, verify_path(p), s->first, s->last, help);
	several_set(s, i);
}

/* Reports chunks that no index names, which a crash leaves. */
static int
check_orphans(struct verify_part *p)
{
	const struct recording *rec = p->check->rec;
	struct several several = { 0 };
	const struct dirent *entry;
	uint64_t number;
	struct file_list *dir;
	int err = file_list_at(&dir, rec->part[p->disk].dir);

	if (err)
		return err;
	while ((entry = file_list_next(dir))) {
		if (layout_chunk_number(entry->d_name, rec->name, &number) &&
		    !is_indexed(rec, p->disk, number))
			several_add(&several, number);
	}
	file_list_close(dir);
	orphans_say(p, &several);
	return 0;
}

static void
check_duplicates(struct verify_part *p)
{
	const struct recording *rec = p->check->rec;
	struct several s = { 0 };
	struct verify_item *item;

	for (size_t i = 0; i < rec->duplicates; i++) {
		if (rec->duplicate[i].disk == p->disk)
			several_add(&s, rec->duplicate[i].number);
	}
	if (!s.n)
		return;
	if (s.n == 1)
		item = verify_say(p, VERIFY_DUPLICATE,
				  "block %" PRIu64
				  " is also on %s; that chunk is not used",
				  s.first, verify_path(p));
	else
		item = verify_say(p, VERIFY_DUPLICATE,
				  "%u blocks, from %" PRIu64 " to %" PRIu64
				  ", are also on %s; those chunks are not used",
				  s.n, s.first, s.last, verify_path(p));
	several_set(&s, item);
}

/* ---- disks --------------------------------------------------------------- */

static void
block_check(struct verify_part *p, const struct recording_block *b,
	    size_t place)
{
	uint64_t read = p->report.bytes;

	check_chunk(p, b, place);
	read = p->report.bytes - read;
	if (read < b->record.bytes)
		atomic_fetch_add_explicit(&p->check->done,
					  b->record.bytes - read,
					  memory_order_relaxed);
}

static void *
part_run(void *arg)
{
	struct verify_part *p = arg;
	struct verification *c = p->check;
	size_t place = 0;

	for (size_t i = 0; i < c->rec->blocks && !p->err; i++) {
		const struct recording_block *b = &c->rec->block[i];

		if (b->disk == (int)p->disk && !b->computed)
			block_check(p, b, place++);
	}
	for (size_t i = 0; i < c->rec->parity.blocks && !p->err; i++) {
		if (c->rec->parity.block[i].disk == p->disk)
			parity_check(p, &c->rec->parity.block[i]);
	}
	pthread_mutex_lock(&c->lock);
	c->running--;
	pthread_cond_signal(&c->ended);
	pthread_mutex_unlock(&c->lock);
	return NULL;
}

/*
 * Checks everything on a disk except chunks, and starts its thread for those.
 */
static int
part_start(struct verify_part *p)
{
	struct verification *c = p->check;
	int err = 0;

	if (c->rec->part[p->disk].dir < 0)
		return 0;
	p->buffer = malloc(VERIFY_BUFFER);
	if (!p->buffer)
		return -ENOMEM;
	if (!c->rec->foreign) {
		check_index(p);
		read_sums(p);
		check_data(p);
		check_duplicates(p);
	}
	if (!c->rec->foreign && c->rec->facts.state != RECORDING_LIVE)
		err = check_orphans(p);
	if (err)
		return err;
	pthread_mutex_lock(&c->lock);
	err = -pthread_create(&p->thread, NULL, part_run, p);
	p->started = !err;
	c->running += !err;
	pthread_mutex_unlock(&c->lock);
	return err;
}

/* Reports progress until all threads have ended. */
static void
parts_wait(struct verification *c)
{
	pthread_mutex_lock(&c->lock);
	while (c->running) {
		int64_t until = clock_steady() + NS_SECOND / 5;
		const struct timespec at = { until / NS_SECOND,
					     until % NS_SECOND };

		pthread_cond_timedwait(&c->ended, &c->lock, &at);
		if (c->hooks->progress)
			c->hooks->progress(c->hooks->arg, atomic_load(&c->done),
					   c->total);
	}
	pthread_mutex_unlock(&c->lock);
}

static int
parts_end(struct verification *c, struct verify_report *sum)
{
	int err = 0;

	for (unsigned i = 0; i <= c->disks->n; i++) {
		struct verify_part *p = &c->part[i];

		if (p->started)
			pthread_join(p->thread, NULL);
		if (p->err)
			err = p->err;
		sum->heaps += p->report.heaps;
		sum->incomplete += p->report.incomplete;
		sum->bytes += p->report.bytes;
		sum->summed += p->report.summed;
		sum->unsummed += p->report.unsummed;
	}
	return err;
}

static int
look(struct verification *c, struct verify_report *report)
{
	enum recording_state state = c->rec->facts.state;
	int err = 0, worse;

	find_format(c);
	check_notes(c);
	if (!c->rec->foreign)
		check_links(c);
	if (*c->rec->refused)
		verify_say(part_none(c), VERIFY_INDEX, "%s", c->rec->refused);
	for (unsigned i = 0; i < c->disks->n && !err; i++)
		err = part_start(&c->part[i]);
	parts_wait(c);
	worse = parts_end(c, report);
	check_absent(c);
	check_computed(c);
	check_order(c);
	if (state == RECORDING_INTERRUPTED && recording_reads_only(c->rec))
		verify_say(part_none(c), VERIFY_END,
			   "its end is not there; send it again from where it "
			   "was recorded: what is there is not sent twice");
	else if (state == RECORDING_INTERRUPTED)
		verify_say(part_none(c), VERIFY_END,
			   "it has no end: its recorder died; spate recover "
			   "%s closes it",
			   c->rec->name);
	return err ? err : worse;
}

int
verify(struct recording *rec, const struct disks *disks,
       const struct verify_hooks *hooks, struct verify_report *report)
{
	struct verification c = { .rec = rec, .disks = disks, .hooks = hooks };
	pthread_condattr_t steady;
	int err;

	*report = (struct verify_report){ 0 };
	c.part = calloc(disks->n + 1, sizeof *c.part);
	if (!c.part)
		return -ENOMEM;
	for (unsigned i = 0; i <= disks->n; i++) {
		c.part[i].check = &c;
		c.part[i].disk = i;
	}
	for (size_t i = 0; i < rec->blocks; i++) {
		if (rec->block[i].disk >= 0)
			c.total += rec->block[i].record.bytes;
	}
	pthread_mutex_init(&c.lock, NULL);
	pthread_condattr_init(&steady);
	pthread_condattr_setclock(&steady, CLOCK_MONOTONIC);
	pthread_cond_init(&c.ended, &steady);
	pthread_condattr_destroy(&steady);
	err = look(&c, report);
	if (!err)
		verify_tell(&c);
	verify_items_free(&c);
	pthread_cond_destroy(&c.ended);
	pthread_mutex_destroy(&c.lock);
	free(c.part);
	return err ? err : c.found;
}
