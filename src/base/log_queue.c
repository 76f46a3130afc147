/* SPDX-License-Identifier: MIT */
/*
 * One thread writes the log, so that no other thread waits for its reader: a
 * receiver or the event loop that stops because a pager at the other end of
 * stderr was stopped loses an observation.
 *
 *   log_line -> queue of LINES -> this thread -> write(2) or syslog(3)
 *
 * Nothing but a thread protects the callers for every kind of stderr.
 * O_NONBLOCK belongs to the open file, which the shell that started us shares:
 * its terminal would become non-blocking too.  poll(POLLOUT) before a write
 * says nothing about a file on a server that is away, about syslog(3), or about
 * a terminal that was stopped; and another process that writes to the same pipe
 * may fill it between the two calls.
 *
 * A line is queued under a mutex that is held for the copy of one line.  The
 * thread writes without the mutex, straight from the queue: no other thread
 * touches the entry at its head.  When the queue is full a line is dropped and
 * counted in the newest entry, so the log says how many lines are missing, and
 * where.
 *
 * A process that is killed may lose what it logged in its last moment: some ten
 * microseconds' worth while the reader keeps up.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/log.h"

enum {
	LINES = 512,
	FLUSH_S = 2,
};

struct entry {
	struct log_text text;
	unsigned missing; /* lines dropped right behind this one */
};

static struct {
	pthread_mutex_t lock; /* protects all fields below */
	pthread_cond_t come;  /* signalled when a line is queued */
	pthread_cond_t done;  /* broadcast when the queue is empty */
	struct entry *entry;
	unsigned head, n;
} queue = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.come = PTHREAD_COND_INITIALIZER,
	.done = PTHREAD_COND_INITIALIZER,
};

static void
put(const struct log_text *t)
{
	pthread_mutex_lock(&queue.lock);
	if (queue.n == LINES) {
		queue.entry[(queue.head + LINES - 1) % LINES].missing++;
	} else {
		struct entry *e = &queue.entry[(queue.head + queue.n) % LINES];

		e->text.level = t->level;
		e->text.to_system = t->to_system;
		e->text.length = t->length;
		memcpy(e->text.text, t->text, t->length);
		e->missing = 0;
		queue.n++;
		pthread_cond_signal(&queue.come);
	}
	pthread_mutex_unlock(&queue.lock);
}

static int __attribute__((format(printf, 1, 2))) say(const char *format, ...)
{
	struct log_text t;
	va_list args;

	va_start(args, format);
	log_compose(&t, LEVEL_WARN, NULL, format, args);
	va_end(args);
	return log_write(&t);
}

/* Waits for an entry at the head of the queue and returns it. */
static const struct entry *
wait_for_one(void)
{
	const struct entry *e;

	pthread_mutex_lock(&queue.lock);
	while (!queue.n)
		pthread_cond_wait(&queue.come, &queue.lock);
	e = &queue.entry[queue.head];
	pthread_mutex_unlock(&queue.lock);
	return e;
}

/* Removes the head; returns how many lines are missing behind it. */
static unsigned
drop_head(void)
{
	unsigned missing;

	pthread_mutex_lock(&queue.lock);
	missing = queue.entry[queue.head].missing;
	queue.head = (queue.head + 1) % LINES;
	queue.n--;
	pthread_mutex_unlock(&queue.lock);
	return missing;
}

static void
note_empty(void)
{
	pthread_mutex_lock(&queue.lock);
	if (!queue.n)
		pthread_cond_broadcast(&queue.done);
	pthread_mutex_unlock(&queue.lock);
}

static void *
run(void *arg)
{
	unsigned missing = 0; /* lines that were dropped or could not be
			       * written, as on a full disk */

	(void)arg;
	pthread_setname_np(pthread_self(), "spate-log");
	for (;;) {
		const struct entry *e = wait_for_one();

		if (log_write(&e->text))
			missing++;
		missing += drop_head();
		if (missing &&
		    !say("%u lines of the log are missing here: they could not "
			 "be written",
			 missing))
			missing = 0;
		note_empty();
	}
	return NULL;
}

int
log_queue_start(void)
{
	pthread_t thread;
	sigset_t all, before;
	int err;

	queue.entry = calloc(LINES, sizeof *queue.entry);
	if (!queue.entry)
		return -ENOMEM;
	/*
	 * The thread takes no signals: they are for threads that expect them.
	 */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&thread, NULL, run, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (err) {
		free(queue.entry);
		queue.entry = NULL;
		return -err;
	}
	pthread_detach(thread);
	log_sink_set(put);
	return 0;
}

void
log_queue_flush(void)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += FLUSH_S;
	pthread_mutex_lock(&queue.lock);
	while (queue.n &&
	       !pthread_cond_timedwait(&queue.done, &queue.lock, &until))
		;
	pthread_mutex_unlock(&queue.lock);
}
