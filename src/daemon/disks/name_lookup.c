/* SPDX-License-Identifier: MIT */
/*
 * One lookup at a time, by a worker.  Its thread owns the question while
 * `busy`, so that nothing must be freed or copied when the caller has given up
 * waiting.  While the thread is stuck no other lookup starts.
 */
#include "daemon/disks/name_lookup.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/worker.h"
#include "store/disk/layout.h"

#define PATIENCE (NS_SECOND / 2)
#define END	 (2 * NS_SECOND)

struct name_lookup {
	struct worker *worker;
	pthread_mutex_t lock; /* over the fields below */
	bool busy;
	char name[LAYOUT_FILE];
	char *path[DISK_SET_MOST];
	unsigned n;
	bool has[DISK_SET_MOST];
	unsigned looked;
};

/* ---- the thread ------------------------------------------------------ */

/* True if the disk has this name, in any layout.  With an empty name: true if
 * the disk answers without an error. */
static bool
is_on_disk(const char *disk, const char *name)
{
	char path[4096], dir[LAYOUT_FILE];
	struct statvfs space;
	struct stat folder;
	bool is = false;

	/* Both: some file systems answer one from what they remember. */
	if (!*name)
		return !statvfs(disk, &space) && !stat(disk, &folder);
	for (int i = 0; i < LAYOUTS; i++) {
		snprintf(path, sizeof path, "%s/%s", disk,
			 layout_dir(dir, name, (enum layout)i));
		is |= access(path, F_OK) == 0;
	}
	return is;
}

static int64_t
look(void *arg)
{
	struct name_lookup *s = arg;

	pthread_mutex_lock(&s->lock);
	while (s->looked < s->n && !worker_stops(s->worker)) {
		unsigned i = s->looked;
		bool has;

		pthread_mutex_unlock(&s->lock);
		has = is_on_disk(s->path[i], s->name);
		pthread_mutex_lock(&s->lock);
		s->has[i] = has;
		s->looked++;
	}
	s->busy = false;
	pthread_mutex_unlock(&s->lock);
	return WORKER_RESTS;
}

/* ---- the caller ------------------------------------------------------ */

/* Sets the question; call with the lock held, while the thread is idle. */
static void
ask(struct name_lookup *s, const struct name_lookup_disks *disks,
    const char *name)
{
	for (unsigned i = 0; i < s->n; i++)
		free(s->path[i]);
	s->looked = 0;
	for (s->n = 0; s->n < disks->n; s->n++) {
		s->path[s->n] = strdup(disks->path[s->n]);
		if (!s->path[s->n])
			/* no memory: the remaining disks are not looked at */
			break;
	}
	snprintf(s->name, sizeof s->name, "%s", name);
	s->busy = true;
}

unsigned
name_lookup_find(struct name_lookup *s, const struct name_lookup_disks *disks,
		 const char *name, bool has[DISK_SET_MOST])
{
	unsigned looked;
	bool busy;

	pthread_mutex_lock(&s->lock);
	busy = s->busy;
	if (!busy)
		ask(s, disks, name);
	pthread_mutex_unlock(&s->lock);
	if (busy)
		return 0;
	worker_wait(s->worker, worker_poke(s->worker), PATIENCE);
	pthread_mutex_lock(&s->lock);
	looked = s->looked;
	memcpy(has, s->has, looked * sizeof *has);
	if (s->busy)
		log_line(LEVEL_WARN, s->path[looked],
			 "the disk does not answer; what was known of it has "
			 "to do");
	pthread_mutex_unlock(&s->lock);
	return looked;
}

bool
name_lookup_answers(struct name_lookup *s, const char *path)
{
	const struct name_lookup_disks one = { .path = { path }, .n = 1 };
	bool has[DISK_SET_MOST];

	return name_lookup_find(s, &one, "", has) == 1;
}

/* ---- starting and stopping ------------------------------------------- */

static void
name_lookup_free(struct name_lookup *s)
{
	for (unsigned i = 0; i < s->n; i++)
		free(s->path[i]);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

int
name_lookup_start(struct name_lookup **lookup)
{
	struct name_lookup *s = calloc(1, sizeof *s);
	struct worker_args worker = { .name = "spate-lookup",
				      .round = look,
				      .arg = s,
				      .first = WORKER_RESTS };
	int err;

	if (!s)
		return -ENOMEM;
	pthread_mutex_init(&s->lock, NULL);
	err = worker_start(&s->worker, &worker);
	if (err)
		name_lookup_free(s);
	else
		*lookup = s;
	return err;
}

void
name_lookup_stop(struct name_lookup *s)
{
	if (s && worker_stop(s->worker, END))
		name_lookup_free(s);
}
