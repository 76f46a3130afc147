/* SPDX-License-Identifier: MIT */
/*
 * Rebuild writes what it wants to keep before it gives anything up:
 *
 *   lists    parity blocks that no list names are listed
 *   folders  on new disks (rebuild_folder.c)
 *   chunks   of disks that are away: checksums, lines of the metadata, the file
 *            under its name, then the record in the index of that disk
 *   rows     parity blocks that a group lacks which has all its members
 *   groups   new ones, of chunks whose group does not make up for every disk
 *   drop     parity of groups all of whose members have such a new group
 *
 * Each step asks the disks what is there, so after it was cut short anywhere the
 * next run goes on.  A chunk that is there and in no index is taken if it is what
 * is wanted.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "base/ease.h"
#include "store/disk/file.h"
#include "store/record/meta.h"
#include "store/record/sums.h"
#include "store/repair/mend_priv.h"
#include "store/repair/verify_items.h"

/* A record that no index here has. */
struct wanted {
	struct index_record record; /* kind 0: nothing is wanted */
	bool from;		    /* the disk that is emptied has its data */
};

struct rebuild {
	struct mend m;
	struct disk disk; /* that is emptied */
	struct disks one;
	struct recording *from; /* what it has; NULL: nothing */
	struct wanted *want;	/* by number */
	size_t wants;
	unsigned *added; /* records put into the index of each disk */
};

/* ---- what is wanted ------------------------------------------------------- */

/* Opens the disk that is emptied.  If it cannot be read it is as one that is
 * away. */
static void
from_open(struct rebuild *r, const char *name)
{
	struct fault fault;

	if (!r->m.a->from)
		return;
	r->disk.path = strdup(r->m.a->from);
	r->disk.fd = -1;
	r->one = (struct disks){ .disk = &r->disk, .n = 1 };
	if (!r->disk.path || disk_open(&r->disk) ||
	    recording_open(&r->from, &r->one, name, &fault)) {
		r->from = NULL;
		return;
	}
	if (!r->from->foreign && !recording_hold(r->from, NULL))
		return;
	recording_close(r->from);
	r->from = NULL;
}

static void
from_close(struct rebuild *r)
{
	if (r->from)
		recording_close(r->from);
	if (r->disk.path && r->disk.fd >= 0)
		disk_close(&r->disk);
	free(r->disk.path);
}

static void
want(struct rebuild *r, const struct index_record *record, const bool *indexed,
     bool from)
{
	if (from && record->number >= r->from->blocks)
		return; /* an implausible number */
	if (record->number < r->wants && !indexed[record->number])
		r->want[record->number] =
		    (struct wanted){ .record = *record, .from = from };
}

static void
indexed_mark(const struct rebuild *r, bool *indexed)
{
	for (unsigned i = 0; i < r->m.disks->n; i++) {
		const struct recording_part *part = &r->m.rec->part[i];

		for (size_t k = 0; part->dir >= 0 && k < part->records; k++) {
			if (part->record[k].number < r->wants)
				indexed[part->record[k].number] = true;
		}
	}
}

/* Collects the records that are wanted: blocks that parity gives, gaps that it
 * knows of, and what is on the disk that is emptied. */
static int
wants_make(struct rebuild *r)
{
	const struct recording *rec = r->m.rec;
	bool *indexed;

	r->wants = rec->blocks;
	if (r->from && r->from->blocks > r->wants)
		r->wants = r->from->blocks;
	r->want = calloc(r->wants + 1, sizeof *r->want);
	r->added = calloc(r->m.disks->n + 1, sizeof *r->added);
	indexed = calloc(r->wants + 1, sizeof *indexed);
	if (!r->want || !r->added || !indexed) {
		free(indexed);
		return -ENOMEM;
	}
	indexed_mark(r, indexed);
	for (size_t i = 0; i < rec->blocks; i++) {
		if (rec->block[i].computed)
			want(r, &rec->block[i].record, indexed, false);
	}
	for (size_t i = 0; i < rec->parity.gaps; i++)
		want(r, &rec->parity.gap[i], indexed, false);
	for (size_t i = 0; r->from && i < r->from->part[0].records; i++)
		want(r, &r->from->part[0].record[i], indexed, true);
	free(indexed);
	for (size_t i = 0; i < r->wants; i++)
		r->m.total += r->want[i].record.kind == INDEX_BLOCK
				  ? r->want[i].record.bytes
				  : 0;
	return 0;
}

/* Names what nothing gives. */
static void
absent_name(struct rebuild *r)
{
	const struct recording *rec = r->m.rec;
	char place[VERIFY_PLACE];
	size_t to;

	for (size_t from = 0; from < rec->blocks; from = to + 1) {
		for (to = from; to < rec->blocks; to++) {
			if (rec->block[to].record.kind != RECORDING_ABSENT ||
			    r->want[to].record.kind)
				break;
		}
		if (to == from)
			continue;
		r->m.report->lost += (unsigned)(to - from);
		mend_say(&r->m,
			 "chunk%s %zu to %zu: on none of the disks, and "
			 "without parity%s",
			 to - from > 1 ? "s" : "", from, to - 1,
			 verify_place(rec, from, to - 1, place));
	}
}

/* ---- where to -------------------------------------------------------------- */

struct block_bars
rebuild_group_disks(const struct recording *rec, uint64_t number)
{
	const struct parity_table *t = &rec->parity;
	const struct parity_member *m =
	    t->numbers ? parity_find(t, number) : NULL;
	const struct parity_block *p, *first;
	struct block_bars bars = { 0 };

	if (!m)
		return bars;
	p = &t->block[m->block];
	for (uint32_t k = 0; k < p->record.members; k++) {
		uint64_t n = t->member[p->first + k].number;

		if (n < rec->blocks && rec->block[n].disk >= 0 &&
		    !rec->block[n].computed)
			block_bars_add(&bars, (unsigned)rec->block[n].disk);
	}
	first = parity_first(t, p);
	for (p = first; p < t->block + t->blocks && parity_same_group(p, first);
	     p++)
		block_bars_add(&bars, p->disk);
	return bars;
}

bool
rebuild_takes(const struct mend *m, unsigned disk)
{
	const struct recording_part *part = &m->rec->part[disk];

	return part->dir >= 0 && part->indexed && part->ended &&
	       !part->meta_err && !part->hangs;
}

int
rebuild_disk(const struct mend *m, const struct block_bars *bars, bool any,
	     uint64_t bytes)
{
	uint64_t most = 0;
	int best = -1;
	bool best_barred = true;

	for (unsigned i = 0; i < m->disks->n && i < BLOCK_DISKS; i++) {
		bool barred = block_bars_has(bars, i);
		struct disk_space space;

		if (!rebuild_takes(m, i) || (barred && !any) ||
		    disk_space(&m->disks->disk[i], &space) ||
		    space.free < bytes)
			continue;
		if (best >= 0 &&
		    (barred > best_barred ||
		     (barred == best_barred && space.free <= most)))
			continue;
		best = (int)i;
		best_barred = barred;
		most = space.free;
	}
	return best;
}

/* Returns a disk that has a chunk of this number and length already, which no
 * index names: an earlier run was cut short; -1: none. */
static int
disk_with(const struct mend *m, const struct index_record *record)
{
	char file[LAYOUT_FILE];
	struct stat st;

	layout_chunk(file, m->rec->name, record->number);
	for (unsigned i = 0; i < m->disks->n; i++) {
		if (rebuild_takes(m, i) &&
		    !file_stat_at(m->rec->part[i].dir, file, &st,
				  AT_SYMLINK_NOFOLLOW) &&
		    S_ISREG(st.st_mode) &&
		    (uint64_t)st.st_size == record->bytes)
			return (int)i;
	}
	return -1;
}

/* ---- a chunk --------------------------------------------------------------- */

/* Appends to a file of the recording on a disk, durably. */
static int
append(int dir, const char *file, const void *data, size_t bytes)
{
	struct append_file to;
	int err;

	to.fd =
	    disk_open_at(dir, file, O_CREAT | O_RDWR | O_APPEND, DISK_NO_LINKS);
	if (to.fd < 0)
		return to.fd;
	to.bytes = file_seek(to.fd, 0, SEEK_END);
	err = append_bytes(&to, data, bytes);
	if (!err && file_sync_data(to.fd) < 0)
		err = -errno;
	file_close(to.fd);
	return err;
}

/* Adds the checksums of a chunk to those of a disk. */
static int
sums_append(const struct mend *m, int dir, const struct index_record *r,
	    uint8_t *data)
{
	uint32_t quanta =
	    (uint32_t)((r->bytes + BLOCK_QUANTUM - 1) / BLOCK_QUANTUM);
	struct block b = { .number = r->number,
			   .data = data,
			   .used = 1,
			   .slot_bytes = (uint32_t)r->bytes,
			   .quantum = BLOCK_QUANTUM,
			   .crc = r->crc };
	uint8_t *raw = malloc(sums_bytes(quanta));
	char file[LAYOUT_FILE];
	int err = -ENOMEM;

	b.sum = calloc(quanta + 1, sizeof *b.sum);
	for (uint32_t i = 0; b.sum && i < quanta; i++) {
		uint64_t at = (uint64_t)i * BLOCK_QUANTUM;
		uint64_t left = r->bytes - at;

		b.sum[i].bytes =
		    left < BLOCK_QUANTUM ? (uint32_t)left : BLOCK_QUANTUM;
		b.sum[i].crc = crc32c(0, data + at, b.sum[i].bytes);
	}
	if (raw && b.sum) {
		sums_pack(raw, &b);
		err = append(dir, layout_sums(file, m->rec->name), raw,
			     sums_bytes(quanta));
	}
	free(b.sum);
	free(raw);
	return err;
}

/* Appends a line of metadata, behind the last whole one; drops the line.  Lines
 * that were not read before stay to be read. */
static int
line_append(const struct mend *m, int disk, json_t *line)
{
	struct recording_part *part = &m->rec->part[disk];
	struct append_file meta = { .bytes = (off_t)part->meta_bytes };
	char file[LAYOUT_FILE];
	bool all;
	int err;

	if (!line)
		return -ENOMEM;
	meta.fd = disk_open_at(part->dir, layout_meta(file, m->rec->name),
			       O_RDWR | O_APPEND, DISK_NO_LINKS);
	if (meta.fd < 0) {
		json_decref(line);
		return meta.fd;
	}
	err = meta_cut_torn(&meta);
	all = meta.bytes == (off_t)part->meta_bytes;
	if (!err)
		err = meta_append(&meta, line);
	if (!err && file_sync_data(meta.fd) < 0)
		err = -errno;
	if (all)
		part->meta_bytes = (uint64_t)meta.bytes;
	file_close(meta.fd);
	json_decref(line);
	return err;
}

int
rebuild_holes(const struct mend *m, const struct recording *from,
	      uint64_t number, int disk)
{
	json_t *line;

	if (recording_has_line(m->rec, number, (unsigned)disk))
		return 0;
	line = recording_line(from, number);
	return line ? line_append(m, disk, line) : 0;
}

/* Puts records into the index of a disk, before its end. */
static int
index_put(struct rebuild *r, int disk, const struct index_record *record)
{
	const struct recording_part *part = &r->m.rec->part[disk];
	uint8_t raw[2 * INDEX_BYTES];
	uint64_t at = (part->records + r->added[disk]) * (uint64_t)INDEX_BYTES;
	char file[LAYOUT_FILE];
	int fd, err;

	fd = disk_open_at(part->dir, layout_index(file, r->m.rec->name), O_RDWR,
			  DISK_NO_LINKS);
	if (fd < 0)
		return fd;
	index_pack(raw, record);
	index_pack(raw + INDEX_BYTES, &part->end);
	err = write_whole(fd, raw, sizeof raw, at);
	if (!err && (file_cut(fd, (off_t)(at + sizeof raw)) < 0 ||
		     file_sync_data(fd) < 0))
		err = -errno;
	file_close(fd);
	r->added[disk] += !err;
	return err;
}

static bool
has_same(int dir, const char *file, const uint8_t *data, uint64_t bytes)
{
	enum { PIECE = 1 << 20 };
	int fd = disk_open_at(dir, file, O_RDONLY, DISK_NO_LINKS);
	uint8_t *piece = malloc(PIECE);
	uint64_t at = 0;
	struct stat st;
	bool same = fd >= 0 && piece && !file_stat(fd, &st) &&
		    (uint64_t)st.st_size == bytes;

	while (same && at < bytes) {
		size_t part = bytes - at < PIECE ? (size_t)(bytes - at) : PIECE;

		same = read_whole(fd, piece, part, at) == (ssize_t)part &&
		       !memcmp(piece, data + at, part);
		at += part;
	}
	free(piece);
	if (fd >= 0)
		file_close(fd);
	return same;
}

/* Renames a file that has the name of a chunk and is another one. */
static int
set_aside(const struct mend *m, int disk, uint64_t number)
{
	int dir = m->rec->part[disk].dir;
	char file[LAYOUT_FILE], aside[LAYOUT_FILE];
	unsigned n = 0;

	layout_chunk(file, m->rec->name, number);
	do {
		if (n == LAYOUT_ASIDES)
			return -EEXIST;
		layout_aside(aside, m->rec->name, number, n++);
	} while (!file_access_at(dir, aside, F_OK, AT_SYMLINK_NOFOLLOW));
	if (file_rename_at(dir, file, dir, aside) < 0)
		return -errno;
	m->report->renamed = true;
	mend_say(m, "%s on %s was another chunk, and is renamed to %s", file,
		 mend_path(m, disk), aside);
	return 0;
}

/* Writes a chunk to a disk.  0 or -errno. */
static int
chunk_put(struct rebuild *r, const struct wanted *w, uint8_t *data, int disk)
{
	const struct index_record *record = &w->record;
	const struct mend *m = &r->m;
	int dir = m->rec->part[disk].dir, err = 0;
	char file[LAYOUT_FILE];

	layout_chunk(file, m->rec->name, record->number);
	if (record->flags & INDEX_SUMMED)
		err = sums_append(m, dir, record, data);
	if (!err)
		err = rebuild_holes(m, w->from ? r->from : m->rec,
				    record->number, disk);
	if (!err) /* for recover, if we are cut short */
		err = line_append(m, disk, meta_written(record, 0));
	if (!err)
		err = mend_file_new(dir, file, data, record->bytes);
	if (err == -EEXIST && has_same(dir, file, data, record->bytes)) {
		err = 0;
	} else if (err == -EEXIST) {
		err = set_aside(m, disk, record->number);
		if (!err)
			err = mend_file_new(dir, file, data, record->bytes);
	}
	return err ? err : index_put(r, disk, record);
}

static bool
is_right(const struct index_record *record, const uint8_t *data)
{
	return !(record->flags & INDEX_SUMMED) ||
	       crc32c(0, data, record->bytes) == record->crc;
}

/* Gets the data of a chunk: from a run that was cut short, from the disk that is
 * emptied, or by parity. */
static int
chunk_get(struct rebuild *r, const struct wanted *w, int disk, uint8_t *data)
{
	const struct index_record *record = &w->record;
	struct recording_block b = { .record = *record, .disk = disk };
	struct recording *rec = r->m.rec;
	ssize_t got = -1;

	if (record->flags & INDEX_SUMMED && disk >= 0) {
		int fd = recording_chunk_open(rec, &b);

		got = fd < 0 ? fd : read_whole(fd, data, record->bytes, 0);
		if (fd >= 0)
			file_close(fd);
		if (got == (ssize_t)record->bytes && is_right(record, data))
			return 0;
	}
	if (w->from) {
		struct recording_block own = r->from->block[record->number];

		ease_process();
		got =
		    recording_chunk_read(r->from, &own, data, record->bytes, 0);
		ease_end();
		if (got == (ssize_t)record->bytes && is_right(record, data))
			return 0;
	}
	return mend_heal(&r->m, &b, data);
}

static void
chunk_lose(struct rebuild *r, uint64_t number)
{
	const struct mend *m = &r->m;
	char place[VERIFY_PLACE];

	m->report->lost++;
	mend_say(
	    m, "chunk %" PRIu64 " is lost: its disk is away, and %s%s", number,
	    recording_protects(m->rec, number) ? "so is too much of its group"
					       : "it has no parity",
	    number < m->rec->blocks
		? verify_place(m->rec, number, number, place)
		: "");
}

static void
chunk_rebuild(struct rebuild *r, const struct wanted *w)
{
	const struct index_record *record = &w->record;
	struct mend *m = &r->m;
	struct block_bars bars = rebuild_group_disks(m->rec, record->number);
	int there = disk_with(m, record), disk = there, err = -ENOMEM;
	uint8_t *data = NULL;

	if (disk < 0)
		disk = rebuild_disk(m, &bars, true, record->bytes);
	if (record->bytes <= PARITY_MOST)
		data = malloc(record->bytes + 1);
	if (data)
		err = chunk_get(r, w, there, data);
	if (err) {
		chunk_lose(r, record->number);
	} else if (disk < 0) {
		m->report->failed++;
		mend_say(m, "chunk %" PRIu64 ": no disk has room for it",
			 record->number);
	} else if (m->a->dry_run) {
		m->report->chunks++;
		mend_say(m, "chunk %" PRIu64 " would be on %s", record->number,
			 mend_path(m, disk));
	} else if ((err = chunk_put(r, w, data, disk))) {
		m->report->failed++;
		mend_say(m, "chunk %" PRIu64 " cannot be written to %s: %s",
			 record->number, mend_path(m, disk), disk_why(err));
	} else {
		m->report->chunks++;
		mend_say(m, "chunk %" PRIu64 " is on %s", record->number,
			 mend_path(m, disk));
		/* The next chunk of its group goes elsewhere. */
		if (record->number < m->rec->blocks) {
			m->rec->block[record->number].record = *record;
			m->rec->block[record->number].disk = disk;
			m->rec->block[record->number].computed = false;
		}
	}
	free(data);
	mend_progress(m, record->bytes);
}

/* Puts everything that is wanted. */
static int
wants_put(struct rebuild *r, const char *name, struct fault *fault)
{
	const struct block_bars none = { 0 };
	struct mend *m = &r->m;
	bool shared = layout_plan_shared(&m->rec->plan);
	int err;

	for (size_t i = 0; i < r->wants; i++) {
		const struct wanted *w = &r->want[i];
		int disk;

		if (w->record.kind == INDEX_BLOCK && shared) {
			fault_set(fault, -ENOTSUP, "refused",
				  "cannot rebuild %s", name);
			fault_why(fault,
				  "all chunks of a disk are in one file, to "
				  "which others cannot be added");
			fault_hint(fault,
				   "spate export gives all of it; so do reads "
				   "of it as long as the other disks are well");
			return -ENOTSUP;
		}
		if (w->record.kind == INDEX_BLOCK)
			chunk_rebuild(r, w);
		if (w->record.kind != INDEX_GAP || m->a->dry_run)
			continue;
		disk = rebuild_disk(m, &none, true, 0);
		err = disk < 0 ? -ENOSPC : index_put(r, disk, &w->record);
		m->report->failed += err != 0;
	}
	for (unsigned i = 0; i < m->disks->n; i++) {
		if (r->added[i]) /* also where it is as long as before */
			m->rec->part[i].index_bytes = 0;
	}
	return m->a->dry_run
		   ? 0
		   : mend_fault(m, name, recording_refresh(m->rec), fault);
}

/* Makes folders on new disks, if there is something to put there. */
static int
folders_make(struct rebuild *r, const char *name, struct fault *fault)
{
	struct mend *m = &r->m;
	bool needed = false;
	int err;

	for (size_t i = 0; i < r->wants && !needed; i++)
		needed = r->want[i].record.kind;
	for (size_t i = 0; i < m->rec->blocks && !needed; i++)
		needed = m->rec->facts.parity && rebuild_needs_group(m->rec, i);
	if (!needed)
		return 0;
	err = rebuild_folders(m);
	if (!err && !m->a->dry_run)
		err = recording_refresh(m->rec);
	if (err)
		return mend_fault(m, name, err, fault);
	return mend_lock(m, name, fault);
}

int
rebuild(const struct disks *disks, const char *name,
	const struct mend_args *args, struct mend_report *report,
	struct fault *fault)
{
	struct rebuild r = { .m = { .a = args,
				    .report = report,
				    .verb = "rebuild",
				    .disks = disks } };
	int err;

	*report = (struct mend_report){ 0 };
	err = mend_open(&r.m, name, fault);
	if (err)
		goto out;
	err = mend_fault(&r.m, name, mend_lists(&r.m), fault);
	if (err)
		goto out;
	from_open(&r, name);
	err = mend_fault(&r.m, name, wants_make(&r), fault);
	if (err)
		goto out;
	absent_name(&r);
	err = folders_make(&r, name, fault);
	if (err)
		goto out;
	err = wants_put(&r, name, fault);
	if (!err && r.m.rec->facts.parity)
		err = mend_fault(&r.m, name, rebuild_parity(&r.m), fault);
out:
	from_close(&r);
	free(r.want);
	free(r.added);
	mend_close(&r.m);
	return err;
}
