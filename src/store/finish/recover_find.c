/* SPDX-License-Identifier: MIT */
/*
 * Takes stock before anything is rebuilt: cuts what is behind the last good
 * record of each index and of the checksums, leaves one chunk of each number,
 * counts the chunks that indexes name, and lists those that they do not name.
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
#include "store/finish/recover_priv.h"

/* ---- checksums ----------------------------------------------------------- */

/* The writer stores the checksums of a block before its record.  If a crash
 * came in between, a chunk without a record can be checked against them. */

/* The checksum that a chunk should have. */
struct chunk_sum {
	uint64_t at; /* offset of the data in its file */
	uint64_t bytes;
	uint32_t crc;
};

/* Cuts what is behind the last record, as in an index. */
static int
cut_sums(struct recovery *r, unsigned disk, int fd)
{
	struct sums_list *sums = &r->sums[disk];

	if (!sums->torn)
		return 0;
	if (!r->dry &&
	    (file_cut(fd, (off_t)sums->end) < 0 || file_sync_data(fd) < 0))
		return -errno;
	recover_say(r,
		    "cut %" PRIu64 " bytes that are no record from the "
		    "checksums on %s",
		    sums->torn, r->disks->disk[disk].path);
	r->report->torn += sums->torn;
	return 0;
}

/*
 * Reads the checksums of all disks, and cuts torn tails.  Returns 0 or -errno.
 */
static int
read_sums(struct recovery *r)
{
	char file[LAYOUT_FILE];
	int err = 0;

	r->sums = calloc(r->disks->n + 1, sizeof *r->sums);
	if (!r->sums)
		return -ENOMEM;
	for (unsigned i = 0; i < r->disks->n && !err; i++) {
		int fd;

		if (r->index[i].fd < 0)
			continue;
		fd = recover_open(r, i, layout_sums(file, r->rec->name),
				  r->dry ? O_RDONLY : O_RDWR);
		if (fd < 0 && disk_hint(fd))
			err = fd;
		if (fd < 0)
			continue;
		if (!sums_read(fd, &r->sums[i]))
			err = cut_sums(r, i, fd);
		file_close(fd);
	}
	return err;
}

void
recover_sums_clear(struct recovery *r)
{
	for (unsigned i = 0; r->sums && i < r->disks->n; i++)
		sums_clear(&r->sums[i]);
	free(r->sums);
}

/*
 * Takes the checksum of data of a chunk, and with `sum` that of each
 * BLOCK_QUANTUM of them.  Returns 0; -EIO if there are fewer; or -errno.
 */
static int
take_sum(const struct recovery *r, unsigned disk, uint64_t number,
	 struct chunk_sum *of, struct block_sum *sum)
{
	int fd = recover_chunk_open(r, disk, number, O_RDONLY);
	uint8_t *data = malloc(BLOCK_QUANTUM);
	int err = fd < 0 ? fd : data ? 0 : -ENOMEM;
	uint64_t at = 0;

	if (fd >= 0)
		ease_file(fd);
	of->crc = 0;
	while (!err && at < of->bytes) {
		uint64_t left = of->bytes - at;
		size_t part = left < BLOCK_QUANTUM ? left : BLOCK_QUANTUM;
		ssize_t got = read_whole(fd, data, part, of->at + at);

		if (got != (ssize_t)part) {
			err = got < 0 ? (int)got : -EIO;
			break;
		}
		of->crc = crc32c(of->crc, data, part);
		if (sum)
			(sum++)->crc = crc32c(0, data, part);
		at += part;
	}
	if (fd >= 0)
		file_close(fd);
	free(data);
	return err;
}

/* True if the chunk has that many bytes and that checksum. */
static bool
has_sum(const struct recovery *r, unsigned disk, uint64_t number,
	const struct chunk_sum *sum)
{
	struct chunk_sum is = *sum;

	return !take_sum(r, disk, number, &is, NULL) && is.crc == sum->crc;
}

/* Gives the checksum that a disk has of a chunk.  False if it has none. */
static bool
noted_sum(const struct recovery *r, unsigned disk, uint64_t number,
	  struct chunk_sum *sum)
{
	const struct sums *s = sums_find(&r->sums[disk], number);

	if (s)
		*sum = (struct chunk_sum){ .bytes = s->bytes, .crc = s->crc };
	return s;
}

bool
recover_is_written(const struct recovery *r, const struct orphan *o)
{
	const struct index_record *record = &o->left.record;
	const struct chunk_sum sum = { .at = o->left.at,
				       .bytes = record->bytes,
				       .crc = record->crc };

	return o->left.whole && (!(record->flags & INDEX_SUMMED) ||
				 has_sum(r, o->disk, o->number, &sum));
}

/* Appends checksums to a disk's .sums file, durably. */
static int
sums_put(struct recovery *r, unsigned disk, const struct block *b)
{
	size_t bytes = sums_bytes(block_quanta(b));
	uint8_t *raw = malloc(bytes);
	struct append_file to;
	char file[LAYOUT_FILE];
	int err;

	if (!raw)
		return -ENOMEM;
	sums_pack(raw, b);
	to.fd = recover_open(r, disk, layout_sums(file, r->rec->name),
			     O_WRONLY | O_APPEND | O_CREAT);
	if (to.fd < 0) {
		free(raw);
		return to.fd;
	}
	to.bytes = file_seek(to.fd, 0, SEEK_END);
	err = append_bytes(&to, raw, bytes);
	if (!err && file_sync_data(to.fd) < 0)
		err = -errno;
	file_close(to.fd);
	free(raw);
	return err;
}

/* Takes new checksums of a chunk that lost data in a power cut, or its
 * checksums.  A lost part is on record as missing; the new checksums replace the
 * old ones. */
static int
resum(struct recovery *r, const struct orphan *o, struct index_record *record)
{
	struct block b = { .number = o->number,
			   .slot_bytes = 1,
			   .used = (uint32_t)record->bytes,
			   .quantum = BLOCK_QUANTUM };
	struct chunk_sum all = { .at = o->left.at, .bytes = record->bytes };
	int err = 0;

	if (record->bytes > UINT32_MAX)
		return -EFBIG;
	b.sum = calloc(block_quanta(&b) + 1, sizeof *b.sum);
	if (!b.sum)
		return -ENOMEM;
	err = take_sum(r, o->disk, o->number, &all, b.sum);
	b.crc = all.crc;
	if (!err)
		err = sums_put(r, o->disk, &b);
	if (!err) {
		record->crc = b.crc;
		record->flags |= INDEX_SUMMED;
	}
	free(b.sum);
	return err;
}

void
recover_add_sum(struct recovery *r, const struct orphan *o,
		struct index_record *record)
{
	struct chunk_sum sum;
	bool noted = noted_sum(r, o->disk, o->number, &sum);

	/* The record has the checksum of data that are right; those of its
	 * pieces may be gone. */
	if (!(record->flags & INDEX_RECOVERED)) {
		if (record->flags & INDEX_SUMMED && !r->dry &&
		    !(noted && sum.crc == record->crc &&
		      sum.bytes == record->bytes))
			resum(r, o, record);
		return;
	}
	if (!noted)
		return;
	sum.at = o->left.at;
	if (sum.bytes == record->bytes &&
	    has_sum(r, o->disk, o->number, &sum)) {
		record->crc = sum.crc;
		record->flags |= INDEX_SUMMED;
		return;
	}
	recover_say(r,
		    "chunk %" PRIu64 " on %s is not what was received: its "
		    "checksum differs",
		    o->number, r->disks->disk[o->disk].path);
	/* A chunk that lacks nothing is damaged: verify says where. */
	if (!r->dry && (record->missing || sum.bytes != record->bytes))
		resum(r, o, record);
}

/* ---- chunks of one number ------------------------------------------------ */

/*
 * Two disks may have a chunk of the same number: one that a writer gave up and
 * could not remove, and one that it wrote elsewhere.  jive5ab refuses such a
 * recording.  The better one stays, in this order:
 *
 *   named by an index, as long as that says, and with its checksum
 *   named by none, but with the checksum that an index has for the number
 *   the one of which more was written
 *
 * The other is renamed to <chunk>.aside, and dropped from its index.
 */

/* One of several with the same number: a chunk, a record, or both. */
struct twin {
	uint64_t number;
	unsigned disk;
	bool there;			   /* the chunk exists */
	uint64_t bytes;			   /* written bytes of it */
	const struct index_record *record; /* NULL: an orphan */
};

static int
twins_by_number(const void *a, const void *b)
{
	const struct twin *x = a, *y = b;

	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	return x->disk < y->disk ? -1 : x->disk > y->disk;
}

/* Returns the offset of the first byte that was never written. */
static uint64_t
written(const struct recovery *r, unsigned disk, uint64_t number)
{
	char file[LAYOUT_FILE];
	int fd = recover_open(r, disk, layout_chunk(file, r->rec->name, number),
			      O_RDONLY);
	off_t hole;

	if (fd < 0)
		return 0;
	hole = file_seek(fd, 0, SEEK_HOLE);
	file_close(fd);
	return hole < 0 ? 0 : (uint64_t)hole;
}

static struct twin *
list_twins(const struct recovery *r, size_t *n)
{
	size_t most = r->orphans + 1;
	struct twin *list;

	for (unsigned i = 0; i < r->disks->n; i++)
		most += r->rec->part[i].records;
	list = malloc(most * sizeof *list);
	*n = 0;
	for (unsigned i = 0; list && i < r->disks->n; i++) {
		const struct recording_part *part = &r->rec->part[i];

		for (size_t k = 0; k < part->records; k++) {
			if (part->record[k].kind == INDEX_BLOCK)
				list[(*n)++] = (struct twin){
					.number = part->record[k].number,
					.disk = i,
					.record = &part->record[k],
				};
		}
	}
	for (size_t i = 0; list && i < r->orphans; i++)
		list[(*n)++] = (struct twin){ .number = r->orphan[i].number,
					      .disk = r->orphan[i].disk };
	if (list && *n)
		qsort(list, *n, sizeof *list, twins_by_number);
	return list;
}

static int64_t
length_of(const struct recovery *r, const struct twin *t)
{
	struct recording_block b = { .record.number = t->number,
				     .disk = (int)t->disk };

	return recording_chunk_bytes(r->rec, &b);
}

static bool
has_sum_of(const struct recovery *r, const struct twin *t,
	   const struct index_record *record)
{
	const struct chunk_sum sum = { .bytes = record->bytes,
				       .crc = record->crc };

	return record->flags & INDEX_SUMMED &&
	       has_sum(r, t->disk, t->number, &sum);
}

/* True if the chunk has the length and checksum in its record. */
static bool
is_whole(const struct recovery *r, const struct twin *t)
{
	if (!t->record || !t->there ||
	    length_of(r, t) != (int64_t)t->record->bytes)
		return false;
	return !(t->record->flags & INDEX_SUMMED) ||
	       has_sum_of(r, t, t->record);
}

/* True if an orphan has its own noted checksum, or that of another's record. */
static bool
is_right(const struct recovery *r, const struct twin *t, const struct twin *all,
	 size_t n)
{
	struct chunk_sum sum;

	if (t->record)
		return false;
	if (noted_sum(r, t->disk, t->number, &sum) &&
	    has_sum(r, t->disk, t->number, &sum))
		return true;
	for (size_t i = 0; i < n; i++) {
		if (all[i].record && has_sum_of(r, t, all[i].record))
			return true;
	}
	return false;
}

/* Returns the first that is certainly good; else the one with most data. */
static const struct twin *
choose(const struct recovery *r, struct twin *t, size_t n)
{
	const struct twin *best = t;

	for (size_t i = 0; i < n; i++) {
		if (is_whole(r, &t[i]))
			return &t[i];
	}
	for (size_t i = 0; i < n; i++) {
		if (is_right(r, &t[i], t, n))
			return &t[i];
	}
	for (size_t i = 0; i < n; i++) {
		t[i].bytes = written(r, t[i].disk, t[i].number);
		if (t[i].bytes > best->bytes)
			best = &t[i];
	}
	return best;
}

int
recover_rename(struct recovery *r, unsigned disk, uint64_t number, char *aside)
{
	char file[LAYOUT_FILE];
	int dir = r->rec->part[disk].dir;
	unsigned tries = 0;

	layout_chunk(file, r->rec->name, number);
	do {
		if (tries == LAYOUT_ASIDES) {
			recover_say(r,
				    "%s on %s stays: all %d names under which "
				    "it would be set aside are taken",
				    file, r->disks->disk[disk].path,
				    LAYOUT_ASIDES);
			return -EEXIST;
		}
		layout_aside(aside, r->rec->name, number, tries++);
	} while (!file_access_at(dir, aside, F_OK, AT_SYMLINK_NOFOLLOW));
	if (!r->dry &&
	    (file_rename_at(dir, file, dir, aside) < 0 || file_sync(dir) < 0))
		return -errno;
	r->report->renamed = true;
	return 0;
}

int
recover_aside(struct recovery *r, unsigned disk, uint64_t number, unsigned kept)
{
	char aside[LAYOUT_FILE];
	int err = recover_rename(r, disk, number, aside);

	if (err)
		return err;
	r->report->aside++;
	recover_say(r,
		    "chunk %" PRIu64 " on %s is renamed to %s: %s has a "
		    "better chunk of this number",
		    number, r->disks->disk[disk].path, aside,
		    r->disks->disk[kept].path);
	return 0;
}

/* Removes a number from a disk's records.  False if it was not there. */
static bool
forget_record(struct recording_part *part, uint64_t number)
{
	size_t kept = 0;

	for (size_t i = 0; i < part->records; i++) {
		if (part->record[i].number != number)
			part->record[kept++] = part->record[i];
	}
	if (kept == part->records)
		return false;
	part->records = kept;
	return true;
}

static void
forget_orphan(struct recovery *r, const struct twin *t)
{
	size_t kept = 0;

	for (size_t i = 0; i < r->orphans; i++) {
		if (r->orphan[i].number != t->number ||
		    r->orphan[i].disk != t->disk)
			r->orphan[kept++] = r->orphan[i];
	}
	r->orphans = kept;
}

/* Gives up one of them.  Its chunk is renamed before its index changes, so an
 * interrupted recovery leaves one chunk, or nothing changed. */
static int
let_go(struct recovery *r, const struct twin *t, const struct twin *best)
{
	struct recording_part *part = &r->rec->part[t->disk];
	int err = 0;

	if (t->there)
		err = recover_aside(r, t->disk, t->number, best->disk);
	if (!t->record) {
		forget_orphan(r, t);
		return err;
	}
	if (!err && !best->record)
		err = recover_remember(r, t->record);
	recover_sort_notes(r);
	if (err || !forget_record(part, t->number))
		return err;
	return recover_rewrite(r, t->disk);
}

/* Finds its record again: records move in the list when one is dropped. */
static void
find_again(const struct recovery *r, struct twin *t)
{
	const struct recording_part *part = &r->rec->part[t->disk];

	for (size_t k = 0; t->record && k < part->records; k++) {
		if (part->record[k].number == t->number)
			t->record = &part->record[k];
	}
	t->there = length_of(r, t) >= 0;
}

static int
settle(struct recovery *r, struct twin *t, size_t n)
{
	struct twin best;
	int err = 0;

	for (size_t i = 0; i < n; i++)
		find_again(r, &t[i]);
	best = *choose(r, t, n);
	for (size_t i = 0; i < n && !err; i++) {
		if (t[i].disk != best.disk)
			err = let_go(r, &t[i], &best);
	}
	return err;
}

/* Leaves one chunk of each number.  Returns 0 or -errno. */
static int
settle_twins(struct recovery *r)
{
	size_t n, to;
	struct twin *list = list_twins(r, &n);
	int err = list ? 0 : -ENOMEM;

	for (size_t from = 0; from < n && !err; from = to) {
		for (to = from + 1; to < n; to++) {
			if (list[to].number != list[from].number)
				break;
		}
		if (to > from + 1)
			err = settle(r, list + from, to - from);
	}
	free(list);
	return err;
}

/* ---- taking stock -------------------------------------------------------- */

static int
cut_index(struct recovery *r, unsigned disk)
{
	struct recording_part *part = &r->rec->part[disk];
	uint64_t good = part->index_bytes - part->torn;

	r->index[disk].bytes = (off_t)good;
	if (!part->torn)
		return 0;
	if (!r->dry && (file_cut(r->index[disk].fd, (off_t)good) < 0 ||
			file_sync_data(r->index[disk].fd) < 0))
		return -errno;
	recover_say(r,
		    "cut %" PRIu64 " bytes that are no record from the "
		    "index on %s",
		    part->torn, r->disks->disk[disk].path);
	r->report->torn += part->torn;
	part->torn = 0;
	return 0;
}

int
recover_know(struct recovery *r, const struct index_record *record)
{
	struct index_record *grown = r->known;

	/* The array doubles when its length is a power of two. */
	if (!(r->knowns & (r->knowns - 1)))
		grown = realloc(grown, (2 * r->knowns + 1) * sizeof *grown);
	if (!grown)
		return -ENOMEM;
	r->known = grown;
	r->known[r->knowns++] = *record;
	r->report->packets += record->present;
	if (record->sub >= r->subs)
		r->subs = record->sub + 1u;
	return 0;
}

/* Takes the records of a disk, and reports chunks that are missing or short. */
static int
take_known(struct recovery *r, unsigned disk)
{
	const struct recording_part *part = &r->rec->part[disk];
	uint64_t end = layout_plan_begin(&r->rec->plan, NULL);
	int err = 0;

	for (size_t i = 0; i < part->records && !err; i++) {
		const struct index_record *record = &part->record[i];
		struct recording_block b = { .record = *record,
					     .disk = (int)disk };
		int64_t bytes;

		err = recover_know(r, record);
		if (record->kind != INDEX_BLOCK)
			continue;
		end = recording_block_at(r->rec, &b, end);
		bytes = recording_chunk_bytes(r->rec, &b);
		if (bytes >= 0)
			r->report->indexed++;
		if (bytes >= 0 && (uint64_t)bytes < record->bytes)
			recover_say(r,
				    "chunk %" PRIu64 " on %s has %" PRId64
				    " of its %" PRIu64 " bytes: the rest will "
				    "read as fill",
				    record->number, r->disks->disk[disk].path,
				    bytes, record->bytes);
		if (bytes >= 0)
			continue;
		r->report->lost++;
		recover_say(r,
			    "chunk %" PRIu64 " is not on %s any more: it "
			    "will read as fill",
			    record->number, r->disks->disk[disk].path);
	}
	return err;
}

static const struct index_record *
find_record(const struct recording_part *part, uint64_t number)
{
	for (size_t i = 0; i < part->records; i++) {
		if (part->record[i].number == number)
			return &part->record[i];
	}
	return NULL;
}

/* True if an index says that nothing arrived under this number. */
static bool
is_gap(const struct recovery *r, uint64_t number)
{
	const struct index_record *record;

	for (unsigned i = 0; i < r->disks->n; i++) {
		record = find_record(&r->rec->part[i], number);
		if (record && record->kind == INDEX_GAP)
			return true;
	}
	return false;
}

static int
add_orphan(struct recovery *r, unsigned disk, const struct leftover *left)
{
	bool shared = layout_plan_shared(&r->rec->plan);
	uint64_t number = left->record.number;
	const struct recording_block b = { .record.number = number,
					   .disk = (int)disk };
	int64_t bytes =
	    shared ? (int64_t)left->bytes : recording_chunk_bytes(r->rec, &b);
	struct orphan *grown;

	if (bytes < 0)
		return (int)bytes;
	if (!shared && is_gap(r, number)) {
		recover_say(r,
			    "chunk %" PRIu64 " on %s stays as it is: an index "
			    "says that no packet arrived under this number",
			    number, r->disks->disk[disk].path);
		return 0;
	}
	grown = realloc(r->orphan, (r->orphans + 1) * sizeof *grown);
	if (!grown)
		return -ENOMEM;
	r->orphan = grown;
	r->orphan[r->orphans++] = (struct orphan){ .number = number,
						   .disk = disk,
						   .left = *left,
						   .bytes = (uint64_t)bytes };
	return 0;
}

/* Takes the blocks that a disk's index does not name, and what lines say of
 * them, also of those that are not there. */
static int
find_orphans(struct recovery *r, unsigned disk)
{
	const struct recording_part *part = &r->rec->part[disk];
	struct leftovers *l = &r->left[disk];
	int err = leftovers_read(l, part->dir, &r->rec->plan, part->record,
				 part->records);

	free(l->text); /* may be long, and there are many disks */
	l->text = NULL;
	if (err && *l->file)
		recover_say(r, "%s on %s cannot be read: %s", l->file,
			    r->disks->disk[disk].path, disk_why(err));
	if (err)
		recover_refused(r, disk, l->file, err);
	for (size_t i = 0; i < l->n && !err; i++) {
		if (l->block[i].noted)
			err = recover_remember(r, &l->block[i].record);
		if (!err && l->block[i].there)
			err = add_orphan(r, disk, &l->block[i]);
	}
	return err;
}

static int
by_number(const void *a, const void *b)
{
	const struct orphan *x = a, *y = b;

	return x->number < y->number ? -1 : x->number > y->number;
}

int
recover_find(struct recovery *r)
{
	int err = 0;

	r->left = calloc(r->disks->n + 1, sizeof *r->left);
	if (!r->left)
		return -ENOMEM;
	for (unsigned i = 0; i < r->disks->n && !err; i++) {
		if (r->index[i].fd < 0)
			continue;
		err = cut_index(r, i);
	}
	for (unsigned i = 0; i < r->disks->n && !err; i++) {
		if (r->index[i].fd >= 0)
			err = find_orphans(r, i);
	}
	recover_sort_notes(r);
	if (err || r->args->look)
		return err;
	err = read_sums(r);
	/* Shared files are left out: removing a block would move those behind
	 * it. */
	if (!err && !layout_plan_shared(&r->rec->plan))
		err = settle_twins(r);
	for (unsigned i = 0; i < r->disks->n && !err; i++) {
		if (r->index[i].fd >= 0)
			err = take_known(r, i);
	}
	/* Records of a shared file must stay in the order of its blocks. */
	if (r->orphans && !layout_plan_shared(&r->rec->plan))
		qsort(r->orphan, r->orphans, sizeof *r->orphan, by_number);
	return err;
}
