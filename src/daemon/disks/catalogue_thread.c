/* SPDX-License-Identifier: MIT */
/*
 * A hung disk holds the thread in the kernel for any length of time.  The
 * catalogue, which has its own lock, still answers with what it knows, and the
 * daemon ends without waiting: thread and catalogue are left to the end of the
 * process.
 */
#include "daemon/disks/catalogue_thread.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/ease.h"
#include "base/log.h"
#include "base/worker.h"

#define PAUSE (10 * NS_SECOND)
#define END   (2 * NS_SECOND)

struct catalogue_thread {
	struct catalogue *catalogue;
	struct worker *worker;
	bool joined[DISK_SET_MOST]; /* by disk number: the catalogue knows it */
};

static int64_t
pass(void *arg)
{
	struct catalogue_thread *k = arg;

	ease_process();
	catalogue_pass(k->catalogue);
	return PAUSE;
}

static void
free_thread(struct catalogue_thread *k)
{
	catalogue_free(k->catalogue);
	free(k);
}

int
catalogue_thread_start(struct catalogue_thread **catalogue)
{
	struct catalogue_thread *k = calloc(1, sizeof *k);
	struct worker_args worker = {
		.name = "spate-catalogue", .round = pass, .arg = k, .nice = true
	};
	int err;

	if (!k)
		return -ENOMEM;
	err = catalogue_make(&k->catalogue);
	if (!err)
		err = worker_start(&k->worker, &worker);
	if (err)
		free_thread(k);
	else
		*catalogue = k;
	return err;
}

void
catalogue_thread_stop(struct catalogue_thread *k)
{
	if (!k)
		return;
	catalogue_stop(k->catalogue);
	if (worker_stop(k->worker, END))
		free_thread(k);
	else
		log_line(LEVEL_WARN, NULL,
			 "a disk does not answer: the thread that reads "
			 "recordings is left behind");
}

struct catalogue *
catalogue_thread_get(struct catalogue_thread *k)
{
	return k->catalogue;
}

void
catalogue_thread_step(struct catalogue_thread *k, const struct disk_set *set)
{
	bool changed = false;

	for (unsigned i = 0; i < set->n; i++) {
		const struct disk *disk = &set->disk[i].disk;
		bool there = disk_set_writer(set, i) != NULL;

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
		worker_poke(k->worker);
}

void
catalogue_thread_poke(struct catalogue_thread *k)
{
	worker_poke(k->worker);
}

void
catalogue_thread_touch(struct catalogue_thread *k, const char *name)
{
	catalogue_touch(k->catalogue, name);
	worker_poke(k->worker);
}
