/* SPDX-License-Identifier: MIT */
/*
 * The thread and the event loop share the catalogue, which has its own lock,
 * and two flags under the lock here.
 *
 * A hung disk holds the thread in the kernel for any length of time.  The
 * catalogue still answers with what it knows, and the daemon ends without
 * waiting: thread and catalogue are left to the end of the process.
 */
#include "config.h"

#include "daemon/disks/keeper.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/ease.h"
#include "base/log.h"

enum { PAUSE_S = 10, END_S = 2, NICE = 19 };

struct keeper {
	struct catalogue *catalogue;
	bool joined[FLEET_MOST]; /* by disk number: the catalogue knows it */
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t poke;
	bool poked, stop; /* under `lock` */
};

/* ---- the thread ------------------------------------------------------ */

/* Waits for a poke or the end of the pause.  Returns false if the thread is to
 * end. */
static bool
pause_over(struct keeper *k)
{
	struct timespec until;
	bool stop;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += PAUSE_S;
	pthread_mutex_lock(&k->lock);
	while (!k->poked && !k->stop) {
		if (pthread_cond_timedwait(&k->poke, &k->lock, &until))
			break;
	}
	k->poked = false;
	stop = k->stop;
	pthread_mutex_unlock(&k->lock);
	return !stop;
}

static void *
keep(void *arg)
{
	struct keeper *k = arg;

	pthread_setname_np(pthread_self(), "spate-keeper");
	ease_process();
	setpriority(PRIO_PROCESS, (id_t)gettid(), NICE);
	do
		catalogue_pass(k->catalogue);
	while (pause_over(k));
	return NULL;
}

/* ---- the event loop -------------------------------------------------- */

static void
poke(struct keeper *k, bool stop)
{
	pthread_mutex_lock(&k->lock);
	k->poked = true;
	k->stop |= stop;
	pthread_cond_signal(&k->poke);
	pthread_mutex_unlock(&k->lock);
}

static void
free_keeper(struct keeper *k)
{
	catalogue_free(k->catalogue);
	pthread_mutex_destroy(&k->lock);
	pthread_cond_destroy(&k->poke);
	free(k);
}

int
keeper_start(struct keeper **keeper)
{
	struct keeper *k = calloc(1, sizeof *k);
	pthread_condattr_t attr;
	int err;

	if (!k)
		return -ENOMEM;
	pthread_mutex_init(&k->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&k->poke, &attr);
	pthread_condattr_destroy(&attr);
	err = catalogue_make(&k->catalogue);
	if (!err)
		err = -pthread_create(&k->thread, NULL, keep, k);
	if (err)
		free_keeper(k);
	else
		*keeper = k;
	return err;
}

void
keeper_stop(struct keeper *k)
{
	struct timespec until;

	if (!k)
		return;
	catalogue_stop(k->catalogue);
	poke(k, true);
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += END_S;
	if (!pthread_timedjoin_np(k->thread, NULL, &until)) {
		free_keeper(k);
		return;
	}
	log_line(LEVEL_WARN, NULL,
		 "a disk hangs: what reads recordings is left behind");
	pthread_detach(k->thread);
}

struct catalogue *
keeper_catalogue(struct keeper *k)
{
	return k->catalogue;
}

void
keeper_step(struct keeper *k, const struct fleet *fleet)
{
	bool changed = false;

	for (unsigned i = 0; i < fleet->n; i++) {
		const struct disk *disk = &fleet->disk[i].disk;
		bool there = fleet_writer(fleet, i) != NULL;

		if (there == k->joined[i])
			continue;
		if (!there)
			catalogue_leave(k->catalogue, disk->path);
		else if (catalogue_join(k->catalogue, disk->path, disk->mount))
			continue;
		k->joined[i] = there;
		changed = true;
	}
	if (changed)
		poke(k, false);
}

void
keeper_poke(struct keeper *k)
{
	poke(k, false);
}

void
keeper_touch(struct keeper *k, const char *name)
{
	catalogue_touch(k->catalogue, name);
	poke(k, false);
}
