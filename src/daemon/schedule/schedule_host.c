/* SPDX-License-Identifier: MIT */
/*
 * A scan becomes an order, and its sessions carry its number.  Sessions begin
 * and end by their time windows, in the receiver threads; this file only passes
 * their states on.  A scan of several streams has begun when the first of its
 * sessions has, and is over with the last.
 *
 * When the daemon is stopped the sessions end and the scans do not: the state
 * file says that they run, so the next daemon continues them.
 *
 * Sending a recording from a time on, and relaying a stream from a time to a
 * time, are transfers that carry the scan's number; their end is its end.  If
 * the daemon ends first, the next one continues such a scan: from the
 * beginning, unless the receiver knows what it has.  Sending a recording while
 * it is made belongs to its recording (transfer_follow), and does not affect
 * the scan's state; the scan says why it was not sent.
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
#include "daemon/transfers/transfer.h"

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

/* ---- sending and relaying -------------------------------------------- */

static int
send_order(struct schedule_host *h, const struct scan *scan,
	   const struct schedule_when *when, struct transfer_order *o,
	   struct fault *fault)
{
	transfer_order_init(o, h->r->setup.send);
	o->relay = scan->action == SCAN_RELAY;
	o->follow = true;
	o->priority = scan->priority;
	o->scan = scan->id;
	o->start = when->start;
	o->until = when->stop == INT64_MAX ? 0 : when->stop;
	snprintf(o->name, sizeof o->name, "%s",
		 o->relay ? scan->stream[0] : scan->name);
	o->to = strdup(scan->to);
	return o->to ? 0 : fault_no_memory(fault);
}

/*
 * Turns "no such recording" into an error that may pass if the scan has an end:
 * the recording may be made by then.  A final failure could not be taken back.
 */
static int
may_come(const struct scan *scan, int err)
{
	return err == -ENOENT && scan->action == SCAN_SEND &&
		       scan->stop != INT64_MAX
		   ? -EAGAIN
		   : err;
}

static int
send_arm(struct schedule_host *h, struct scan *scan,
	 const struct schedule_when *when, struct fault *fault)
{
	struct transfer_order o;
	struct transfer *t;
	int err = send_order(h, scan, when, &o, fault);

	if (!err)
		err = transfer_add(h->transfers, &o, &t, fault);
	if (err)
		return may_come(scan, err);
	snprintf(scan->recording, sizeof scan->recording, "%s", scan->name);
	return 0;
}

static void
send_stop_at(struct schedule_host *h, const struct scan *scan, int64_t at)
{
	for (struct transfer *t = h->transfers->list; t; t = t->next) {
		if (t->o.scan != scan->id)
			continue;
		t->o.until = at == INT64_MAX ? 0 : at;
		if (t->relay)
			relay_stop_at(t->relay, t->o.until);
	}
}

/*
 * Changes the times of queued transfers.  A relay that runs keeps its start,
 * which its receivers have already.
 */
static void
send_move(struct schedule_host *h, const struct scan *scan,
	  const struct schedule_when *when)
{
	for (struct transfer *t = h->transfers->list; t; t = t->next) {
		if (t->o.scan == scan->id && t->step == TRANSFER_QUEUED)
			t->o.start = when->start;
	}
	send_stop_at(h, scan, when->stop);
}

static void
send_stop(struct schedule_host *h, const struct scan *scan, const char *why)
{
	for (struct transfer *t = h->transfers->list; t; t = t->next) {
		if (t->o.scan == scan->id)
			transfer_stop(h->transfers, t, why);
	}
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
order_of(struct schedule_host *h, const struct scan *scan,
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
		o->stream[i] = setup_stream(&h->r->setup, scan->stream[i]);
		if (!o->stream[i])
			return setup_stream_unknown(&h->r->setup,
						    scan->stream[i], fault);
	}
	o->streams = scan->streams;
	return order_check(o, h->r, fault);
}

/*
 * Tells whether a session of the scan records.  A session from an earlier
 * attempt, which is about to go, does not count.
 */
static bool
has_begun(const struct schedule_host *h, unsigned scan)
{
	for (const struct session *s = h->r->sessions; s; s = s->next) {
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
	if (!strcmp(fault->code, "not-found")) {
		log_line(LEVEL_INFO, scan->name,
			 "it had not begun when spated ended: it begins now");
		return true;
	}
	fault_line(fault, why, sizeof why);
	log_line(LEVEL_WARN, scan->name, "%s", why);
	return true;
}

static int
order(struct schedule_host *h, struct scan *scan,
      const struct schedule_when *when, struct order *o, struct fault *fault)
{
	int err = order_of(h, scan, when, o, fault);

	if (!err)
		err = order_begin(h->r, o, fault);
	if (!err || !resume_refused(scan, fault))
		return err;
	scan->resume = false;
	err = order_of(h, scan, when, o, fault);
	return err ? err : order_begin(h->r, o, fault);
}

static int
arm(void *arg, struct scan *scan, const struct schedule_when *when,
    struct fault *fault)
{
	struct schedule_host *h = arg;
	struct order *o;
	int err;

	if (h->r->stopping)
		return fault_set(fault, -ESHUTDOWN, "busy",
				 "the daemon is stopping");
	if (scan->action != SCAN_RECORD)
		return send_arm(h, scan, when, fault);
	o = calloc(1, sizeof *o);
	if (!o)
		return fault_no_memory(fault);
	err = order(h, scan, when, o, fault);
	if (!err)
		snprintf(scan->recording, sizeof scan->recording, "%.79s",
			 o->name);
	free(o);
	return err ? err : has_begun(h, scan->id);
}

static void
stop(void *arg, struct scan *scan, const char *why)
{
	struct schedule_host *h = arg;

	for (struct session *s = h->r->sessions; s; s = s->next) {
		if (s->scan == scan->id)
			session_stop(s, why);
	}
	send_stop(h, scan, why);
}

static void
stop_at(void *arg, struct scan *scan, int64_t at)
{
	struct schedule_host *h = arg;

	for (struct session *s = h->r->sessions; s; s = s->next) {
		if (s->scan == scan->id)
			session_stop_at(s, at == INT64_MAX ? 0 : at);
	}
	send_stop_at(h, scan, at);
}

static void
move(void *arg, struct scan *scan, const struct schedule_when *when)
{
	struct schedule_host *h = arg;

	for (struct session *s = h->r->sessions; s; s = s->next) {
		if (s->scan != scan->id)
			continue;
		session_start_at(s, when->start);
		session_stop_at(s, when_of(when).stop);
	}
	send_move(h, scan, when);
}

static const char *
stream_fault(void *arg, const char *stream)
{
	struct schedule_host *h = arg;
	struct fault fault = { 0 };
	static char line[sizeof fault];

	if (setup_stream(&h->r->setup, stream))
		return NULL;
	setup_stream_unknown(&h->r->setup, stream, &fault);
	fault_line(&fault, line, sizeof line);
	return line;
}

static const char *
url_fault(void *arg, const char *url, bool relay)
{
	const struct schedule_host *h = arg;
	struct fault fault = { 0 };
	static char line[sizeof fault];

	if (!transfer_url_check(h->transfers, "it", url, relay, &fault))
		return NULL;
	fault_line(&fault, line, sizeof line);
	return line;
}

static bool
answers(void *arg, const char *folder)
{
	const struct schedule_host *h = arg;

	return name_lookup_answers(h->folder, folder);
}

/* ---- reports from sessions ------------------------------------------- */

void
schedule_host_began(struct schedule_host *h, const struct session *s)
{
	if (s->scan && !s->cancelled && !h->r->stopping)
		schedule_began(h->schedule, s->scan, schedule_host_now());
}

void
schedule_host_ended(struct schedule_host *h, const struct session *s)
{
	const char *why = s->reason ? s->reason : "";

	if (!s->scan || h->r->stopping)
		return;
	for (const struct session *of = h->r->sessions; of; of = of->next) {
		if (of != s && of->scan == s->scan)
			return;
	}
	schedule_ended(h->schedule, s->scan, s->failed,
		       strcmp(why, "stop") ? why : "stopped by hand",
		       schedule_host_now());
}

/* ---- reports from transfers ------------------------------------------ */

static void
send_began(void *arg, const struct transfer *t)
{
	const struct schedule_host *h = arg;

	schedule_began(h->schedule, t->o.scan, schedule_host_now());
}

static bool
waited(const struct transfer *t)
{
	return !t->started_ns && t->o.until && clock_steady() >= t->o.until;
}

static void
send_ended(void *arg, const struct transfer *t)
{
	const struct schedule_host *h = arg;
	bool failed = t->facts.state == SENDER_FAILED;

	/* A short transfer may have ended before it was seen running. */
	if (!t->begun && t->facts.state == SENDER_DONE)
		schedule_began(h->schedule, t->o.scan, schedule_host_now());
	schedule_ended(h->schedule, t->o.scan, failed || waited(t),
		       waited(t) ? "it waited for its turn until its end"
				 : t->why,
		       schedule_host_now());
}

static void
send_failed(void *arg, unsigned scan, const char *why)
{
	const struct schedule_host *h = arg;

	schedule_unsent(h->schedule, scan, why);
}

/* ---- the loop -------------------------------------------------------- */

void
schedule_host_step(struct schedule_host *h)
{
	if (!h->r->stopping)
		schedule_step(h->schedule, schedule_host_now());
}

int64_t
schedule_host_next(const struct schedule_host *h)
{
	return h->r->stopping ? INT64_MAX : schedule_next(h->schedule);
}

static void
folder_take(void *arg, short revents)
{
	struct schedule_host *h = arg;

	(void)revents;
	schedule_look(h->schedule, schedule_host_now());
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
	struct schedule_host *h = arg;
	uint64_t n;

	(void)revents;
	if (read(h->clock, &n, sizeof n) < 0 && errno == ECANCELED)
		clock_watch(h->clock);
	schedule_host_step(h);
}

static int
fds_add(struct schedule_host *h)
{
	struct daemon_fd folder = { schedule_fd(h->schedule), POLLIN,
				    folder_take, h };
	struct daemon_fd clock = { -1, POLLIN, clock_take, h };
	int err = 0;

	h->clock = timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC | TFD_NONBLOCK);
	clock.fd = h->clock;
	if (h->clock >= 0) {
		clock_watch(h->clock);
		err = daemon_fds_add(&h->r->fds, &clock);
	}
	if (!err && folder.fd >= 0)
		err = daemon_fds_add(&h->r->fds, &folder);
	return err;
}

char *
schedule_host_state(const struct recorder *r)
{
	const char *given = r->setup.o.state, *all = getenv("STATE_DIRECTORY");
	char *folder = NULL;

	if (given)
		return strdup(given);
	if (all && *all)
		return strndup(all, strcspn(all, ":"));
	if (r->setup.o.schedule &&
	    asprintf(&folder, "%s/.spate-state", r->setup.o.schedule) < 0)
		return NULL;
	return folder;
}

int
schedule_host_open(struct schedule_host *h, struct fault *fault)
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
		.arg = h,
	};
	char *state = schedule_host_state(h->r);
	struct schedule_args args = { .folder = h->r->setup.o.schedule,
				      .state = state,
				      .station = h->r->setup.o.station,
				      .hooks = &hooks };
	int err;

	h->transfers->hooks =
	    (struct transfers_hooks){ send_began, send_ended, send_failed, h };
	err = schedule_open(&h->schedule, &args, schedule_host_now(), fault);
	free(state);
	if (err)
		return err;
	err = fds_add(h);
	return err ? fault_set(fault, err, "no-memory", "out of memory") : 0;
}

void
schedule_host_close(struct schedule_host *h)
{
	if (h->schedule)
		schedule_close(h->schedule);
	h->schedule = NULL;
	if (h->clock >= 0)
		close(h->clock);
}
