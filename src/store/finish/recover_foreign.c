/* SPDX-License-Identifier: MIT */
/*
 * Gives another program's recording our index and metadata beside its chunks.
 * They say what was found when it was opened: opening it again is then cheap,
 * and nothing has to be guessed.  jive5ab ignores these files.
 *
 * Chunks are not touched, except that of two with the same number the second is
 * renamed: jive5ab reads no recording that has such.  The index is written last
 * and renamed when it is durable: until then the recording reads as before.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/units.h"
#include "store/foreign/foreign.h"
#include "store/record/meta.h"
#include "store/finish/recover_priv.h"
#include "store/disk/file.h"

static int
cannot(const struct recovery *r, struct fault *fault, const char *why)
{
	const char *name = r->rec->name;

	fault_set(fault, -ENOTSUP, "refused", "%s gets no index", name);
	fault_why(fault, "%s", why);
	fault_hint(fault,
		   "it needs none: info, verify and export read it as it is");
	return -ENOTSUP;
}

/* Makes a folder of ours beside Mark6's scatter/gather files. */
static int
make_folders(struct recovery *r)
{
	char dir[LAYOUT_FILE];

	layout_dir(dir, r->rec->name, LAYOUT_MARK6);
	for (unsigned i = 0; i < r->disks->n && !r->dry; i++) {
		struct recording_part *part = &r->rec->part[i];
		int disk = r->disks->disk[i].fd, fd;

		if (part->dir < 0)
			continue;
		if (file_mkdir_at(disk, dir, 0755) < 0 && errno != EEXIST)
			return -errno;
		fd = disk_open_at(disk, dir, O_RDONLY | O_DIRECTORY,
				  DISK_NO_LINKS);
		if (fd < 0) {
			snprintf(r->refused, RECOVER_PATH, "%s/%s",
				 r->disks->disk[i].path, dir);
			return fd;
		}
		file_close(part->dir);
		part->dir = fd;
	}
	return 0;
}

static int
prepare(struct recovery *r, struct fault *fault)
{
	enum layout layout;
	int err = 0;

	if (!layout_folder_good(r->rec->name))
		return cannot(r, fault,
			      "spate could not use its name for a "
			      "recording of its own");
	if (!foreign_layout(r->rec->foreign, &layout))
		return cannot(r, fault,
			      "its blocks do not lie as an index of ours could "
			      "say");
	if (foreign_doubles(r->rec->foreign) > r->rec->facts.chunks / 2)
		return cannot(r, fault,
			      "most of its chunks are there twice: these may "
			      "be two recordings of one name; leave disks out "
			      "with --disks");
	err = layout == LAYOUT_MARK6 ? make_folders(r) : recover_folders(r);
	return err ? recover_explain(fault, r->rec->name, err) : 0;
}

/* ---- metadata ------------------------------------------------------------ */

static json_t *
make_run(const struct recording *rec)
{
	struct block begin = { .base = recording_base(rec, 0, 0),
			       .first_ns = rec->facts.start_ns };

	return meta_run(&begin, 1, &rec->shape);
}

static json_t *
make_tail(const struct recording *rec)
{
	const struct recording_facts *f = &rec->facts;
	char start[UNITS_TEXT], stop[UNITS_TEXT];

	return json_pack("{s:{s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:O}}", "end",
			 "reason", "recovered", "start",
			 units_show_time_ns(start, f->start_ns), "end",
			 units_show_time_ns(stop, f->end_ns), "packets",
			 (json_int_t)f->packets, "packets_lost",
			 (json_int_t)f->missing, "bytes", (json_int_t)f->bytes,
			 "chunks", (json_int_t)f->chunks, "notes", f->notes);
}

static int
note(const struct recovery *r, unsigned disk, json_t *line)
{
	int err = line ? recover_note(r, disk, line) : -ENOMEM;

	json_decref(line);
	return err;
}

/* ---- one disk ------------------------------------------------------------ */

static int
move_doubles(struct recovery *r)
{
	int err = 0;

	for (size_t i = 0; i < foreign_doubles(r->rec->foreign) && !err; i++) {
		struct foreign_double d = foreign_double(r->rec->foreign, i);

		err = recover_aside(r, d.disk, d.number, d.kept);
	}
	return err;
}

/* Notes which slots of a block are fill. */
static int
note_holes(const struct recovery *r, unsigned disk, struct index_record *record)
{
	json_t *line;
	int err = recording_foreign_note(r->rec, record, &line);

	return err || !line ? err : note(r, disk, line);
}

/* Empties the metadata that a recover wrote which was interrupted. */
static int
meta_empty(const struct recovery *r, unsigned disk)
{
	char file[LAYOUT_FILE];
	int fd;

	r->rec->part[disk].meta_bytes = 0;
	if (r->dry)
		return 0;
	fd = recover_open(r, disk, layout_meta(file, r->rec->name),
			  O_WRONLY | O_CREAT | O_TRUNC);
	if (fd < 0)
		return fd;
	file_close(fd);
	return 0;
}

static int
index_disk(struct recovery *r, unsigned disk)
{
	struct recording_part *part = &r->rec->part[disk];
	struct index_record end = part->end;
	int err;

	err = meta_empty(r, disk);
	if (!err)
		err = note(r, disk, make_run(r->rec));
	for (size_t i = 0; i < part->records && !err; i++)
		err = note_holes(r, disk, &part->record[i]);
	if (!err)
		err = note(r, disk, make_tail(r->rec));
	if (!err)
		err = recover_rewrite(r, disk);
	if (!err)
		err = recover_add(r, disk, &end);
	if (err)
		return err;
	r->report->rebuilt += (unsigned)part->records;
	r->report->closed = true;
	recover_say(r, "made an index of %zu chunks on %s", part->records,
		    r->disks->disk[disk].path);
	return 0;
}

/* True if every disk has a complete index of ours. */
static bool
is_indexed(const struct recovery *r)
{
	for (unsigned i = 0; i < r->disks->n; i++) {
		const struct recording_part *part = &r->rec->part[i];

		if (part->dir >= 0 && !part->ended)
			return false;
	}
	return !r->rec->foreign;
}

/*
 * Opens the recording as the other program's again.  Some disks have our index
 * and others not: they were missing then, or recover was interrupted.  So all
 * are indexed anew.
 */
static int
open_again(struct recovery *r, struct fault *fault)
{
	struct recording *again;
	int err = recording_open_foreign(&again, r->disks, r->rec->name);

	if (err)
		return recover_explain(fault, r->rec->name, err);
	recording_close(r->rec);
	r->rec = again;
	return 0;
}

int
recover_foreign(struct recovery *r, struct fault *fault)
{
	const struct recording *rec;
	int err = 0;

	if (is_indexed(r)) {
		r->report->packets = r->rec->facts.packets;
		r->report->indexed = r->rec->facts.chunks;
		return 0;
	}
	if (!r->rec->foreign)
		err = open_again(r, fault);
	if (!err)
		err = prepare(r, fault);
	if (err)
		return err;
	rec = r->rec;
	r->index = calloc(r->disks->n + 1, sizeof *r->index);
	if (!r->index)
		return recover_explain(fault, rec->name, -ENOMEM);
	for (unsigned i = 0; i < r->disks->n; i++)
		r->index[i].fd = -1;
	r->report->packets = rec->facts.packets;
	err = move_doubles(r);
	for (unsigned i = 0; i < r->disks->n && !err; i++) {
		if (rec->part[i].dir >= 0)
			err = index_disk(r, i);
		if (r->args->progress)
			r->args->progress(r->args->arg, i + 1, r->disks->n);
	}
	return err ? recover_explain(fault, rec->name, err) : 0;
}
