/* SPDX-License-Identifier: MIT */
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
#include "flow/write/writer_priv.h"

#include <errno.h>
#include <stddef.h>

#include "base/clock.h"
#include "base/log.h"

/* ---- the end of a load ----------------------------------------------- */

static void
remove_it(struct writer *w, struct load *l)
{
	int err = l->begun ? chunk_remove(&l->chunk) : 0;

	l->begun = false;
	if (err && err != -ENOENT && l->chunk.place.own)
		doom_add(w, &l->chunk);
}

enum claim { CLAIM_MINE, CLAIM_AWAY, CLAIM_GIVEN_UP };

/*
 * Empties the load and says what its block has become.  MINE: this thread
 * accounts for it; AWAY: another disk has it; GIVEN_UP: it was counted as lost.
 * A written chunk that is not AWAY is added to the disk recording under the same lock, so
 * that the event loop sees the block either in the load or in the disk recording, and can
 * no longer give it away.
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

/* Returns the block to the queue: another disk may take it, or this one when it
 * is back.  Lost if the queue was aborted. */
static void
give_back(struct writer *w, struct output *o, struct block *b)
{
	if (queue_put(w->queue, b, true) < 0)
		output_lost(o, b);
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
	if (is == CLAIM_MINE)
		output_written(l->output, b, w->a.number);
	else
		output_regain(l->output, b, w->a.number);
}

static void
load_failed(struct writer *w, struct load *l, struct block *b, int err)
{
	enum claim is;

	if (err == -ENOSPC)
		w->need = block_bytes(b);
	remove_it(w, l);
	is = claim(w, l, false);
	/* -ECANCELED: the block was given away; the disk did nothing wrong. */
	if (err != -ECANCELED)
		writer_disk_leave(w, err, "write a chunk");
	if (is == CLAIM_MINE)
		give_back(w, l->output, b);
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

/* Begins the chunk.  The disk recording may be missing: the block came before the begin
 * job, or the disk came back after the recording had begun. */
static int
load_begin(struct writer *w, struct load *l)
{
	int err = writer_recording(w, l->output, &l->chunk.rec);

	if (!err)
		err = chunk_begin(&l->chunk, &w->plugins, &w->disk);
	l->begun = !err;
	return err;
}

void
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
	beat_now(&w->beat);
	if (w->facts.state == WRITER_IDLE)
		w->facts.state = WRITER_WRITING;
	pthread_mutex_unlock(&w->lock);
	err = load_begin(w, l);
	beat_now(&w->beat);
	if (err)
		load_end(w, l, err);
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
			     l->chunk.plugin != &w->plugins.main ||
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
load_of(struct file_write *job)
{
	struct chunk *c = chunk_of(job);

	return (struct load *)((char *)c - offsetof(struct load, chunk));
}

static bool
ends(struct writer *w, struct disk_plugin *plugin)
{
	struct file_write *job;
	bool any = false;

	if (!plugin->is)
		return false;
	writes_push(&plugin->writes);
	while ((job = writes_done(&plugin->writes))) {
		struct load *l = load_of(job);
		int err = chunk_end(&l->chunk);

		beat_now(&w->beat);
		load_end(w, l, err);
		any = true;
	}
	return any;
}

void
loads_step(struct writer *w)
{
	bool any;

	if (has_room(w))
		second_take(w);
	any = ends(w, &w->plugins.beside);
	any |= ends(w, &w->plugins.main);
	if (any || !w->loads)
		return;
	writes_wait(&w->plugins.beside.writes);
	writes_wait(&w->plugins.main.writes);
}
