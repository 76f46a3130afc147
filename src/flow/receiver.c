/* SPDX-License-Identifier: MIT */
/*
 * The receiver thread.
 *
 *   wait until a source is ready, or a tenth of a second
 *   for each that is: some batches, so that a flood on one socket does not
 *       starve the others
 *   every tenth of a second: age blocks, show counters
 *   rest
 *
 * Fairness.  A pass gives every ready source its turn; with many of them a
 * turn is shorter (BATCHES in all, at least one each), so that a pass takes
 * about as long however many there are: some milliseconds at most, which the
 * smallest socket buffer holds at a gigabit per second.  A flooded source only
 * ever delays the others by its turn, and what does not fit into it is lost
 * where it belongs, in its own socket.  One pass sees up to EVENTS sources;
 * epoll hands out those that are left over first the next time.  Recordings
 * that end are drained in turns too, beside those that go on.
 *
 * Rest.  When packets come one by one, waking for each of them costs more than
 * the packet.  So after a pass that left every socket empty the thread sleeps
 * before it looks again, and finds several at once.  The fullest socket says
 * how long it may: at the rate of the pass before, no more than INTAKE_FULL
 * may be in it by the next (an eighth of its buffer, so a visit that is late
 * is no loss), and a rest at most doubles, since a sender may begin to send
 * all of a sudden.  It is worth no more than twice what the visits take, and
 * REST where they are few, REST_MOST in all: with one stream of 1 Gb/s the
 * thread looks every 0.2 ms, and finds 25 kB; with 432 of 20 Mb/s a pass takes
 * one or two milliseconds, it rests as long again, and each visit finds
 * several packets where it found one or two, which saves half of the system
 * calls.  Rests below REST_LEAST are not worth the two system calls and the
 * timer.
 *
 * One clock read per pass, and one before a rest: UTC is the steady clock plus
 * an offset that is taken anew with every tick, so that a stepped clock is
 * followed without asking for the time twice.
 */
#include "flow/receiver.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "flow/beat.h"

enum {
	EVENTS = 512,
	BATCHES = 64,	     /* of one pass, if there are so many sources */
	BATCHES_MOST = 16,   /* of one source */
	DRAINED = 4,	     /* the same, of one that is at its end */
	REST_LEAST = 50000,  /* ns */
	REST = 200000,	     /* ns */
	REST_MOST = 2000000, /* ns */
	SLACK = 10000,	     /* ns that a rest may be longer */
	TICK = 100000000,    /* ns */
};

struct order {
	struct intake *intake;
	bool remove;
	struct order *next; /* receiver::orders */
};

struct receiver {
	pthread_t thread;
	int epoll, wake;

	/* The thread's own. */
	struct intake *intakes;
	struct intake *leaving; /* at their end */
	int64_t utc_offset;
	int64_t next_tick;
	int64_t passed; /* when the last pass began */
	int64_t rest;	/* the last, ns */
	struct epoll_event event[EVENTS];

	struct beat beat; /* see beat.h: set here, read by whoever watches */

	pthread_mutex_t lock; /* over what is below */
	struct order *orders, **orders_end;
	bool stop;
};

static int
order_post(struct receiver *r, struct intake *in, bool remove)
{
	struct order *o = calloc(1, sizeof *o);

	if (!o)
		return -ENOMEM;
	o->intake = in;
	o->remove = remove;
	pthread_mutex_lock(&r->lock);
	*r->orders_end = o;
	r->orders_end = &o->next;
	pthread_mutex_unlock(&r->lock);
	eventfd_write(r->wake, 1);
	return 0;
}

int
receiver_add(struct receiver *r, struct intake *in)
{
	return order_post(r, in, false);
}

int
receiver_remove(struct receiver *r, struct intake *in)
{
	return order_post(r, in, true);
}

static void
intake_join(struct receiver *r, struct intake *in)
{
	in->next = r->intakes;
	r->intakes = in;
	for (unsigned i = 0; i < in->sources; i++) {
		struct epoll_event e = { .events = EPOLLIN,
					 .data.ptr = &in->source[i] };

		if (epoll_ctl(r->epoll, EPOLL_CTL_ADD, in->source[i].fd, &e))
			abort(); /* ours: the descriptor is open */
	}
}

static void
source_leave(struct receiver *r, struct intake_source *s)
{
	epoll_ctl(r->epoll, EPOLL_CTL_DEL, s->fd, NULL);
}

static void
intake_leave(struct receiver *r, struct intake *in)
{
	struct intake **at;

	for (at = &r->intakes; *at != in; at = &(*at)->next)
		;
	*at = in->next;
	for (unsigned i = 0; i < in->sources; i++) {
		if (!in->source[i].ended)
			source_leave(r, &in->source[i]);
	}
	in->next = r->leaving;
	r->leaving = in;
}

/* Those that leave take what is in their sockets yet, a little at a time. */
static void
leaving_pass(struct receiver *r, int64_t now)
{
	struct intake **at = &r->leaving;

	while (*at) {
		struct intake *in = *at;

		if (!intake_drain(in, DRAINED, now + r->utc_offset, now)) {
			at = &in->next;
			continue;
		}
		*at = in->next;
		intake_flush(in, now);
		in->a.done(in->a.arg);
	}
}

/* False when the thread is to end. */
static bool
orders_do(struct receiver *r)
{
	struct order *o, *next;
	eventfd_t n;
	bool stop;

	eventfd_read(r->wake, &n);
	pthread_mutex_lock(&r->lock);
	o = r->orders;
	r->orders = NULL;
	r->orders_end = &r->orders;
	stop = r->stop;
	pthread_mutex_unlock(&r->lock);
	for (; o; o = next) {
		next = o->next;
		if (o->remove)
			intake_leave(r, o->intake);
		else
			intake_join(r, o->intake);
		free(o);
	}
	return !stop;
}

static void
tick(struct receiver *r, int64_t now)
{
	r->utc_offset = clock_now() - now;
	for (struct intake *in = r->intakes; in; in = in->next)
		intake_tick(in, now);
	r->next_tick = now + TICK;
}

static unsigned
turn(int sources)
{
	int batches = BATCHES / (sources > 0 ? sources : 1);

	if (batches > BATCHES_MOST)
		return BATCHES_MOST;
	return batches > 1 ? (unsigned)batches : 1;
}

/* The most that a source had: see intake_pass. */
static int
sources_pass(struct receiver *r, int n, int64_t now)
{
	int most = 0;

	for (int i = 0; i < n; i++) {
		struct intake_source *s = r->event[i].data.ptr;
		int came;

		if (!s)
			continue;
		came = intake_pass(s, turn(n), now + r->utc_offset, now);
		if (came < 0)
			source_leave(r, s);
		if (came > most)
			most = came;
	}
	return most;
}

static bool
has_orders(const struct epoll_event *event, int n)
{
	for (int i = 0; i < n; i++) {
		if (!event[i].data.ptr)
			return true;
	}
	return false;
}

/* Until the fullest is as full as may be, had it begun when this pass did. */
static int64_t
rest_fits(const struct receiver *r, int most, int64_t since, int64_t took)
{
	int64_t fits = since * INTAKE_FULL / (most + 1) - took;
	int64_t more = 2 * r->rest + REST_LEAST;

	return fits < more ? fits : more;
}

/* Sleeps a while, after a pass that began at `now` and emptied all sockets;
 * the fullest had `most`. */
static void
rest(struct receiver *r, int most, int64_t now)
{
	int64_t took = clock_steady() - now, longest = 2 * took, fits;
	struct timespec time = { 0 };

	if (longest < REST)
		longest = REST;
	if (longest > REST_MOST)
		longest = REST_MOST;
	fits = rest_fits(r, most, now - r->passed, took);
	r->rest = fits < longest ? fits : longest;
	if (r->rest < REST_LEAST) {
		r->rest = 0;
		return;
	}
	time.tv_nsec = r->rest;
	nanosleep(&time, NULL);
}

static void *
receiver_run(void *arg)
{
	struct receiver *r = arg;
	bool on = true;

	pthread_setname_np(pthread_self(), "spate-receive");
	prctl(PR_SET_TIMERSLACK, SLACK);
	tick(r, clock_steady());
	while (on) {
		int n = epoll_wait(r->epoll, r->event, EVENTS,
				   r->leaving ? 0 : TICK / 1000000);
		int64_t now = clock_steady();
		int most = sources_pass(r, n, now);

		beat_at(&r->beat, now);
		leaving_pass(r, now);
		if (now >= r->next_tick)
			tick(r, now);
		/* Last: an intake that leaves takes its sources along. */
		if (has_orders(r->event, n))
			on = orders_do(r);
		else if (most == INTAKE_MORE || r->leaving)
			r->rest = 0;
		else if (n > 0)
			rest(r, most, now);
		r->passed = now;
	}
	return NULL;
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

	/* Once, not for each of them; the event loop's thread. */
	if (said == what)
		return;
	said = what;
	log_line(LOG_WARN, NULL,
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
