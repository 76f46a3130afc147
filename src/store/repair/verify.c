/* SPDX-License-Identifier: MIT */
/*
 * Verify looks at lengths and names first: one stat per chunk, one listing per
 * disk.  It reads contents if they have headers that can be followed
 * (verify_chunk.c), and if there are checksums (verify_read.c), with one thread
 * per disk.  Of a recording that is being written it does not demand what
 * cannot be there yet: chunks on their way to the index, and the end.  Findings
 * are reported at the end, when it is known which of them are adjacent.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "store/repair/verify_priv.h"

/* Returns the part for items that concern the whole recording. */
static struct verify_part *
part_none(struct check *c)
{
	return &c->part[c->disks->n];
}

/* ---- names and indexes --------------------------------------------------- */

/* Reports a stretch of numbers that no disk has; returns its last. */
static size_t
absent_say(struct check *c, size_t from)
{
	const struct recording *rec = c->rec;
	struct verify_part *none = part_none(c);
	size_t to = from;

	while (to + 1 < rec->blocks &&
	       rec->block[to + 1].record.kind == RECORDING_ABSENT)
		to++;
	if (to == from)
		verify_say(none, VERIFY_ABSENT,
			   "block %zu is on none of the disks", from);
	else
		verify_say(none, VERIFY_ABSENT,
			   "blocks %zu to %zu are on none of the disks", from,
			   to);
	return to;
}

static void
check_absent(struct check *c)
{
	const struct recording *rec = c->rec;

	for (size_t i = 0; i < rec->blocks; i++) {
		if (rec->block[i].record.kind == RECORDING_ABSENT)
			i = absent_say(c, i);
	}
}

/* Reports what was noticed when another program's recording was opened. */
static void
check_notes(struct check *c)
{
	const json_t *note;
	size_t i;

	json_array_foreach(c->rec->facts.notes, i, note)
		verify_say(part_none(c), VERIFY_CONTENTS, "%s",
			   json_string_value(note));
}

/* Reports disks whose folder is not read, because a link is in its place. */
static void
check_links(struct check *c)
{
	for (unsigned i = 0; i < c->disks->n; i++) {
		const struct disk *disk = &c->disks->disk[i];
		int dir;

		if (c->rec->part[i].dir >= 0 || disk->fd < 0)
			continue;
		dir = layout_dir_open(disk->fd, c->rec->name, DISK_LINKS);
		if (dir >= 0)
			close(dir);
		else if (dir == -EXDEV || dir == -ELOOP)
			verify_say(part_none(c), VERIFY_INDEX,
				   "%s/%s is not read: %s", disk->path,
				   c->rec->name, disk_why(dir));
	}
}

static void
check_index(struct verify_part *p)
{
	const struct recording_part *part = &p->check->rec->part[p->disk];
	enum recording_state state = p->check->rec->facts.state;

	if (!part->indexed) {
		verify_say(p, VERIFY_INDEX,
			   "%s has no index of it; spate recover %s makes one",
			   verify_path(p), p->check->rec->name);
		return;
	}
	if (part->torn && state != RECORDING_LIVE)
		verify_say(p, VERIFY_INDEX,
			   "the index on %s ends in %" PRIu64 " bytes that are "
			   "no record; spate recover %s cuts them off",
			   verify_path(p), part->torn, p->check->rec->name);
	if (part->beyond)
		verify_say(p, VERIFY_INDEX,
			   "%zu records of the index on %s name blocks that "
			   "cannot be, and are not believed",
			   part->beyond, verify_path(p));
	if (!part->ended && state == RECORDING_COMPLETE)
		verify_say(
		    p, VERIFY_INDEX,
		    "the index on %s has no end, as those on other disks "
		    "have; spate recover %s adds it",
		    verify_path(p), p->check->rec->name);
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

/* Chunks of a disk that are reported together. */
struct several {
	uint64_t first, last;
	unsigned n;
};

static void
several_add(struct several *s, uint64_t number)
{
	if (!s->n || number < s->first)
		s->first = number;
	if (!s->n || number > s->last)
		s->last = number;
	s->n++;
}

static void
several_set(const struct several *s, struct verify_item *i)
{
	i->number = s->first;
	i->last = s->last;
	i->chunks = s->n;
}

static void
orphans_say(struct verify_part *p, const struct several *s)
{
	struct verify_item *i;

	if (!s->n)
		return;
	if (s->n == 1)
		i = verify_say(p, VERIFY_UNINDEXED,
			       "chunk %" PRIu64 " on %s is in no index; "
			       "spate recover %s looks at it",
			       s->first, verify_path(p), p->check->rec->name);
	else
		i = verify_say(p, VERIFY_UNINDEXED,
			       "%u chunks on %s, from %" PRIu64 " to %" PRIu64
			       ", are in no index; spate recover %s looks at "
			       "them",
			       s->n, verify_path(p), s->first, s->last,
			       p->check->rec->name);
	several_set(s, i);
}

/* Reports chunks that no index names, which a crash leaves. */
static int
check_orphans(struct verify_part *p)
{
	const struct recording *rec = p->check->rec;
	struct several several = { 0 };
	struct dirent *entry;
	uint64_t number;
	DIR *dir;
	int fd;

	fd = disk_open_at(rec->part[p->disk].dir, ".", O_RDONLY | O_DIRECTORY,
			  DISK_NO_LINKS);
	if (fd < 0)
		return fd;
	dir = fdopendir(fd);
	if (!dir) {
		close(fd);
		return -ENOMEM;
	}
	while ((entry = readdir(dir))) {
		if (layout_chunk_number(entry->d_name, rec->name, &number) &&
		    !is_indexed(rec, p->disk, number))
			several_add(&several, number);
	}
	closedir(dir);
	orphans_say(p, &several);
	return 0;
}

static void
check_duplicates(struct verify_part *p)
{
	const struct recording *rec = p->check->rec;
	struct several s = { 0 };
	struct verify_item *item;

	for (size_t i = 0; i < rec->duplicates; i++) {
		if (rec->duplicate[i].disk == p->disk)
			several_add(&s, rec->duplicate[i].number);
	}
	if (!s.n)
		return;
	if (s.n == 1)
		item = verify_say(p, VERIFY_DUPLICATE,
				  "block %" PRIu64
				  " is on %s too; that chunk is not used",
				  s.first, verify_path(p));
	else
		item = verify_say(p, VERIFY_DUPLICATE,
				  "%u blocks, from %" PRIu64 " to %" PRIu64
				  ", are on %s too; those chunks are not used",
				  s.n, s.first, s.last, verify_path(p));
	several_set(&s, item);
}

/* ---- disks --------------------------------------------------------------- */

static void
block_check(struct verify_part *p, const struct recording_block *b,
	    size_t place)
{
	uint64_t read = p->report.bytes;

	verify_chunk(p, b, place);
	read = p->report.bytes - read;
	if (read < b->record.bytes)
		atomic_fetch_add_explicit(&p->check->done,
					  b->record.bytes - read,
					  memory_order_relaxed);
}

static void *
part_run(void *arg)
{
	struct verify_part *p = arg;
	struct check *c = p->check;
	size_t place = 0;

	for (size_t i = 0; i < c->rec->blocks && !p->err; i++) {
		const struct recording_block *b = &c->rec->block[i];

		if (b->disk == (int)p->disk)
			block_check(p, b, place++);
	}
	pthread_mutex_lock(&c->lock);
	c->running--;
	pthread_cond_signal(&c->ended);
	pthread_mutex_unlock(&c->lock);
	return NULL;
}

/*
 * Checks everything on a disk except chunks, and starts its thread for those.
 */
static int
part_start(struct verify_part *p)
{
	struct check *c = p->check;
	int err = 0;

	if (c->rec->part[p->disk].dir < 0)
		return 0;
	p->buffer = malloc(VERIFY_BUFFER);
	if (!p->buffer)
		return -ENOMEM;
	if (!c->rec->foreign) {
		check_index(p);
		verify_sums(p);
		verify_data(p);
		check_duplicates(p);
	}
	if (!c->rec->foreign && c->rec->facts.state != RECORDING_LIVE)
		err = check_orphans(p);
	if (err)
		return err;
	pthread_mutex_lock(&c->lock);
	err = -pthread_create(&p->thread, NULL, part_run, p);
	p->started = !err;
	c->running += !err;
	pthread_mutex_unlock(&c->lock);
	return err;
}

/* Reports progress until all threads have ended. */
static void
parts_wait(struct check *c)
{
	enum { TURN = 200000000 };
	struct timespec t;

	pthread_mutex_lock(&c->lock);
	while (c->running) {
		clock_gettime(CLOCK_REALTIME, &t);
		t.tv_nsec += TURN;
		t.tv_sec += t.tv_nsec / NS_SECOND;
		t.tv_nsec %= NS_SECOND;
		pthread_cond_timedwait(&c->ended, &c->lock, &t);
		if (c->hooks->progress)
			c->hooks->progress(c->hooks->arg, atomic_load(&c->done),
					   c->total);
	}
	pthread_mutex_unlock(&c->lock);
}

static int
parts_end(struct check *c, struct verify_report *sum)
{
	int err = 0;

	for (unsigned i = 0; i <= c->disks->n; i++) {
		struct verify_part *p = &c->part[i];

		if (p->started)
			pthread_join(p->thread, NULL);
		if (p->err)
			err = p->err;
		sum->heaps += p->report.heaps;
		sum->incomplete += p->report.incomplete;
		sum->bytes += p->report.bytes;
		sum->summed += p->report.summed;
		sum->unsummed += p->report.unsummed;
	}
	return err;
}

static int
look(struct check *c, struct verify_report *report)
{
	enum recording_state state = c->rec->facts.state;
	int err = 0, worse;

	verify_begin(c);
	check_notes(c);
	if (!c->rec->foreign)
		check_links(c);
	if (*c->rec->refused)
		verify_say(part_none(c), VERIFY_INDEX, "%s", c->rec->refused);
	for (unsigned i = 0; i < c->disks->n && !err; i++)
		err = part_start(&c->part[i]);
	parts_wait(c);
	worse = parts_end(c, report);
	check_absent(c);
	verify_order(c);
	if (state == RECORDING_INTERRUPTED)
		verify_say(part_none(c), VERIFY_END,
			   "it has no end: its recorder died; spate recover "
			   "%s closes it",
			   c->rec->name);
	return err ? err : worse;
}

int
verify(struct recording *rec, const struct disks *disks,
       const struct verify_hooks *hooks, struct verify_report *report)
{
	struct check c = { .rec = rec, .disks = disks, .hooks = hooks };
	int err;

	*report = (struct verify_report){ 0 };
	c.part = calloc(disks->n + 1, sizeof *c.part);
	if (!c.part)
		return -ENOMEM;
	for (unsigned i = 0; i <= disks->n; i++) {
		c.part[i].check = &c;
		c.part[i].disk = i;
	}
	for (size_t i = 0; i < rec->blocks; i++) {
		if (rec->block[i].disk >= 0)
			c.total += rec->block[i].record.bytes;
	}
	pthread_mutex_init(&c.lock, NULL);
	pthread_cond_init(&c.ended, NULL);
	err = look(&c, report);
	if (!err)
		verify_tell(&c);
	verify_items_free(&c);
	pthread_cond_destroy(&c.ended);
	pthread_mutex_destroy(&c.lock);
	free(c.part);
	return err ? err : c.found;
}
