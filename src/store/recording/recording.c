/* SPDX-License-Identifier: MIT */
/*
 * A recording is opened from what is on its disks and nothing else: there is no
 * catalogue that could be wrong.  Each disk gives a part, which is its index
 * and its metadata.  recording_meta.c reads the metadata, recording_merge.c
 * merges the indexes into one list of blocks, recording_place.c lays these out
 * in files and counts what was lost, and recording_read.c reads bytes.
 *
 * If a disk is lost while a recording is open, the records that were read from
 * it stay, so the visible end never goes back; the disk's bytes are filled.
 *
 * A writer holds a lock on each of its indexes.  A reader tries the lock (and
 * lets go of it) before it reads the index: so it sees an end record that is
 * written in between, and a recording that was closed just now never looks
 * interrupted.
 *
 * Holding a recording is a flock() on its indexes: the kernel releases it when
 * the process ends, in whatever way.  A removal takes the exclusive lock, sets
 * its mark, and releases the lock.  A reader takes the shared lock and then
 * looks for the mark: so one of the two sees the other.  The index of a live
 * recording needs no lock of a reader: a live recording is not removed.  A
 * reader that asks again after each refresh gets the lock when the recording
 * has ended.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/module.h"
#include "base/shape.h"
#include "base/units.h"
#include "contract/defaults.h"
#include "store/foreign/foreign.h"
#include "store/recording/recording_priv.h"
#include "store/disk/file.h"

/* ---- errors ------------------------------------------------------------ */

void
recording_refuse(struct recording *rec, unsigned disk, const char *file,
		 uint64_t bytes)
{
	char size[UNITS_TEXT];

	snprintf(rec->refused, sizeof rec->refused,
		 "%s/%s/%s has %s, more than can be right, and is not read",
		 rec->disks->disk[disk].path, rec->name, file,
		 units_show_bytes(size, bytes));
}

/* Sets the fault for an error of opening a recording; returns err. */
static int
set_fault(struct fault *fault, const char *name, int err)
{
	switch (err) {
	case -ENOENT:
		fault_set(fault, err, "not-found", "no recording %s", name);
		fault_why(fault, "no disk has a folder of that name");
		fault_hint(fault, "spate ls shows the recordings there are");
		break;
	case -ENODATA:
		fault_set(fault, err, "io", "cannot read recording %s", name);
		fault_why(fault, "no disk has readable metadata of it");
		fault_hint(fault, "mount the recording's other disks, or name "
				  "them with --disks");
		break;
	case -EIDRM:
		fault_set(fault, err, "io", "cannot read recording %s", name);
		fault_why(fault, "it is being removed, or its removal was cut "
				 "short");
		fault_hint(fault, "spate rm %s completes the removal", name);
		break;
	case -ENOTSUP:
		fault_set(fault, err, "io", "cannot read recording %s", name);
		fault_why(fault, "it is one file on each of several disks, and "
				 "the files do not say in which order");
		fault_hint(fault, "one disk alone can be read: --disks PATH");
		break;
	case -EFBIG:
		fault_set(fault, err, "refused", "cannot read recording %s",
			  name);
		break;
	case -ENOMEM:
		fault_set(fault, err, "no-memory",
			  "cannot open recording %s: no memory", name);
		break;
	case -EBADMSG:
		fault_set(fault, err, "io", "cannot read recording %s", name);
		fault_why(fault, "its indexes contradict each other, or its "
				 "files hold no whole packet");
		fault_hint(fault, "a disk may hold another recording of the "
				  "same name: leave that disk out");
		break;
	case -ELOOP:
	case -EXDEV:
		fault_set(fault, err, "refused", "cannot read recording %s",
			  name);
		fault_why(fault, "%s", disk_why(err));
		fault_hint(fault, "%s", disk_hint(err));
		break;
	default:
		fault_set(fault, err, "io", "cannot read recording %s: %s",
			  name, strerror(-err));
	}
	return err;
}

/* Sets the fault, with the file that was refused, or the folder that is a link
 * which is not followed.  Returns err. */
static int
explain(struct fault *fault, const struct disks *disks, const char *name,
	int err, const char *refused)
{
	struct stat st;

	set_fault(fault, name, err);
	if (err == -EFBIG) {
		fault_why(fault, "%s", refused);
		fault_hint(fault, "move that file away: spate recover makes it "
				  "again from another disk");
	}
	for (unsigned i = 0; (err == -ELOOP || err == -EXDEV) && i < disks->n;
	     i++) {
		if (disks->disk[i].fd < 0 ||
		    file_stat_at(disks->disk[i].fd, name, &st,
				 AT_SYMLINK_NOFOLLOW) < 0 ||
		    !S_ISLNK(st.st_mode))
			continue;
		fault_why(fault, "%s/%s: %s", disks->disk[i].path, name,
			  disk_why(err));
		break;
	}
	return err;
}

/* ---- reading the parts ------------------------------------------------- */

/* Takes the records before the end record; nobody may write behind that. */
static void
take_records(struct recording_part *part, struct index_record *records,
	     size_t n)
{
	free(part->record);
	part->record = records;
	part->ended = false;
	for (part->records = 0; part->records < n; part->records++) {
		if (records[part->records].kind != INDEX_END)
			continue;
		part->ended = true;
		part->end = records[part->records];
		break;
	}
}

/* Reads an index whose length has changed.  After any error but -ENOMEM the
 * part stays as it was and 0 is returned. */
static int
read_index(struct recording *rec, struct recording_part *part)
{
	struct index_record *records;
	char file[LAYOUT_FILE];
	struct stat st;
	uint64_t torn;
	bool was = part->locked;
	size_t n;
	int fd, err = 0;

	fd = disk_open_at(part->dir, layout_index(file, rec->name), O_RDONLY,
			  DISK_NO_LINKS);
	part->locked = fd >= 0 && file_lock(fd, LOCK_SH | LOCK_NB) < 0;
	rec->stale |= part->locked != was;
	if (fd < 0)
		return 0;
	part->indexed = true;
	if (!part->locked)
		file_lock(fd, LOCK_UN);
	if (file_stat(fd, &st) < 0 || (uint64_t)st.st_size == part->index_bytes)
		goto out;
	err = index_read(fd, &records, &n, &torn);
	if (err == -EFBIG)
		recording_refuse(rec, (unsigned)(part - rec->part), file,
				 (uint64_t)st.st_size);
	if (err)
		goto out;
	take_records(part, records, n);
	rec->stale = true;
	part->torn = torn;
	part->index_bytes = n * INDEX_BYTES + torn;
out:
	file_close(fd);
	return err == -ENOMEM ? err : 0;
}

/* True if the removal of the recording was begun: what is left is no recording
 * any more. */
static bool
is_removed(const struct recording *rec, int dir)
{
	char file[LAYOUT_FILE];

	return !file_access_at(dir, layout_removing(file, rec->name), F_OK,
			       AT_SYMLINK_NOFOLLOW);
}

/* Opens the folders that are there now.  Returns the error if there is none;
 * -EIDRM if the recording is being removed. */
static int
find_parts(struct recording *rec)
{
	int err = -ENOENT;
	bool found = false;

	for (unsigned i = 0; i < rec->disks->n; i++) {
		struct recording_part *part = &rec->part[i];
		int disk = rec->disks->disk[i].fd;
		int dir = part->dir;

		if (dir < 0 && disk >= 0)
			dir = layout_dir_open(disk, rec->name, DISK_LINKS);
		if (part->dir < 0 && dir >= 0) {
			part->dir = dir;
			rec->stale = true;
		}
		if (dir >= 0 && !part->hangs && is_removed(rec, dir))
			return -EIDRM;
		if (dir >= 0)
			found = true;
		else if (disk >= 0 && dir != -ENOENT)
			err = dir;
	}
	return found ? 0 : err;
}

int
recording_no_links(struct recording *rec, unsigned *disk)
{
	for (unsigned i = 0; i < rec->disks->n; i++) {
		struct recording_part *part = &rec->part[i];
		int dir;

		if (part->dir < 0)
			continue;
		*disk = i;
		dir = layout_dir_open(rec->disks->disk[i].fd, rec->name,
				      DISK_NO_LINKS);
		if (dir < 0)
			return dir;
		file_close(part->dir);
		part->dir = dir;
	}
	return 0;
}

/* ---- the head ---------------------------------------------------------- */

/* Checks the numbers of a shape.  Metadata may be damaged and still parse, and
 * must not make anybody read or write outside of a payload. */
static bool
is_sane(const struct format_shape *s)
{
	/* bytes; the limit is that of geometry.c */
	enum { PAYLOAD_MAX = 1 << 30 };

	return s->payload <= PAYLOAD_MAX && s->parts &&
	       s->parts <= PAYLOAD_MAX && s->header <= s->payload &&
	       s->prefix <= PAYLOAD_MAX && format_counter_end(s) <= s->payload;
}

int
recording_format(const struct recording *rec, const struct format_ops **format,
		 struct fault *fault)
{
	struct format_shape shape = rec->shape;
	char why[256] = "";
	int err = module_format(rec->facts.format, format, fault);

	if (err || !(*format)->shape(&shape, why, sizeof why))
		return err;
	fault_set(fault, -ENODATA, "io", "the metadata of %s is damaged",
		  rec->name);
	fault_why(fault, "%s", why);
	return -ENODATA;
}

/* Reads how packets are stored, if there is more than their payloads. */
static void
read_stored(struct recording *rec)
{
	const json_t *how = json_object_get(rec->head, "stored");
	json_int_t packet = json_integer_value(json_object_get(how, "packet"));
	json_int_t before = json_integer_value(json_object_get(how, "prefix"));

	if (before < 0 || before > STRIDE_PREFIX ||
	    packet != before + rec->shape.payload)
		return;
	rec->stored = (uint32_t)packet;
	rec->before = (uint32_t)before;
}

/* Takes the shape and the sizes from the head.  0; -ENODATA if they are damaged
 * or there is no head; -ENOMEM. */
static int
read_head(struct recording *rec)
{
	json_t *geometry = json_object_get(rec->head, "geometry");
	json_t *slots = json_object_get(geometry, "slots");
	int err;

	if (rec->shape.payload)
		return 0;
	err = shape_from_json(&rec->shape, json_object_get(rec->head, "shape"));
	if (err)
		return err == -ENOMEM ? err : -ENODATA;
	if (!is_sane(&rec->shape)) {
		shape_clear(&rec->shape);
		rec->shape.payload = 0;
		return -ENODATA;
	}
	read_stored(rec);
	if (!rec->foreign &&
	    layout_plan_make(&rec->plan, rec->name, rec->head)) {
		shape_clear(&rec->shape);
		rec->shape.payload = 0;
		return -ENODATA;
	}
	rec->slots = (uint32_t)json_integer_value(slots);
	if (!rec->slots)
		rec->slots = rec->shape.parts;
	return 0;
}

/* ---- opening ----------------------------------------------------------- */

/* Makes the lists of blocks, files and runs from what was read. */
static int
compose(struct recording *rec)
{
	int err = read_head(rec);

	if (!err && shape_learned(&rec->shape, rec->learned) == -ENOMEM)
		err = -ENOMEM; /* other errors leave it unknown */
	return err ? err : recording_merge(rec);
}

static bool
is_indexed(const struct recording *rec)
{
	for (unsigned i = 0; i < rec->disks->n; i++) {
		if (rec->part[i].indexed)
			return true;
	}
	return false;
}

int
recording_refresh(struct recording *rec)
{
	int err;

	if (rec->foreign)
		/* a foreign recording stays as it was when it was opened */
		return 0;
	err = find_parts(rec);
	for (unsigned i = 0; i < rec->disks->n && !err; i++) {
		if (rec->part[i].dir >= 0 && !rec->part[i].hangs)
			err = read_index(rec, &rec->part[i]);
	}
	if (!err)
		err = recording_meta(rec);
	if (!err)
		err = recording_parity(rec);
	if (err || !rec->stale)
		return err;
	return compose(rec);
}

static struct recording *
make(const struct disks *disks, const char *name)
{
	struct recording *r = calloc(1, sizeof *r);

	if (!r)
		return NULL;
	r->part = calloc(disks->n + 1, sizeof *r->part);
	if (!r->part) {
		free(r);
		return NULL;
	}
	r->disks = disks;
	r->stale = true;
	strcpy(r->name, name);
	for (unsigned i = 0; i < RECORDING_OPEN; i++)
		r->chunk[i].fd = -1;
	for (unsigned i = 0; i < disks->n; i++)
		r->part[i].dir = -1;
	return r;
}

/* True if no disk has an index or metadata of ours, or only what `recover` had
 * put there before it was interrupted. */
static bool
is_foreign(const struct recording *rec, int err)
{
	if (is_indexed(rec))
		return false;
	if (!err)
		return strcmp(rec->facts.made_by, "spate") != 0;
	return err == -ENOENT || err == -ENODATA || err == -ELOOP ||
	       err == -EXDEV;
}

/* Takes what the indexes and the metadata of another program's recording would
 * say, if it had any. */
static int
take_foreign(struct recording *rec)
{
	struct foreign *f = rec->foreign;
	int err = 0;

	strcpy(rec->name, foreign_name(f));
	rec->head = json_incref(foreign_head(f));
	rec->base = malloc(sizeof *rec->base);
	if (!rec->base)
		return -ENOMEM;
	rec->base[0] = (struct recording_base){ .base = foreign_base(f) };
	rec->bases = 1;
	for (unsigned i = 0; i < rec->disks->n && !err; i++) {
		struct recording_part *part = &rec->part[i];

		part->dir = foreign_take_dir(f, i);
		if (part->dir < 0)
			continue;
		err = foreign_records(f, i, &part->record, &part->records);
		part->ended = true;
		part->end = foreign_end(f);
	}
	return err;
}

int
recording_open_foreign(struct recording **rec, const struct disks *disks,
		       const char *name)
{
	struct recording *r = make(disks, name);
	int err = r ? foreign_open(&r->foreign, disks, name) : -ENOMEM;

	if (!err)
		err = take_foreign(r);
	if (!err)
		err = compose(r);
	if (!err)
		*rec = r;
	else if (r)
		recording_close(r);
	return err;
}

static int
open_as(struct recording **rec, const struct disks *disks, const char *name,
	bool by_index, struct fault *fault)
{
	bool ours = layout_folder_good(name);
	struct recording *r;
	int err = -ENOENT;

	if (!ours && !foreign_name_good(name))
		return set_fault(fault, name, err);
	r = make(disks, name);
	if (!r)
		return set_fault(fault, name, -ENOMEM);
	r->by_index = by_index;
	if (ours)
		err = recording_refresh(r);
	else if (find_parts(r) == -EIDRM)
		err = -EIDRM;
	if (is_foreign(r, err)) {
		int foreign = recording_open_foreign(rec, disks, name);

		if (!foreign || foreign != -ENOENT) {
			recording_close(r);
			return foreign
				   ? explain(fault, disks, name, foreign, "")
				   : 0;
		}
	}
	if (err) {
		if (err == -ENODATA && *r->refused)
			err = -EFBIG;
		explain(fault, disks, name, err, r->refused);
		recording_close(r);
		return err;
	}
	*rec = r;
	return 0;
}

int
recording_open(struct recording **rec, const struct disks *disks,
	       const char *name, struct fault *fault)
{
	return open_as(rec, disks, name, false, fault);
}

int
recording_open_by_index(struct recording **rec, const struct disks *disks,
			const char *name, struct fault *fault)
{
	return open_as(rec, disks, name, true, fault);
}

void
recording_close(struct recording *rec)
{
	recording_read_finish(rec);
	recording_release(rec);
	for (unsigned i = 0; rec->part && i < rec->disks->n; i++) {
		if (rec->part[i].dir >= 0)
			file_close(rec->part[i].dir);
		free(rec->part[i].record);
		sums_clear(&rec->part[i].sums);
	}
	foreign_close(rec->foreign);
	json_decref(rec->head);
	json_decref(rec->tail);
	json_decref(rec->resumed);
	json_decref(rec->described);
	json_decref(rec->controlled);
	json_decref(rec->learned);
	if (rec->shape.payload)
		shape_clear(&rec->shape);
	parity_clear(&rec->parity);
	free(rec->part);
	free(rec->line);
	free(rec->base);
	free(rec->block);
	free(rec->pending);
	free(rec->duplicate);
	free(rec->order);
	free(rec->from);
	free(rec->sub);
	free(rec->run);
	free(rec);
}

void
recording_exchange(struct recording *a, struct recording *b)
{
	struct recording other;

	recording_fill_finish(a);
	recording_fill_finish(b);
	other = *a;
	*a = *b;
	*b = other;
	a->filled = b->filled = NULL;
	a->facts.name = a->name;
	b->facts.name = b->name;
}

const struct recording_facts *
recording_facts(const struct recording *rec)
{
	return &rec->facts;
}

const struct recording_block *
recording_blocks(const struct recording *rec, size_t *n)
{
	*n = rec->blocks;
	return rec->block;
}

/* ---- holding ----------------------------------------------------------- */

/*
 * A recording without an end may go on: its recorder was restarted, and locks the
 * index again.  A reader's lock on the index would keep it from that, and what it
 * records would be lost.  So until a recording has its end, readers lock the
 * metadata, which nobody locks but them and a removal.
 */

/* Takes a shared lock.  A removal has the exclusive one for a moment only, so this
 * tries for a while (0.2 s), unless the recording is live. */
static bool
lock_shared(int fd, bool live)
{
	enum { TRIES = 20, WAIT_US = 10000 };

	for (int i = 0; i < TRIES; i++) {
		if (!file_lock(fd, LOCK_SH | LOCK_NB))
			return true;
		if (live)
			return false;
		usleep(WAIT_US);
	}
	return false;
}

/* True if a disk has no end although another one has: it hangs, and the daemon that
 * wrote to it still has its lock. */
static bool
is_left_behind(const struct recording *rec, const struct recording_part *part)
{
	struct index_record end;

	return !part->ended && recording_end(rec, &end);
}

static int
hold_part(struct recording *rec, struct recording_part *part)
{
	bool live = rec->facts.state == RECORDING_LIVE;
	struct index_record end;
	char file[LAYOUT_FILE];
	int fd;

	if (part->dir < 0 || part->held || part->hangs)
		return 0;
	if (recording_end(rec, &end))
		layout_index(file, rec->name);
	else
		layout_meta(file, rec->name);
	fd = disk_open_at(part->dir, file, O_RDONLY, DISK_NO_LINKS);
	if (fd < 0)
		return 0; /* there is none, or the disk is gone */
	if (lock_shared(fd, live)) {
		part->held = fd;
		return 0;
	}
	file_close(fd);
	return live || is_left_behind(rec, part) ? 0 : -EBUSY;
}

static bool
is_being_removed(const struct recording *rec)
{
	for (unsigned i = 0; i < rec->disks->n; i++) {
		if (rec->part[i].dir >= 0 && !rec->part[i].hangs &&
		    is_removed(rec, rec->part[i].dir))
			return true;
	}
	return false;
}

/* True if all disks that had an index have lost it. */
static bool
is_lost(const struct recording *rec)
{
	char file[LAYOUT_FILE];
	bool lost = false;

	layout_index(file, rec->name);
	for (unsigned i = 0; i < rec->disks->n; i++) {
		const struct recording_part *part = &rec->part[i];

		if (part->dir < 0 || !part->indexed)
			continue;
		if (part->hangs)
			return false;
		if (!file_access_at(part->dir, file, F_OK,
				    AT_SYMLINK_NOFOLLOW) ||
		    errno != ENOENT)
			return false;
		lost = true;
	}
	return lost;
}

bool
recording_is_removed(const struct recording *rec)
{
	return !rec->foreign && (is_being_removed(rec) || is_lost(rec));
}

int
recording_hold(struct recording *rec, struct fault *fault)
{
	int err = 0;

	for (unsigned i = 0; i < rec->disks->n && !err; i++)
		err = hold_part(rec, &rec->part[i]);
	if (!err && is_being_removed(rec))
		err = -EIDRM;
	if (err && fault) {
		fault_set(fault, err, "busy", "cannot read recording %s",
			  rec->name);
		fault_why(fault, err == -EIDRM
				     ? "it is being removed"
				     : "it is being recovered or removed");
	}
	return err;
}

void
recording_release(struct recording *rec)
{
	for (unsigned i = 0; rec->part && i < rec->disks->n; i++) {
		if (rec->part[i].held)
			file_close(rec->part[i].held);
		rec->part[i].held = 0;
	}
}

bool
recording_reads_only(const struct recording *rec)
{
	bool is = false;

	for (unsigned i = 0; i < rec->disks->n; i++) {
		if (rec->part[i].dir < 0)
			continue;
		is = remote_reads_only(rec->part[i].dir);
		if (!is)
			break;
	}
	return is;
}

bool
recording_hangs(const struct recording *rec)
{
	for (unsigned i = 0; i < rec->disks->n; i++) {
		if (rec->part[i].hangs)
			return true;
	}
	return false;
}
