/* SPDX-License-Identifier: MIT */
/*
 * A lookup is done by a worker, which owns the question while `busy`, so that
 * nothing must be freed or copied when the caller has given up waiting.  A
 * worker that is stuck in a disk is left to it: that disk is not asked again
 * until it answers, and another worker takes the next lookup.  A worker whose
 * disk answers again takes lookups again.
 */
#include "daemon/disks/name_lookup.h"

#include <errno.h>
#include <fcntl.h>
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
#include "store/disk/disk.h"
#include "store/disk/file.h"
#include "store/disk/layout.h"

#define PATIENCE (NS_SECOND / 2)
#define END	 (2 * NS_SECOND)

enum { LOOKERS = 8 };

struct looker {
	struct worker *worker;
	pthread_mutex_t lock; /* over the fields below */
	bool busy;
	char name[LAYOUT_FILE];
	char *path[DISK_SET_MOST];
	unsigned n;
	bool has[DISK_SET_MOST];
	unsigned looked;
	struct disk_looked found; /* of a remote disk, without a name */
};

struct name_lookup { /* used by the caller's thread */
	struct looker *looker[LOOKERS];
	unsigned n;
};

/* ---- the thread ------------------------------------------------------ */

static bool
is_on_remote(const char *disk, const char *name)
{
	int fd = disk_folder_open(disk);
	char dir[LAYOUT_FILE];
	bool is = false;

	for (int i = 0; fd >= 0 && i < LAYOUTS && !is; i++)
		is = !file_access_at(fd, layout_dir(dir, name, (enum layout)i),
				     F_OK, AT_SYMLINK_NOFOLLOW);
	if (fd >= 0)
		file_close(fd);
	return is;
}

/* True if the disk has this name, in any layout.  With an empty name: true if
 * the disk answers without an error, and *found is what it said if it is
 * remote. */
static bool
is_on_disk(const char *disk, const char *name, struct disk_looked *found)
{
	char path[4096], dir[LAYOUT_FILE];
	struct statvfs space;
	struct stat folder;
	bool is = false;

	if (remote_is_path(disk) && !*name)
		return !(found->err = disk_look(disk, false, &found->id));
	if (remote_is_path(disk))
		return is_on_remote(disk, name);
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
	struct looker *s = arg;

	pthread_mutex_lock(&s->lock);
	while (s->looked < s->n && !worker_stops(s->worker)) {
		struct disk_looked found = { 0 };
		unsigned i = s->looked;
		bool has;

		pthread_mutex_unlock(&s->lock);
		has = is_on_disk(s->path[i], s->name, &found);
		pthread_mutex_lock(&s->lock);
		s->found = found;
		s->has[i] = has;
		s->looked++;
	}
	s->busy = false;
	pthread_mutex_unlock(&s->lock);
	return WORKER_RESTS;
}

/* ---- starting and stopping ------------------------------------------- */

static void
looker_free(struct looker *s)
{
	for (unsigned i = 0; i < s->n; i++)
		free(s->path[i]);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

static int
looker_start(struct looker **looker)
{
	struct looker *s = calloc(1, sizeof *s);
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
		looker_free(s);
	else
		*looker = s;
	return err;
}

int
name_lookup_start(struct name_lookup **lookup)
{
	struct name_lookup *s = calloc(1, sizeof *s);
	int err = s ? looker_start(&s->looker[0]) : -ENOMEM;

	if (err) {
		free(s);
		return err;
	}
	s->n = 1;
	*lookup = s;
	return 0;
}

void
name_lookup_stop(struct name_lookup *s)
{
	for (unsigned i = 0; s && i < s->n; i++) {
		if (worker_stop(s->looker[i]->worker, END))
			looker_free(s->looker[i]);
	}
	free(s);
}

/* ---- the caller ------------------------------------------------------ */

/* Sets the question of an idle worker: the first `n` disks. */
static void
ask(struct looker *s, const struct name_lookup_disks *disks, unsigned n,
    const char *name)
{
	pthread_mutex_lock(&s->lock);
	for (unsigned i = 0; i < s->n; i++)
		free(s->path[i]);
	s->looked = 0;
	for (s->n = 0; s->n < n; s->n++) {
		s->path[s->n] = strdup(disks->path[s->n]);
		if (!s->path[s->n])
			/* no memory: the remaining disks are not looked at */
			break;
	}
	snprintf(s->name, sizeof s->name, "%s", name);
	s->busy = true;
	pthread_mutex_unlock(&s->lock);
}

/* Returns how many of the first `n` disks come before the one in which a worker
 * is stuck; *idle: it is stuck in none. */
static unsigned
before_stuck(struct looker *s, const struct name_lookup_disks *disks,
	     unsigned n, bool *idle)
{
	unsigned i = n;

	pthread_mutex_lock(&s->lock);
	*idle = !s->busy;
	if (s->busy && s->looked < s->n) {
		for (i = 0; i < n; i++) {
			if (!strcmp(disks->path[i], s->path[s->looked]))
				break;
		}
	}
	pthread_mutex_unlock(&s->lock);
	return i;
}

/* Returns a worker that is idle, or NULL; *n becomes the number of disks before
 * the first in which another one is stuck. */
static struct looker *
looker_take(struct name_lookup *s, const struct name_lookup_disks *disks,
	    unsigned *n)
{
	struct looker *idle = NULL;

	for (unsigned i = 0; i < s->n; i++) {
		bool is;

		*n = before_stuck(s->looker[i], disks, *n, &is);
		if (is)
			idle = s->looker[i];
	}
	if (!*n || idle || s->n == LOOKERS || looker_start(&s->looker[s->n]))
		return idle;
	return s->looker[s->n++];
}

/* As name_lookup_find(), and what the last disk said if that is remote. */
static unsigned
find(struct name_lookup *lookup, const struct name_lookup_disks *disks,
     const char *name, bool has[DISK_SET_MOST], struct disk_looked *found)
{
	unsigned n = disks->n, looked;
	struct looker *s = looker_take(lookup, disks, &n);

	if (!s || !n)
		return 0;
	ask(s, disks, n, name);
	worker_wait(s->worker, worker_poke(s->worker), PATIENCE);
	pthread_mutex_lock(&s->lock);
	looked = s->looked;
	memcpy(has, s->has, looked * sizeof *has);
	*found = s->found;
	if (s->busy && looked < s->n)
		log_line(LEVEL_WARN, s->path[looked],
			 "the disk does not answer; what was known of it has "
			 "to do");
	pthread_mutex_unlock(&s->lock);
	return looked;
}

unsigned
name_lookup_find(struct name_lookup *lookup,
		 const struct name_lookup_disks *disks, const char *name,
		 bool has[DISK_SET_MOST])
{
	struct disk_looked found;

	return find(lookup, disks, name, has, &found);
}

bool
name_lookup_remote(struct name_lookup *s, const char *path,
		   struct disk_looked *found)
{
	const struct name_lookup_disks one = { .path = { path }, .n = 1 };
	bool has[DISK_SET_MOST];

	return find(s, &one, "", has, found) == 1;
}

bool
name_lookup_answers(struct name_lookup *s, const char *path)
{
	struct disk_looked found;

	return name_lookup_remote(s, path, &found);
}
