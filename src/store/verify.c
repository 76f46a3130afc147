/* SPDX-License-Identifier: MIT */
/*
 * Verify looks at lengths and names: one stat for a chunk, one listing for a
 * disk.  At contents it looks where headers are in them to be followed, which
 * verify_chunk.c does.  Of a recording that is being written it does not
 * ask for what is not there yet: chunks on their way to the index, the end.
 */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "store/verify_priv.h"

void
verify_found(struct check *c, const char *format, ...)
{
	char sentence[512];
	va_list args;

	va_start(args, format);
	vsnprintf(sentence, sizeof sentence, format, args);
	va_end(args);
	if (c->hooks->found)
		c->hooks->found(c->hooks->arg, sentence);
	if (c->found < INT_MAX)
		c->found++;
}

const char *
verify_path(const struct check *c, unsigned disk)
{
	return c->disks->disk[disk].path;
}

static void
check_chunk(struct check *c, const struct recording_block *b)
{
	uint64_t number = b->record.number;
	const char *path = verify_path(c, (unsigned)b->disk);
	int64_t bytes = recording_chunk_bytes(c->rec, b);

	if (bytes == -ENOENT)
		verify_found(c,
			     "chunk %" PRIu64 " is not on %s, though the index "
			     "there names it",
			     number, path);
	else if (bytes < 0)
		verify_found(c,
			     "chunk %" PRIu64 " on %s cannot be looked at: %s",
			     number, path, strerror((int)-bytes));
	else if ((uint64_t)bytes != b->record.bytes)
		verify_found(c,
			     "chunk %" PRIu64 " on %s has %" PRId64
			     " bytes, the "
			     "index says %" PRIu64,
			     number, path, bytes, b->record.bytes);
	else
		verify_chunk(c, b);
}

/* A stretch of numbers that no disk has; returns its last. */
static size_t
check_absent(struct check *c, size_t from)
{
	const struct recording *rec = c->rec;
	size_t to = from;

	while (to + 1 < rec->blocks &&
	       rec->block[to + 1].record.kind == RECORDING_ABSENT)
		to++;
	if (to == from)
		verify_found(c, "block %zu is on none of the disks", from);
	else
		verify_found(c, "blocks %zu to %zu are on none of the disks",
			     from, to);
	return to;
}

static void
check_blocks(struct check *c)
{
	const struct recording *rec = c->rec;

	for (size_t i = 0; i < rec->blocks; i++) {
		const struct recording_block *b = &rec->block[i];

		if (b->record.kind == RECORDING_ABSENT)
			i = check_absent(c, i);
		else if (b->disk >= 0)
			check_chunk(c, b);
		if (c->hooks->progress)
			c->hooks->progress(c->hooks->arg, i + 1, rec->blocks);
	}
	for (size_t i = 0; i < rec->duplicates; i++)
		verify_found(c,
			     "block %" PRIu64
			     " is on %s too; that chunk is not "
			     "used",
			     rec->duplicate[i].number,
			     verify_path(c, rec->duplicate[i].disk));
}

static void
check_index(struct check *c, unsigned disk)
{
	const struct recording_part *part = &c->rec->part[disk];
	enum recording_state state = c->rec->facts.state;

	if (!part->indexed) {
		verify_found(c, "%s has no index of it", verify_path(c, disk));
		return;
	}
	if (part->torn && state != RECORDING_LIVE)
		verify_found(c,
			     "the index on %s ends in %" PRIu64
			     " bytes that are "
			     "no record; spate recover cuts them off",
			     verify_path(c, disk), part->torn);
	if (!part->ended && state == RECORDING_COMPLETE)
		verify_found(
		    c,
		    "the index on %s has no end, as those on other disks "
		    "have; spate recover adds it",
		    verify_path(c, disk));
}

static bool
is_indexed(const struct recording *rec, unsigned disk, uint64_t number)
{
	const struct recording_part *part = &rec->part[disk];

	if (number < rec->blocks && rec->block[number].disk == (int)disk)
		return true;
	for (size_t i = 0; i < part->records; i++) {
		if (part->record[i].number == number &&
		    part->record[i].kind == INDEX_BLOCK)
			return true;
	}
	return false;
}

/* Chunks that no index names: what a crash leaves. */
static int
check_orphans(struct check *c, unsigned disk)
{
	const struct recording *rec = c->rec;
	struct dirent *entry;
	uint64_t number;
	DIR *dir;
	int fd;

	fd = openat(rec->part[disk].dir, ".",
		    O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	dir = fdopendir(fd);
	if (!dir) {
		close(fd);
		return -ENOMEM;
	}
	while ((entry = readdir(dir))) {
		if (layout_chunk_number(entry->d_name, rec->name, &number) &&
		    !is_indexed(rec, disk, number))
			verify_found(c,
				     "chunk %" PRIu64 " on %s is in no index; "
				     "spate recover looks at it",
				     number, verify_path(c, disk));
	}
	closedir(dir);
	return 0;
}

/* What was seen of another program's recording when it was opened. */
static void
check_notes(struct check *c)
{
	const json_t *note;
	size_t i;

	json_array_foreach(c->rec->facts.notes, i, note)
		verify_found(c, "%s", json_string_value(note));
}

int
verify(struct recording *rec, const struct disks *disks,
       const struct verify_hooks *hooks)
{
	struct check c = { .rec = rec, .disks = disks, .hooks = hooks };
	int err = 0;

	verify_begin(&c);
	check_notes(&c);
	for (unsigned i = 0; i < disks->n && !err; i++) {
		if (rec->part[i].dir < 0 || rec->foreign)
			continue;
		check_index(&c, i);
		if (rec->facts.state != RECORDING_LIVE)
			err = check_orphans(&c, i);
	}
	if (err)
		return err;
	check_blocks(&c);
	verify_order(&c);
	if (rec->facts.state == RECORDING_INTERRUPTED)
		verify_found(&c,
			     "it has no end: its recorder died; spate recover "
			     "closes it");
	if (hooks->heaps)
		*hooks->heaps = c.heaps;
	if (hooks->incomplete)
		*hooks->incomplete = c.incomplete;
	return c.found;
}
