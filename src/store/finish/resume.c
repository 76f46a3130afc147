/* SPDX-License-Identifier: MIT */
/*
 * Finds what is there to resume from every disk's index and metadata, and from
 * the names of its chunks: a chunk that was being written has a number but no
 * record.  For 10 000 chunks that is two megabytes to read.  Blocks that the
 * writers will adopt are found here too, so that totals count them from the
 * beginning.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/units.h"
#include "store/disk/file.h"
#include "store/record/meta.h"
#include "store/recording/recording_priv.h"
#include "store/finish/index_orphans.h"
#include "store/finish/resume.h"

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

static bool
is_protected(const struct recording *rec, const struct recording_part *part)
{
	char file[LAYOUT_FILE];

	return !faccessat(part->dir, layout_protect(file, rec->name), F_OK,
			  AT_SYMLINK_NOFOLLOW);
}

/* ---- one disk ------------------------------------------------------------ */

/* A disk's folder as it is read. */
struct part_look {
	struct resume *r;
	struct recording_part *part;
	char *text; /* the metadata */
	size_t bytes;
	bool chunks; /* has at least one chunk file */
};

static void
see_time(struct resume *r, const struct stat *st)
{
	int64_t ns =
	    (int64_t)st->st_mtim.tv_sec * NS_SECOND + st->st_mtim.tv_nsec;

	if (ns > r->stopped_ns)
		r->stopped_ns = ns;
}

static int
read_meta(struct part_look *l)
{
	char file[LAYOUT_FILE];
	struct stat st;
	ssize_t got;
	int fd, err = 0;

	fd = disk_open_at(l->part->dir, layout_meta(file, l->r->rec->name),
			  O_RDONLY, DISK_NO_LINKS);
	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	if (fstat(fd, &st) < 0)
		err = -errno;
	else if ((uint64_t)st.st_size >
		 meta_most(l->part->record, l->part->records))
		err = -EFBIG;
	l->text = err ? NULL : malloc((size_t)st.st_size + 1);
	if (!err && !l->text)
		err = -ENOMEM;
	if (!err) {
		see_time(l->r, &st);
		got = read_whole(fd, l->text, (size_t)st.st_size, 0);
		l->bytes = got > 0 ? (size_t)got : 0;
		err = got < 0 ? (int)got : 0;
	}
	close(fd);
	return err;
}

/*
 * Checks that this disk has the same recording as the others.  A folder without
 * an index may have been interrupted before its first line was written:
 * accepted.
 */
static int
check_head(const struct part_look *l)
{
	json_t *head;
	int err = 0;

	if (!l->part->indexed)
		return 0;
	head = json_loadb(l->text ? l->text : "", l->bytes,
			  JSON_DISABLE_EOF_CHECK, NULL);
	if (!head || !json_equal(head, l->r->rec->head))
		err = -EBADMSG;
	json_decref(head);
	return err;
}

static void
see_number(struct resume *r, uint64_t next)
{
	if (next > r->seen)
		r->seen = next;
}

/* Reads the numbers of all chunks, with or without a record. */
static int
read_names(struct part_look *l)
{
	int fd = disk_open_at(l->part->dir, ".", O_RDONLY | O_DIRECTORY,
			      DISK_NO_LINKS);
	const char *name = l->r->rec->name;
	const struct dirent *e;
	uint64_t number;
	DIR *dir;

	dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir) {
		if (fd < 0)
			return fd;
		close(fd);
		return -ENOMEM;
	}
	while ((e = readdir(dir))) {
		if (!layout_chunk_number(e->d_name, name, &number))
			continue;
		l->chunks = true;
		see_number(l->r, number + 1);
	}
	closedir(dir);
	return 0;
}

static int
take_adopted(struct part_look *l)
{
	struct recording_part *part = l->part;
	const struct index_orphans_args args = { .dir = part->dir,
						 .plan = &l->r->rec->plan,
						 .text = l->text,
						 .bytes = l->bytes,
						 .record = part->record,
						 .records = part->records,
						 .below = LAYOUT_CHUNKS };
	struct index_record *grown;
	struct index_orphans more;
	int err = index_orphans_find(&args, &more);

	if (err)
		return err;
	see_number(l->r, more.next);
	grown =
	    realloc(part->record, (part->records + more.n + 1) * sizeof *grown);
	if (grown) {
		part->record = grown;
		memcpy(grown + part->records, more.record,
		       more.n * sizeof *grown);
		part->records += more.n;
	}
	index_orphans_clear(&more);
	return grown ? 0 : -ENOMEM;
}

static int
look_part(struct resume *r, unsigned disk, struct fault *fault)
{
	struct part_look l = { .r = r, .part = &r->rec->part[disk] };
	const char *path = r->rec->disks->disk[disk].path;
	int err = read_meta(&l);

	if (!err)
		err = read_names(&l);
	if (!err && is_protected(r->rec, l.part)) {
		err = refuse(fault, -EPERM, r->rec->name, "it is protected");
	} else if (!err && (check_head(&l) || (l.chunks && !l.part->indexed))) {
		err = refuse(fault, -EBADMSG, r->rec->name, "");
		fault_why(fault,
			  "what is on %s is another recording of that name, "
			  "or damaged",
			  path);
	} else if (!err) {
		err = take_adopted(&l);
	}
	free(l.text);
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
		    !strcmp(rec->disks->disk[i].path, path))
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
		return fault_set(fault, -ENOMEM, "no-memory", "out of memory");
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
