/* SPDX-License-Identifier: MIT */
/*
 * A sync pays for durability once for many chunks.  Records reach the index
 * only after their chunks are on the disk, so the index never names what a
 * power cut could take back.  Between two syncs chunks are open files: 128 of
 * them cause a sync of their own, long before descriptors run out.
 */
#include "flow/write/disk_recording.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "flow/memory/block_record.h"
#include "base/clock.h"
#include "base/log.h"
#include "flow/memory/brought.h"
#include "store/record/meta.h"

/* Opens the recording's folder that is on the disk, and logs why if it cannot
 * be written to. */
static int
folder_again(struct folder **folder, const struct disk *disk,
	     const struct output *o)
{
	int err =
	    folder_resume(folder, disk, o->name, o->head, o->first_number);

	if (disk_hint(err))
		log_line(LEVEL_ERROR, o->name,
			 "%s/%s cannot be written to, or a file in it: %s; %s",
			 disk->path, o->name, disk_why(err), disk_hint(err));
	return err;
}

static int
folder_open(struct folder **folder, const struct disk *disk,
	    const struct output *o, bool again)
{
	int err = -EEXIST;

	if (!again)
		err = folder_create(folder, disk, o->name, o->head);
	/* The folder is there: the disk was dropped and added again, or the
	 * recording is continued after an interruption. */
	if (err == -EEXIST)
		err = folder_again(folder, disk, o);
	/* The folder was empty and has been removed. */
	if (err == -ENOENT && !again)
		err = folder_create(folder, disk, o->name, o->head);
	return err;
}

/* Logs once that a line of the metadata was lost.  The recording is as good
 * without it, except for what the line says. */
static void
note_failed(struct leaf *l, int err)
{
	if (!l->unnoted)
		log_line(LEVEL_WARN, l->output->name,
			 "the metadata cannot be written to: %s; runs and "
			 "holes will be missing there",
			 strerror(-err));
	l->unnoted = true;
}

/* Writes a line that the caller keeps; NULL: memory ran out. */
static void
note_shared(struct leaf *l, const json_t *line)
{
	int err = line ? folder_note(l->folder, line) : -ENOMEM;

	if (err)
		note_failed(l, err);
}

/* Writes a line and drops it. */
static void
note(struct leaf *l, json_t *line)
{
	note_shared(l, line);
	json_decref(line);
}

/* Counts the records of earlier processes that are on this disk, and writes the
 * line which tells readers that the recording was continued. */
static void
resumed(struct leaf *l, const struct disk *disk)
{
	struct index_record *record;
	size_t n = folder_found(l->folder, &record);

	output_found(l->output, disk->path, record, n);
	free(record);
	note_shared(l, l->output->resumed);
}

static int
leaf_make(struct leaf **leaf, const struct disk *disk, struct output *o,
	  struct beat *beat, bool again)
{
	struct leaf *l = calloc(1, sizeof *l);
	int err;

	if (!l)
		return -ENOMEM;
	l->output = o;
	l->beat = beat;
	l->told = calloc(o->subs, sizeof *l->told);
	err = l->told ? folder_open(&l->folder, disk, o, again) : -ENOMEM;
	if (err) {
		free(l->told);
		free(l);
		return err;
	}
	pthread_mutex_init(&l->lock, NULL);
	output_hold(o);
	atomic_fetch_add_explicit(&o->folders, 1, memory_order_relaxed);
	if (o->resumed)
		resumed(l, disk);
	*leaf = l;
	return 0;
}

int
leaf_open(struct leaf **leaf, const struct disk *disk, struct output *o,
	  struct beat *beat)
{
	return leaf_make(leaf, disk, o, beat, false);
}

int
leaf_again(struct leaf **leaf, const struct disk *disk, struct output *o,
	   struct beat *beat)
{
	return leaf_make(leaf, disk, o, beat, true);
}

void
leaf_suspend(struct leaf *l)
{
	if (l->folder)
		folder_close(l->folder, NULL, NULL);
	l->folder = NULL;
}

int
leaf_resume(struct leaf *l, const struct disk *disk)
{
	struct output *o = l->output;
	int err = folder_again(&l->folder, disk, o);

	if (err != -ENOENT)
		return err;
	memset(l->told, 0, o->subs * sizeof *l->told);
	err = folder_create(&l->folder, disk, o->name, o->head);
	if (!err && o->resumed)
		note_shared(l, o->resumed);
	return err;
}

/* Arguments of heap_tell. */
struct heap_teller {
	struct leaf *leaf;
	const struct block *b;
};

static void
heap_tell(void *arg, const struct notes_event *e)
{
	struct heap_teller *t = arg;
	struct output *o = t->leaf->output;
	bool tell;

	if (e->control != PIECE_DATA)
		tell = output_controlled(o);
	else
		tell = output_described(o, e->descriptor, e->bytes,
					t->b->number, t->leaf);
	if (tell)
		note(t->leaf, meta_heap_event(t->b, o->subs, e));
}

static void
heaps_add(struct leaf *l, const struct block *b)
{
	struct heap_teller t = { .leaf = l, .b = b };
	json_t *holes = NULL;

	if (l->output->shape->store == HEAP_CUBE)
		holes = meta_heap_holes(b);
	if (holes)
		note(l, holes);
	notes_tell(b, l->output->format, heap_tell, &t);
}

/* Writes the run's line if this disk does not have it yet, and again once the
 * frames per second are known. */
static void
note_run(struct leaf *l, const struct block *b)
{
	uint64_t run = 2 * (b->run + 1ull), *told = &l->told[b->sub];

	if (*told == run + 1 || (*told == run && !b->fps))
		return;
	note(l, meta_run(b, l->output->subs, l->output->shape));
	*told = run + (b->fps != 0);
}

void
leaf_announce(struct leaf *l, const struct block *b)
{
	unsigned subs = l->output->subs;

	if (subs < 2 && l->output->shape->store == HEAP_NONE &&
	    !folder_serial(l->folder))
		return;
	note_run(l, b);
	note(l, meta_chunk(b, subs));
}

/* A block whose checksums cannot be written can still be verified as a
 * whole. */
static void
sums_add(struct leaf *l, const struct block *b)
{
	int err = folder_sum(l->folder, b);

	if (err && !l->unsummed)
		log_line(LEVEL_WARN, l->output->name,
			 "the checksums cannot be written: %s; damage will be "
			 "known by whole chunks there",
			 disk_why(err));
	l->unsummed |= err != 0;
}

static void
lines_add(struct leaf *l, const struct brought *from)
{
	int err = folder_note_lines(l->folder, from->lines, from->lines_bytes);

	if (err)
		note_failed(l, err);
}

void
leaf_note(struct leaf *l, const struct block *b)
{
	struct index_record r =
	    block_record(l->output->format, l->output->shape, b);

	sums_add(l, b);
	note_run(l, b);
	if (b->brought)
		lines_add(l, b->brought);
	else if (b->notes)
		heaps_add(l, b);
	else if (b->filled < b->used)
		note(l, meta_holes(b));
	note(l, meta_written(&r, b->gap));
}

static void
records_add(struct leaf *l, const struct block *b)
{
	struct index_record r = block_record(l->output->format,
					     l->output->shape, b),
			    gap;

	if (r.flags & INDEX_DATA_TIME)
		output_timed(l->output, &r);
	if (b->gap) {
		gap = index_gap(&r, (uint32_t)b->gap);
		l->record[l->records++] = gap;
	}
	l->record[l->records++] = r;
}

void
leaf_add(struct leaf *l, const struct block *b, int fd)
{
	if (l->records == 0)
		l->since = clock_steady();
	if (fd >= 0)
		l->fd[l->fds++] = fd;
	pthread_mutex_lock(&l->lock);
	records_add(l, b);
	pthread_mutex_unlock(&l->lock);
	atomic_fetch_add_explicit(&l->output->records, b->gap ? 2 : 1,
				  memory_order_relaxed);
}

int64_t
leaf_due(const struct leaf *l)
{
	struct output *o = l->output;

	if (l->records == 0)
		return INT64_MAX;
	if (l->since < atomic_load_explicit(&o->hurry, memory_order_relaxed))
		return 0;
	if (l->fds >= LEAF_ROUND || l->records >= 2 * LEAF_ROUND - 1)
		return 0;
	return l->since + o->durable;
}

static void
round_say(const struct leaf *l, int err)
{
	uint64_t packets = 0;

	for (unsigned i = 0; i < l->records; i++)
		packets += l->record[i].present;
	log_line(LEVEL_ERROR, l->output->name,
		 "%llu packets in %u chunks could not be made durable: %s",
		 (unsigned long long)packets, l->fds, strerror(-err));
}

/* Accounts for one record after a sync that returned `err`.  -ENOENT: the
 * folder was removed, so its data is gone; after any other error nobody knows
 * whether the data is on the disk. */
static void
record_settle(struct leaf *l, unsigned i, int err)
{
	const struct index_record *r = &l->record[i];
	bool risked = i < l->risked, risk = err && err != -ENOENT;

	if (risked && !risk)
		output_unrisk(l->output, r);
	if (!risked && risk)
		output_risk(l->output, r);
	if (err == -ENOENT)
		output_unwrite(l->output, r);
	output_fate(l->output, r, err);
}

/* Accounts for all records after a sync, failed or not. */
static void
round_settle(struct leaf *l, int err)
{
	pthread_mutex_lock(&l->lock);
	for (unsigned i = 0; i < l->records; i++)
		record_settle(l, i, err);
	if (!err && l->records)
		output_settle(l->output, l->record, l->records);
	l->records = l->risked = 0;
	pthread_mutex_unlock(&l->lock);
	l->fds = 0;
}

void
leaf_risk(struct leaf *l)
{
	pthread_mutex_lock(&l->lock);
	for (; l->risked < l->records; l->risked++)
		output_risk(l->output, &l->record[l->risked]);
	pthread_mutex_unlock(&l->lock);
}

int
leaf_sync(struct leaf *l)
{
	int err = 0;

	for (unsigned i = 0; i < l->fds; i++) {
		if (fdatasync(l->fd[i]) < 0 && !err)
			err = -errno;
		close(l->fd[i]);
		beat_now(l->beat);
	}
	if (!err && l->records)
		err = folder_sync(l->folder, l->record, l->records);
	beat_now(l->beat);
	if (err)
		round_say(l, err);
	round_settle(l, err);
	return err;
}

int
leaf_close(struct leaf *l, const struct index_record *end, const json_t *tail)
{
	int err = leaf_sync(l), closed = 0, closing = 0;

	if (l->folder && l->output->closing && end)
		closing = folder_note_lines(l->folder, l->output->closing,
					    strlen(l->output->closing));
	if (l->folder)
		closed = folder_close(l->folder, end, tail);
	closed = closing ? closing : closed;
	pthread_mutex_destroy(&l->lock);
	output_drop(l->output);
	free(l->told);
	free(l);
	return err ? err : closed;
}
