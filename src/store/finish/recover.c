/* SPDX-License-Identifier: MIT */
/*
 * Recover works in the same order of durability as the writer: first a chunk
 * and its holes, then its record, at last the ends.  So if recover itself is
 * interrupted, the next run goes on where it stopped.
 *
 *   lock     every index (a disk that lost its own gets an empty one)
 *   cut      what is behind the last good record of each
 *   find     chunks that no index names
 *   rebuild  their records, in the order of numbers (recover_chunk.c)
 *   close    every index, and every metadata
 *
 * A chunk with a packet in it is never removed.  If two disks have a chunk file
 * of the same number, because the writer gave up on one disk and wrote the
 * block elsewhere, recover_find.c keeps the better one and renames the other.
 * In a file that all blocks of a disk share, both stay.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/units.h"
#include "store/disk/file.h"
#include "store/foreign/vbs_cfg.h"
#include "store/record/meta.h"
#include "store/finish/recover_priv.h"

/* ---- is it one recording? ------------------------------------------------ */

/*
 * Disks may come from two machines, each with a recording of the same name.  A
 * chunk found twice is then no copy, and neither may be touched.  The first
 * line of each metadata has the start time to a nanosecond, which tells them
 * apart.
 */

static json_t *
read_head(const struct recovery *r, unsigned disk)
{
	char file[LAYOUT_FILE], *line = NULL;
	json_t *head = NULL;
	size_t room = 0;
	ssize_t length;
	FILE *from;
	int fd;

	fd = recover_open(r, disk, layout_meta(file, r->rec->name), O_RDONLY);
	from = fd < 0 ? NULL : file_stream(fd);
	if (!from && fd >= 0)
		file_close(fd);
	if (!from)
		return NULL;
	length = getline(&line, &room, from);
	if (length > 0)
		head = json_loadb(line, (size_t)length, 0, NULL);
	free(line);
	fclose(from);
	return head;
}

/* True if a disk has another recording.  Unknown without a readable first line,
 * which counts as the same. */
static bool
is_other(const struct recovery *r, unsigned disk)
{
	json_t *head = read_head(r, disk);
	json_t *start = json_object_get(head, "start");
	bool other = json_is_string(start) &&
		     !json_equal(start, json_object_get(r->rec->head, "start"));

	json_decref(head);
	return other;
}

/* Checks that all disks hold the same recording.  Returns 0, or -EBADMSG with a
 * fault. */
static int
check_heads(const struct recovery *r, struct fault *fault)
{
	const char *name = r->rec->name;

	for (unsigned i = 0; i < r->disks->n; i++) {
		if (r->rec->part[i].dir < 0 || !is_other(r, i))
			continue;
		fault_set(fault, -EBADMSG, "refused", "cannot recover %s",
			  name);
		fault_why(fault,
			  "%s holds another recording of that name: it began "
			  "at another time",
			  r->disks->disk[i].path);
		fault_hint(fault, "leave that disk out, with --disks");
		return -EBADMSG;
	}
	return 0;
}

/* ---- lines of metadata, records ------------------------------------------ */

/*
 * Writes lines of metadata and indexes.  In a dry run nothing is written, and
 * the index's own state in memory is used.
 */

/* Lines that were not read are never cut off, only what is behind the last
 * newline. */
int
recover_note(const struct recovery *r, unsigned disk, const json_t *line)
{
	struct recording_part *part = &r->rec->part[disk];
	struct append_file meta = { .bytes = (off_t)part->meta_bytes };
	char file[LAYOUT_FILE];
	bool all;
	int err;

	if (r->dry)
		return 0;
	meta.fd = recover_open(r, disk, layout_meta(file, r->rec->name),
			       O_RDWR | O_CREAT | O_APPEND);
	if (meta.fd < 0)
		return meta.fd;
	err = meta_cut_torn(&meta);
	all = meta.bytes == (off_t)part->meta_bytes;
	if (!err && !meta.bytes)
		err = meta_append(&meta, r->rec->head);
	if (!err)
		err = meta_append(&meta, line);
	if (!err && file_sync_data(meta.fd) < 0)
		err = -errno;
	if (all)
		part->meta_bytes = (uint64_t)meta.bytes;
	file_close(meta.fd);
	return err;
}

/* True if a writer is just creating its folder: only the index's temporary name
 * exists, and it is locked. */
static bool
is_begun(const struct recovery *r, unsigned disk)
{
	char file[LAYOUT_FILE];
	int fd = recover_open(r, disk, layout_index_new(file, r->rec->name),
			      O_RDONLY);
	bool locked = fd >= 0 && file_lock(fd, LOCK_SH | LOCK_NB) < 0;

	if (fd >= 0)
		file_close(fd);
	return locked;
}

/*
 * Opens and locks the index of a disk; makes an empty one if it has none.  In a
 * dry run the folder stands in for a missing one, and nothing is locked, which
 * would keep a recorder from going on: whether somebody writes was seen when the
 * recording was opened.  Returns 0, -EBUSY or -errno.
 */
static int
lock_index(struct recovery *r, unsigned disk)
{
	char file[LAYOUT_FILE];
	int fd;

	if ((r->dry && r->rec->part[disk].locked) || is_begun(r, disk))
		return -EBUSY;
	fd = recover_open(r, disk, layout_index(file, r->rec->name),
			  r->dry ? O_RDONLY : O_RDWR | O_CREAT | O_APPEND);
	if (fd == -ENOENT && r->dry)
		fd = recover_open(r, disk, ".", O_RDONLY | O_DIRECTORY);
	if (fd < 0)
		return fd;
	r->index[disk].fd = fd;
	return r->dry ? 0 : index_lock(fd);
}

/* Cuts an end record off, which is written again at the end. */
int
recover_add(struct recovery *r, unsigned disk,
	    const struct index_record *record)
{
	struct recording_part *part = &r->rec->part[disk];
	struct append_file *index = &r->index[disk];

	if (r->dry)
		return 0;
	if (part->ended) {
		if (file_cut(index->fd, index->bytes - INDEX_BYTES) < 0)
			return -errno;
		index->bytes -= INDEX_BYTES;
		part->ended = false;
	}
	return index_append(index, record, 1);
}

int
recover_rewrite(struct recovery *r, unsigned disk)
{
	struct recording_part *part = &r->rec->part[disk];
	int old = r->index[disk].fd, err = 0;
	char file[LAYOUT_FILE];

	if (!r->dry)
		err = index_replace(&r->index[disk], part->dir, r->rec->name,
				    part->record, part->records);
	if (err)
		return recover_refused(
		    r, disk, layout_index_new(file, r->rec->name), err);
	if (!r->dry && old >= 0)
		file_close(old);
	part->ended = false;
	return 0;
}

/* ---- recovering ---------------------------------------------------------- */

void
recover_say(const struct recovery *r, const char *format, ...)
{
	char sentence[512];
	va_list args;

	if (!r->args->say)
		return;
	va_start(args, format);
	vsnprintf(sentence, sizeof sentence, format, args);
	va_end(args);
	r->args->say(r->args->arg, sentence);
}

int
recover_refused(const struct recovery *r, unsigned disk, const char *file,
		int err)
{
	if (disk_hint(err))
		snprintf(r->refused, RECOVER_PATH, "%s/%s/%s",
			 r->disks->disk[disk].path, r->rec->name, file);
	return err;
}

int
recover_open(const struct recovery *r, unsigned disk, const char *file,
	     int flags)
{
	int fd =
	    disk_open_at(r->rec->part[disk].dir, file, flags, DISK_NO_LINKS);

	return fd < 0 ? recover_refused(r, disk, file, fd) : fd;
}

int
recover_folders(struct recovery *r)
{
	unsigned disk;
	int err = recording_no_links(r->rec, &disk);

	if (err)
		snprintf(r->refused, RECOVER_PATH, "%s/%s",
			 r->disks->disk[disk].path, r->rec->name);
	return err;
}

static int
add_record(struct recovery *r, unsigned disk, const struct index_record *record)
{
	int err = recover_add(r, disk, record);

	return err ? err : recover_know(r, record);
}

/* Gives a chunk its record, behind that of its gap. */
static int
take(struct recovery *r, struct orphan *o, const struct index_record *record,
     const struct index_record *gap)
{
	int err = gap ? add_record(r, o->disk, gap) : 0;

	if (!err)
		err = add_record(r, o->disk, record);
	if (err)
		return err;
	o->taken = true;
	o->kept = record->bytes;
	r->report->rebuilt++;
	recover_say(r,
		    "chunk %" PRIu64 " on %s is indexed again: %" PRIu32
		    " packets, %" PRIu32 " missing",
		    o->number, r->disks->disk[o->disk].path, record->present,
		    record->missing);
	return 0;
}

static int
rebuild(struct recovery *r, struct orphan *o)
{
	struct index_record record, gap;
	bool has_gap;
	int err = recover_chunk(r, o, &record);

	if (err)
		return err < 0 ? err : 0;
	recover_add_sum(r, o, &record);
	has_gap = !(record.flags & INDEX_RECOVERED) && o->left.gap;
	if (has_gap)
		gap = index_gap(&record, o->left.gap);
	return take(r, o, &record, has_gap ? &gap : NULL);
}

/* ---- chunks that their group gives ----------------------------------------- */

/*
 * A chunk that is not whole is not made from its packets where its group gives
 * all of it: readers gave that until now, and a record of less would contradict
 * the parity for ever.  If its group does not give it because a disk is away, it
 * is set aside, and stays with the group, for the day when the disk is back.  So it
 * is where its disk does not take what the group gives.
 */

enum { NOT_WRITTEN = 1 };

static bool
is_orphan(const struct recovery *r, uint64_t number)
{
	for (size_t i = 0; i < r->orphans; i++) {
		if (r->orphan[i].number == number)
			return true;
	}
	return false;
}

static bool
is_among(const struct disks *disks, const char *path)
{
	for (unsigned i = 0; i < disks->n; i++) {
		if (disks->disk[i].fd >= 0 &&
		    disk_path_same(disks->disk[i].path, path))
			return true;
	}
	return false;
}

/* True if a disk on which the recording began has nothing of it here. */
static bool
disk_is_away(const struct recovery *r)
{
	const json_t *path;
	size_t i;

	json_array_foreach(json_object_get(r->rec->head, "disks"), i, path) {
		const char *is = json_string_value(path);

		if (is && !is_among(r->disks, is))
			return true;
		for (unsigned k = 0; is && k < r->disks->n; k++) {
			const struct recording_part *part = &r->rec->part[k];

			if (disk_path_same(r->disks->disk[k].path, is) &&
			    (part->dir < 0 || part->hangs))
				return true;
		}
	}
	return false;
}

/* True if something of a group is on a disk that is away: neither lost in the same
 * crash, nor left with whole packets that no group gives. */
static bool
group_is_away(const struct recovery *r, const struct parity_member *m)
{
	const struct recording *rec = r->rec;
	const struct parity_block *p = &rec->parity.block[m->block];
	const struct parity_block *first = parity_first(&rec->parity, p);
	unsigned rows = 0;

	if (!disk_is_away(r))
		return false;
	for (uint32_t i = 0; i < p->record.members; i++) {
		uint64_t number = rec->parity.member[p->first + i].number;

		if ((number >= rec->blocks || rec->block[number].computed) &&
		    !is_orphan(r, number))
			return true;
	}
	for (p = first; p < rec->parity.block + rec->parity.blocks &&
			parity_same_group(p, first);
	     p++)
		rows++;
	return rows < first->record.rows;
}

/* Writes the data of a chunk that its group gives, and the line of its holes. */
static int
healed_write(struct recovery *r, const struct orphan *o,
	     const struct index_record *record, const uint8_t *data)
{
	int fd = recover_chunk_open(r, o->disk, o->number, O_RDWR);
	json_t *line = NULL;
	int err;

	if (fd < 0)
		return fd;
	err = write_whole(fd, data, record->bytes, o->left.at);
	if (!err && !layout_plan_shared(&r->rec->plan) &&
	    file_cut(fd, (off_t)record->bytes) < 0)
		err = -errno;
	if (!err && file_sync_data(fd) < 0)
		err = -errno;
	file_close(fd);
	if (!err && !recording_has_line(r->rec, o->number, o->disk))
		line = recording_line(r->rec, o->number);
	if (line)
		err = recover_note(r, o->disk, line);
	json_decref(line);
	return err;
}

/* Says that a chunk cannot be written. */
static void
not_written(const struct recovery *r, const struct orphan *o, int err)
{
	r->report->failed++;
	recover_say(r,
		    "chunk %" PRIu64 " on %s is not whole, and cannot be "
		    "written again: %s",
		    o->number, r->disks->disk[o->disk].path, disk_why(err));
}

/* Rebuilds a chunk by its group.  0; -ENODATA: that does not give it; NOT_WRITTEN:
 * its disk does not take it, which is said; another -errno. */
static int
rebuild_healed(struct recovery *r, struct orphan *o,
	       const struct parity_member *m)
{
	const struct index_record *gap;
	struct index_record record = *parity_member_record(&r->rec->parity, m);
	const struct recording_block b = { .record = record, .disk = -1 };
	uint8_t *data;
	int err;

	if (r->rec->parity.block[m->block].record.bytes < record.bytes ||
	    (layout_plan_shared(&r->rec->plan) &&
	     (!o->left.full || o->left.record.bytes != record.bytes)))
		return -ENODATA;
	data = malloc(record.bytes + 1);
	if (!data)
		return -ENOMEM;
	err = recording_heal(r->rec, &b, data, record.bytes, 0);
	err = err && err != -ENOMEM ? -ENODATA : err;
	if (!err) {
		err = healed_write(r, o, &record, data);
		/* Not where something lies in place of the file. */
		if (err && err != -ENOMEM && !disk_hint(err)) {
			not_written(r, o, err);
			err = NOT_WRITTEN;
		}
	}
	free(data);
	if (err)
		return err;
	recover_say(r,
		    "chunk %" PRIu64 " on %s was not whole, and is written "
		    "again by its parity",
		    o->number, r->disks->disk[o->disk].path);
	recover_add_sum(r, o, &record);
	gap =
	    o->number ? parity_find_gap(&r->rec->parity, o->number - 1) : NULL;
	return take(r, o, &record, gap);
}

/* Sets a chunk aside that its group gives, now or when disks are back.  One that
 * could not be written may stay where it is: no index names it. */
static int
stay_with_group(struct recovery *r, const struct orphan *o, bool not_written)
{
	char aside[LAYOUT_FILE];
	int err = recover_rename(r, o->disk, o->number, aside);

	if (err)
		return not_written ? 0 : err;
	r->report->aside++;
	recover_say(r, "chunk %" PRIu64 " on %s is %srenamed to %s: %s",
		    o->number, r->disks->disk[o->disk].path,
		    not_written ? "" : "not whole, and ", aside,
		    not_written ? "its parity gives it"
				: "its parity gives it when the disks are "
				  "back that are away");
	return 0;
}

/* Gives a chunk that is not whole its record. */
static int
rebuild_torn(struct recovery *r, struct orphan *o)
{
	const struct parity_table *t = &r->rec->parity;
	const struct parity_member *m =
	    t->numbers && !r->dry ? parity_find(t, o->number) : NULL;
	int err = m ? rebuild_healed(r, o, m) : -ENODATA;

	if (err != -ENODATA && err != NOT_WRITTEN)
		return err;
	if (!m || layout_plan_shared(&r->rec->plan) ||
	    (err == -ENODATA && !group_is_away(r, m)))
		return rebuild(r, o);
	return stay_with_group(r, o, err == NOT_WRITTEN);
}

static void
rebuild_progress(const struct recovery *r, uint64_t *done,
		 const struct orphan *o, uint64_t all)
{
	*done += o->bytes;
	if (r->args->progress)
		r->args->progress(r->args->arg, *done, all);
}

/* Whole blocks come first, because their parity may give others; in a file that
 * blocks share the order is that of the file. */
static int
rebuild_all(struct recovery *r)
{
	bool whole_first =
	    r->rec->parity.numbers && !layout_plan_shared(&r->rec->plan);
	bool *whole = calloc(r->orphans + 1, sizeof *whole);
	uint64_t done = 0, all = 0;
	int err = whole ? 0 : -ENOMEM;

	for (size_t i = 0; i < r->orphans; i++)
		all += r->orphan[i].bytes;
	for (size_t i = 0; i < r->orphans && whole_first && !err; i++) {
		whole[i] = recover_is_written(r, &r->orphan[i]);
		if (!whole[i])
			continue;
		err = rebuild(r, &r->orphan[i]);
		rebuild_progress(r, &done, &r->orphan[i], all);
	}
	if (!err && whole_first && !r->dry) {
		recording_settle(r->rec, LAYOUT_CHUNKS);
		err = recording_refresh(r->rec);
	}
	for (size_t i = 0; i < r->orphans && !err; i++) {
		if (whole[i])
			continue;
		err = whole_first || (r->rec->parity.numbers &&
				      !recover_is_written(r, &r->orphan[i]))
			  ? rebuild_torn(r, &r->orphan[i])
			  : rebuild(r, &r->orphan[i]);
		rebuild_progress(r, &done, &r->orphan[i], all);
	}
	free(whole);
	return err;
}

/* Cuts the files that blocks share behind their last block. */
static int
end_all(struct recovery *r)
{
	int err = 0;

	if (!layout_plan_shared(&r->rec->plan))
		return 0;
	for (unsigned i = 0; i < r->disks->n && !err; i++) {
		if (r->index[i].fd >= 0)
			err = recover_data_end(r, i);
	}
	return err;
}

static void
end_reach(struct index_record *end, const struct index_record *k)
{
	if (k->number >= end->number)
		end->number = k->number + 1;
	if (k->last_ns > end->last_ns)
		end->last_ns = k->last_ns;
}

/* Makes the end record, or takes that of another disk if one has its end.  What
 * only parity knows of counts, too: its disk is away, or its chunk set aside. */
static struct index_record
make_end(const struct recovery *r)
{
	const struct parity_table *t = &r->rec->parity;
	struct index_record end = { .first_ns = r->rec->facts.start_ns };

	for (size_t i = 0; i < r->knowns; i++)
		end_reach(&end, &r->known[i]);
	for (size_t i = 0; i < t->numbers; i++)
		end_reach(&end, parity_member_record(t, &t->by_number[i]));
	for (unsigned i = 0; i < r->disks->n; i++) {
		const struct recording_part *part = &r->rec->part[i];

		if (part->end.kind == INDEX_END &&
		    part->end.number >= end.number)
			end = part->end;
	}
	end.kind = INDEX_END;
	if (end.first < r->report->packets)
		end.first = r->report->packets;
	return end;
}

static json_t *
make_tail(const struct recovery *r, const struct index_record *end)
{
	char start[UNITS_TEXT], stop[UNITS_TEXT];

	if (r->rec->tail)
		return json_incref(r->rec->tail);
	return json_pack("{s:{s:s, s:s, s:s, s:I}}", "end", "reason",
			 "recovered", "start",
			 units_show_time_ns(start, end->first_ns), "end",
			 units_show_time_ns(stop, end->last_ns), "packets",
			 (json_int_t)r->report->packets);
}

/* Writes VLBI-streamer's .cfg file, if the recording has one. */
static int
write_cfg(const struct recovery *r, unsigned disk,
	  const struct index_record *end)
{
	struct vbs_cfg cfg = { .packet = r->rec->plan.cfg_packet,
			       .files = end->number };

	if (!cfg.packet || r->dry)
		return 0;
	for (size_t i = 0; i < r->knowns; i++)
		cfg.packets += r->known[i].kind == INDEX_BLOCK
				   ? r->known[i].bytes / cfg.packet
				   : 0;
	return vbs_cfg_write(r->rec->part[disk].dir, r->rec->name, &cfg);
}

static int
close_disk(struct recovery *r, unsigned disk, const struct index_record *end,
	   const json_t *tail)
{
	int err = recover_note(r, disk, tail);

	if (!err)
		err = write_cfg(r, disk, end);
	if (!err && file_sync(r->rec->part[disk].dir) < 0)
		err = -errno;
	if (!err)
		err = recover_add(r, disk, end);
	if (err)
		return err;
	r->report->closed = true;
	recover_say(r, "closed the index on %s", r->disks->disk[disk].path);
	return 0;
}

static int
close_all(struct recovery *r)
{
	struct index_record end = make_end(r);
	json_t *tail = make_tail(r, &end);
	int err = tail ? 0 : -ENOMEM;

	for (unsigned i = 0; i < r->disks->n && !err; i++) {
		if (r->index[i].fd >= 0 && !r->rec->part[i].ended)
			err = close_disk(r, i, &end, tail);
	}
	json_decref(tail);
	return err;
}

int
recover_explain(struct fault *fault, const char *name, int err)
{
	if (err == -EBUSY) {
		fault_set(fault, err, "busy",
			  "cannot recover %s: it is being written", name);
		fault_hint(fault, "stop it first: spate stop %s", name);
	} else if (err == -ENODATA) {
		fault_set(fault, err, "io", "cannot recover %s", name);
		fault_why(fault, "no disk has readable metadata of it, so the "
				 "size and format of its packets are unknown");
		fault_hint(fault,
			   "put the first line of the metadata of another "
			   "recording of the same stream into %s/%s.meta.jsonl "
			   "on one disk, and try again",
			   name, name);
	} else if (err == -ENOMEM) {
		fault_set(fault, err, "no-memory",
			  "cannot recover %s: no memory", name);
	} else {
		fault_set(fault, err, "io", "cannot recover %s: %s", name,
			  strerror(-err));
	}
	return err;
}

/* Explains an error about something that lies in place of a file to write. */
static int
explain_refused(const struct recovery *r, struct fault *fault, int err)
{
	fault_set(fault, err, "refused", "cannot recover %s", r->rec->name);
	fault_why(fault, "%s: %s", r->refused, disk_why(err));
	fault_hint(fault, "%s", disk_hint(err));
	return err;
}

static int
lock_all(struct recovery *r)
{
	int err = recover_folders(r);

	for (unsigned i = 0; i < r->disks->n; i++)
		r->index[i].fd = -1;
	for (unsigned i = 0; i < r->disks->n && !err; i++) {
		if (r->rec->part[i].dir >= 0)
			err = lock_index(r, i);
	}
	return err;
}

static void
unlock_all(struct recovery *r)
{
	for (unsigned i = 0; r->index && i < r->disks->n; i++) {
		if (r->index[i].fd >= 0)
			file_close(r->index[i].fd);
	}
	free(r->index);
}

/*
 * True if a disk that recover was not given has the index locked.  If a disk
 * fails and recover is given that disk alone, it finds no lock there, although
 * the recording goes on elsewhere: the metadata names the other disks.
 */
static bool
is_written_elsewhere(const struct recovery *r)
{
	char dir[LAYOUT_FILE], index[LAYOUT_FILE], file[2 * LAYOUT_FILE];
	const json_t *path;
	bool locked = false;
	size_t i;
	int disk, fd;

	snprintf(file, sizeof file, "%s/%s",
		 layout_dir(dir, r->rec->name, r->rec->plan.layout),
		 layout_index(index, r->rec->name));
	json_array_foreach(json_object_get(r->rec->head, "disks"), i, path) {
		/* A remote disk that is not configured is not opened: its path
		 * may name a configuration of anybody's. */
		if (locked || !json_is_string(path) ||
		    remote_is_path(json_string_value(path)) ||
		    is_among(r->disks, json_string_value(path)))
			continue;
		disk = disk_folder_open(json_string_value(path));
		if (disk < 0)
			continue;
		fd = disk_open_at(disk, file, O_RDONLY, DISK_NO_LINKS);
		locked = fd >= 0 && file_lock(fd, LOCK_SH | LOCK_NB) < 0;
		if (fd >= 0)
			file_close(fd);
		file_close(disk);
	}
	return locked;
}

static int
run(struct recovery *r)
{
	int err;

	r->index = calloc(r->disks->n + 1, sizeof *r->index);
	if (!r->index)
		return -ENOMEM;
	err = lock_all(r);
	if (!err && is_written_elsewhere(r))
		err = -EBUSY;
	if (!err) /* the index may have grown before it was locked */
		err = recording_refresh(r->rec);
	if (!err)
		err = recover_parity(r);
	r->subs = r->rec->facts.subs;
	if (!err)
		err = recover_find(r);
	if (r->args->look)
		r->report->rebuilt = (unsigned)r->orphans;
	else if (!err)
		err = rebuild_all(r);
	if (!err && !r->args->look)
		err = end_all(r);
	if (!err)
		err = close_all(r);
	if (!err && !r->args->look) {
		r->report->disks_away = recording_disks_away(r->rec);
		r->report->computed = r->rec->facts.computed;
	}
	return err;
}

/* True if nothing can be written on any of the disks that are there. */
static bool
all_read_only(const struct disks *disks)
{
	bool all = disks->n;

	for (unsigned i = 0; i < disks->n; i++)
		all &= disks->disk[i].fd < 0 ||
		       remote_reads_only(disks->disk[i].fd);
	return all;
}

int
recover(const struct disks *disks, const char *name,
	const struct recover_args *args, struct recover_report *report,
	struct fault *fault)
{
	static const struct recover_args usual = { .dry_run = false };
	char refused[RECOVER_PATH] = "";
	struct recovery r = {
		.disks = disks,
		.report = report,
		.refused = refused,
	};
	int err;

	*report = (struct recover_report){ 0 };
	r.args = args ? args : &usual;
	r.dry = r.args->dry_run;
	if (!r.dry && all_read_only(disks)) {
		fault_set(fault, -EROFS, "refused", "cannot recover %s", name);
		fault_why(fault, "its disk can only be read");
		fault_hint(fault, "send it again from where it was recorded: "
				  "what is there is not sent twice");
		return -EROFS;
	}
	err = (r.args->look ? recording_open_by_index
			    : recording_open)(&r.rec, disks, name, fault);
	if (err)
		return err == -ENODATA ? recover_explain(fault, name, err)
				       : err;
	if (strcmp(r.rec->facts.made_by, "spate") != 0) {
		if (!r.args->look)
			err = recover_foreign(&r, fault);
		goto out;
	}
	if (*r.rec->refused) {
		err = -EFBIG;
		fault_set(fault, err, "refused", "cannot recover %s", name);
		fault_why(fault, "%s", r.rec->refused);
		fault_hint(fault, "move it away, and recover again");
		goto out;
	}
	err = check_heads(&r, fault);
	if (!err)
		err = recording_format(r.rec, &r.format, fault);
	if (err)
		goto out;
	err = run(&r);
	if (err)
		recover_explain(fault, name, err);
out:
	if (err && *refused && disk_hint(err))
		explain_refused(&r, fault, err);
	unlock_all(&r);
	recover_sums_clear(&r);
	for (unsigned i = 0; r.left && i < disks->n; i++)
		leftovers_clear(&r.left[i]);
	free(r.left);
	free(r.orphan);
	free(r.known);
	free(r.note);
	recording_close(r.rec);
	return err;
}

bool
recover_helps(const struct disks *disks, const char *name)
{
	const struct recover_args dry = { .dry_run = true };
	struct recover_report r;
	struct fault fault;

	if (all_read_only(disks) || recover(disks, name, &dry, &r, &fault))
		return false;
	return r.rebuilt || r.empty || r.aside || r.torn || r.cut || r.closed ||
	       r.parity;
}

bool
recover_needed(const struct disks *disks, const char *name)
{
	const struct recover_args look = { .dry_run = true, .look = true };
	struct recover_report r;
	struct fault fault;
	int err = recover(disks, name, &look, &r, &fault);

	if (err)
		return err == -ENODATA;
	return r.rebuilt || r.torn || r.closed;
}
