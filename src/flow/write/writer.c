/* SPDX-License-Identifier: MIT */
/*
 * The thread of one disk.  Trouble with a disk delays this thread alone: a
 * write that takes a second delays this disk's next block, and the queue gives
 * the other disks more.  The thread does, in this order,
 *
 *   jobs      begin, sync or end a recording here; a block that arrives
 *             before its begin makes the folder itself
 *   rounds    syncs: fdatasync the chunks, fsync the folder, name them in the
 *             index; when the oldest chunk is `durable` ns old, or at the end
 *   blocks    moves those under way one step on, or waits for one
 *
 * A block's memory is free as soon as the block is written, unless it is held
 * until its sync (output_args::hold).  Chunks that a sync then fails to make
 * durable are written by other disks, or count as at risk.
 */
#include "flow/write/writer_priv.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/units.h"

/* ---- rounds ---------------------------------------------------------- */

static int
recording_sync(struct writer *w, struct disk_recording *rec)
{
	int err = disk_recording_sync(rec);

	writer_moved(w, rec);
	return err;
}

static void
round_do(struct writer *w, struct disk_recording *rec)
{
	int err = recording_sync(w, rec);

	if (err)
		writer_recording_fails(w, rec, err, "make it durable");
}

/* True if as many chunks are open as may be; they stay open until their
 * sync. */
static bool
files_used_up(const struct writer *w)
{
	unsigned files = 0;

	for (const struct disk_recording *l = w->recordings; l; l = l->next)
		files += l->fds;
	return files >= w->a.files;
}

int64_t
writer_rounds(struct writer *w, int64_t now)
{
	int64_t next = clock_steady() + NS_SECOND;

	if (files_used_up(w))
		now = INT64_MAX;
	for (struct disk_recording *l = w->recordings; l; l = l->next) {
		int64_t due = disk_recording_due(l);

		output_protect_look(l->output, clock_steady());
		if (due <= now)
			round_do(w, l);
		else if (due < next)
			next = due;
	}
	return next;
}

/* Declares that the disk may be asked for something from here on, so that the
 * event loop watches the heartbeat. */
static void
writer_busy(struct writer *w)
{
	pthread_mutex_lock(&w->lock);
	heartbeat_now(&w->beat);
	w->busy = true;
	pthread_mutex_unlock(&w->lock);
}

bool
writer_hangs(struct writer *w)
{
	bool hangs;

	pthread_mutex_lock(&w->lock);
	hangs = w->facts.state == WRITER_HUNG;
	pthread_mutex_unlock(&w->lock);
	return hangs;
}

/* ---- the disk's figures ------------------------------------------------ */

/* The figures of a disk, for the queue, whose choice depends on them, and for
 * the status. */

/* Takes the figures of a written block: it took `took` ns, and ended `behind`
 * ns after the one before it if that was under way at the same time. */
static void
writer_took(struct writer *w, uint64_t bytes, int64_t took, int64_t behind)
{
	int64_t p99;

	disk_speed_add(&w->speed, bytes, took, behind);
	w->told = false;
	p99 = disk_speed_p99(&w->speed);
	pthread_mutex_lock(&w->lock);
	w->facts.speed = w->speed.speed;
	w->facts.latency = w->speed.took;
	w->facts.latency_p99 = p99;
	pthread_mutex_unlock(&w->lock);
}

static void
bench_log(const struct writer *w, bool benched)
{
	char bytes[UNITS_TEXT], span[UNITS_TEXT];

	units_show_bytes(bytes, w->speed.bytes);
	units_show_span(span, w->speed.took);
	if (benched)
		log_line(LEVEL_WARN, w->disk.path,
			 "slow: %s took %s, much longer than on the other "
			 "disks; it gets blocks only when no other is idle",
			 bytes, span);
	else
		log_line(LEVEL_INFO, w->disk.path,
			 "not slow any more: %s took %s", bytes, span);
}

/* Reports the disk's figures to the queue; called just before a block is
 * taken. */
static void
writer_report(struct writer *w)
{
	struct disk_figures figures = { .device = w->disk.id.device,
					.free = w->facts.space.free,
					.speed = w->speed.speed,
					.bytes = w->speed.bytes,
					.took = w->told ? 0 : w->speed.took,
					.in_flight = w->loads };
	bool benched;

	w->told = true;
	benched = taker_report(w->taker, &figures);
	if (benched == w->facts.benched)
		return;
	pthread_mutex_lock(&w->lock);
	w->facts.benched = benched;
	pthread_mutex_unlock(&w->lock);
	bench_log(w, benched);
}

/* ---- jobs -------------------------------------------------------------- */

/*
 * A job is an order of the writer's thread: begin a recording on this disk,
 * make its chunks durable, or end it.  Jobs are done in order, between two
 * blocks, and each decrements its output's count when it is done.
 *
 * Nobody waits for a disk that hangs: the event loop counts its jobs as done
 * when it notices, and later ones at once.  The thread still does them when it
 * is back, except for a begin whose end was posted in the meantime.
 */

/* ---- folders --------------------------------------------------------- */

static struct disk_recording *
part_find(struct writer *w, const struct output *o)
{
	struct disk_recording *l = w->recordings;

	while (l && l->output != o)
		l = l->next;
	return l;
}

static void
part_link(struct writer *w, struct disk_recording *rec)
{
	pthread_mutex_lock(&w->lock);
	rec->next = w->recordings;
	w->recordings = rec;
	pthread_mutex_unlock(&w->lock);
}

static void
part_unlink(struct writer *w, struct disk_recording *rec)
{
	struct disk_recording **at;

	pthread_mutex_lock(&w->lock);
	for (at = &w->recordings; *at != rec; at = &(*at)->next)
		;
	*at = rec->next;
	pthread_mutex_unlock(&w->lock);
}

/* Notes that another recorder has the name on this disk, which several share.
 * A recording that goes on after a restart has it itself; and one that has a
 * block goes on without this disk. */
static void
name_look(struct writer *w, struct output *o, int err)
{
	if ((err != -EEXIST && err != -EALREADY && err != -EBUSY) ||
	    !file_is_remote(w->disk.fd) || o->resumed ||
	    atomic_load_explicit(&o->chunks, memory_order_relaxed))
		return;
	if (!atomic_exchange_explicit(&o->taken, true, memory_order_relaxed))
		log_line(LEVEL_ERROR, o->name,
			 "another recorder records, or has recorded, %s on %s",
			 o->name, w->disk.path);
	w->a.changed(w->a.arg);
}

/* Returns the recording on this disk, made or opened again if needed.  0 or
 * -errno. */
static int
writer_recording(struct writer *w, struct output *o,
		 struct disk_recording **rec)
{
	int err = 0;

	*rec = part_find(w, o);
	if (*rec && (*rec)->folder)
		return 0;
	if (w->disk.fd < 0)
		err = disk_open(&w->disk);
	if (err)
		return err;
	if (*rec)
		return disk_recording_resume(*rec, &w->disk);
	err = disk_recording_open(rec, &w->disk, o, &w->beat);
	if (err)
		name_look(w, o, err);
	else
		part_link(w, *rec);
	return err;
}

static void
folder_begin(struct writer *w, struct output *o)
{
	bool good = !writer_disk_left(w) && w->disk.fd >= 0;
	struct disk_recording *rec;
	int err;

	if (atomic_load_explicit(&o->ended, memory_order_acquire))
		return;
	if (!good && writer_disk_try(w) < 0)
		return;
	/* A block may have made the folder before this job. */
	err = writer_recording(w, o, &rec);
	if (err && !atomic_load_explicit(&o->taken, memory_order_relaxed))
		writer_disk_leave(w, err, "make the recording's folder");
}

static void
output_round(struct writer *w, struct output *o)
{
	struct disk_recording *rec = part_find(w, o);
	int err = rec ? recording_sync(w, rec) : 0;

	if (err)
		writer_recording_fails(w, rec, err, "make it durable");
}

/* Opens the folder of a recording that this writer has no disk recording of: a
 * disk that was dropped and added again may have had no block since, and its
 * folder needs an end record all the same.  NULL: there is no such folder. */
static struct disk_recording *
part_seek(struct writer *w, struct output *o)
{
	struct disk_recording *rec = NULL;

	if (writer_disk_left(w) || (w->disk.fd < 0 && disk_open(&w->disk) < 0))
		return NULL;
	if (disk_recording_again(&rec, &w->disk, o, &w->beat) < 0)
		return NULL;
	part_link(w, rec);
	return rec;
}

static void
folder_end(struct writer *w, struct folder_job *e)
{
	struct disk_recording *rec = part_find(w, e->output);
	int err = 0, closed;

	if (!rec)
		rec = part_seek(w, e->output);
	if (!rec)
		goto out;
	/* The disk came back and had no block of this recording since. */
	if (!rec->folder && !writer_disk_left(w))
		err = writer_recording(w, e->output, &rec);
	/* Synced while it is linked: should the disk hang now, the event loop
	 * can count its chunks as at risk. */
	if (!err)
		err = recording_sync(w, rec);
	part_unlink(w, rec);
	if (rec->folder)
		closed = disk_recording_close(
		    rec, e->endless ? NULL : &e->record, e->tail);
	else
		closed = disk_recording_close(rec, NULL, NULL);
	err = err ? err : closed;
	if (err)
		writer_close_fails(w, e->output, err);
out:
	writer_admit(w, e->output);
	if (!w->recordings)
		disk_close(&w->disk); /* so that it can be unmounted */
}

/* ---- the list of jobs ------------------------------------------------ */

static struct folder_job *
job_next(struct writer *w)
{
	struct folder_job *e;

	pthread_mutex_lock(&w->lock);
	e = w->jobs;
	if (e) {
		w->jobs = e->next;
		if (!w->jobs)
			w->jobs_end = &w->jobs;
	}
	w->job = e;
	pthread_mutex_unlock(&w->lock);
	return e;
}

/* Decrements the output's count, once per job.  Release: pairs with the event
 * loop's acquire, see output.h.  Caller holds the lock. */
static void
job_count(struct writer *w, struct folder_job *e)
{
	if (e->counted)
		return;
	e->counted = true;
	atomic_fetch_sub_explicit(&e->output->jobs, 1, memory_order_release);
	w->a.changed(w->a.arg);
}

void
jobs_count(struct writer *w)
{
	if (w->job)
		job_count(w, w->job);
	for (struct folder_job *e = w->jobs; e; e = e->next)
		job_count(w, e);
}

static void
job_done(struct writer *w, struct folder_job *e)
{
	pthread_mutex_lock(&w->lock);
	job_count(w, e);
	w->job = NULL;
	pthread_mutex_unlock(&w->lock);
	output_drop(e->output);
	json_decref(e->tail);
	free(e);
	heartbeat_now(&w->beat);
}

static void
jobs_do(struct writer *w)
{
	struct folder_job *e;

	while (!writer_hangs(w) && (e = job_next(w))) {
		if (e->kind == JOB_BEGIN)
			folder_begin(w, e->output);
		else if (e->kind == JOB_SYNC)
			output_round(w, e->output);
		else
			folder_end(w, e);
		job_done(w, e);
	}
}

static int
job_post(struct writer *w, struct folder_job *e)
{
	output_hold(e->output);
	pthread_mutex_lock(&w->lock);
	*w->jobs_end = e;
	w->jobs_end = &e->next;
	if (w->facts.state == WRITER_HUNG)
		job_count(w, e);
	pthread_cond_signal(&w->wake);
	if (w->taker)
		taker_poke(w->taker);
	pthread_mutex_unlock(&w->lock);
	return 0;
}

static int
job_make(struct writer *w, struct output *o, enum folder_job_kind kind)
{
	struct folder_job *e = calloc(1, sizeof *e);

	if (!e)
		return -ENOMEM;
	e->output = o;
	e->kind = kind;
	return job_post(w, e);
}

int
writer_begin(struct writer *w, struct output *o)
{
	return job_make(w, o, JOB_BEGIN);
}

int
writer_sync(struct writer *w, struct output *o)
{
	return job_make(w, o, JOB_SYNC);
}

int
writer_end(struct writer *w, struct output *o, const struct index_record *end,
	   json_t *tail)
{
	struct folder_job *e = calloc(1, sizeof *e);

	if (!e) {
		json_decref(tail);
		return -ENOMEM;
	}
	e->output = o;
	e->kind = JOB_END;
	e->endless = !end;
	if (end)
		e->record = *end;
	e->tail = tail;
	return job_post(w, e);
}

/* ---- blocks that are being written ------------------------------------- */

/*
 * Blocks that are being written: one, or two where the plugin queues and all
 * data of the first is with it.  The thread never waits for a second block: if
 * one waits in the queue, no other disk is idle.
 *
 * Two copies of a chunk make jive5ab refuse a recording.  So a chunk that
 * failed is removed before its block goes back to the queue; and a chunk whose
 * block was given away while this thread was stuck is removed by this thread
 * when it is back, even if it was written well.  A chunk whose block was given
 * up, since its recording ended and no disk answered, is the only copy, and
 * stays.
 */

/* ---- the end of a load ----------------------------------------------- */

static void
remove_it(struct writer *w, struct load *l)
{
	int err = l->begun ? chunk_remove(&l->chunk) : 0;

	l->begun = false;
	/* -ESTALE: it is another recorder's by now. */
	if (err && err != -ENOENT && err != -ESTALE && l->chunk.target.own)
		stray_add(w, &l->chunk);
}

enum claim { CLAIM_MINE, CLAIM_AWAY, CLAIM_GIVEN_UP };

/*
 * Empties the load and says what its block has become.  MINE: this thread
 * accounts for it; AWAY: another disk has it; GIVEN_UP: it was counted as
 * lost.  A written chunk that is not AWAY is added to the disk recording under
 * the same lock, so that the event loop sees the block either in the load or in
 * the disk recording, and can no longer give it away.
 */
static enum claim
claim(struct writer *w, struct load *l, bool written)
{
	enum claim claim;

	pthread_mutex_lock(&w->lock);
	claim = l->given_up ? CLAIM_GIVEN_UP : CLAIM_MINE;
	if (l->away)
		claim = CLAIM_AWAY;
	else if (written)
		chunk_keep(&l->chunk);
	l->b = NULL;
	l->away = l->given_up = false;
	if (--w->loads == 0 && w->facts.state == WRITER_WRITING)
		w->facts.state = WRITER_IDLE;
	pthread_mutex_unlock(&w->lock);
	return claim;
}

static void
count(struct writer *w, const struct load *l, uint64_t bytes)
{
	int64_t now = clock_steady();

	pthread_mutex_lock(&w->lock);
	w->facts.written += bytes;
	w->facts.chunks++;
	pthread_mutex_unlock(&w->lock);
	writer_took(w, bytes, now - l->since,
		    now - (l->since > w->ended_ns ? l->since : w->ended_ns));
	w->ended_ns = now;
	w->tries = 0;
}

static void
load_written(struct writer *w, struct load *l, struct block *b)
{
	uint64_t bytes = block_bytes(b);
	enum claim is = claim(w, l, true);

	if (is == CLAIM_AWAY) {
		block_drop(b);
		remove_it(w, l);
		return;
	}
	count(w, l, bytes);
	if (l->chunk.rec->told_refused && !l->chunk.rec->refused) {
		l->chunk.rec->told_refused = false;
		writer_admit(w, l->output);
	}
	if (l->chunk.nowhere && !b->parity)
		output_release(l->output, b->number);
	if (is == CLAIM_MINE)
		output_written(l->output, b, w->a.number);
	else
		output_regain(l->output, b, w->a.number);
}

static void
load_failed(struct writer *w, struct load *l, struct block *b, int err)
{
	bool twice = b->parity && err == -EEXIST;
	enum claim is;

	if (err == -ENOSPC)
		w->need = block_bytes(b);
	remove_it(w, l);
	is = claim(w, l, false);
	/* The disk did nothing wrong if the block was given away, or if no
	 * other disk was left for parity of a group of which this one has some.
	 */
	if (err != -ECANCELED && !twice)
		writer_recording_fails(w, l->chunk.rec, err, "write a chunk");
	/* Another disk may take it, or this one when it is back. */
	if (is == CLAIM_MINE && twice)
		output_lost(l->output, b);
	else if (is == CLAIM_MINE)
		queue_return(w->queue, b);
	else
		block_drop(b);
}

static void
load_end(struct writer *w, struct load *l, int err)
{
	/* Changed by this thread alone, so read without the lock. */
	struct block *b = l->b;
	struct output *o = l->output;

	if (err)
		load_failed(w, l, b, err);
	else
		load_written(w, l, b);
	output_drop(o);
	writer_space_look(w);
}

/* ---- the beginning --------------------------------------------------- */

static struct load *
load_empty(struct writer *w)
{
	struct load *l = w->load;

	while (l->b)
		l++;
	return l;
}

/* Begins the chunk.  The disk recording may be missing: the block came before
 * the begin job, or the disk came back after the recording had begun. */
static int
load_begin(struct writer *w, struct load *l)
{
	int err = writer_recording(w, l->output, &l->chunk.rec);

	if (!err)
		err = chunk_begin(&l->chunk, &w->plugins, &w->disk);
	l->begun = !err;
	return err;
}

/* Takes a block from the queue and begins to write it; there is room for it. */
static void
load_take(struct writer *w, struct block *b)
{
	struct load *l = load_empty(w);
	int err;

	l->output = b->session;
	l->since = clock_steady();
	l->begun = false;
	output_hold(l->output);
	output_seal(l->output, b);
	l->chunk = (struct chunk){ .b = b, .away = &l->away };
	w->loads++;
	pthread_mutex_lock(&w->lock);
	l->b = b;
	l->away = false;
	w->busy = true;
	heartbeat_now(&w->beat);
	if (w->facts.state == WRITER_IDLE)
		w->facts.state = WRITER_WRITING;
	pthread_mutex_unlock(&w->lock);
	err = load_begin(w, l);
	heartbeat_now(&w->beat);
	if (err) {
		load_end(w, l, err);
		return;
	}
	/* The disk has something to do while parity is computed. */
	if (l->output->groups)
		writes_push(&w->plugins.main.writes);
	output_protect(l->output, b, w->a.number);
}

/* ---- on the way ------------------------------------------------------ */

/* True if a second block would keep the disk busy.  Not if each block has to be
 * durable before the next is taken (output::durable 0), and not with a file
 * that all blocks share, which takes one at a time. */
static bool
has_room(struct writer *w)
{
	if (w->ended || w->leaving || !writes_hungry(&w->plugins.main.writes))
		return false;
	for (unsigned i = 0; i < WRITES_FILES; i++) {
		const struct load *l = &w->load[i];

		if (l->b && (!l->output->durable || !l->begun ||
			     folder_serial(l->chunk.rec->folder)))
			return false;
	}
	return true;
}

/* Takes a second block if one waits.  The place in the queue stays valid
 * without the lock: it is taken away only in state HUNG, in which this function
 * takes nothing. */
static void
second_take(struct writer *w)
{
	struct taker *t = NULL;
	struct block *b;
	int err;

	pthread_mutex_lock(&w->lock);
	if (w->facts.state == WRITER_WRITING && !w->stop) {
		t = w->taker;
		w->busy = false;
	}
	pthread_mutex_unlock(&w->lock);
	if (!t)
		return;
	writer_report(w);
	err = queue_take(t, &b, 0);
	if (err == 0)
		load_take(w, b);
	else
		writer_busy(w);
	w->ended |= err == -EPIPE;
}

static struct load *
load_of(struct file_write *file)
{
	struct chunk *c = chunk_of(file);

	return (struct load *)((char *)c - offsetof(struct load, chunk));
}

static bool
ends(struct writer *w, struct open_plugin *plugin)
{
	struct file_write *file;
	bool any = false;

	if (!plugin->is)
		return false;
	writes_push(&plugin->writes);
	while ((file = writes_done(&plugin->writes))) {
		struct load *l = load_of(file);
		int err = chunk_end(&l->chunk);

		heartbeat_now(&w->beat);
		load_end(w, l, err);
		any = true;
	}
	return any;
}

/* Moves the writes under way one step on: takes a second block if that helps,
 * ends those that are finished, or waits for the disk. */
static void
loads_step(struct writer *w)
{
	bool any;

	if (has_room(w))
		second_take(w);
	any = ends(w, &w->plugins.main);
	if (any || !w->loads)
		return;
	writes_wait(&w->plugins.main.writes);
}

/* Marks the thread as idle, so that the event loop does not take it for hung,
 * and returns its place in the queue.  NULL: it has none, or is taken for hung
 * already. */
static struct taker *
idle(struct writer *w)
{
	struct taker *t = NULL;

	pthread_mutex_lock(&w->lock);
	if (w->facts.state <= WRITER_WRITING) {
		w->facts.state = WRITER_IDLE;
		w->busy = false;
		t = w->taker;
	}
	pthread_mutex_unlock(&w->lock);
	return t;
}

static void
block_wait(struct writer *w, int64_t until)
{
	struct taker *t = idle(w);
	struct block *b;
	int err;

	if (!t)
		return;
	writer_report(w);
	err = queue_take(t, &b, until);
	if (err == 0)
		load_take(w, b);
	else
		writer_busy(w);
	if (err == -ETIMEDOUT)
		writer_space_look(w);
	w->ended |= err == -EPIPE;
}

static void
look(struct writer *w)
{
	writer_disk_try(w);
	if (!w->recordings)
		disk_close(&w->disk);
}

/*
 * Probes the disk because the event loop asked for it.  Skipped while the disk
 * is being recorded to: errors show then by themselves.  The caller has a
 * reason to think that the disk has changed, so failures before no longer
 * count.
 */
static void
retry_do(struct writer *w)
{
	bool retry;

	pthread_mutex_lock(&w->lock);
	retry = w->retry;
	w->retry = false;
	pthread_mutex_unlock(&w->lock);
	if (!retry || (w->recordings && !writer_disk_left(w)))
		return;
	w->tries = 0;
	look(w);
}

/* Waits without a place in the queue for a job, or for the time to probe the
 * disk. */
static void
rest(struct writer *w)
{
	struct timespec at = { .tv_sec = w->try_at / NS_SECOND,
			       .tv_nsec = w->try_at % NS_SECOND };
	bool late = false;

	pthread_mutex_lock(&w->lock);
	w->busy = false;
	while (!w->jobs && !w->stop && !w->retry && !late)
		late = pthread_cond_timedwait(&w->wake, &w->lock, &at) ==
		       ETIMEDOUT;
	pthread_mutex_unlock(&w->lock);
	writer_busy(w);
	if (late)
		look(w);
}

/* ---- the thread ------------------------------------------------------ */

/* Called when the disk has failed or is full and has no write in flight: syncs
 * what it still holds.  A full disk keeps its folders open for their end
 * record; otherwise they are closed, so that the disk can be unmounted. */
static void
leave(struct writer *w)
{
	bool full;

	writer_rounds(w, INT64_MAX);
	pthread_mutex_lock(&w->lock);
	full = w->facts.state == WRITER_FULL;
	pthread_mutex_unlock(&w->lock);
	for (struct disk_recording *l = w->recordings; l && !full; l = l->next)
		disk_recording_suspend(l);
	if (!full || !w->recordings)
		disk_close(&w->disk);
	w->leaving = false;
}

/* Does one turn.  Loads are finished first when something is wrong: until then
 * folders and plugin stay as they are. */
static void
step(struct writer *w)
{
	int64_t next;

	if (!w->loads && w->leaving)
		leave(w);
	writer_refused_suspend(w);
	if (!w->loads && writer_hangs(w))
		writer_disk_return(w);
	if (!w->leaving && !writer_hangs(w))
		jobs_do(w);
	if (!w->leaving && !w->loads)
		retry_do(w);
	next = writer_rounds(w, clock_steady());
	if (w->loads)
		loads_step(w);
	else if (w->leaving)
		return;
	else if (writer_disk_left(w))
		rest(w);
	else
		block_wait(w, next);
}

static bool
over(struct writer *w)
{
	bool over;

	pthread_mutex_lock(&w->lock);
	over = (w->stop || w->ended) && !w->jobs && !w->loads;
	pthread_mutex_unlock(&w->lock);
	return over;
}

/* Ends the thread's work.  Folders of running recordings get no end record. */
static void
finish(struct writer *w)
{
	struct disk_recording *l;

	writer_rounds(w, INT64_MAX);
	while ((l = w->recordings)) {
		pthread_mutex_lock(&w->lock);
		w->recordings = l->next;
		pthread_mutex_unlock(&w->lock);
		disk_recording_close(l, NULL, NULL);
	}
	strays_forget(w);
	writer_queue_leave(w);
	disk_close(&w->disk);
	disk_writes_finish(&w->plugins);
	pthread_mutex_lock(&w->lock);
	w->finished = true;
	pthread_cond_signal(&w->wake);
	pthread_mutex_unlock(&w->lock);
	w->a.changed(w->a.arg);
}

static void *
writer_run(void *arg)
{
	struct writer *w = arg;

	pthread_setname_np(pthread_self(), "spate-write");
	writer_busy(w);
	writer_disk_try(w);
	disk_close(&w->disk);
	while (!over(w))
		step(w);
	finish(w);
	return NULL;
}

static void
writer_init(struct writer *w, const struct writer_args *args)
{
	struct disk_writes_args plugins = { .disk = args->disk->path,
					    .plugin = args->plugin,
					    .n = args->plugins,
					    .arena = args->arena,
					    .arena_bytes = args->arena_bytes,
					    .arena_ready = args->arena_ready,
					    .beat = &w->beat };
	pthread_condattr_t attr;

	w->a = *args;
	w->disk = *args->disk;
	w->disk.fd = -1;
	w->queue = args->queue;
	w->jobs_end = &w->jobs;
	heartbeat_now(&w->beat);
	pthread_mutex_init(&w->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&w->wake, &attr);
	pthread_condattr_destroy(&attr);
	disk_writes_init(&w->plugins, &plugins);
}

static void
writer_free(struct writer *w)
{
	pthread_cond_destroy(&w->wake);
	pthread_mutex_destroy(&w->lock);
	free(w);
}

int
writer_start(struct writer **writer, const struct writer_args *args)
{
	struct writer *w = calloc(1, sizeof *w);
	int err;

	if (!w)
		return -ENOMEM;
	writer_init(w, args);
	/* Join the queue before the thread starts, so that a block that arrives
	 * first already counts this disk as a taker. */
	err = taker_join(&w->taker, w->queue, args->number);
	if (!err)
		err = -pthread_create(&w->thread, NULL, writer_run, w);
	if (err) {
		writer_queue_leave(w);
		writer_free(w);
		return err;
	}
	*writer = w;
	return 0;
}

/* Waits for the thread to finish, a tenth of a second at most; true if it
 * has. */
static bool
finish_wait(struct writer *w)
{
	int64_t until = clock_steady() + NS_SECOND / 10;
	struct timespec at = { .tv_sec = until / NS_SECOND,
			       .tv_nsec = until % NS_SECOND };
	bool finished;

	pthread_mutex_lock(&w->lock);
	if (!w->finished)
		pthread_cond_timedwait(&w->wake, &w->lock, &at);
	finished = w->finished;
	pthread_mutex_unlock(&w->lock);
	return finished;
}

bool
writer_stop(struct writer *w)
{
	pthread_mutex_lock(&w->lock);
	w->stop = true;
	pthread_cond_signal(&w->wake);
	if (w->taker)
		taker_poke(w->taker);
	pthread_mutex_unlock(&w->lock);
	while (!finish_wait(w)) {
		writer_watch(w, clock_steady());
		if (!writer_hangs(w))
			continue;
		pthread_detach(w->thread);
		return false;
	}
	pthread_join(w->thread, NULL);
	writer_free(w);
	return true;
}
