/* SPDX-License-Identifier: MIT */
/*
 * How a disk leaves, and comes back.
 *
 * A disk that fails takes no more blocks: it gives up its place in the queue,
 * and the others take what it would have got.  Only a new recording makes it
 * try again, because a disk that failed a moment ago would fail the next
 * block too, and each try costs that block a detour.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "flow/writer_priv.h"

void
writer_state_set(struct writer *w, enum writer_state state)
{
	pthread_mutex_lock(&w->lock);
	w->facts.state = state;
	pthread_mutex_unlock(&w->lock);
}

void
writer_facts(struct writer *w, struct writer_facts *facts)
{
	pthread_mutex_lock(&w->lock);
	*facts = w->facts;
	pthread_mutex_unlock(&w->lock);
}

const char *
writer_path(const struct writer *w)
{
	return w->disk.path;
}

void
writer_space_look(struct writer *w)
{
	bool closed = w->disk.fd < 0;
	struct disk_space space = { 0, 0 };

	if (closed)
		disk_open(&w->disk);
	disk_space(&w->disk, &space);
	if (closed)
		disk_close(&w->disk);
	pthread_mutex_lock(&w->lock);
	w->facts.space = space;
	w->facts.device = w->disk.device;
	pthread_mutex_unlock(&w->lock);
}

/* Nobody is left to write: what waits is lost, and counted. */
static void
rest_lose(struct writer *w)
{
	struct block *b;

	while ((b = queue_rest(w->queue))) {
		output_seal(b->session, b);
		output_lost(b->session, b);
	}
}

void
writer_queue_leave(struct writer *w)
{
	struct taker *t = w->taker;
	bool last;

	pthread_mutex_lock(&w->lock);
	w->taker = NULL;
	pthread_mutex_unlock(&w->lock);
	if (!t)
		return;
	taker_leave(t, &last);
	if (last)
		rest_lose(w);
}

static int
queue_join(struct writer *w)
{
	struct taker *t;
	int err = w->taker ? 0 : taker_join(&t, w->queue);

	if (err || w->taker)
		return err;
	pthread_mutex_lock(&w->lock);
	w->taker = t;
	pthread_mutex_unlock(&w->lock);
	return 0;
}

void
writer_disk_leave(struct writer *w, int err, const char *doing)
{
	enum writer_state state = err == -ENOSPC ? WRITER_FULL
				  : err == -ENOENT || err == -ENODEV
				      ? WRITER_MISSING
				      : WRITER_FAILED;

	pthread_mutex_lock(&w->lock);
	w->facts.state = state;
	w->facts.errors++;
	snprintf(w->facts.why, sizeof w->facts.why, "cannot %s: %s", doing,
		 err == -ENOSPC	  ? "no space above the reserve"
		 : err == -ENODEV ? "nothing is mounted there"
				  : strerror(-err));
	pthread_mutex_unlock(&w->lock);
	log_line(LOG_ERROR, w->disk.path,
		 "%s; the disk is left alone until the next recording",
		 w->facts.why);
	writer_queue_leave(w);
	w->a.changed(w->a.arg);
}

int
writer_disk_try(struct writer *w)
{
	int err = disk_open(&w->disk);

	if (err) {
		writer_disk_leave(w, err, "open the folder");
		return err;
	}
	err = chunk_maker_probe(&w->maker, &w->disk);
	if (err) {
		writer_disk_leave(w, err, "write to it");
		return err;
	}
	err = queue_join(w);
	if (err)
		return err;
	pthread_mutex_lock(&w->lock);
	w->facts.state = WRITER_IDLE;
	w->facts.why[0] = 0;
	w->facts.way = w->maker.way->ops->head.name;
	pthread_mutex_unlock(&w->lock);
	writer_space_look(w);
	return 0;
}
