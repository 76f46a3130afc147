/* SPDX-License-Identifier: MIT */
/*
 * The receiver thread, in a loop:
 *
 *   wait until a source is ready, or a tenth of a second
 *   for each ready source: some batches, so that a flood on one socket does
 *       not starve the others
 *   every tenth of a second: age blocks, publish counters
 *   drain subscribers that end, flush them, and tell their owners
 *   rest
 *
 * Fairness.  A pass gives every ready source its turn.  With many of them a
 * turn is shorter (BATCHES in all, at least one each), so that a pass takes
 * about as long however many there are: some milliseconds at most, which the
 * smallest socket buffer holds at a gigabit per second.  A flooded source
 * delays the others only by its turn, and what exceeds that is lost where it
 * belongs, in its own socket.  One pass sees up to RECEIVER_EVENTS sources;
 * epoll reports the remaining ones first the next time.  Subscribers that end
 * are drained in turns too, beside those that go on.
 *
 * Rest.  When packets come one by one, waking up for each costs more than the
 * packet.  So after a pass that left every socket empty the thread sleeps
 * before it looks again, and then finds many at once.  Four things limit the
 * sleep, at the rate since all sockets were last empty:
 *
 *   a tenth of what a socket's buffer holds may be in the fullest one by the
 *       next pass (INTAKE_FULL), so a late visit loses nothing;
 *   WARM bytes may wait altogether: more would no longer be in the CPU's cache
 *       when they are read, and each byte would cost more than is saved;
 *   a rest at most doubles, and is no longer than it takes a sender that starts
 *       now at LINE to fill that tenth of the smallest buffer, unless REST, or
 *       twice the time that the visits took, is more;
 *   REST_MOST.
 *
 * With one stream of 4 Gb/s the thread looks every two milliseconds; with 432 of
 * 20 Mb/s a pass takes one or two milliseconds, the thread rests as long again,
 * and each visit finds several packets instead of one or two, which saves half
 * of the system calls.  Rests below REST_LEAST are not worth the two system
 * calls and the timer.
 *
 * Both clocks are read once per pass (time_window.h), and one again before a
 * rest.  A time window's edge is compared with the stamps of packets; only near
 * an edge is the clock read for each batch, because a pass may last beyond it.
 */
#include "flow/receive/receiver.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "flow/memory/heartbeat.h"
#include "flow/memory/hot_pages.h"

enum { RECEIVER_EVENTS = 512 }; /* of one epoll_wait */

struct receiver_order {
	struct subscriber *subscriber;
	struct receiver_order *next; /* receiver::orders */
};

struct receiver {
	pthread_t thread;
	int epoll, wake;

	/* Used by the thread alone. */
	struct intake *intakes;	    /* intakes that have subscribers */
	struct subscriber *closing; /* subscribers that are ending */
	int64_t next_close; /* steady ns, when the next time window closes */
	struct arrival arrival;
	int64_t next_tick;
	struct intake_load load; /* what came since all sources were empty */
	int64_t emptied;	 /* steady ns, when that was */
	int64_t hold;		 /* ns that LINE takes to fill a source */
	int64_t rest;		 /* ns of the last rest */
	struct epoll_event event[RECEIVER_EVENTS];

	struct heartbeat beat; /* set by the thread, read by the event loop */
	atomic_int tid;	       /* the same */

	pthread_mutex_t lock; /* guards the fields below */
	struct receiver_order *orders, **orders_end;
	bool stop;
};

enum {
	BATCHES = 64,	   /* batches of one pass, if there are that many
			      sources */
	BATCHES_MOST = 16, /* batches of one source */
	DRAINED = 4,	   /* batches of a source whose subscriber ends */
	/* Between two visits at the end, if nothing comes. */
	CLOSING_MS = 1,
	REST_LEAST = 50000,  /* ns */
	REST = 200000,	     /* ns */
	REST_MOST = 2000000, /* ns */
	WARM = 3 << 19,	     /* bytes */
	LINE = 3,	     /* bytes per ns: 25 Gb/s */
	SLACK = 10000,	     /* ns that a rest may last longer */
	TICK = 100000000,    /* ns */
};

static int64_t
least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* ---- intakes ----------------------------------------------------------- */

/* Finds the smallest source after intakes came or went. */
static void
hold_find(struct receiver *r)
{
	r->hold = REST_MOST;
	for (const struct intake *in = r->intakes; in; in = in->next) {
		for (unsigned i = 0; i < in->sources; i++)
			r->hold = least(r->hold, in->source[i].hold / LINE);
	}
}

static void
intake_add(struct receiver *r, struct intake *in)
{
	in->arrival = &r->arrival;
	in->next = r->intakes;
	r->intakes = in;
	for (unsigned i = 0; i < in->sources; i++) {
		struct epoll_event e = { .events = EPOLLIN,
					 .data.ptr = &in->source[i] };

		if (in->source[i].ended)
			continue;
		if (epoll_ctl(r->epoll, EPOLL_CTL_ADD, in->source[i].fd, &e))
			abort(); /* a bug: the descriptor is open */
	}
	hold_find(r);
}

static void
source_leave(struct receiver *r, struct intake_source *s)
{
	epoll_ctl(r->epoll, EPOLL_CTL_DEL, s->fd, NULL);
}

static void
intake_remove(struct receiver *r, struct intake *in)
{
	struct intake **at;

	for (at = &r->intakes; *at != in; at = &(*at)->next)
		;
	*at = in->next;
	for (unsigned i = 0; i < in->sources; i++)
		source_leave(r, &in->source[i]);
	hold_find(r);
}

/* ---- subscribers ------------------------------------------------------------- */

static void
subscriber_add(struct receiver *r, struct subscriber *f)
{
	struct intake *in = f->in;
	bool slept = !in->subscribers;

	intake_join(in, f);
	if (slept)
		intake_add(r, in);
}

static void
subscriber_end(struct receiver *r, struct subscriber *f, int64_t now)
{
	struct intake *in = f->in;

	intake_flush(in, f, now);
	intake_leave(in, f);
	if (!in->subscribers)
		intake_remove(r, in);
	/* After this call the event loop may free subscriber and intake. */
	f->a.done(f->a.arg);
}

/* Takes what is left in the sockets for subscribers that end, a little at a
 * time. */
static void
closing_pass(struct receiver *r, int64_t now)
{
	struct subscriber **at = &r->closing;

	while (*at) {
		struct subscriber *f = *at;

		if (!intake_drain(f->in, f, DRAINED, now + r->arrival.offset,
				  now)) {
			at = &f->next_closing;
			continue;
		}
		*at = f->next_closing;
		subscriber_end(r, f, now);
	}
}

static void
closing_add(struct receiver *r, struct subscriber *f, int64_t now)
{
	subscriber_close(f, now);
	f->next_closing = r->closing;
	r->closing = f;
}

/* Begins the end of subscribers whose time windows have closed, and finds when
 * the next time window closes.  Gates by data time are checked with every
 * tick. */
static void
closing_find(struct receiver *r, int64_t now)
{
	r->next_close = INT64_MAX;
	for (struct intake *in = r->intakes; in; in = in->next) {
		for (struct subscriber *f = in->subscribers; f; f = f->next) {
			if (!f->until && subscriber_closes(f, now))
				closing_add(r, f, now);
			else if (!f->until && !f->time_window.data &&
				 f->time_window.close < r->next_close)
				r->next_close = f->time_window.close;
		}
	}
}

/* ---- orders ------------------------------------------------------------ */

/* Applies ordered time windows, but not to subscribers that are ending. */
static void
time_windows_take(struct receiver *r)
{
	for (struct intake *in = r->intakes; in; in = in->next) {
		pthread_mutex_lock(&in->lock);
		for (struct subscriber *f = in->subscribers; f; f = f->next) {
			if (!f->until)
				f->time_window = f->wanted;
		}
		pthread_mutex_unlock(&in->lock);
	}
}

/* Takes new subscribers and time windows.  False: the thread has to stop. */
static bool
orders_do(struct receiver *r, int64_t now)
{
	struct receiver_order *o, *next;
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
		subscriber_add(r, o->subscriber);
		free(o);
	}
	time_windows_take(r);
	closing_find(r, now);
	return !stop;
}

static void
tick(struct receiver *r, int64_t now)
{
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

/* Gives each ready source its turn.  True if one is not empty yet. */
static bool
sources_pass(struct receiver *r, int n, int64_t now)
{
	struct intake_load load = { 0 };
	bool more = false;

	for (int i = 0; i < n; i++) {
		struct intake_source *s = r->event[i].data.ptr;
		int left;

		if (!s)
			continue;
		left = s->ended
			   ? -ENODATA
			   : intake_pass(s, turn(n), now + r->arrival.offset,
					 now, &load);
		if (left < 0)
			source_leave(r, s);
		more |= left > 0;
	}
	r->load.bytes += load.bytes;
	r->load.full += load.full;
	return more;
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

/* Time until the fullest socket is as full as it may be, or as much waits as
 * the cache holds, in ns. */
static int64_t
rest_fits(const struct receiver *r, int64_t since)
{
	int64_t full = since * INTAKE_FULL / (int64_t)(r->load.full + 1);
	int64_t warm = since * WARM / (int64_t)(r->load.bytes + 1);

	return least(full, warm);
}

/* Sleeps after a pass that began at `now` and emptied all sockets. */
static void
rest(struct receiver *r, int64_t now)
{
	int64_t end = clock_steady(), took = end - now;
	int64_t longest = 2 * took > r->hold ? 2 * took : r->hold;
	struct timespec time = { 0 };

	if (longest < REST)
		longest = REST;
	longest = least(longest, least(REST_MOST, 2 * r->rest + REST_LEAST));
	r->rest =
	    least(longest, rest_fits(r, least(now - r->emptied, TICK)) - took);
	r->load = (struct intake_load){ 0 };
	r->emptied = now;
	if (r->rest < REST_LEAST) {
		r->rest = 0;
		return;
	}
	time.tv_nsec = r->rest;
	nanosleep(&time, NULL);
}

/* Timeout of the next epoll_wait, in ms. */
static int
wait_ms(const struct receiver *r, int64_t now)
{
	int64_t left = r->next_close - now;

	if (r->closing)
		return CLOSING_MS;
	if (left > TICK)
		left = TICK;
	return left > 0 ? (int)((left + 999999) / 1000000) : 0;
}

/* Ends and begins subscribers, after all sources had their turn.  False: the
 * thread has to stop. */
static bool
subscribers_pass(struct receiver *r, int n, int64_t now)
{
	bool ticks = now >= r->next_tick;

	if (ticks)
		tick(r, now);
	if (ticks || now >= r->next_close)
		closing_find(r, now);
	closing_pass(r, now);
	/* Comes last, because it may free sources that this pass has events
	 * of. */
	return !has_orders(r->event, n) || orders_do(r, now);
}

static void *
receiver_run(void *arg)
{
	struct receiver *r = arg;
	int64_t now = arrival_look(&r->arrival);
	bool on = true;

	pthread_setname_np(pthread_self(), "spate-receive");
	atomic_store_explicit(&r->tid, gettid(), memory_order_relaxed);
	prctl(PR_SET_TIMERSLACK, SLACK);
	/* An error needs no line: the same limit then refused to lock the code,
	 * and that was logged. */
	hot_pages_lock_stack();
	tick(r, now);
	r->next_close = INT64_MAX;
	while (on) {
		int n = epoll_wait(r->epoll, r->event, RECEIVER_EVENTS,
				   wait_ms(r, now));
		bool more;

		now = arrival_look(&r->arrival);
		heartbeat_at(&r->beat, now);
		more = sources_pass(r, n, now);
		on = subscribers_pass(r, n, now);
		if (r->closing || has_orders(r->event, n))
			r->rest = 0;
		else if (n > 0 && !more)
			rest(r, now);
	}
	return NULL;
}

/* ---- other threads ----------------------------------------------------- */

/*
 * Starts, tells and stops a receiver's thread, and sets its CPUs and priority.
 * If the system refuses one of these, a log line says so, and the thread runs
 * without.
 */

int
receiver_subscribe(struct receiver *r, struct subscriber *f)
{
	struct receiver_order *o = calloc(1, sizeof *o);

	if (!o)
		return -ENOMEM;
	o->subscriber = f;
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

pid_t
receiver_thread(const struct receiver *r)
{
	return atomic_load_explicit(&r->tid, memory_order_relaxed);
}

/* Logs a refusal of the system, once for all receivers; *said is its own.
 * Event loop. */
static void
refused(bool *said, const char *what, int err, const char *help)
{
	if (*said)
		return;
	*said = true;
	log_line(LEVEL_WARN, NULL,
		 "receivers cannot %s: %s; %s; going on without", what,
		 strerror(err), help);
}

static void
thread_place(pthread_t thread, const struct receiver_args *args)
{
	static bool said;
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
		refused(&said, "run on the CPUs of `receiver_cpus`", err,
			"'lscpu' shows which there are, and a cpuset of the "
			"service may leave fewer");
}

static void
thread_raise(pthread_t thread, const struct receiver_args *args)
{
	static bool said;
	struct sched_param param = { .sched_priority = args->priority };
	int err;

	if (!args->priority)
		return;
	err = pthread_setschedparam(thread, SCHED_FIFO, &param);
	if (err)
		refused(&said, "have a real-time priority", err,
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
