/* SPDX-License-Identifier: MIT */
/*
 * A scan becomes an order, and its sessions carry its number.  Sessions begin
 * and end by their time windows, in the receiver threads; this file only passes
 * their states on.  A scan of several streams has begun when the first of its
 * sessions has, and is over with the last.
 *
 * When the daemon is stopped the sessions end and the scans do not: the state
 * file says that they run, so the next daemon continues them.
 */
#include "daemon/schedule/schedule_host.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "daemon/schedule/admission.h"
#include "daemon/sessions/order.h"

enum { NEAR_NS = 50000, TRIES = 8 };

struct schedule_now
schedule_host_now(void)
{
	struct schedule_now best = { 0 };
	int64_t least = INT64_MAX;

	for (int i = 0; i < TRIES && least > NEAR_NS; i++) {
		int64_t before = clock_steady(), utc = clock_now();
		int64_t took = clock_steady() - before;

		if (took >= least)
			continue;
		least = took;
		best = (struct schedule_now){ utc, before + took / 2 };
	}
	return best;
}

/* ---- hooks ----------------------------------------------------------- */

static struct session_when
when_of(const struct schedule_when *when)
{
	return (struct session_when){
		.start = when->start,
		.stop = when->stop == INT64_MAX ? 0 : when->stop,
		.backlog = when->backlog,
		.data = when->data,
	};
}

static int
order_of(struct daemon *d, const struct scan *scan,
	 const struct schedule_when *when, struct order *o, struct fault *fault)
{
	*o = (struct order){ .when = when_of(when),
			     .priority = scan->priority,
			     .flags = ORDER_SHARE | ORDER_RENAME,
			     .send = scan->send,
			     .scan = scan->id };
	if (scan->resume)
		o->flags |= ORDER_RESUME;
	snprintf(o->name, sizeof o->name, "%s",
		 scan->resume ? scan->recording : scan->name);
	for (unsigned i = 0; i < scan->streams; i++) {
		o->stream[i] = setup_stream(&d->setup, scan->stream[i]);
		if (!o->stream[i])
			return order_stream_unknown(d, scan->stream[i], fault);
	}
	o->streams = scan->streams;
	return order_check(o, d, fault);
}

/*
 * Tells whether a session of the scan records.  A session from an earlier
 * attempt, which is about to go, does not count.
 */
static bool
has_begun(const struct daemon *d, unsigned scan)
{
	for (const struct session *s = d->sessions; s; s = s->next) {
		if (s->scan == scan && s->state > SESSION_ARMED &&
		    s->state <= SESSION_RECORDING)
			return true;
	}
	return false;
}

/*
 * Tells whether the interrupted recording can never be continued, because it is
 * complete, say, or protected.  The rest is then recorded under a new name.
 */
static bool
resume_refused(const struct scan *scan, const struct fault *fault)
{
	char why[sizeof *fault];

	if (!scan->resume || !fault->code ||
	    (strcmp(fault->code, "refused") &&
	     strcmp(fault->code, "not-found")))
		return false;
	fault_line(fault, why, sizeof why);
	log_line(LOG_WARN, scan->name, "%s", why);
	return true;
}

static int
order(struct daemon *d, struct scan *scan, const struct schedule_when *when,
      struct order *o, struct fault *fault)
{
	int err = order_of(d, scan, when, o, fault);

	if (!err)
		err = order_begin(d, o, fault);
	if (!err || !resume_refused(scan, fault))
		return err;
	scan->resume = false;
	err = order_of(d, scan, when, o, fault);
	return err ? err : order_begin(d, o, fault);
}

static int
arm(void *arg, struct scan *scan, const struct schedule_when *when,
    struct fault *fault)
{
	struct daemon *d = arg;
	struct order *o;
	int err;

	if (d->stopping)
		return fault_set(fault, -ESHUTDOWN, "busy",
				 "the daemon is stopping");
	if (scan->action != SCAN_RECORD)
		return transfer_scan_arm(d, scan, when, fault);
	o = calloc(1, sizeof *o);
	if (!o)
		return fault_set(fault, -ENOMEM, "no-memory", "out of memory");
	err = order(d, scan, when, o, fault);
	if (!err)
		snprintf(scan->recording, sizeof scan->recording, "%.79s",
			 o->name);
	free(o);
	return err ? err : has_begun(d, scan->id);
}

static void
stop(void *arg, struct scan *scan, const char *why)
{
	struct daemon *d = arg;

	for (struct session *s = d->sessions; s; s = s->next) {
		if (s->scan == scan->id)
			session_stop(s, why);
	}
	transfer_scan_stop(d, scan, why);
}

static void
stop_at(void *arg, struct scan *scan, int64_t at)
{
	struct daemon *d = arg;

	for (struct session *s = d->sessions; s; s = s->next) {
		if (s->scan == scan->id)
			session_stop_at(s, at == INT64_MAX ? 0 : at);
	}
	transfer_scan_stop_at(d, scan, at);
}

static void
move(void *arg, struct scan *scan, const struct schedule_when *when)
{
	struct daemon *d = arg;

	for (struct session *s = d->sessions; s; s = s->next) {
		if (s->scan != scan->id)
			continue;
		session_start_at(s, when->start);
		session_stop_at(s, when_of(when).stop);
	}
	transfer_scan_move(d, scan, when);
}

static const char *
stream_fault(void *arg, const char *stream)
{
	struct daemon *d = arg;
	struct fault fault = { 0 };
	static char line[sizeof fault];

	if (setup_stream(&d->setup, stream))
		return NULL;
	order_stream_unknown(d, stream, &fault);
	fault_line(&fault, line, sizeof line);
	return line;
}

static const char *
url_fault(void *arg, const char *url)
{
	const struct daemon *d = arg;
	struct fault fault = { 0 };
	static char line[sizeof fault];

	if (setup_send_way(d->setup.send, url, &fault))
		return NULL;
	fault_line(&fault, line, sizeof line);
	return line;
}

static bool
answers(void *arg, const char *folder)
{
	const struct daemon *d = arg;

	return seek_folder(d->folder, folder);
}

/* ---- reports from sessions ------------------------------------------- */

void
schedule_host_began(struct daemon *d, const struct session *s)
{
	if (s->scan && !s->cancelled && !d->stopping)
		schedule_began(d->schedule, s->scan, schedule_host_now());
}

void
schedule_host_ended(struct daemon *d, const struct session *s)
{
	const char *why = s->reason ? s->reason : "";

	if (!s->scan || d->stopping)
		return;
	for (const struct session *of = d->sessions; of; of = of->next) {
		if (of != s && of->scan == s->scan)
			return;
	}
	schedule_ended(d->schedule, s->scan, s->failed,
		       strcmp(why, "stop") ? why : "stopped by hand",
		       schedule_host_now());
}

/* ---- the loop -------------------------------------------------------- */

void
schedule_host_step(struct daemon *d)
{
	if (!d->stopping)
		schedule_step(d->schedule, schedule_host_now());
}

int64_t
schedule_host_next(const struct daemon *d)
{
	return d->stopping ? INT64_MAX : schedule_next(d->schedule);
}

static void
folder_take(void *arg, short revents)
{
	struct daemon *d = arg;

	(void)revents;
	schedule_look(d->schedule, schedule_host_now());
}

/*
 * Sets the timer to a time that never comes: its descriptor becomes readable
 * only when the clock is set (ECANCELED).
 */
static void
clock_watch(int fd)
{
	const struct itimerspec never = { .it_value.tv_sec = INT64_C(1) << 40 };

	timerfd_settime(fd, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &never,
			NULL);
}

static void
clock_take(void *arg, short revents)
{
	struct daemon *d = arg;
	uint64_t n;

	(void)revents;
	if (read(d->clock, &n, sizeof n) < 0 && errno == ECANCELED)
		clock_watch(d->clock);
	schedule_host_step(d);
}

static int
fds_add(struct daemon *d)
{
	struct daemon_fd folder = { schedule_fd(d->schedule), POLLIN,
				    folder_take, d };
	struct daemon_fd clock = { -1, POLLIN, clock_take, d };
	int err = 0;

	d->clock = timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC | TFD_NONBLOCK);
	clock.fd = d->clock;
	if (d->clock >= 0) {
		clock_watch(d->clock);
		err = daemon_fds_add(&d->fds, &clock);
	}
	if (!err && folder.fd >= 0)
		err = daemon_fds_add(&d->fds, &folder);
	return err;
}

/*
 * Returns the folder of the state file: from the configuration, else from
 * systemd, else in the schedule's folder; malloc'ed.
 */
static char *
state_folder(const struct daemon *d)
{
	const char *given = d->setup.o.state, *all = getenv("STATE_DIRECTORY");
	char *folder = NULL;

	if (given)
		return strdup(given);
	if (all && *all)
		return strndup(all, strcspn(all, ":"));
	if (d->setup.o.schedule &&
	    asprintf(&folder, "%s/.spate-state", d->setup.o.schedule) < 0)
		return NULL;
	return folder;
}

int
schedule_host_open(struct daemon *d, struct fault *fault)
{
	const struct schedule_hooks hooks = {
		.arm = arm,
		.stop = stop,
		.move = move,
		.stop_at = stop_at,
		.stream_fault = stream_fault,
		.url_fault = url_fault,
		.admit = admission_decide,
		.answers = answers,
		.arg = d,
	};
	char *state = state_folder(d);
	struct schedule_args args = { .folder = d->setup.o.schedule,
				      .state = state,
				      .hooks = &hooks };
	int err;

	err = schedule_open(&d->schedule, &args, schedule_host_now(), fault);
	free(state);
	if (err)
		return err;
	err = fds_add(d);
	return err ? fault_set(fault, err, "no-memory", "out of memory") : 0;
}

void
schedule_host_close(struct daemon *d)
{
	if (d->schedule)
		schedule_close(d->schedule);
	d->schedule = NULL;
	if (d->clock >= 0)
		close(d->clock);
}
