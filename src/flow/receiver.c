/* SPDX-License-Identifier: MIT */
/*
 * The receiver thread.
 *
 *   wait until a source is ready, or a tenth of a second
 *   for each that is: at most BATCHES batches, so that a flood on one socket
 *       does not starve the others
 *   every tenth of a second: age blocks, show counters
 *
 * When packets come one by one, waking for each of them costs more than the
 * packet: so after a pass that left every socket empty and found less than
 * LITTLE the thread sleeps REST before it looks again, and finds several at
 * once.  LITTLE is what even an untuned socket buffer holds twice; a stream
 * above 5 Gb/s brings more than that in REST, and is never kept waiting.
 *
 * One clock read per pass: UTC is the steady clock plus an offset that is
 * taken anew with every tick, so that a stepped clock is followed without
 * asking for the time twice.
 */
#include "flow/receiver.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

enum {
	EVENTS = 64,
	BATCHES = 16,
	LITTLE = 128 << 10, /* bytes */
	REST = 200000,	    /* ns */
	TICK = 100000000,   /* ns */
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
	int64_t utc_offset;
	int64_t next_tick;

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
	int64_t now = clock_steady();

	for (at = &r->intakes; *at != in; at = &(*at)->next)
		;
	*at = in->next;
	for (unsigned i = 0; i < in->sources; i++) {
		if (!in->source[i].ended)
			source_leave(r, &in->source[i]);
	}
	intake_flush(in, now + r->utc_offset, now);
	in->a.done(in->a.arg);
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

/* The most that a source had: bytes, or INTAKE_MORE. */
static int
sources_pass(struct receiver *r, const struct epoll_event *event, int n,
	     int64_t now)
{
	int most = 0;

	for (int i = 0; i < n; i++) {
		struct intake_source *s = event[i].data.ptr;
		int came;

		if (!s)
			continue;
		came = intake_pass(s, BATCHES, now + r->utc_offset, now);
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

static void *
receiver_run(void *arg)
{
	static const struct timespec rest = { .tv_nsec = REST };
	struct receiver *r = arg;
	struct epoll_event event[EVENTS];
	bool on = true;

	pthread_setname_np(pthread_self(), "spate-receive");
	tick(r, clock_steady());
	while (on) {
		int n = epoll_wait(r->epoll, event, EVENTS, TICK / 1000000);
		int64_t now = clock_steady();
		int most = sources_pass(r, event, n, now);

		if (now >= r->next_tick)
			tick(r, now);
		/* Last: an intake that leaves takes its sources along. */
		if (has_orders(event, n))
			on = orders_do(r);
		else if (n > 0 && most < LITTLE)
			nanosleep(&rest, NULL);
	}
	return NULL;
}

int
receiver_start(struct receiver **receiver)
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
