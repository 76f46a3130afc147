/* SPDX-License-Identifier: MIT */
/*
 * One text waits while one is being written.  If the disk is full or the folder
 * may not be written, it is tried again every 10 seconds and logged once.
 */
#include "daemon/schedule/scribe.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "store/disk/file.h"

enum { AGAIN_S = 10, END_S = 10 };

struct scribe {
	char *folder, *file, *beside;
	int said; /* private to the thread: the last error, which is logged */
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t poke;
	char *text;	  /* under lock: the text that waits; NULL: none */
	bool stop, ended; /* under lock */
};

/* ---- the file -------------------------------------------------------- */

static int
write_durable(int dir, const char *name, const char *text)
{
	int fd =
	    openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	int err;

	if (fd < 0)
		return -errno;
	err = write_whole(fd, text, strlen(text), 0);
	if (!err && fsync(fd) < 0)
		err = -errno;
	close(fd);
	return err;
}

static int
folder_open(const char *path)
{
	int fd = open(path, O_DIRECTORY | O_CLOEXEC);

	if (fd < 0 && errno == ENOENT && mkdir(path, 0755) == 0)
		fd = open(path, O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int
put(struct scribe *s, const char *text)
{
	int dir = folder_open(s->folder), err;

	if (dir < 0)
		return dir;
	err = write_durable(dir, s->beside, text);
	if (!err && renameat(dir, s->beside, dir, s->file) < 0)
		err = -errno;
	if (!err && fsync(dir) < 0)
		err = -errno;
	close(dir);
	return err;
}

static void
say(struct scribe *s, int err)
{
	if (err && err != s->said)
		log_line(LEVEL_ERROR, NULL,
			 "cannot write %s/%s: %s; it is tried again", s->folder,
			 s->file, strerror(-err));
	if (!err && s->said)
		log_line(LEVEL_INFO, NULL, "%s/%s is written again", s->folder,
			 s->file);
	s->said = err;
}

/* ---- the thread ------------------------------------------------------ */

/* Waits for a text; NULL with *stop true at the end. */
static char *
take(struct scribe *s, bool *stop)
{
	char *text;

	pthread_mutex_lock(&s->lock);
	while (!s->text && !s->stop)
		pthread_cond_wait(&s->poke, &s->lock);
	text = s->text;
	s->text = NULL;
	*stop = s->stop;
	pthread_mutex_unlock(&s->lock);
	return text;
}

/*
 * Waits, then queues the text again, unless a newer one has come or the thread
 * has to stop.
 */
static void
put_back(struct scribe *s, char *text)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += AGAIN_S;
	pthread_mutex_lock(&s->lock);
	while (!s->text && !s->stop) {
		if (pthread_cond_timedwait(&s->poke, &s->lock, &until))
			break;
	}
	if (!s->text && !s->stop) {
		s->text = text;
		text = NULL;
	}
	pthread_mutex_unlock(&s->lock);
	free(text);
}

static void *
scribe_run(void *arg)
{
	struct scribe *s = arg;
	bool stop = false;

	pthread_setname_np(pthread_self(), "spate-scribe");
	while (!stop) {
		char *text = take(s, &stop);
		int err = text ? put(s, text) : 0;

		if (text)
			say(s, err);
		if (err && !stop)
			put_back(s, text);
		else
			free(text);
	}
	pthread_mutex_lock(&s->lock);
	s->ended = true;
	pthread_cond_signal(&s->poke);
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

/* ---- the caller's side ------------------------------------------------- */

void
scribe_write(struct scribe *s, char *text)
{
	char *old;

	if (!text)
		return;
	pthread_mutex_lock(&s->lock);
	old = s->text;
	s->text = text;
	pthread_cond_signal(&s->poke);
	pthread_mutex_unlock(&s->lock);
	free(old);
}

static void
scribe_free(struct scribe *s)
{
	pthread_cond_destroy(&s->poke);
	pthread_mutex_destroy(&s->lock);
	free(s->text);
	free(s->folder);
	free(s->file);
	free(s->beside);
	free(s);
}

/* Tells the thread to stop, and waits; false if it has not ended in time. */
static bool
has_ended(struct scribe *s)
{
	struct timespec until;
	bool ended;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += END_S;
	pthread_mutex_lock(&s->lock);
	s->stop = true;
	pthread_cond_signal(&s->poke);
	while (!s->ended) {
		if (pthread_cond_timedwait(&s->poke, &s->lock, &until))
			break;
	}
	ended = s->ended;
	pthread_mutex_unlock(&s->lock);
	return ended;
}

bool
scribe_stop(struct scribe *s)
{
	if (!s)
		return true;
	if (!has_ended(s)) {
		log_line(LEVEL_WARN, NULL, "%s/%s: its disk does not answer",
			 s->folder, s->file);
		return false;
	}
	pthread_join(s->thread, NULL);
	scribe_free(s);
	return true;
}

int
scribe_start(struct scribe **scribe, const char *folder, const char *file)
{
	struct scribe *s = calloc(1, sizeof *s);
	pthread_condattr_t attr;
	int err;

	if (!s)
		return -ENOMEM;
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&s->poke, &attr);
	pthread_condattr_destroy(&attr);
	pthread_mutex_init(&s->lock, NULL);
	s->folder = strdup(folder);
	s->file = strdup(file);
	if (!s->folder || !s->file || asprintf(&s->beside, "%s.new", file) < 0)
		err = -ENOMEM;
	else
		err = -pthread_create(&s->thread, NULL, scribe_run, s);
	if (err) {
		scribe_free(s);
		return err;
	}
	*scribe = s;
	return 0;
}
