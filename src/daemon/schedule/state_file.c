/* SPDX-License-Identifier: MIT */
/*
 * One text waits while one is being written.  If the disk is full or the folder
 * may not be written, it is tried again every 10 seconds and at the end, and
 * logged once.
 */
#include "daemon/schedule/state_file.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/worker.h"
#include "store/disk/file.h"

#define AGAIN (10 * NS_SECOND)
#define END   (10 * NS_SECOND)

struct state_file {
	char *folder, *file, *beside;
	int said; /* private to the thread: the last error, which is logged */
	struct worker *worker;
	pthread_mutex_t lock;
	char *text; /* under lock: the text that waits; NULL: none */
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
put(struct state_file *s, const char *text)
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
say(struct state_file *s, int err)
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

/* Sets the text that waits, unless a newer one does; frees the one that is not
 * needed. */
static void
put_back(struct state_file *s, char *text)
{
	pthread_mutex_lock(&s->lock);
	if (!s->text) {
		s->text = text;
		text = NULL;
	}
	pthread_mutex_unlock(&s->lock);
	free(text);
}

static int64_t
write_text(void *arg)
{
	struct state_file *s = arg;
	char *text;
	int err;

	pthread_mutex_lock(&s->lock);
	text = s->text;
	s->text = NULL;
	pthread_mutex_unlock(&s->lock);
	if (!text)
		return WORKER_RESTS;
	err = put(s, text);
	say(s, err);
	if (!err) {
		free(text);
		return WORKER_RESTS;
	}
	put_back(s, text);
	return AGAIN;
}

/* ---- the caller's side ----------------------------------------------- */

void
state_file_write(struct state_file *s, char *text)
{
	char *old;

	if (!text)
		return;
	pthread_mutex_lock(&s->lock);
	old = s->text;
	s->text = text;
	pthread_mutex_unlock(&s->lock);
	free(old);
	worker_poke(s->worker);
}

static void
state_file_free(struct state_file *s)
{
	pthread_mutex_destroy(&s->lock);
	free(s->text);
	free(s->folder);
	free(s->file);
	free(s->beside);
	free(s);
}

bool
state_file_stop(struct state_file *s)
{
	if (!s)
		return true;
	if (!worker_stop(s->worker, END)) {
		log_line(LEVEL_WARN, NULL, "%s/%s: its disk does not answer",
			 s->folder, s->file);
		return false;
	}
	state_file_free(s);
	return true;
}

int
state_file_start(struct state_file **state, const char *folder,
		 const char *file)
{
	struct state_file *s = calloc(1, sizeof *s);
	struct worker_args worker = { .name = "spate-state",
				      .round = write_text,
				      .arg = s,
				      .first = WORKER_RESTS,
				      .finishes = true };
	int err;

	if (!s)
		return -ENOMEM;
	pthread_mutex_init(&s->lock, NULL);
	s->folder = strdup(folder);
	s->file = strdup(file);
	if (!s->folder || !s->file || asprintf(&s->beside, "%s.new", file) < 0)
		err = -ENOMEM;
	else
		err = worker_start(&s->worker, &worker);
	if (err) {
		state_file_free(s);
		return err;
	}
	*state = s;
	return 0;
}
