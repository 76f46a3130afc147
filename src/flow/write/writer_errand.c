/* SPDX-License-Identifier: MIT */
/*
 * An errand is a job of the writer's thread: begin a recording on this disk,
 * make its chunks durable, or end it.  Jobs are done in order, between two
 * blocks, and each decrements its output's count when it is done.
 *
 * Nobody waits for a disk that hangs: the event loop counts its jobs as done
 * when it notices, and later ones at once.  The thread still does them when it
 * is back, except for a begin whose end was posted in the meantime.
 */
#include "flow/write/writer_priv.h"

#include <errno.h>
#include <stdlib.h>

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

int
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
	if (!err)
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
	if (err)
		writer_disk_leave(w, err, "make the recording's folder");
}

static void
output_round(struct writer *w, struct output *o)
{
	struct disk_recording *rec = part_find(w, o);
	int err = rec ? disk_recording_sync(rec) : 0;

	if (err)
		writer_disk_leave(w, err, "make it durable");
}

/* Opens the folder of a recording that this writer has no disk recording of: a disk that
 * was dropped and added again may have had no block since, and its folder needs
 * an end record all the same.  NULL: there is no such folder. */
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
folder_end(struct writer *w, struct errand *e)
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
		err = disk_recording_sync(rec);
	part_unlink(w, rec);
	if (rec->folder)
		closed = disk_recording_close(
		    rec, e->endless ? NULL : &e->record, e->tail);
	else
		closed = disk_recording_close(rec, NULL, NULL);
	err = err ? err : closed;
	if (err)
		writer_disk_leave(w, err, "close the recording");
out:
	if (!w->recordings)
		disk_close(&w->disk); /* so that it can be unmounted */
}

/* ---- errands --------------------------------------------------------- */

static struct errand *
errand_next(struct writer *w)
{
	struct errand *e;

	pthread_mutex_lock(&w->lock);
	e = w->errands;
	if (e) {
		w->errands = e->next;
		if (!w->errands)
			w->errands_end = &w->errands;
	}
	w->errand = e;
	pthread_mutex_unlock(&w->lock);
	return e;
}

/* Decrements the output's count, once per job.  Release: pairs with the event
 * loop's acquire, see output.h.  Caller holds the lock. */
static void
errand_count(struct writer *w, struct errand *e)
{
	if (e->counted)
		return;
	e->counted = true;
	atomic_fetch_sub_explicit(&e->output->errands, 1, memory_order_release);
	w->a.changed(w->a.arg);
}

void
errands_count(struct writer *w)
{
	if (w->errand)
		errand_count(w, w->errand);
	for (struct errand *e = w->errands; e; e = e->next)
		errand_count(w, e);
}

static void
errand_done(struct writer *w, struct errand *e)
{
	pthread_mutex_lock(&w->lock);
	errand_count(w, e);
	w->errand = NULL;
	pthread_mutex_unlock(&w->lock);
	output_drop(e->output);
	json_decref(e->tail);
	free(e);
	beat_now(&w->beat);
}

void
errands_do(struct writer *w)
{
	struct errand *e;

	while (!writer_hangs(w) && (e = errand_next(w))) {
		if (e->kind == ERRAND_BEGIN)
			folder_begin(w, e->output);
		else if (e->kind == ERRAND_SYNC)
			output_round(w, e->output);
		else
			folder_end(w, e);
		errand_done(w, e);
	}
}

static int
errand_post(struct writer *w, struct errand *e)
{
	output_hold(e->output);
	pthread_mutex_lock(&w->lock);
	*w->errands_end = e;
	w->errands_end = &e->next;
	if (w->facts.state == WRITER_HUNG)
		errand_count(w, e);
	pthread_cond_signal(&w->wake);
	if (w->taker)
		taker_poke(w->taker);
	pthread_mutex_unlock(&w->lock);
	return 0;
}

static int
errand_make(struct writer *w, struct output *o, enum errand_kind kind)
{
	struct errand *e = calloc(1, sizeof *e);

	if (!e)
		return -ENOMEM;
	e->output = o;
	e->kind = kind;
	return errand_post(w, e);
}

int
writer_begin(struct writer *w, struct output *o)
{
	return errand_make(w, o, ERRAND_BEGIN);
}

int
writer_sync(struct writer *w, struct output *o)
{
	return errand_make(w, o, ERRAND_SYNC);
}

int
writer_end(struct writer *w, struct output *o, const struct index_record *end,
	   json_t *tail)
{
	struct errand *e = calloc(1, sizeof *e);

	if (!e) {
		json_decref(tail);
		return -ENOMEM;
	}
	e->output = o;
	e->kind = ERRAND_END;
	e->endless = !end;
	if (end)
		e->record = *end;
	e->tail = tail;
	return errand_post(w, e);
}
