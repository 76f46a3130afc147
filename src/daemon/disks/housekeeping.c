/* SPDX-License-Identifier: MIT */
/*
 * Two lists, both under one lock: jobs to do, the first of which is running,
 * and finished jobs that wait for the event loop.
 *
 * A rest as long as the work halves the load that a removal puts on a disk that
 * is also written.  Unlinking a 64M chunk takes 1-3 ms on ext4 and XFS, so 100
 * GB are still gone in seconds.
 */
#include "daemon/disks/housekeeping.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/worker.h"
#include "store/repair/protect.h"
#include "store/repair/quality_file.h"
#include "store/repair/removal.h"

enum {
	REST = 1,
	LINES_MOST = 64, /* jobs with lines of quality files that wait */
};
#define END (2 * NS_SECOND)

struct housekeeping {
	void (*done)(void *arg);
	void *arg;
	atomic_bool stop; /* cuts a removal short */
	struct worker *worker;
	pthread_mutex_t lock;			 /* over the two lists */
	struct housekeeping_job *todo, *results; /* oldest first */
};

void
housekeeping_free(struct housekeeping_job *c)
{
	json_decref(c->result);
	disks_clear(&c->disks);
	free(c->lines);
	free(c);
}

/* ---- the thread ------------------------------------------------------ */

static int
remove_it(struct housekeeping *all, struct housekeeping_job *c)
{
	const struct removal_pace pace = { .rest = REST, .stop = &all->stop };
	struct removal *r;
	int err = removal_open(&r, &c->disks, c->name, &c->fault);

	if (err)
		return err;
	if (c->kind == HOUSEKEEPING_REMOVE)
		err = removal_run(r, c->force, &pace, &c->fault);
	if (!err)
		c->result = removal_json(r);
	removal_close(r);
	return err;
}

static void
do_job(struct housekeeping *all, struct housekeeping_job *c)
{
	for (unsigned i = 0; i < c->disks.n; i++)
		disk_open(&c->disks.disk[i]);
	if (c->kind == HOUSEKEEPING_LOOK || c->kind == HOUSEKEEPING_REMOVE)
		c->err = remove_it(all, c);
	else if (c->kind == HOUSEKEEPING_QUALITY)
		c->err = quality_file_append(&c->disks, c->name, c->lines,
					     strlen(c->lines), &c->fault);
	else
		c->err = protect_set(&c->disks, c->name,
				     c->kind == HOUSEKEEPING_PROTECT,
				     &c->result, &c->fault);
	for (unsigned i = 0; i < c->disks.n; i++)
		disk_close(&c->disks.disk[i]);
}

static void
append(struct housekeeping_job **list, struct housekeeping_job *c)
{
	while (*list)
		list = &(*list)->next;
	c->next = NULL;
	*list = c;
}

/* After a stop only what was found of a signal is still written. */
static bool
is_dropped(struct housekeeping *all, const struct housekeeping_job *c)
{
	return atomic_load(&all->stop) && c->kind != HOUSEKEEPING_QUALITY;
}

/* Does the first job, which stays in its list meanwhile. */
static int64_t
do_first(void *arg)
{
	struct housekeeping *all = arg;
	struct housekeeping_job *c;
	bool more;

	pthread_mutex_lock(&all->lock);
	c = all->todo;
	pthread_mutex_unlock(&all->lock);
	if (!c)
		return WORKER_RESTS;
	if (!is_dropped(all, c))
		do_job(all, c);
	pthread_mutex_lock(&all->lock);
	all->todo = c->next;
	more = all->todo;
	append(&all->results, c);
	pthread_mutex_unlock(&all->lock);
	/* after a stop the caller's `arg` may be gone */
	if (!atomic_load(&all->stop))
		all->done(all->arg);
	if (more && atomic_load(&all->stop))
		return do_first(arg);
	return more ? 0 : WORKER_RESTS;
}

/* ---- the event loop -------------------------------------------------- */

static void
free_list(struct housekeeping_job *list)
{
	struct housekeeping_job *next;

	for (; list; list = next) {
		next = list->next;
		housekeeping_free(list);
	}
}

static void
free_all(struct housekeeping *all)
{
	free_list(all->todo);
	free_list(all->results);
	pthread_mutex_destroy(&all->lock);
	free(all);
}

int
housekeeping_start(struct housekeeping **h, void (*done)(void *arg), void *arg)
{
	struct housekeeping *all = calloc(1, sizeof *all);
	struct worker_args worker = { .name = "spate-removals",
				      .round = do_first,
				      .arg = all,
				      .first = WORKER_RESTS,
				      .nice = true,
				      .finishes = true };
	int err;

	if (!all)
		return -ENOMEM;
	all->done = done;
	all->arg = arg;
	pthread_mutex_init(&all->lock, NULL);
	err = worker_start(&all->worker, &worker);
	if (err)
		free_all(all);
	else
		*h = all;
	return err;
}

void
housekeeping_stop(struct housekeeping *all)
{
	if (!all)
		return;
	atomic_store(&all->stop, true);
	if (worker_stop(all->worker, END))
		free_all(all);
	else
		log_line(LEVEL_WARN, NULL,
			 "a disk does not answer: the thread that removes "
			 "recordings is left behind");
}

/* True if the disk to which quality files are written does not keep up. */
static bool
is_full(struct housekeeping *all)
{
	unsigned n = 0;

	pthread_mutex_lock(&all->lock);
	for (const struct housekeeping_job *c = all->todo; c; c = c->next)
		n += c->kind == HOUSEKEEPING_QUALITY;
	pthread_mutex_unlock(&all->lock);
	return n >= LINES_MOST;
}

int
housekeeping_add(struct housekeeping *all, const struct housekeeping_job *job,
		 const struct disk_set *set)
{
	struct housekeeping_job *c = malloc(sizeof *c);

	if (!c) {
		free(job->lines);
		return -ENOMEM;
	}
	*c = *job;
	c->disks = (struct disks){ 0 };
	if (c->lines && is_full(all)) {
		housekeeping_free(c);
		return -EBUSY;
	}
	if (disk_set_copy(set, &c->disks, NULL)) {
		housekeeping_free(c);
		return -ENOMEM;
	}
	pthread_mutex_lock(&all->lock);
	append(&all->todo, c);
	pthread_mutex_unlock(&all->lock);
	worker_poke(all->worker);
	return 0;
}

struct housekeeping_job *
housekeeping_take(struct housekeeping *all)
{
	struct housekeeping_job *c;

	pthread_mutex_lock(&all->lock);
	c = all->results;
	if (c)
		all->results = c->next;
	pthread_mutex_unlock(&all->lock);
	return c;
}
