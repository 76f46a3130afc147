/* SPDX-License-Identifier: MIT */
/*
 * Two lists, both under one lock: chores to do, the first of which is running,
 * and finished chores that wait for the event loop.
 *
 * A rest as long as the work halves the load that a removal puts on a disk that
 * is also written.  Unlinking a 64M chunk takes 1-3 ms on ext4 and XFS, so 100
 * GB are still gone in seconds.
 */
#include "config.h"

#include "daemon/disks/chores.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "store/repair/protect.h"
#include "store/repair/removal.h"

enum { REST = 1, END_S = 2, NICE = 19 };

struct chores {
	void (*done)(void *arg);
	void *arg;
	atomic_bool stop;
	pthread_t thread;
	pthread_cond_t added;
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

/* Waits for the next chore, which stays in the list while it is done.  Returns
 * NULL at the end. */
static struct chore *
wait_next(struct chores *all)
{
	struct chore *c;

	pthread_mutex_lock(&all->lock);
	while (!all->todo && !atomic_load(&all->stop))
		pthread_cond_wait(&all->added, &all->lock);
	c = atomic_load(&all->stop) ? NULL : all->todo;
	pthread_mutex_unlock(&all->lock);
	return c;
}

static void
append(struct chore **list, struct chore *c)
{
	while (*list)
		list = &(*list)->next;
	c->next = NULL;
	*list = c;
}

static void *
run(void *arg)
{
	struct chores *all = arg;
	struct chore *c;

	pthread_setname_np(pthread_self(), "spate-chores");
	setpriority(PRIO_PROCESS, (id_t)gettid(), NICE);
	while ((c = wait_next(all))) {
		do_chore(all, c);
		pthread_mutex_lock(&all->lock);
		all->todo = c->next;
		append(&all->results, c);
		pthread_mutex_unlock(&all->lock);
		/* after a stop the caller's `arg` may be gone */
		if (!atomic_load(&all->stop))
			all->done(all->arg);
	}
	return NULL;
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
	pthread_cond_destroy(&all->added);
	free(all);
}

int
chores_start(struct chores **chores, void (*done)(void *arg), void *arg)
{
	struct chores *all = calloc(1, sizeof *all);
	int err;

	if (!all)
		return -ENOMEM;
	all->done = done;
	all->arg = arg;
	pthread_mutex_init(&all->lock, NULL);
	pthread_cond_init(&all->added, NULL);
	err = -pthread_create(&all->thread, NULL, run, all);
	if (err)
		free_chores(all);
	else
		*chores = all;
	return err;
}

void
chores_stop(struct chores *all)
{
	struct timespec until;

	if (!all)
		return;
	pthread_mutex_lock(&all->lock);
	atomic_store(&all->stop, true);
	pthread_cond_signal(&all->added);
	pthread_mutex_unlock(&all->lock);
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += END_S;
	if (!pthread_timedjoin_np(all->thread, NULL, &until)) {
		free_chores(all);
		return;
	}
	log_line(LEVEL_WARN, NULL,
		 "a disk hangs: what removes recordings is left behind");
	pthread_detach(all->thread);
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
	pthread_cond_signal(&all->added);
	pthread_mutex_unlock(&all->lock);
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
