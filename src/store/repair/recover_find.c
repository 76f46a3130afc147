/* SPDX-License-Identifier: MIT */
/*
 * Takes stock before anything is rebuilt: cuts what is behind the last good
 * record of each index, counts the chunks that indexes name, and lists those
 * that they do not name.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "store/repair/recover_priv.h"

static int
cut_index(struct rescue *r, unsigned disk)
{
	struct recording_part *part = &r->rec->part[disk];
	uint64_t good = part->index_bytes - part->torn;

	if (!part->torn)
		return 0;
	if (!r->dry && (ftruncate(r->index[disk], (off_t)good) < 0 ||
			fdatasync(r->index[disk]) < 0))
		return -errno;
	rescue_say(r,
		   "cut %" PRIu64 " bytes that are no record from the "
		   "index on %s",
		   part->torn, r->disks->disk[disk].path);
	r->report->torn += part->torn;
	part->index_bytes = good;
	part->torn = 0;
	return 0;
}

int
rescue_know(struct rescue *r, const struct index_record *record)
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
take_known(struct rescue *r, unsigned disk)
{
	const struct recording_part *part = &r->rec->part[disk];
	uint64_t end = layout_map_begin(&r->rec->map, NULL);
	int err = 0;

	for (size_t i = 0; i < part->records && !err; i++) {
		const struct index_record *record = &part->record[i];
		struct recording_block b = { .record = *record,
					     .disk = (int)disk };
		int64_t bytes;

		err = rescue_know(r, record);
		if (record->kind != INDEX_BLOCK)
			continue;
		end = recording_block_at(r->rec, &b, end);
		bytes = recording_chunk_bytes(r->rec, &b);
		if (bytes >= 0)
			r->report->indexed++;
		if (bytes >= 0 && (uint64_t)bytes < record->bytes)
			rescue_say(r,
				   "chunk %" PRIu64 " on %s has %" PRId64
				   " of its %" PRIu64 " bytes: the rest will "
				   "read as fill",
				   record->number, r->disks->disk[disk].path,
				   bytes, record->bytes);
		if (bytes >= 0)
			continue;
		r->report->lost++;
		rescue_say(r,
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
is_gap(const struct rescue *r, uint64_t number)
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
add_orphan(struct rescue *r, unsigned disk, uint64_t number)
{
	const struct recording_block b = { .record.number = number,
					   .disk = (int)disk };
	int64_t bytes = recording_chunk_bytes(r->rec, &b);
	struct orphan *grown;

	if (bytes < 0)
		return (int)bytes;
	if (is_gap(r, number)) {
		rescue_say(r,
			   "chunk %" PRIu64 " on %s is left alone: an index "
			   "says that nothing came there",
			   number, r->disks->disk[disk].path);
		return 0;
	}
	grown = realloc(r->orphan, (r->orphans + 1) * sizeof *grown);
	if (!grown)
		return -ENOMEM;
	r->orphan = grown;
	r->orphan[r->orphans++] = (struct orphan){ .number = number,
						   .disk = disk,
						   .bytes = (uint64_t)bytes };
	return 0;
}

static int
find_chunks(struct rescue *r, unsigned disk)
{
	const struct recording_part *part = &r->rec->part[disk];
	struct dirent *entry;
	uint64_t number;
	int fd, err = 0;
	DIR *dir;

	fd = rescue_open(r, disk, ".", O_RDONLY | O_DIRECTORY);
	if (fd < 0)
		return fd;
	dir = fdopendir(fd);
	if (!dir) {
		close(fd);
		return -ENOMEM;
	}
	while (!err && (entry = readdir(dir))) {
		if (layout_chunk_number(entry->d_name, r->rec->name, &number) &&
		    !find_record(part, number))
			err = add_orphan(r, disk, number);
	}
	closedir(dir);
	return err;
}

static int
find_orphans(struct rescue *r, unsigned disk)
{
	if (layout_map_shared(&r->rec->map))
		return rescue_data_find(r, disk);
	return find_chunks(r, disk);
}

static int
by_number(const void *a, const void *b)
{
	const struct orphan *x = a, *y = b;

	return x->number < y->number ? -1 : x->number > y->number;
}

int
rescue_find(struct rescue *r)
{
	int err = 0;

	for (unsigned i = 0; i < r->disks->n && !err; i++) {
		if (r->index[i] < 0)
			continue;
		err = cut_index(r, i);
	}
	for (unsigned i = 0; i < r->disks->n && !err; i++) {
		if (r->index[i] >= 0)
			err = find_orphans(r, i);
	}
	if (err || r->args->look)
		return err;
	err = rescue_sums(r);
	/* Shared files are left out: removing a block would move those behind
	 * it. */
	if (!err && !layout_map_shared(&r->rec->map))
		err = rescue_twins(r);
	for (unsigned i = 0; i < r->disks->n && !err; i++) {
		if (r->index[i] >= 0)
			err = take_known(r, i);
	}
	/* Records of a shared file must stay in the order of its blocks. */
	if (r->orphans && !layout_map_shared(&r->rec->map))
		qsort(r->orphan, r->orphans, sizeof *r->orphan, by_number);
	return err;
}
