/* SPDX-License-Identifier: MIT */
/*
 * Recover works in the same order of durability as the writer: first a chunk
 * and its holes, then its record, at last the ends.  So if recover itself is
 * interrupted, the next run goes on where it stopped.
 *
 *   lock     every index (a disk that lost its own gets an empty one)
 *   cut      what is behind the last good record of each
 *   find     chunks that no index names
 *   rebuild  their records, in the order of numbers (recover_place.c,
 *            recover_chunk.c, recover_heaps.c)
 *   close    every index, and every metadata
 *
 * A chunk with a packet in it is never removed.  If two disks have a chunk file
 * of the same number, because the writer gave up on one disk and wrote the
 * block elsewhere, recover_twins.c keeps the better one and renames the other.
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
#include "store/record/foreign_form.h"
#include "store/repair/recover_priv.h"

void
rescue_say(const struct rescue *r, const char *format, ...)
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
rescue_open(const struct rescue *r, unsigned disk, const char *file, int flags)
{
	int fd =
	    disk_open_at(r->rec->part[disk].dir, file, flags, DISK_NO_LINKS);

	if (fd < 0 && disk_hint(fd))
		snprintf(r->refused, RESCUE_PATH, "%s/%s/%s",
			 r->disks->disk[disk].path, r->rec->name, file);
	return fd;
}

int
rescue_folders(struct rescue *r)
{
	for (unsigned i = 0; i < r->disks->n; i++) {
		struct recording_part *part = &r->rec->part[i];
		const struct disk *disk = &r->disks->disk[i];
		int dir;

		if (part->dir < 0)
			continue;
		dir = layout_dir_open(disk->fd, r->rec->name, DISK_NO_LINKS);
		if (dir < 0) {
			snprintf(r->refused, RESCUE_PATH, "%s/%s", disk->path,
				 r->rec->name);
			return dir;
		}
		close(part->dir);
		part->dir = dir;
	}
	return 0;
}

static int
rebuild(struct rescue *r, struct orphan *o)
{
	struct index_record record;
	int err = rescue_chunk(r, o, &record);

	if (err)
		return err < 0 ? err : 0;
	rescue_add_sum(r, o, &record);
	err = rescue_add(r, o->disk, &record);
	if (!err)
		err = rescue_know(r, &record);
	if (err)
		return err;
	o->taken = true;
	o->kept = record.bytes;
	r->report->rebuilt++;
	rescue_say(r,
		   "chunk %" PRIu64 " on %s is indexed again: %" PRIu32
		   " packets, %" PRIu32 " missing",
		   o->number, r->disks->disk[o->disk].path, record.present,
		   record.missing);
	return 0;
}

static int
rebuild_all(struct rescue *r)
{
	const struct recover_args *args = r->args;
	uint64_t done = 0, all = 0;
	int err = 0;

	for (size_t i = 0; i < r->orphans; i++)
		all += r->orphan[i].bytes;
	for (size_t i = 0; i < r->orphans && !err; i++) {
		err = rebuild(r, &r->orphan[i]);
		done += r->orphan[i].bytes;
		if (args->progress)
			args->progress(args->arg, done, all);
	}
	return err;
}

/* Cuts the files that blocks share behind their last block. */
static int
end_all(struct rescue *r)
{
	int err = 0;

	if (!layout_map_shared(&r->rec->map))
		return 0;
	for (unsigned i = 0; i < r->disks->n && !err; i++) {
		if (r->index[i] >= 0)
			err = rescue_data_end(r, i);
	}
	return err;
}

/* Makes the end record, or takes that of another disk if one has its end. */
static struct index_record
make_end(const struct rescue *r)
{
	struct index_record end = { .first_ns = r->rec->facts.start_ns };

	for (size_t i = 0; i < r->knowns; i++) {
		const struct index_record *k = &r->known[i];

		if (k->number >= end.number)
			end.number = k->number + 1;
		if (k->last_ns > end.last_ns)
			end.last_ns = k->last_ns;
	}
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
make_tail(const struct rescue *r, const struct index_record *end)
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
write_cfg(const struct rescue *r, unsigned disk, const struct index_record *end)
{
	struct foreign_cfg cfg = { .packet = r->rec->map.cfg_packet,
				   .files = end->number };

	if (!cfg.packet || r->dry)
		return 0;
	for (size_t i = 0; i < r->knowns; i++)
		cfg.packets += r->known[i].kind == INDEX_BLOCK
				   ? r->known[i].bytes / cfg.packet
				   : 0;
	return foreign_cfg_write(r->rec->part[disk].dir, r->rec->name, &cfg);
}

static int
close_disk(struct rescue *r, unsigned disk, const struct index_record *end,
	   const json_t *tail)
{
	int err = rescue_note(r, disk, tail);

	if (!err)
		err = write_cfg(r, disk, end);
	if (!err && fsync(r->rec->part[disk].dir) < 0)
		err = -errno;
	if (!err)
		err = rescue_add(r, disk, end);
	if (err)
		return err;
	r->report->closed = true;
	rescue_say(r, "closed the index on %s", r->disks->disk[disk].path);
	return 0;
}

static int
close_all(struct rescue *r)
{
	struct index_record end = make_end(r);
	json_t *tail = make_tail(r, &end);
	int err = tail ? 0 : -ENOMEM;

	for (unsigned i = 0; i < r->disks->n && !err; i++) {
		if (r->index[i] >= 0 && !r->rec->part[i].ended)
			err = close_disk(r, i, &end, tail);
	}
	json_decref(tail);
	return err;
}

int
rescue_explain(struct fault *fault, const char *name, int err)
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
explain_refused(const struct rescue *r, struct fault *fault, int err)
{
	fault_set(fault, err, "refused", "cannot recover %s", r->rec->name);
	fault_why(fault, "%s: %s", r->refused, disk_why(err));
	fault_hint(fault, "%s", disk_hint(err));
	return err;
}

static int
lock_all(struct rescue *r)
{
	int err = rescue_folders(r);

	for (unsigned i = 0; i < r->disks->n; i++)
		r->index[i] = -1;
	for (unsigned i = 0; i < r->disks->n && !err; i++) {
		if (r->rec->part[i].dir >= 0)
			err = rescue_lock(r, i);
	}
	return err;
}

static void
unlock_all(struct rescue *r)
{
	for (unsigned i = 0; r->index && i < r->disks->n; i++) {
		if (r->index[i] >= 0)
			close(r->index[i]);
	}
	free(r->index);
}

static bool
is_among(const struct disks *disks, const char *path)
{
	for (unsigned i = 0; i < disks->n; i++) {
		if (disks->disk[i].fd >= 0 &&
		    !strcmp(disks->disk[i].path, path))
			return true;
	}
	return false;
}

/*
 * True if a disk that recover was not given has the index locked.  If a disk
 * fails and recover is given that disk alone, it finds no lock there, although
 * the recording goes on elsewhere: the metadata names the other disks.
 */
static bool
is_written_elsewhere(const struct rescue *r)
{
	char dir[LAYOUT_FILE], index[LAYOUT_FILE], file[2 * LAYOUT_FILE];
	const json_t *path;
	bool locked = false;
	size_t i;
	int disk, fd;

	snprintf(file, sizeof file, "%s/%s",
		 layout_dir(dir, r->rec->name, r->rec->map.layout),
		 layout_index(index, r->rec->name));
	json_array_foreach(json_object_get(r->rec->head, "disks"), i, path) {
		if (locked || !json_is_string(path) ||
		    is_among(r->disks, json_string_value(path)))
			continue;
		disk = open(json_string_value(path),
			    O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (disk < 0)
			continue;
		fd = disk_open_at(disk, file, O_RDONLY, DISK_NO_LINKS);
		locked = fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) < 0;
		if (fd >= 0)
			close(fd);
		close(disk);
	}
	return locked;
}

static int
rescue(struct rescue *r)
{
	int err;

	r->index = malloc((r->disks->n + 1) * sizeof *r->index);
	if (!r->index)
		return -ENOMEM;
	err = lock_all(r);
	if (!err && is_written_elsewhere(r))
		err = -EBUSY;
	if (!err) /* the index may have grown before it was locked */
		err = recording_refresh(r->rec);
	r->subs = r->rec->facts.subs;
	if (!err)
		err = rescue_notes(r);
	if (!err)
		err = rescue_find(r);
	if (r->args->look)
		r->report->rebuilt = (unsigned)r->orphans;
	else if (!err)
		err = rebuild_all(r);
	if (!err && !r->args->look)
		err = end_all(r);
	if (!err)
		err = close_all(r);
	return err;
}

int
recover(const struct disks *disks, const char *name,
	const struct recover_args *args, struct recover_report *report,
	struct fault *fault)
{
	static const struct recover_args usual = { .dry_run = false };
	char refused[RESCUE_PATH] = "";
	struct rescue r = {
		.disks = disks,
		.report = report,
		.refused = refused,
	};
	int err;

	*report = (struct recover_report){ 0 };
	r.args = args ? args : &usual;
	r.dry = r.args->dry_run;
	err = (r.args->look ? recording_open_by_index
			    : recording_open)(&r.rec, disks, name, fault);
	if (err)
		return err == -ENODATA ? rescue_explain(fault, name, err) : err;
	if (strcmp(r.rec->facts.made_by, "spate") != 0) {
		if (!r.args->look)
			err = rescue_foreign(&r, fault);
		goto out;
	}
	if (*r.rec->refused) {
		err = -EFBIG;
		fault_set(fault, err, "refused", "cannot recover %s", name);
		fault_why(fault, "%s", r.rec->refused);
		fault_hint(fault, "move it away, and recover again");
		goto out;
	}
	err = rescue_heads(&r, fault);
	if (!err)
		err = recording_format(r.rec, &r.format, fault);
	if (err)
		goto out;
	err = rescue(&r);
	if (err)
		rescue_explain(fault, name, err);
out:
	if (err && *refused && disk_hint(err))
		explain_refused(&r, fault, err);
	unlock_all(&r);
	rescue_sums_clear(&r);
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

	if (recover(disks, name, &dry, &r, &fault))
		return false;
	return r.rebuilt || r.empty || r.aside || r.torn || r.cut || r.closed;
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
