/* SPDX-License-Identifier: MIT */
/*
 * Starts, tells and stops a receiver's thread, and sets its CPUs and priority.
 * If the system refuses one of these, a log line says so, and the thread runs
 * without.
 */
#include "flow/receive/receiver_priv.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/log.h"

int
receiver_feed(struct receiver *r, struct feed *f)
{
	struct order *o = calloc(1, sizeof *o);

	if (!o)
		return -ENOMEM;
	o->feed = f;
	pthread_mutex_lock(&r->lock);
	*r->orders_end = o;
	r->orders_end = &o->next;
	pthread_mutex_unlock(&r->lock);
	receiver_look(r);
	return 0;
}

void
receiver_look(struct receiver *r)
{
	eventfd_write(r->wake, 1);
}

int64_t
receiver_beat(const struct receiver *r)
{
	return atomic_load_explicit(&r->beat.at, memory_order_relaxed);
}

static void
refused(const char *what, int err, const char *help)
{
	static const char *said;

	/* Does not repeat the last refusal for the next receiver.  Event
	 * loop. */
	if (said == what)
		return;
	said = what;
	log_line(LEVEL_WARN, NULL,
		 "receivers cannot %s: %s; %s; going on without", what,
		 strerror(err), help);
}

static void
thread_place(pthread_t thread, const struct receiver_args *args)
{
	cpu_set_t set;
	int err;

	if (!args->cpus)
		return;
	CPU_ZERO(&set);
	for (unsigned i = 0; i < args->cpus; i++) {
		if (args->cpu[i] < CPU_SETSIZE)
			CPU_SET(args->cpu[i], &set);
	}
	err = pthread_setaffinity_np(thread, sizeof set, &set);
	if (err)
		refused("run on the CPUs of `receiver_cpus`", err,
			"'lscpu' shows which there are, and a cpuset of the "
			"service may leave fewer");
}

static void
thread_raise(pthread_t thread, const struct receiver_args *args)
{
	struct sched_param param = { .sched_priority = args->priority };
	int err;

	if (!args->priority)
		return;
	err = pthread_setschedparam(thread, SCHED_FIFO, &param);
	if (err)
		refused("have a real-time priority", err,
			"it takes CAP_SYS_NICE, or a limit RLIMIT_RTPRIO "
			"(LimitRTPRIO= of the service) as high as "
			"`receiver_priority`");
}

int
receiver_start(struct receiver **receiver, const struct receiver_args *args)
{
	struct epoll_event e = { .events = EPOLLIN, .data.ptr = NULL };
	struct receiver *r = calloc(1, sizeof *r);
	int err = -ENOMEM;

	if (!r)
		return err;
	r->orders_end = &r->orders;
	pthread_mutex_init(&r->lock, NULL);
	r->epoll = epoll_create1(EPOLL_CLOEXEC);
	r->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	err = r->epoll < 0 || r->wake < 0 ||
		      epoll_ctl(r->epoll, EPOLL_CTL_ADD, r->wake, &e) < 0
		  ? -errno
		  : 0;
	if (!err)
		err = -pthread_create(&r->thread, NULL, receiver_run, r);
	if (err) {
		close(r->wake);
		close(r->epoll);
		pthread_mutex_destroy(&r->lock);
		free(r);
		return err;
	}
	if (args) {
		thread_place(r->thread, args);
		thread_raise(r->thread, args);
	}
	*receiver = r;
	return 0;
}

void
receiver_stop(struct receiver *r)
{
	pthread_mutex_lock(&r->lock);
	r->stop = true;
	pthread_mutex_unlock(&r->lock);
	eventfd_write(r->wake, 1);
	pthread_join(r->thread, NULL);
	close(r->wake);
	close(r->epoll);
	pthread_mutex_destroy(&r->lock);
	free(r);
}
