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
#include "store/finish/resume.h"
#include "store/record/meta.h"
#include "store/disk/file.h"

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
note_failed(struct disk_recording *rec, int err)
{
	if (!rec->unnoted)
		log_line(LEVEL_WARN, rec->output->name,
			 "the metadata cannot be written to: %s; runs and "
			 "holes will be missing there",
			 strerror(-err));
	rec->unnoted = true;
}

/* Writes a line that the caller keeps; NULL: memory ran out. */
static void
note_shared(struct disk_recording *rec, const json_t *line)
{
	int err = line ? folder_note(rec->folder, line) : -ENOMEM;

	if (err)
		note_failed(rec, err);
}

/* Writes a line and drops it. */
static void
note(struct disk_recording *rec, json_t *line)
{
	note_shared(rec, line);
	json_decref(line);
}

/* Counts the records of earlier processes that are on this disk, and writes the
 * line which tells readers that the recording was continued. */
static void
resumed(struct disk_recording *rec, const struct disk *disk)
{
	struct index_record *record;
	size_t n = folder_found(rec->folder, &record);

	output_found(rec->output, disk->path, record, n);
	free(record);
	note_shared(rec, rec->output->resumed);
}

/* ---- the list of parity -------------------------------------------------- */

/* Keeps the tail of a parity block for the list.  If memory runs out, the tail is
 * only in the block's own file; spate recover lists it. */
static void
tail_add(struct disk_recording *rec, const struct block *b)
{
	uint64_t bytes = b->bytes - b->parity->bytes;
	uint8_t *grown = realloc(rec->tails, rec->tails_bytes + bytes);

	if (!grown)
		return;
	memcpy(grown + rec->tails_bytes, b->data + b->parity->bytes, bytes);
	rec->tails = grown;
	rec->tails_bytes += bytes;
	rec->tails_n++;
	rec->tails_members += b->parity->members;
}

static void
tails_clear(struct disk_recording *rec)
{
	rec->tails_bytes = rec->tails_n = rec->tails_members = 0;
}

/* Counts parity that no list has. */
static void
tails_lose(struct disk_recording *rec)
{
	atomic_fetch_sub(&rec->output->parity_blocks, rec->tails_n);
	atomic_fetch_add(&rec->output->parity_lost, rec->tails_n);
	tails_clear(rec);
}

/* Lists parity.  What cannot be listed now is when the disk is back.  0 or
 * -errno. */
static int
tails_list(struct disk_recording *rec)
{
	int err = 0;

	if (!rec->tails_bytes || !rec->folder)
		return 0;
	err = folder_parity_sync(rec->folder, rec->tails, rec->tails_bytes);
	if (err)
		return err;
	atomic_fetch_add(&rec->output->parity_members, rec->tails_members);
	tails_clear(rec);
	return 0;
}

/* ---- the folder ---------------------------------------------------------- */

static int
disk_recording_make(struct disk_recording **made, const struct disk *disk,
		    struct output *o, struct heartbeat *beat, bool again)
{
	struct disk_recording *rec = calloc(1, sizeof *rec);
	int err;

	if (!rec)
		return -ENOMEM;
	rec->output = o;
	rec->beat = beat;
	rec->told = calloc(o->subs, sizeof *rec->told);
	err = rec->told ? folder_open(&rec->folder, disk, o, again) : -ENOMEM;
	if (err) {
		free(rec->told);
		free(rec);
		return err;
	}
	rec->serial = folder_serial(rec->folder);
	pthread_mutex_init(&rec->lock, NULL);
	output_hold(o);
	atomic_fetch_add_explicit(&o->folders, 1, memory_order_relaxed);
	if (o->resumed)
		resumed(rec, disk);
	*made = rec;
	return 0;
}

int
disk_recording_open(struct disk_recording **rec, const struct disk *disk,
		    struct output *o, struct heartbeat *beat)
{
	return disk_recording_make(rec, disk, o, beat, false);
}

int
disk_recording_again(struct disk_recording **rec, const struct disk *disk,
		     struct output *o, struct heartbeat *beat)
{
	return disk_recording_make(rec, disk, o, beat, true);
}

void
disk_recording_suspend(struct disk_recording *rec)
{
	if (rec->folder)
		folder_close(rec->folder, NULL, NULL);
	rec->folder = NULL;
}

int
disk_recording_resume(struct disk_recording *rec, const struct disk *disk)
{
	struct output *o = rec->output;
	int err = folder_again(&rec->folder, disk, o);

	if (err != -ENOENT)
		return err;
	memset(rec->told, 0, o->subs * sizeof *rec->told);
	tails_lose(rec);
	err = folder_create(&rec->folder, disk, o->name, o->head);
	if (!err && o->resumed)
		note_shared(rec, o->resumed);
	return err;
}

/* Arguments of heap_tell. */
struct heap_teller {
	struct disk_recording *rec;
	const struct block *b;
};

static void
heap_tell(void *arg, const struct notes_event *e)
{
	struct heap_teller *t = arg;
	struct output *o = t->rec->output;
	bool tell;

	if (e->control != PIECE_DATA)
		tell = output_controlled(o);
	else
		tell = output_described(o, e->descriptor, e->bytes,
					t->b->number, t->rec);
	if (tell)
		note(t->rec, meta_heap_event(t->b, o->subs, e));
}

static void
heaps_add(struct disk_recording *rec, const struct block *b)
{
	struct heap_teller t = { .rec = rec, .b = b };
	json_t *holes = NULL;

	if (rec->output->shape->store == HEAP_CUBE)
		holes = meta_heap_holes(b);
	if (holes)
		note(rec, holes);
	notes_events(b, rec->output->format, heap_tell, &t);
}

/* Writes the run's line if this disk does not have it yet, and again once the
 * frames per second are known. */
static void
note_run(struct disk_recording *rec, const struct block *b)
{
	uint64_t run = 2 * (b->run + 1ull), *told = &rec->told[b->sub];

	if (*told == run + 1 || (*told == run && !b->fps))
		return;
	note(rec, meta_run(b, rec->output->subs, rec->output->shape));
	*told = run + (b->fps != 0);
}

void
disk_recording_announce(struct disk_recording *rec, const struct block *b)
{
	unsigned subs = rec->output->subs;

	if (b->parity)
		return;
	if (subs < 2 && rec->output->shape->store == HEAP_NONE &&
	    !folder_serial(rec->folder))
		return;
	note_run(rec, b);
	note(rec, meta_chunk(b, subs));
}

/* A block whose checksums cannot be written can still be verified as a
 * whole. */
static void
sums_add(struct disk_recording *rec, const struct block *b)
{
	int err = folder_sum(rec->folder, b);

	if (err && !rec->unsummed)
		log_line(LEVEL_WARN, rec->output->name,
			 "the checksums cannot be written: %s; damage will be "
			 "known by whole chunks there",
			 disk_why(err));
	rec->unsummed |= err != 0;
}

static void
lines_add(struct disk_recording *rec, const char *lines, size_t bytes)
{
	int err = folder_note_lines(rec->folder, lines, bytes);

	if (err)
		note_failed(rec, err);
}

static struct index_record
record_of(const struct disk_recording *rec, const struct block *b)
{
	return block_record(rec->output->format, rec->output->shape, b);
}

void
disk_recording_note(struct disk_recording *rec, const struct block *b)
{
	struct index_record r;

	if (b->parity) {
		lines_add(rec, b->parity->lines, b->parity->lines_bytes);
		return;
	}
	r = record_of(rec, b);
	sums_add(rec, b);
	note_run(rec, b);
	if (b->brought)
		lines_add(rec, b->brought->lines, b->brought->lines_bytes);
	else if (b->notes)
		heaps_add(rec, b);
	else if (b->filled < b->used)
		note(rec, meta_holes(b));
	note(rec, meta_written(&r, b->gap));
}

static void
records_add(struct disk_recording *rec, const struct block *b)
{
	struct index_record r = record_of(rec, b), gap;

	if (r.flags & INDEX_DATA_TIME)
		output_timed(rec->output, &r);
	if (b->gap) {
		gap = index_gap(&r, (uint32_t)b->gap);
		rec->record[rec->records++] = gap;
	}
	rec->record[rec->records++] = r;
}

void
disk_recording_add(struct disk_recording *rec, const struct block *b, int fd)
{
	if (!rec->records && !rec->fds)
		rec->since = clock_steady();
	if (fd >= 0) {
		rec->fd_parity[rec->fds] = b->parity != NULL;
		rec->fd[rec->fds++] = fd;
	}
	if (b->parity) {
		tail_add(rec, b);
		return;
	}
	pthread_mutex_lock(&rec->lock);
	records_add(rec, b);
	pthread_mutex_unlock(&rec->lock);
	atomic_fetch_add_explicit(&rec->output->records, b->gap ? 2 : 1,
				  memory_order_relaxed);
}

int64_t
disk_recording_due(const struct disk_recording *rec)
{
	struct output *o = rec->output;

	if (!rec->records && !rec->fds)
		return INT64_MAX;
	if (rec->since < atomic_load_explicit(&o->hurry, memory_order_relaxed))
		return 0;
	if (rec->fds >= DISK_RECORDING_ROUND ||
	    rec->records >= 2 * DISK_RECORDING_ROUND - 1)
		return 0;
	return rec->since + o->durable;
}

static void
round_say(const struct disk_recording *rec, int err)
{
	uint64_t packets = 0;
	unsigned chunks = 0;

	for (unsigned i = 0; i < rec->records; i++) {
		packets += rec->record[i].present;
		chunks += rec->record[i].kind == INDEX_BLOCK;
	}
	log_line(LEVEL_ERROR, rec->output->name,
		 "%llu packets in %u chunks could not be made durable: %s",
		 (unsigned long long)packets, chunks, strerror(-err));
}

/* ---- blocks that go to another disk --------------------------------------- */

/*
 * Blocks written since the last sync may still be in memory (output_args::hold).
 * If the disk dies, or does not answer while others take blocks, these blocks are
 * queued again.  Their chunks are not named in the index here, and are removed.
 * Once the index is being written, nothing can go away: nobody could tell
 * whether it names the chunk.  In a file that all blocks share a chunk cannot be
 * removed, so from there none goes away.
 */

static void
away_set(struct disk_recording *rec, unsigned i)
{
	if (i < rec->risked)
		output_unrisk(rec->output, &rec->record[i]);
	output_forget(rec->output, &rec->record[i]);
	rec->away[i] = true;
}

/* Takes blocks back; caller holds the lock.  Returns how many are in `b`. */
static unsigned
blocks_rescue(struct disk_recording *rec, struct block **b)
{
	unsigned n = 0;

	for (unsigned i = 0; i < rec->records && !rec->indexing; i++) {
		const struct index_record *r = &rec->record[i];

		if (rec->away[i] || r->kind != INDEX_BLOCK)
			continue;
		b[n] = output_rescue(rec->output, r);
		if (!b[n])
			continue;
		away_set(rec, i);
		if (b[n]->gap)
			away_set(rec, i - 1);
		n++;
	}
	return n;
}

/* Gives blocks to other disks, in a recording whose blocks have files of their
 * own: so there are no more blocks than files. */
static unsigned
rescue(struct disk_recording *rec)
{
	struct block *b[DISK_RECORDING_MOST];
	unsigned n;

	pthread_mutex_lock(&rec->lock);
	n = blocks_rescue(rec, b);
	pthread_mutex_unlock(&rec->lock);
	for (unsigned i = 0; i < n; i++)
		queue_return(rec->output->queue, b[i]);
	if (n)
		log_line(LEVEL_WARN, rec->output->name,
			 "%u blocks that were not durable yet are written to "
			 "other disks",
			 n);
	return n;
}

unsigned
disk_recording_rescue(struct disk_recording *rec)
{
	return rec->serial ? 0 : rescue(rec);
}

/* Takes records that went away out of the list; from here on none does, if the
 * index is written. */
static void
records_keep(struct disk_recording *rec, bool indexing)
{
	unsigned kept = 0, risked = 0;

	pthread_mutex_lock(&rec->lock);
	for (unsigned i = 0; i < rec->records; i++) {
		if (!rec->away[i]) {
			risked += i < rec->risked;
			rec->record[kept++] = rec->record[i];
		} else if (rec->record[i].kind == INDEX_BLOCK) {
			rec->moved[rec->moved_n++] = rec->record[i];
		}
		rec->away[i] = false;
	}
	rec->records = kept;
	rec->risked = risked;
	rec->indexing = indexing;
	pthread_mutex_unlock(&rec->lock);
}

bool
disk_recording_moved(struct disk_recording *rec, struct index_record *r,
		     int *err)
{
	if (!rec->moved_n)
		return false;
	*r = rec->moved[--rec->moved_n];
	*err =
	    rec->folder ? folder_chunk_remove(rec->folder, r->number) : -ENODEV;
	return true;
}

/* ---- syncs ---------------------------------------------------------------- */

/* Accounts for one record after a sync that returned `err`.  -ENOENT: the
 * folder was removed, so its data is gone; after any other error nobody knows
 * whether the data is on the disk. */
static void
record_settle(struct disk_recording *rec, unsigned i, int err)
{
	const struct index_record *r = &rec->record[i];
	bool risked = i < rec->risked, risk = err && err != -ENOENT;

	if (risked && !risk)
		output_unrisk(rec->output, r);
	if (!risked && risk)
		output_risk(rec->output, r);
	if (err == -ENOENT)
		output_unwrite(rec->output, r);
	output_fate(rec->output, r, err);
}

/* Accounts for all records after a sync, failed or not. */
static void
round_settle(struct disk_recording *rec, int err)
{
	pthread_mutex_lock(&rec->lock);
	for (unsigned i = 0; i < rec->records; i++) {
		record_settle(rec, i, err);
		if (err)
			output_release(rec->output, rec->record[i].number);
	}
	if (!err && rec->records)
		output_settle(rec->output, rec->record, rec->records);
	rec->records = rec->risked = 0;
	rec->indexing = false;
	pthread_mutex_unlock(&rec->lock);
	rec->fds = 0;
}

void
disk_recording_risk(struct disk_recording *rec)
{
	pthread_mutex_lock(&rec->lock);
	for (; rec->risked < rec->records; rec->risked++) {
		if (!rec->away[rec->risked])
			output_risk(rec->output, &rec->record[rec->risked]);
	}
	pthread_mutex_unlock(&rec->lock);
}

/* Makes chunks durable, and parity blocks; *parity: 0 or -errno of these.  0 or
 * -errno of chunks. */
static int
files_sync(struct disk_recording *rec, int *parity)
{
	int err = 0;

	*parity = 0;
	for (unsigned i = 0; i < rec->fds; i++) {
		int *to = rec->fd_parity[i] ? parity : &err;

		if (file_sync_data(rec->fd[i]) < 0 && !*to)
			*to = -errno;
		file_close(rec->fd[i]);
		heartbeat_now(rec->beat);
	}
	return err;
}

int
disk_recording_sync(struct disk_recording *rec)
{
	int parity, listed = 0, err = files_sync(rec, &parity);

	if (err && !rec->serial)
		rescue(rec);
	records_keep(rec, !err);
	if (!err && rec->records)
		err = folder_sync(rec->folder, rec->record, rec->records);
	/* A file that a sync failed for may be durable or not, which the next
	 * sync would not tell: spate recover lists it if it is. */
	if (parity || err == -ENOENT)
		tails_lose(rec);
	else if (!err)
		listed = tails_list(rec);
	heartbeat_now(rec->beat);
	if (err && rec->records)
		round_say(rec, err);
	round_settle(rec, err);
	err = err ? err : parity;
	return err ? err : listed;
}

int
disk_recording_close(struct disk_recording *rec, const struct index_record *end,
		     const json_t *tail)
{
	int err = disk_recording_sync(rec), closed = 0, closing = 0;

	/* Another recorder has the name: leave nothing of it here. */
	if (rec->folder &&
	    atomic_load_explicit(&rec->output->refused, memory_order_relaxed) &&
	    folder_drop(rec->folder))
		rec->folder = NULL;
	if (rec->folder && rec->output->closing && end)
		closing = folder_note_lines(rec->folder, rec->output->closing,
					    strlen(rec->output->closing));
	if (rec->folder)
		closed = folder_close(rec->folder, end, tail);
	closed = closing ? closing : closed;
	tails_lose(rec);
	pthread_mutex_destroy(&rec->lock);
	output_drop(rec->output);
	free(rec->tails);
	free(rec->told);
	free(rec);
	return err ? err : closed;
}
