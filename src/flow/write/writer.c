/* SPDX-License-Identifier: MIT */
/*
 * The thread of one disk.  Trouble with a disk delays this thread alone: a
 * write that takes a second delays this disk's next block, and the queue gives
 * the other disks more.  The thread does, in this order,
 *
 *   errands   jobs: begin, sync or end a recording here; a block that arrives
 *             before its begin makes the folder itself
 *   rounds    syncs: fdatasync the chunks, fsync the folder, name them in the
 *             index; when the oldest chunk is `durable` ns old, or at the end
 *   blocks    moves those under way one step on, or waits for one
 *
 * A block's memory is free as soon as the block is written; it does not wait
 * for a sync.  Chunks that a sync then fails to make durable count as at risk.
 */
#include "flow/write/writer_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"

/* ---- rounds ---------------------------------------------------------- */

static void
round_do(struct writer *w, struct disk_recording *rec)
{
	int err = disk_recording_sync(rec);

	if (err)
		writer_disk_leave(w, err, "make it durable");
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

		if (due <= now)
			round_do(w, l);
		else if (due < next)
			next = due;
	}
	return next;
}

/* ---- waiting --------------------------------------------------------- */

void
writer_busy(struct writer *w)
{
	pthread_mutex_lock(&w->lock);
	beat_now(&w->beat);
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
	while (!w->errands && !w->stop && !w->retry && !late)
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
	if (!w->loads && writer_hangs(w))
		writer_disk_return(w);
	if (!w->leaving && !writer_hangs(w))
		errands_do(w);
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
	over = (w->stop || w->ended) && !w->errands && !w->loads;
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
	dooms_forget(w);
	writer_queue_leave(w);
	disk_close(&w->disk);
	disk_plugins_finish(&w->plugins);
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
	struct disk_plugins_args plugins = { .disk = args->disk->path,
					     .plugin = args->plugin,
					     .n = args->plugins,
					     .arena = args->arena,
					     .arena_bytes = args->arena_bytes,
					     .beat = &w->beat };
	pthread_condattr_t attr;

	w->a = *args;
	w->disk = *args->disk;
	w->disk.fd = -1;
	w->queue = args->queue;
	w->errands_end = &w->errands;
	beat_now(&w->beat);
	pthread_mutex_init(&w->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&w->wake, &attr);
	pthread_condattr_destroy(&attr);
	disk_plugins_init(&w->plugins, &plugins);
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
	err = taker_join(&w->taker, w->queue);
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
