/* SPDX-License-Identifier: MIT */
/*
 * Finds blocks that no index names in a file that all blocks of a disk share.
 * They lie behind the last indexed block.  Mark6's blocks have headers that
 * name them.  For a plain file the writer's notes (meta.h) tell which blocks
 * were begun behind that one, in which order, and how long they were to be.
 *
 * The place of a block follows from those before it, so every block found gets
 * a record, even if another disk has it too, and the file is cut behind the
 * last.  But if the notes are lost, a plain file may have data that nobody can
 * place: that is not cut off.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/disk/file.h"
#include "store/finish/recover_priv.h"

/* The end of one disk's file. */
struct data_tail {
	struct recovery *r;
	unsigned disk;
	uint64_t bytes; /* length of the file */
	uint64_t from;	/* end of the indexed blocks */
	size_t first;	/* index of its first orphan */
	int err;
};

static void
add(struct data_tail *t, uint64_t number, const struct layout_spot *spot,
    uint64_t bytes)
{
	struct recovery *r = t->r;
	struct orphan *grown;
	uint64_t left = t->bytes > spot->offset ? t->bytes - spot->offset : 0;

	grown = realloc(r->orphan, (r->orphans + 1) * sizeof *grown);
	if (!grown) {
		t->err = -ENOMEM;
		return;
	}
	r->orphan = grown;
	r->orphan[r->orphans++] = (struct orphan){
		.number = number,
		.disk = t->disk,
		.bytes = bytes < left ? bytes : left,
		.at = spot->offset,
		.start = spot->start,
		.whole = bytes <= left,
	};
}

int
recover_chunk_open(const struct recovery *r, unsigned disk, uint64_t number,
		   int flags)
{
	struct layout_spot spot;

	layout_plan_spot(&r->rec->plan, 0, number, 0, &spot);
	return recover_open(r, disk, spot.file, flags | O_NOFOLLOW);
}

static int
open_data(const struct recovery *r, unsigned disk, int flags)
{
	return recover_chunk_open(r, disk, 0, flags);
}

/* ---- Mark6: blocks with headers ------------------------------------------ */

static void
find_told(struct data_tail *t)
{
	const struct recording *rec = t->r->rec;
	int fd = open_data(t->r, t->disk, O_RDONLY);
	uint64_t at = t->from, number, bytes;
	uint8_t raw[SG_BLOCK];

	while (!t->err && fd >= 0 && at < t->bytes &&
	       read_whole(fd, raw, sizeof raw, at) == sizeof raw &&
	       !layout_plan_back(&rec->plan, raw, t->bytes - at, &number,
				 &bytes)) {
		const struct index_record *note = recover_noted(t->r, number);
		struct layout_spot spot;

		layout_plan_spot(&rec->plan, at, number, 0, &spot);
		add(t, number, &spot,
		    note && note->bytes < spot.room ? note->bytes : spot.room);
		at = spot.end;
	}
	if (fd >= 0)
		close(fd);
}

/* ---- a plain file: the writer's notes ------------------------------------ */

static uint64_t
tail_end(const struct data_tail *t)
{
	const struct orphan *last;

	if (t->r->orphans == t->first)
		return t->from;
	last = &t->r->orphan[t->r->orphans - 1];
	return last->at + last->bytes;
}

static bool
is_indexed(const struct data_tail *t, uint64_t number)
{
	const struct recording_part *part = &t->r->rec->part[t->disk];

	for (size_t i = part->records; i--;) {
		if (part->record[i].number == number)
			return true;
	}
	return false;
}

/* Takes a note that the writer began a block. */
static void
take_chunk(struct data_tail *t, const json_t *line)
{
	uint64_t number = recover_number(line, "chunk");
	uint64_t bytes = recover_number(line, "bytes");
	struct layout_spot spot;

	if (is_indexed(t, number)) {
		/* Blocks noted before an indexed one were taken back. */
		t->r->orphans = t->first;
		return;
	}
	layout_plan_spot(&t->r->rec->plan, tail_end(t), number, bytes, &spot);
	if (spot.offset < t->bytes)
		add(t, number, &spot, bytes);
}

/* Takes a note that the writer cut the file. */
static void
take_cut(struct data_tail *t, const json_t *line)
{
	uint64_t bytes = recover_number(line, "cut");

	while (t->r->orphans > t->first && tail_end(t) > bytes)
		t->r->orphans--;
}

static void
take_line(struct data_tail *t, const char *text, size_t length)
{
	bool cut = !strncmp(text, "{\"cut\":", 7);
	json_t *line = NULL;

	if (cut || !strncmp(text, "{\"chunk\":", 9))
		line = json_loadb(text, length, 0, NULL);
	if (line && cut)
		take_cut(t, line);
	else if (line)
		take_chunk(t, line);
	json_decref(line);
}

static void
find_noted(struct data_tail *t)
{
	char file[LAYOUT_FILE], *text = NULL;
	size_t room = 0;
	ssize_t length;
	FILE *from;
	int fd;

	fd = recover_open(t->r, t->disk, layout_meta(file, t->r->rec->name),
			  O_RDONLY);
	from = fd < 0 ? NULL : fdopen(fd, "r");
	while (from && !t->err && (length = getline(&text, &room, from)) > 0)
		take_line(t, text, (size_t)length);
	free(text);
	if (from)
		fclose(from);
	else if (fd >= 0)
		close(fd);
}

/* ---- the file ------------------------------------------------------------ */

/* Returns the offset behind the indexed blocks. */
static uint64_t
known_end(const struct recovery *r, unsigned disk)
{
	const struct recording_part *part = &r->rec->part[disk];
	uint64_t end = layout_plan_begin(&r->rec->plan, NULL);

	for (size_t i = 0; i < part->records; i++) {
		struct recording_block b = { .record = part->record[i] };

		if (b.record.kind == INDEX_BLOCK)
			end = recording_block_at(r->rec, &b, end);
	}
	return end;
}

int
recover_data_find(struct recovery *r, unsigned disk)
{
	struct data_tail t = { .r = r, .disk = disk, .first = r->orphans };
	int fd = open_data(r, disk, O_RDONLY);
	struct stat st;

	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	if (fstat(fd, &st) == 0)
		t.bytes = (uint64_t)st.st_size;
	close(fd);
	t.from = known_end(r, disk);
	if (t.bytes <= t.from)
		return 0;
	if (r->rec->plan.layout == LAYOUT_MARK6)
		find_told(&t);
	else
		find_noted(&t);
	return t.err;
}

/* Returns the offset behind the blocks with a record now, found ones included.
 * *last: the last one found. */
static uint64_t
taken_end(const struct recovery *r, unsigned disk, const struct orphan **last)
{
	uint64_t end = known_end(r, disk);
	struct layout_spot spot;

	for (size_t i = 0; i < r->orphans; i++) {
		const struct orphan *o = &r->orphan[i];

		if (o->disk != disk || !o->taken)
			continue;
		layout_plan_spot(&r->rec->plan, end, o->number, o->kept, &spot);
		end = spot.end;
		*last = o;
	}
	return end;
}

/* Mark6: has the header of the last block state its real length. */
static int
shorten(const struct recovery *r, int fd, const struct orphan *last,
	uint64_t *end)
{
	struct layout_spot spot;

	layout_plan_spot(&r->rec->plan, last->start, last->number, last->kept,
			 &spot);
	if (!spot.prefix_bytes || last->kept >= spot.room)
		return 0;
	sg_block_write(spot.prefix, (uint32_t)last->number,
		       (uint32_t)last->kept);
	*end = spot.offset + last->kept;
	return write_whole(fd, spot.prefix, spot.prefix_bytes, spot.start);
}

/* Returns the offset behind everything that index or notes name. */
static uint64_t
told_end(const struct recovery *r, unsigned disk, uint64_t end)
{
	for (size_t i = 0; i < r->orphans; i++) {
		const struct orphan *o = &r->orphan[i];

		if (o->disk == disk && o->at + o->bytes > end)
			end = o->at + o->bytes;
	}
	return end;
}

static bool
has_data(int fd, uint64_t from)
{
	static const uint8_t zero[4096];
	uint8_t page[sizeof zero];
	ssize_t n;

	while ((n = read_whole(fd, page, sizeof page, from)) > 0) {
		if (memcmp(page, zero, (size_t)n))
			return true;
		from += (uint64_t)n;
	}
	return n < 0;
}

/* True if the file has data of a packet or more that nobody can place.  Never
 * so for Mark6, whose blocks have headers. */
static bool
is_untold(const struct recovery *r, unsigned disk, int fd, uint64_t end)
{
	uint64_t told = told_end(r, disk, end);
	struct stat st;

	if (r->rec->plan.layout == LAYOUT_MARK6 || fstat(fd, &st) < 0 ||
	    (uint64_t)st.st_size < told + r->rec->shape.payload ||
	    !has_data(fd, told))
		return false;
	recover_say(r,
		    "%" PRIu64
		    " bytes behind the last block on %s stay, but are "
		    "in no export: the metadata no longer names their blocks",
		    (uint64_t)st.st_size - told, r->disks->disk[disk].path);
	return true;
}

/*
 * Cuts the file at `end`.  A shorter file lost indexed data, which reads as
 * fill, and is left as it is.  Cutting a file to its own length frees space
 * reserved behind.
 */
static int
cut(struct recovery *r, unsigned disk, int fd, uint64_t end)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	if ((uint64_t)st.st_size < end)
		return 0;
	if ((uint64_t)st.st_size > end) {
		r->report->cut += (uint64_t)st.st_size - end;
		recover_say(
		    r, "cut %" PRIu64 " bytes behind the last block on %s",
		    (uint64_t)st.st_size - end, r->disks->disk[disk].path);
	}
	if (r->dry)
		return 0;
	if (ftruncate(fd, (off_t)end) < 0 || fdatasync(fd) < 0)
		return -errno;
	return 0;
}

int
recover_data_end(struct recovery *r, unsigned disk)
{
	const struct orphan *last = NULL;
	uint64_t end = taken_end(r, disk, &last);
	int fd, err = 0;

	fd = open_data(r, disk, r->dry ? O_RDONLY : O_RDWR);
	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	if (last && !r->dry)
		err = shorten(r, fd, last, &end);
	if (!err && !is_untold(r, disk, fd, end))
		err = cut(r, disk, fd, end);
	close(fd);
	return err;
}
