/* SPDX-License-Identifier: MIT */
/*
 * Finds what is there to resume from every disk's index and leftovers: a chunk
 * that was being written has a number but no record.  For 10 000 chunks that is
 * two megabytes to read.  Blocks that the writers will adopt are found here
 * too, so that totals count them from the beginning.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/units.h"
#include "store/recording/recording_priv.h"
#include "store/finish/leftovers.h"
#include "store/finish/resume.h"
#include "store/disk/file.h"

/* ---- does the stream fit? ------------------------------------------------ */

/*
 * A recording has one shape from beginning to end: its first line states it,
 * and all readers rely on it.  So a stream that has been configured otherwise
 * since must record under another name.
 */

static int
differs(const struct resume *r, const char *what, struct fault *fault)
{
	fault_set(fault, -EINVAL, "refused", "cannot go on with %.80s",
		  r->rec->name);
	fault_hint(fault, "record under another name");
	fault_why(fault, "its %s is not what the stream has now", what);
	return -EINVAL;
}

static bool
same(const json_t *a, const json_t *b, const char *key)
{
	const json_t *x = json_object_get(a, key), *y = json_object_get(b, key);

	return x == y || json_equal(x, y);
}

/* True if both values are equal, or one is 0: values learned while recording
 * may not be known yet. */
static bool
agree(const json_t *a, const json_t *b, const char *key)
{
	const json_t *x = json_object_get(a, key), *y = json_object_get(b, key);

	if (!json_integer_value(x) || !json_integer_value(y))
		return true;
	return json_equal(x, y);
}

int
resume_fits(const struct resume *r, const json_t *head, struct fault *fault)
{
	static const char *const all[] = { "stream",   "format",
					   "layout",   "fill",
					   "subs",     "extension",
					   "geometry", "channels_per_file" };
	static const char *const shape[] = { "prefix", "payload", "sequence",
					     "bits",   "parts",	  "header",
					     "store",  "item",	  "time_item" };
	static const char *const learned[] = { "fps", "time_step" };
	const json_t *was = r->rec->head;
	const json_t *is = json_object_get(head, "shape");

	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		if (!same(was, head, all[i]))
			return differs(r, all[i], fault);
	}
	was = json_object_get(was, "shape");
	for (size_t i = 0; i < sizeof shape / sizeof *shape; i++) {
		if (!same(was, is, shape[i]))
			return differs(r, shape[i], fault);
	}
	for (size_t i = 0; i < sizeof learned / sizeof *learned; i++) {
		if (!agree(was, is, learned[i]))
			return differs(r, learned[i], fault);
	}
	return 0;
}

json_t *
resume_line(const struct resume *r, json_t *disks)
{
	char at[UNITS_TEXT], stopped[UNITS_TEXT];

	units_show_time_ns(at, r->at_ns);
	units_show_time_ns(stopped, r->stopped_ns);
	return json_pack("{s:s, s:s, s:I, s:I, s:i, s:O}", "resumed", at,
			 "stopped", stopped, "seen", (json_int_t)r->seen,
			 "number", (json_int_t)r->next, "missing",
			 (int)r->missing, "disks", disks);
}

static int
refuse(struct fault *fault, int err, const char *name, const char *why)
{
	fault_set(fault, err, "refused", "cannot go on with %.80s", name);
	fault_why(fault, "%s", why);
	fault_hint(fault, "record under another name");
	return err;
}

/* ---- may it be resumed? -------------------------------------------------- */

static int
check_state(const struct resume *r, struct fault *fault)
{
	const char *name = r->rec->name;
	int err = 0;

	if (strcmp(r->facts->made_by, "spate") != 0)
		return refuse(fault, -EBADMSG, name,
			      "another program recorded it");
	if (r->facts->state == RECORDING_COMPLETE)
		return refuse(fault, -EALREADY, name,
			      r->facts->failed ? "it failed, and was ended"
					       : "it is complete");
	if (r->facts->state == RECORDING_LIVE)
		err = refuse(fault, -EBUSY, name, "it is being recorded");
	if (err)
		fault->code = "busy"; /* temporary: worth trying again */
	return err;
}

/* 1: it is protected; 0: it is not; -errno: the disk does not tell. */
static int
is_protected(const struct recording *rec, const struct recording_part *part)
{
	char file[LAYOUT_FILE];

	if (!file_access_at(part->dir, layout_protect(file, rec->name), F_OK,
			    AT_SYMLINK_NOFOLLOW))
		return 1;
	return errno == ENOENT ? 0 : -errno;
}

/* ---- one disk ------------------------------------------------------------ */

static void
see_number(struct resume *r, uint64_t next)
{
	if (next > r->seen)
		r->seen = next;
}

/*
 * True if this disk has the same recording as the others.  A folder without an
 * index may have been interrupted before its first line was written: it counts
 * as the same, unless it has chunks.
 */
static bool
is_same(const struct resume *r, const struct recording_part *part,
	const struct leftovers *l)
{
	return part->indexed ? leftovers_head_is(l, r->rec->head) : !l->chunks;
}

/* Takes the records of a disk's whole blocks, as folder_resume() will. */
static int
look_part(struct resume *r, unsigned disk, struct fault *fault)
{
	struct recording_part *part = &r->rec->part[disk];
	const char *path = r->rec->disks->disk[disk].path;
	struct leftovers l;
	uint64_t stop;
	int err = leftovers_read(&l, part->dir, &r->rec->plan, part->record,
				 part->records);
	int protected = err ? 0 : is_protected(r->rec, part);

	if (protected < 0)
		err = protected;
	see_number(r, l.next);
	if (l.noted_ns > r->stopped_ns)
		r->stopped_ns = l.noted_ns;
	if (!err && protected) {
		err = refuse(fault, -EPERM, r->rec->name, "it is protected");
	} else if (!err && !is_same(r, part, &l)) {
		err = refuse(fault, -EBADMSG, r->rec->name, "");
		fault_why(fault,
			  "what is on %s is another recording of that name, "
			  "or damaged",
			  path);
	} else if (!err) {
		err = leftovers_adopt(&l, LAYOUT_CHUNKS, &part->record,
				      &part->records, &stop);
	}
	leftovers_clear(&l);
	if (err && !fault->code) {
		fault_set(fault, err, "io", "cannot go on with %.80s",
			  r->rec->name);
		fault_why(fault, "%s: %s", path,
			  err == -EFBIG ? r->rec->refused : disk_why(err));
	}
	return err;
}

/* ---- totals -------------------------------------------------------------- */

static bool
is_here(const struct recording *rec, const char *path)
{
	for (unsigned i = 0; i < rec->disks->n; i++) {
		if (rec->part[i].dir >= 0 &&
		    disk_path_same(rec->disks->disk[i].path, path))
			return true;
	}
	return false;
}

/*
 * Counts the disks that a line of metadata names and that have no folder here.
 */
static unsigned
count_missing(const struct recording *rec, const json_t *line)
{
	const json_t *disk;
	unsigned n = 0;
	size_t i;

	json_array_foreach(json_object_get(line, "disks"), i, disk)
		n += json_is_string(disk) &&
		     !is_here(rec, json_string_value(disk));
	return n;
}

static void
see_missing(struct resume *r)
{
	size_t lines = json_array_size(r->rec->resumed);
	const json_t *last = r->rec->head;

	if (lines)
		last = json_array_get(r->rec->resumed, lines - 1);
	r->missing = count_missing(r->rec, last);
}

static void
see_run(struct resume *r, unsigned sub, uint32_t run)
{
	if (sub < r->facts->subs && run >= r->run[sub])
		r->run[sub] = run + 1;
}

/* Finds the first free run of each substream.  Runs are counted even if none of
 * their blocks reached a disk. */
static int
see_runs(struct resume *r)
{
	const struct recording *rec = r->rec;

	r->run = calloc(r->facts->subs, sizeof *r->run);
	if (!r->run)
		return -ENOMEM;
	for (size_t i = 0; i < rec->bases; i++)
		see_run(r, rec->base[i].sub, rec->base[i].run);
	for (unsigned i = 0; i < r->facts->runs; i++)
		see_run(r, r->facts->run[i].sub, r->facts->run[i].run);
	for (unsigned i = 0; i < r->facts->subs && r->missing; i++)
		r->run[i] += RESUME_SPARE;
	return 0;
}

static void
see_numbers(struct resume *r)
{
	const struct recording *rec = r->rec;
	size_t lines = json_array_size(rec->resumed);
	const json_t *last;

	/* Numbers that an earlier resume skipped stay unused. */
	last = lines ? json_array_get(rec->resumed, lines - 1) : NULL;
	see_number(
	    r, (uint64_t)json_integer_value(json_object_get(last, "number")));
	/* And so do those of blocks that only their parity tells of. */
	for (size_t i = 0; i < rec->parity.members; i++)
		see_number(r, rec->parity.member[i].number + 1);
	r->next = r->seen + (uint64_t)RESUME_SPARE * r->missing;
	for (unsigned i = 0; i < rec->disks->n; i++)
		r->records += rec->part[i].records;
}

/* Counts numbers behind the last record as absent, which they become once a
 * later number is used; recording_place.c says how long they are then. */
static void
see_tail(struct resume *r)
{
	const struct recording *rec = r->rec;
	uint64_t tail = r->seen > rec->blocks ? r->seen - rec->blocks : 0;

	for (uint64_t i = rec->blocks; i < r->seen; i++)
		tail -= recording_unused(rec, i);
	r->bytes = r->facts->bytes;
	r->absent = r->facts->absent + tail;
	if (r->facts->subs == 1 && rec->shape.store != HEAP_ROW)
		r->bytes += tail * rec->slots * rec->shape.payload;
}

static int
look(struct resume *r, struct fault *fault)
{
	struct recording *rec = r->rec;
	int err = check_state(r, fault);

	for (unsigned i = 0; i < rec->disks->n && !err; i++) {
		if (rec->part[i].dir >= 0)
			err = look_part(r, i, fault);
	}
	if (err)
		return err;
	err = recording_merge(rec);
	see_missing(r);
	if (!err)
		err = see_runs(r);
	see_numbers(r);
	see_tail(r);
	if (!err && r->next >= LAYOUT_CHUNKS / 2)
		return refuse(fault, -EFBIG, rec->name,
			      "its chunks have no numbers left");
	return err ? fault_set(fault, err, "no-memory",
			       "cannot go on with %.80s: %s", rec->name,
			       strerror(-err))
		   : 0;
}

int
resume_look(struct resume **resume, const struct disks *disks, const char *name,
	    struct fault *fault)
{
	struct resume *r = calloc(1, sizeof *r);
	int err;

	*fault = (struct fault){ 0 };
	if (!r)
		return fault_no_memory(fault);
	err = recording_open_by_index(&r->rec, disks, name, fault);
	if (err && err != -ENOENT && err != -ENOMEM)
		fault->code = "refused";
	if (!err) {
		r->facts = recording_facts(r->rec);
		r->disks = disks;
		r->at_ns = clock_now();
		err = look(r, fault);
	}
	if (err)
		resume_free(r);
	else
		*resume = r;
	return err;
}

void
resume_free(struct resume *r)
{
	if (r && r->rec)
		recording_close(r->rec);
	if (r)
		free(r->run);
	free(r);
}
