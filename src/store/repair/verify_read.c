/* SPDX-License-Identifier: MIT */
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
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "base/ease.h"
#include "store/disk/file.h"
#include "store/repair/verify_priv.h"

/* State of reading a block back. */
struct reading {
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
	int fd;
};

/* Returns how many bytes from `at` on are a hole; 0: there is data. */
static uint64_t
hole_at(struct reading *r, uint64_t at)
{
	off_t found;

	if (at < r->looked || at >= r->data) {
		found = lseek(r->fd, (off_t)(r->b->at + at), SEEK_DATA);
		if (found >= 0)
			r->data = (uint64_t)found - r->b->at;
		else /* ENXIO: a hole to the end; else SEEK_DATA is not
			supported */
			r->data = errno == ENXIO ? UINT64_MAX : at;
		r->looked = at;
	}
	return r->data - at;
}

static ssize_t
piece_sum(struct reading *r, uint64_t at, uint64_t bytes, uint32_t *crc)
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
		ssize_t got =
		    read_whole(r->fd, r->p->buffer, ask, r->b->at + at + done);

		if (got < 0)
			return got;
		*crc = crc32c(*crc, r->p->buffer, (uint64_t)got);
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
item_add(struct reading *r, enum verify_kind kind, uint64_t at, uint64_t bytes,
	 int err)
{
	struct verify_item *i = verify_add(r->p, kind, r->b, r->place);

	i->at = at;
	i->bytes = bytes;
	i->err = err;
}

static void
quantum_read(struct reading *r, uint32_t number, uint64_t at, uint64_t bytes)
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
quanta_read(struct reading *r)
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

/* ---- judging ------------------------------------------------------------- */

/* Returns another block with this checksum and length, or NULL. */
static const struct recording_block *
find_owner(const struct reading *r)
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
judge_wrong(struct reading *r)
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
judge_index(struct reading *r)
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
judge(struct reading *r)
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

/* ---- one disk ------------------------------------------------------------ */

void
verify_sums(struct verify_part *p)
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
		close(fd);
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
reading_begin(struct reading *r)
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

void
verify_read(struct verify_part *p, const struct recording_block *b,
	    size_t place, uint64_t there)
{
	struct reading r = { .p = p,
			     .b = b,
			     .place = place,
			     .items = p->items,
			     .there = there };

	if (!reading_begin(&r))
		return;
	r.fd = recording_chunk_open(p->check->rec, b);
	if (r.fd < 0) {
		item_add(&r, VERIFY_UNREADABLE, 0, r.bytes, r.fd);
		return;
	}
	ease_file(r.fd);
	posix_fadvise(r.fd, (off_t)b->at, (off_t)r.bytes, POSIX_FADV_DONTNEED);
	quanta_read(&r);
	posix_fadvise(r.fd, (off_t)b->at, (off_t)r.bytes, POSIX_FADV_DONTNEED);
	close(r.fd);
	judge(&r);
}
