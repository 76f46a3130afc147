/* SPDX-License-Identifier: MIT */
/*
 * A disk's thread.
 *
 * Whatever happens to a disk happens to this thread alone: a write that
 * takes a second delays this disk's next block, and the queue gives the
 * others more.  The thread does, in this order and one at a time,
 *
 *   errands   begin and end a recording's folder here; a block that is
 *             faster than its errand makes the folder itself
 *   a block   chunk.c writes it
 *   rounds    fdatasync the chunks, fsync the folder, name them in the
 *             index; when the oldest is `durable` old, or at the end
 *
 * A block goes home as soon as it is written: memory does not wait for a
 * round.  What a round then fails to make durable is counted as unwritten.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "flow/writer_priv.h"

/* ---- rounds ---------------------------------------------------------- */

static void
round_do(struct writer *w, struct leaf *leaf)
{
	int err = leaf_sync(leaf);

	if (err && w->taker)
		writer_disk_leave(w, err, "make it durable");
}

/* Chunks that wait for their round are open files. */
static bool
files_used_up(const struct writer *w)
{
	unsigned files = 0;

	for (const struct leaf *l = w->leaves; l; l = l->next)
		files += l->fds;
	return files >= w->a.files;
}

/* Does those that are due by now; returns when to ask again. */
static int64_t
rounds_do(struct writer *w, int64_t now)
{
	int64_t next = clock_steady() + 1000000000;

	if (files_used_up(w))
		now = INT64_MAX;
	for (struct leaf *l = w->leaves; l; l = l->next) {
		int64_t due = leaf_due(l);

		if (due <= now)
			round_do(w, l);
		else if (due < next)
			next = due;
	}
	return next;
}

/* ---- blocks ---------------------------------------------------------- */

static struct leaf *
leaf_find(struct writer *w, const struct output *o)
{
	struct leaf *l = w->leaves;

	while (l && l->output != o)
		l = l->next;
	return l;
}

static int
leaf_make(struct writer *w, struct output *o, struct leaf **leaf)
{
	int err = w->disk.fd >= 0 ? 0 : disk_open(&w->disk);

	if (!err)
		err = leaf_open(leaf, &w->disk, o);
	if (err)
		return err;
	(*leaf)->next = w->leaves;
	w->leaves = *leaf;
	return 0;
}

/* Another disk may have it; without another one it is lost. */
static void
block_give_back(struct writer *w, struct block *b)
{
	if (queue_put(w->queue, b, true) < 0)
		output_lost(b->session, b);
}

static void
block_write(struct writer *w, struct block *b)
{
	struct output *o = b->session;
	struct leaf *leaf = leaf_find(w, o);
	int64_t since = clock_steady();
	uint64_t bytes;
	int err;

	output_seal(o, b);
	bytes = block_bytes(b); /* of heaps, only then */
	/* None where the block was faster than the errand, or the disk came
	 * back after this recording had begun. */
	err = leaf ? 0 : leaf_make(w, o, &leaf);
	if (!err)
		err = chunk_write(&w->maker, &w->disk, leaf, b);
	if (err) {
		writer_disk_leave(w, err, "write a chunk");
		block_give_back(w, b);
		rounds_do(w, INT64_MAX);
		return;
	}
	pthread_mutex_lock(&w->lock);
	w->facts.written += bytes;
	w->facts.chunks++;
	pthread_mutex_unlock(&w->lock);
	writer_took(w, bytes, clock_steady() - since);
	output_written(o, b, w->a.number);
	writer_space_look(w);
}

/* ---- errands --------------------------------------------------------- */

static void
folder_begin(struct writer *w, struct output *o)
{
	struct leaf *leaf;
	int err = w->taker && w->disk.fd >= 0 ? 0 : writer_disk_try(w);

	/* A block may have been faster than this errand. */
	if (err || leaf_find(w, o))
		return;
	err = leaf_make(w, o, &leaf);
	if (err)
		writer_disk_leave(w, err, "make the recording's folder");
}

static void
folder_end(struct writer *w, struct errand *e)
{
	struct leaf *leaf = leaf_find(w, e->output), **at;
	int err;

	if (!leaf)
		return;
	for (at = &w->leaves; *at != leaf; at = &(*at)->next)
		;
	*at = leaf->next;
	err = leaf_close(leaf, &e->record, e->tail);
	if (err && w->taker)
		writer_disk_leave(w, err, "close the recording");
	if (!w->leaves)
		disk_close(&w->disk); /* it may be unmounted now */
}

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
	pthread_mutex_unlock(&w->lock);
	return e;
}

static void
errands_do(struct writer *w)
{
	struct errand *e;

	while ((e = errand_next(w))) {
		if (e->end)
			folder_end(w, e);
		else
			folder_begin(w, e->output);
		atomic_fetch_sub_explicit(&e->output->errands, 1,
					  memory_order_release);
		w->a.changed(w->a.arg);
		json_decref(e->tail);
		free(e);
	}
}

static int
errand_post(struct writer *w, struct errand *e)
{
	pthread_mutex_lock(&w->lock);
	*w->errands_end = e;
	w->errands_end = &e->next;
	pthread_cond_signal(&w->wake);
	if (w->taker)
		taker_poke(w->taker);
	pthread_mutex_unlock(&w->lock);
	return 0;
}

int
writer_begin(struct writer *w, struct output *o)
{
	struct errand *e = calloc(1, sizeof *e);

	if (!e)
		return -ENOMEM;
	e->output = o;
	return errand_post(w, e);
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
	e->end = true;
	e->record = *end;
	e->tail = tail;
	return errand_post(w, e);
}

/* ---- the thread ------------------------------------------------------ */

static bool
stopped(struct writer *w)
{
	bool stop;

	pthread_mutex_lock(&w->lock);
	stop = w->stop && !w->errands;
	pthread_mutex_unlock(&w->lock);
	return stop;
}

/* While it is recorded to, errors tell. */
static void
retry_do(struct writer *w)
{
	bool retry;

	pthread_mutex_lock(&w->lock);
	retry = w->retry;
	w->retry = false;
	pthread_mutex_unlock(&w->lock);
	if (!retry || (w->leaves && w->taker))
		return;
	writer_disk_try(w);
	if (!w->leaves)
		disk_close(&w->disk);
}

/* Without a place in the queue there is nothing to do but errands. */
static void
rest(struct writer *w)
{
	pthread_mutex_lock(&w->lock);
	while (!w->errands && !w->stop && !w->retry)
		pthread_cond_wait(&w->wake, &w->lock);
	pthread_mutex_unlock(&w->lock);
}

static bool
work(struct writer *w)
{
	int64_t next = rounds_do(w, clock_steady());
	struct block *b;
	int err;

	if (!w->taker)
		return true;
	writer_rank(w, 0);
	err = queue_take(w->taker, &b, next);
	if (err == -ETIMEDOUT)
		writer_space_look(w);
	if (err == 0) {
		writer_state_set(w, WRITER_WRITING);
		block_write(w, b);
		if (w->taker)
			writer_state_set(w, WRITER_IDLE);
	}
	return err != -EPIPE;
}

static void *
writer_run(void *arg)
{
	struct writer *w = arg;
	struct leaf *l;
	bool on = true;

	pthread_setname_np(pthread_self(), "spate-write");
	writer_disk_try(w);
	disk_close(&w->disk);
	while (on && !stopped(w)) {
		errands_do(w);
		retry_do(w);
		if (w->taker)
			on = work(w);
		else
			rest(w);
	}
	writer_queue_leave(w);
	while ((l = w->leaves)) {
		w->leaves = l->next;
		leaf_close(l, NULL, NULL);
	}
	disk_close(&w->disk);
	chunk_maker_finish(&w->maker);
	pthread_mutex_lock(&w->lock);
	w->finished = true;
	pthread_mutex_unlock(&w->lock);
	w->a.changed(w->a.arg);
	return NULL;
}

int
writer_start(struct writer **writer, const struct writer_args *args)
{
	struct writer *w = calloc(1, sizeof *w);
	int err;

	if (!w)
		return -ENOMEM;
	w->a = *args;
	w->disk = *args->disk;
	w->disk.fd = -1;
	w->queue = args->queue;
	w->errands_end = &w->errands;
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->wake, NULL);
	chunk_maker_init(&w->maker, args->disk->path, args->way, args->ways);
	/* Here, and not on the thread: blocks may come before it has tried
	 * its disk, and have somebody to wait for. */
	err = taker_join(&w->taker, w->queue);
	if (!err)
		err = -pthread_create(&w->thread, NULL, writer_run, w);
	if (err) {
		writer_queue_leave(w);
		pthread_cond_destroy(&w->wake);
		pthread_mutex_destroy(&w->lock);
		free(w);
		return err;
	}
	*writer = w;
	return 0;
}

void
writer_stop(struct writer *w)
{
	pthread_mutex_lock(&w->lock);
	w->stop = true;
	pthread_cond_signal(&w->wake);
	if (w->taker)
		taker_poke(w->taker);
	pthread_mutex_unlock(&w->lock);
	pthread_join(w->thread, NULL);
	pthread_cond_destroy(&w->wake);
	pthread_mutex_destroy(&w->lock);
	free(w);
}
