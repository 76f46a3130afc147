/* SPDX-License-Identifier: MIT */
/*
 * One lookup at a time.  The thread owns the question while `busy`, so that
 * nothing must be freed or copied when the caller has given up waiting.  While
 * the thread is stuck no other lookup starts, so that hung threads do not pile
 * up.
 */
#include "daemon/disks/seek.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "store/disk/layout.h"

enum { PATIENCE_MS = 500, END_MS = 2000 };

struct seek {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed; /* signals a change of any field below */

	/* Under `lock`; the thread owns the question while `busy`. */
	bool busy, stop, ended;
	char name[LAYOUT_FILE];
	char *path[FLEET_MOST];
	unsigned n;
	bool has[FLEET_MOST];
	unsigned looked;
};

/* ---- the thread ------------------------------------------------------ */

/* True if the disk has this name, in any layout.  With an empty name: true if
 * the disk answers without an error. */
static bool
is_on_disk(const char *disk, const char *name)
{
	char path[4096], dir[LAYOUT_FILE];
	struct statvfs any;
	bool is = false;

	if (!*name)
		return !statvfs(disk, &any);
	for (int i = 0; i < LAYOUTS; i++) {
		snprintf(path, sizeof path, "%s/%s", disk,
			 layout_dir(dir, name, (enum layout)i));
		is |= access(path, F_OK) == 0;
	}
	return is;
}

/* Called with the lock held, which is released during each lookup. */
static void
look(struct seek *s)
{
	while (s->looked < s->n && !s->stop) {
		unsigned i = s->looked;
		bool has;

		pthread_mutex_unlock(&s->lock);
		has = is_on_disk(s->path[i], s->name);
		pthread_mutex_lock(&s->lock);
		s->has[i] = has;
		s->looked++;
	}
	s->busy = false;
	pthread_cond_broadcast(&s->changed);
}

static void *
seek_run(void *arg)
{
	struct seek *s = arg;

	pthread_setname_np(pthread_self(), "spate-seek");
	pthread_mutex_lock(&s->lock);
	while (!s->stop) {
		if (s->busy)
			look(s);
		else
			pthread_cond_wait(&s->changed, &s->lock);
	}
	s->ended = true;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

/* ---- the caller ------------------------------------------------------ */

static struct timespec
in_ms(long ms)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	t.tv_sec += ms / 1000;
	t.tv_nsec += ms % 1000 * 1000000;
	if (t.tv_nsec >= 1000000000) {
		t.tv_sec++;
		t.tv_nsec -= 1000000000;
	}
	return t;
}

/* Sets the question; call with the lock held, while the thread is idle. */
static void
ask(struct seek *s, const struct seek_disks *disks, const char *name)
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
	pthread_cond_broadcast(&s->changed);
}

unsigned
seek_name(struct seek *s, const struct seek_disks *disks, const char *name,
	  bool has[FLEET_MOST])
{
	struct timespec until = in_ms(PATIENCE_MS);
	unsigned looked = 0;

	pthread_mutex_lock(&s->lock);
	if (!s->busy) {
		ask(s, disks, name);
		while (s->busy) {
			if (pthread_cond_timedwait(&s->changed, &s->lock,
						   &until))
				break;
		}
		looked = s->looked;
		memcpy(has, s->has, looked * sizeof *has);
		if (s->busy)
			log_line(LEVEL_WARN, s->path[looked],
				 "the disk does not answer; what was known of "
				 "it has to do");
	}
	pthread_mutex_unlock(&s->lock);
	return looked;
}

bool
seek_folder(struct seek *s, const char *path)
{
	const struct seek_disks one = { .path = { path }, .n = 1 };
	bool has[FLEET_MOST];

	return seek_name(s, &one, "", has) == 1;
}

/* ---- starting and stopping ------------------------------------------- */

static void
seek_free(struct seek *s)
{
	for (unsigned i = 0; i < s->n; i++)
		free(s->path[i]);
	pthread_cond_destroy(&s->changed);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

int
seek_start(struct seek **seek)
{
	struct seek *s = calloc(1, sizeof *s);
	pthread_condattr_t attr;
	int err;

	if (!s)
		return -ENOMEM;
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&s->changed, &attr);
	pthread_condattr_destroy(&attr);
	pthread_mutex_init(&s->lock, NULL);
	err = -pthread_create(&s->thread, NULL, seek_run, s);
	if (err)
		seek_free(s);
	else
		*seek = s;
	return err;
}

void
seek_stop(struct seek *s)
{
	struct timespec until = in_ms(END_MS);
	bool ended;

	if (!s)
		return;
	pthread_mutex_lock(&s->lock);
	s->stop = true;
	pthread_cond_broadcast(&s->changed);
	while (!s->ended) {
		if (pthread_cond_timedwait(&s->changed, &s->lock, &until))
			break;
	}
	ended = s->ended;
	pthread_mutex_unlock(&s->lock);
	if (!ended) {
		pthread_detach(s->thread);
		return;
	}
	pthread_join(s->thread, NULL);
	seek_free(s);
}
