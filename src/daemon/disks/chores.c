/* SPDX-License-Identifier: MIT */
/*
 * Two lists, both under one lock: chores to do, the first of which is running,
 * and finished chores that wait for the event loop.
 *
 * A rest as long as the work halves the load that a removal puts on a disk that
 * is also written.  Unlinking a 64M chunk takes 1-3 ms on ext4 and XFS, so 100
 * GB are still gone in seconds.
 */
#include "daemon/disks/chores.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/worker.h"
#include "store/repair/protect.h"
#include "store/repair/removal.h"

enum { REST = 1 };
#define END (2 * NS_SECOND)

struct chores {
	void (*done)(void *arg);
	void *arg;
	atomic_bool stop; /* cuts a removal short */
	struct worker *worker;
	pthread_mutex_t lock;	      /* over the two lists */
	struct chore *todo, *results; /* oldest first */
};

void
chore_free(struct chore *c)
{
	json_decref(c->result);
	disks_clear(&c->disks);
	free(c);
}

/* ---- the thread ------------------------------------------------------ */

static int
remove_it(struct chores *all, struct chore *c)
{
	const struct removal_pace pace = { .rest = REST, .stop = &all->stop };
	struct removal *r;
	int err = removal_open(&r, &c->disks, c->name, &c->fault);

	if (err)
		return err;
	if (c->kind == CHORE_REMOVE)
		err = removal_run(r, c->force, &pace, &c->fault);
	if (!err)
		c->result = removal_json(r);
	removal_close(r);
	return err;
}

static void
do_chore(struct chores *all, struct chore *c)
{
	for (unsigned i = 0; i < c->disks.n; i++)
		disk_open(&c->disks.disk[i]);
	if (c->kind == CHORE_LOOK || c->kind == CHORE_REMOVE)
		c->err = remove_it(all, c);
	else
		c->err =
		    protect_set(&c->disks, c->name, c->kind == CHORE_PROTECT,
				&c->result, &c->fault);
	for (unsigned i = 0; i < c->disks.n; i++)
		disk_close(&c->disks.disk[i]);
}

static void
append(struct chore **list, struct chore *c)
{
	while (*list)
		list = &(*list)->next;
	c->next = NULL;
	*list = c;
}

/* Does the first chore, which stays in its list meanwhile. */
static int64_t
do_first(void *arg)
{
	struct chores *all = arg;
	struct chore *c;
	bool more;

	pthread_mutex_lock(&all->lock);
	c = all->todo;
	pthread_mutex_unlock(&all->lock);
	if (!c)
		return WORKER_RESTS;
	do_chore(all, c);
	pthread_mutex_lock(&all->lock);
	all->todo = c->next;
	more = all->todo;
	append(&all->results, c);
	pthread_mutex_unlock(&all->lock);
	/* after a stop the caller's `arg` may be gone */
	if (!atomic_load(&all->stop))
		all->done(all->arg);
	return more ? 0 : WORKER_RESTS;
}

/* ---- the event loop -------------------------------------------------- */

static void
free_list(struct chore *list)
{
	struct chore *next;

	for (; list; list = next) {
		next = list->next;
		chore_free(list);
	}
}

static void
free_chores(struct chores *all)
{
	free_list(all->todo);
	free_list(all->results);
	pthread_mutex_destroy(&all->lock);
	free(all);
}

int
chores_start(struct chores **chores, void (*done)(void *arg), void *arg)
{
	struct chores *all = calloc(1, sizeof *all);
	struct worker_args worker = { .name = "spate-chores",
				      .round = do_first,
				      .arg = all,
				      .first = WORKER_RESTS,
				      .nice = true };
	int err;

	if (!all)
		return -ENOMEM;
	all->done = done;
	all->arg = arg;
	pthread_mutex_init(&all->lock, NULL);
	err = worker_start(&all->worker, &worker);
	if (err)
		free_chores(all);
	else
		*chores = all;
	return err;
}

void
chores_stop(struct chores *all)
{
	if (!all)
		return;
	atomic_store(&all->stop, true);
	if (worker_stop(all->worker, END))
		free_chores(all);
	else
		log_line(LEVEL_WARN, NULL,
			 "a disk hangs: what removes recordings is left "
			 "behind");
}

int
chores_add(struct chores *all, const struct chore *chore,
	   const struct fleet *fleet)
{
	struct chore *c = malloc(sizeof *c);

	if (!c)
		return -ENOMEM;
	*c = *chore;
	c->disks = (struct disks){ 0 };
	if (fleet_disks(fleet, &c->disks)) {
		chore_free(c);
		return -ENOMEM;
	}
	pthread_mutex_lock(&all->lock);
	append(&all->todo, c);
	pthread_mutex_unlock(&all->lock);
	worker_poke(all->worker);
	return 0;
}

struct chore *
chores_take(struct chores *all)
{
	struct chore *c;

	pthread_mutex_lock(&all->lock);
	c = all->results;
	if (c)
		all->results = c->next;
	pthread_mutex_unlock(&all->lock);
	return c;
}
