/* SPDX-License-Identifier: MIT */
/*
 * The thread that talks to the daemon.  It may wait for an answer for any time:
 * no other thread waits for it, and it holds no lock meanwhile.
 *
 * Each name is asked for every ASK while it is read, which keeps the daemon's
 * side alive (MAPPING_PATIENCE in daemon/sessions/mapping.h), and at once when
 * a reader misses a block.  A name that no reader wanted for FORGET is
 * forgotten; without names there is no connection.
 *
 * A new daemon may want the huge pages of one that ended.  So the thread
 * notices at once when the connection is closed, and unmaps the memory.
 */
#include "config.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "fuse/live/live_priv.h"

#define ASK    (3 * NS_SECOND)
#define FORGET (15 * NS_SECOND)
#define RETRY  NS_SECOND	/* first pause, which doubles each time */
#define RARELY (10 * NS_SECOND) /* longest pause of an unreachable daemon */
#define OLD    (60 * NS_SECOND) /* longest pause if it does not know the verb */

enum { ANSWER_MS = 5000 };

/* ---- the connection ------------------------------------------------- */

/* Logs an error, once for each reason; readers go on without the daemon. */
static void
say(struct live *l, int err, const struct fault *fault)
{
	if (err == l->said)
		return;
	l->said = err;
	if (err)
		log_line(LEVEL_WARN, NULL,
			 "%s%s%s; recordings that are being made are followed "
			 "by their indexes",
			 fault->what, *fault->why ? ": " : "", fault->why);
	else
		log_line(LEVEL_INFO, NULL, "following spated at %s", l->socket);
}

static void
disconnect(struct live *l, int64_t retry_ns)
{
	struct live_memory *memory;

	control_close(l->control);
	l->control = NULL;
	pthread_mutex_lock(&l->lock);
	memory = l->memory;
	l->memory = NULL;
	l->connected = false;
	l->retry_ns = retry_ns;
	for (struct live_name *n = l->names; n; n = n->next)
		n->known = false;
	pthread_cond_broadcast(&l->news);
	pthread_mutex_unlock(&l->lock);
	live_memory_put(memory);
}

/* Disconnects after an error, with a longer pause than the last time. */
static void
give_up(struct live *l, int err, const struct fault *fault)
{
	int64_t most = err == -EINVAL ? OLD : RARELY;

	l->pause_ns = l->pause_ns ? 2 * l->pause_ns : RETRY;
	if (l->pause_ns > most || err == -EINVAL)
		l->pause_ns = most;
	say(l, err, fault);
	disconnect(l, clock_steady() + l->pause_ns);
}

static bool
is_connected(struct live *l)
{
	struct fault fault = { 0 };
	int err;

	if (l->control)
		return true;
	err = control_open(&l->control, l->socket, &fault);
	if (err) {
		give_up(l, err, &fault);
		return false;
	}
	control_wait(l->control, ANSWER_MS);
	pthread_mutex_lock(&l->lock);
	l->connected = true;
	pthread_mutex_unlock(&l->lock);
	return true;
}

/* ---- asking --------------------------------------------------------- */

/* A request to the daemon, and its answer. */
struct ask {
	char name[256];
	uint64_t floor;
	json_t *result;
	int fd[2];
};

static uint64_t
number_of(const json_t *object, const char *key)
{
	json_int_t n = json_integer_value(json_object_get(object, key));

	return n > 0 ? (uint64_t)n : 0;
}

static void
share(struct live *l, struct ask *a)
{
	struct live_memory *memory, *old;
	int err;

	if (a->fd[0] < 0 || a->fd[1] < 0)
		return;
	err = live_memory_map(&memory, a->fd[0], a->fd[1]);
	if (err) {
		log_line(LEVEL_WARN, NULL,
			 "the memory of spated at %s cannot be used: %s; what "
			 "it records is read from disks",
			 l->socket, strerror(-err));
		return;
	}
	pthread_mutex_lock(&l->lock);
	old = l->memory;
	l->memory = memory;
	pthread_mutex_unlock(&l->lock);
	live_memory_put(old);
}

/*
 * Takes an answer over.  Called with the lock; the name may be forgotten by
 * now.
 */
static void
answered(struct live *l, const struct ask *a)
{
	struct live_name *n = live_find(l, a->name);

	if (!n)
		return;
	n->answered = true;
	n->asked_ns = clock_steady();
	n->due_ns = n->asked_ns + ASK;
	n->known = json_is_integer(json_object_get(a->result, "recording"));
	if (!n->known)
		return;
	n->id = number_of(a->result, "recording");
	n->floor = number_of(a->result, "floor");
}

/*
 * Tells whether an error concerns this recording alone, so that the connection
 * is good.
 */
static bool
is_refused(int err)
{
	switch (-err) {
	case 0:
	case ENOENT: /* not being recorded, or no longer */
	case EBUSY:
	case EIO:
	case ENOMEM:
	case ENOSPC: return true;
	default: return false;
	}
}

static void
ask(struct live *l, struct ask *a)
{
	json_t *request = json_pack("{s:s, s:I}", "name", a->name, "from",
				    (json_int_t)a->floor);
	struct fault fault = { 0 };
	int err;

	err = control_ask_fds(l->control, "map", request, &a->result, a->fd, 2,
			      &fault);
	if (!err)
		share(l, a);
	if (!is_refused(err)) {
		give_up(l, err, &fault);
		return;
	}
	l->pause_ns = 0;
	say(l, 0, NULL);
	pthread_mutex_lock(&l->lock);
	l->facts.asked++;
	answered(l, a);
	pthread_cond_broadcast(&l->news);
	pthread_mutex_unlock(&l->lock);
	json_decref(a->result);
}

/* ---- the thread -------------------------------------------------------- */

/* Forgets names that are not read any more.  Called with the lock. */
static void
forget(struct live *l, int64_t now)
{
	struct live_name **at = &l->names, *n;

	while ((n = *at)) {
		if (now - n->wanted_ns < FORGET) {
			at = &n->next;
			continue;
		}
		*at = n->next;
		free(n);
	}
}

/* Finds the name to be asked for first, and when; false: there is none. */
static bool
next(struct live *l, struct ask *a, int64_t *at)
{
	const struct live_name *first = NULL;

	pthread_mutex_lock(&l->lock);
	forget(l, clock_steady());
	for (const struct live_name *n = l->names; n; n = n->next) {
		if (!first || n->due_ns < first->due_ns)
			first = n;
	}
	if (first) {
		*a = (struct ask){ .floor = first->floor, .fd = { -1, -1 } };
		strcpy(a->name, first->name);
		*at = first->due_ns > l->retry_ns ? first->due_ns : l->retry_ns;
	}
	pthread_mutex_unlock(&l->lock);
	return first != NULL;
}

/* Waits until a time, a wake-up, or the end of the connection. */
static void
wait(struct live *l, int64_t until)
{
	struct pollfd p[2] = {
		{ .fd = l->wake, .events = POLLIN },
		{ .fd = l->control ? control_fd(l->control) : -1,
		  .events = POLLRDHUP },
	};
	int64_t left = (until - clock_steady() + NS_MS - 1) / NS_MS;
	eventfd_t n;

	if (left > FORGET / NS_MS)
		left = FORGET / NS_MS;
	poll(p, 2, left > 0 ? (int)left : 0);
	eventfd_read(l->wake, &n);
	if (p[1].revents)
		disconnect(l, clock_steady() + RETRY);
}

static bool
is_closing(struct live *l)
{
	bool closing;

	pthread_mutex_lock(&l->lock);
	closing = l->closing;
	pthread_mutex_unlock(&l->lock);
	return closing;
}

static void *
run(void *arg)
{
	struct live *l = arg;
	struct ask a;
	int64_t at;

	pthread_setname_np(pthread_self(), "spate-live");
	while (!is_closing(l)) {
		if (!next(l, &a, &at)) {
			disconnect(l, 0);
			wait(l, INT64_MAX);
		} else if (at > clock_steady()) {
			wait(l, at);
		} else if (is_connected(l)) {
			ask(l, &a);
		}
	}
	disconnect(l, 0);
	pthread_mutex_lock(&l->lock);
	l->running = false;
	pthread_cond_broadcast(&l->news);
	pthread_mutex_unlock(&l->lock);
	live_drop(l);
	return NULL;
}

/* Starts the thread with all signals blocked: the main thread takes them. */
int
live_talk(struct live *l)
{
	pthread_attr_t how;
	pthread_t thread;
	sigset_t all, was;
	int err;

	if (l->running)
		return 0;
	sigfillset(&all);
	pthread_attr_init(&how);
	pthread_attr_setdetachstate(&how, PTHREAD_CREATE_DETACHED);
	pthread_sigmask(SIG_SETMASK, &all, &was);
	err = pthread_create(&thread, &how, run, l);
	pthread_sigmask(SIG_SETMASK, &was, NULL);
	pthread_attr_destroy(&how);
	if (err)
		return -err;
	l->running = true;
	l->refs++;
	return 0;
}
