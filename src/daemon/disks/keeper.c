/* SPDX-License-Identifier: MIT */
/*
 * A hung disk holds the thread in the kernel for any length of time.  The
 * catalogue, which has its own lock, still answers with what it knows, and the
 * daemon ends without waiting: thread and catalogue are left to the end of the
 * process.
 */
#include "daemon/disks/keeper.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/ease.h"
#include "base/log.h"
#include "base/worker.h"

#define PAUSE (10 * NS_SECOND)
#define END   (2 * NS_SECOND)

struct keeper {
	struct catalogue *catalogue;
	struct worker *worker;
	bool joined[FLEET_MOST]; /* by disk number: the catalogue knows it */
};

static int64_t
pass(void *arg)
{
	struct keeper *k = arg;

	ease_process();
	catalogue_pass(k->catalogue);
	return PAUSE;
}

static void
free_keeper(struct keeper *k)
{
	catalogue_free(k->catalogue);
	free(k);
}

int
keeper_start(struct keeper **keeper)
{
	struct keeper *k = calloc(1, sizeof *k);
	struct worker_args worker = {
		.name = "spate-keeper", .round = pass, .arg = k, .nice = true
	};
	int err;

	if (!k)
		return -ENOMEM;
	err = catalogue_make(&k->catalogue);
	if (!err)
		err = worker_start(&k->worker, &worker);
	if (err)
		free_keeper(k);
	else
		*keeper = k;
	return err;
}

void
keeper_stop(struct keeper *k)
{
	if (!k)
		return;
	catalogue_stop(k->catalogue);
	if (worker_stop(k->worker, END))
		free_keeper(k);
	else
		log_line(LEVEL_WARN, NULL,
			 "a disk hangs: what reads recordings is left behind");
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
		worker_poke(k->worker);
}

void
keeper_poke(struct keeper *k)
{
	worker_poke(k->worker);
}

void
keeper_touch(struct keeper *k, const char *name)
{
	catalogue_touch(k->catalogue, name);
	worker_poke(k->worker);
}
