/* SPDX-License-Identifier: MIT */
/*
 * The queue is the list of all transfers that have not ended, in the order in
 * which they came.  There are few of them, so the next one is searched each
 * time.
 *
 * A relay has no disk where its data could wait: it begins at once, and needs
 * no turn.  A paused transfer holds no turn: when it is resumed there may be
 * one more than `max_sends`, which is better than a pause that cannot be ended.
 *
 * A thread that hangs with a disk keeps what it was given: the transfer is put
 * aside and never freed.
 */
#include "daemon/transfers/transfer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/units.h"
#include "daemon/main/daemon.h"
#include "daemon/transfers/transfer_order.h"

#define AGAIN_NS (10 * INT64_C(1000000000))
#define END_NS	 (2 * INT64_C(1000000000))

/* ---- looking --------------------------------------------------------- */

struct transfer *
transfer_find(const struct daemon *d, unsigned id)
{
	struct transfer *t = d->transfers.list;

	while (t && t->id != id)
		t = t->next;
	return t;
}

struct transfer *
transfer_of(const struct daemon *d, const char *name,
	    const struct transfer *after)
{
	struct transfer *t = after ? after->next : d->transfers.list;

	while (t && (t->o.relay || strcmp(t->o.name, name) != 0))
		t = t->next;
	return t;
}

/* ---- coming ---------------------------------------------------------- */

static void
transfer_free(struct transfer *t)
{
	if (t->relay)
		relay_free(t->relay);
	disks_clear(&t->disks);
	setup_send_drop(t->send);
	transfer_order_clear(&t->o);
	free(t);
}

static uint64_t
rate_usual(const struct daemon *d, const char *url)
{
	struct fault fault = { 0 };
	const struct setup_send_way *way =
	    setup_send_way(d->setup.send, url, &fault);

	return way && way->ops->head.flags & SEND_UNHEARD ? SEND_RATE_DATA
							  : SEND_RATE_FREE;
}

int
transfer_add(struct daemon *d, struct transfer_order *o,
	     struct transfer **transfer, struct fault *fault)
{
	struct transfer **end = &d->transfers.list, *t = NULL;
	int err = transfer_check(d, o, fault);

	if (!err) {
		t = calloc(1, sizeof *t);
		if (!t)
			err = fault_set(fault, -ENOMEM, "no-memory",
					"out of memory");
	}
	if (err) {
		transfer_order_clear(o);
		return err;
	}
	t->o = *o;
	*o = (struct transfer_order){ 0 };
	if (t->o.rate == SETUP_SEND_USUAL)
		t->o.rate = rate_usual(d, t->o.to);
	t->kind = t->o.relay ? TRANSFER_RELAY : TRANSFER_SEND;
	t->id = ++d->last_id;
	t->queued_ns = clock_now();
	while (*end)
		end = &(*end)->next;
	*end = *transfer = t;
	d->host.wake(d->host.arg);
	return 0;
}

/* ---- ending ------------------------------------------------------------ */

static void
ended_remember(struct daemon *d, struct transfer *t)
{
	json_array_append_new(d->transfers.ended, transfer_json(d, t));
	if (json_array_size(d->transfers.ended) > DAEMON_ENDED)
		json_array_remove(d->transfers.ended, 0);
}

/* Logs the end; a warning if not everything was sent. */
static void
end_log(const struct transfer *t)
{
	const struct sender_facts *f = &t->facts;
	uint64_t gone = f->unreadable + f->dropped + f->send.lost;
	const char *what = f->state == SENDER_DONE	? "was sent"
			   : f->state == SENDER_STOPPED ? "stopped being sent"
							: "could not be sent";
	char bytes[UNITS_TEXT];

	log_line(f->state == SENDER_FAILED || gone ? LOG_WARN : LOG_INFO,
		 t->o.name, "%s to %s%s%s (%s, %llu packets; %llu not sent)",
		 what, t->o.to, t->why[0] ? ": " : "", t->why,
		 units_show_bytes(bytes, f->bytes),
		 (unsigned long long)f->packets, (unsigned long long)gone);
}

/*
 * Takes a transfer out of the list and frees it; one whose thread hangs is put
 * aside instead.
 */
static void
transfer_end(struct daemon *d, struct transfer *t)
{
	struct transfer **at = &d->transfers.list;

	t->step = TRANSFER_ENDED;
	t->ended_ns = clock_now();
	end_log(t);
	ended_remember(d, t);
	transfer_waiters_tell(d, t);
	transfer_scan_ended(d, t);
	while (*at != t)
		at = &(*at)->next;
	*at = t->next;
	if (transfer_run_drop(t)) {
		transfer_free(t);
		return;
	}
	t->next = d->transfers.hung;
	d->transfers.hung = t;
}

/*
 * Sets the reason.  Why a transfer was stopped takes precedence over what its
 * thread reports.
 */
static void
why_set(struct transfer *t, const char *why)
{
	snprintf(t->why, sizeof t->why, "%.*s", (int)sizeof t->why - 1,
		 why ? why : "");
}

void
transfer_stop(struct daemon *d, struct transfer *t, const char *why)
{
	if (t->stop_why)
		return;
	t->stop_why = why;
	if (t->relay)
		relay_stop(t->relay, why);
	if (t->step == TRANSFER_RUNNING) {
		t->ops->stop(t->run);
		return;
	}
	t->facts.state = SENDER_STOPPED;
	why_set(t, why);
	d->host.wake(d->host.arg);
}

void
transfer_pause(struct daemon *d, struct transfer *t, bool pause)
{
	t->paused = pause;
	if (t->step == TRANSFER_RUNNING)
		t->ops->pause(t->run, pause);
	d->host.wake(d->host.arg);
}

void
transfer_rate(struct transfer *t, uint64_t rate)
{
	t->o.rate = rate;
	if (t->step == TRANSFER_RUNNING)
		t->ops->rate(t->run, rate);
}

/* ---- its turn -------------------------------------------------------- */

static void
fail(struct daemon *d, struct transfer *t, const struct fault *fault)
{
	char line[sizeof *fault];

	fault_line(fault, line, sizeof line);
	why_set(t, line);
	t->facts.state = SENDER_FAILED;
	transfer_end(d, t);
}

/*
 * Puts a failed transfer back into the queue while its recording goes on: the
 * peer may come back.
 */
static bool
try_again(struct daemon *d, struct transfer *t, int64_t now)
{
	const struct session *s = transfer_session(d, t->o.name);

	if (!t->o.keep || t->stop_why || d->stopping || !s ||
	    s->state > SESSION_RECORDING || !transfer_run_drop(t))
		return false;
	t->step = TRANSFER_QUEUED;
	t->kind = TRANSFER_SEND;
	t->tries++;
	t->again = now + AGAIN_NS;
	disks_clear(&t->disks);
	setup_send_drop(t->send);
	t->send = NULL;
	log_line(LOG_WARN, t->o.name,
		 "cannot be sent to %s: %s; is tried again", t->o.to, t->why);
	return true;
}

static void
begin(struct daemon *d, struct transfer *t)
{
	struct fault fault = { 0 };
	int err = transfer_check(d, &t->o, &fault);

	if (!err)
		err = transfer_begin(d, t, &fault);
	if (err) {
		fail(d, t, &fault);
		return;
	}
	t->step = TRANSFER_RUNNING;
	t->started_ns = clock_now();
	t->why[0] = '\0';
	log_line(LOG_INFO, t->o.name, "is sent to %s", t->o.to);
}

static bool
is_before(const struct transfer *t, const struct transfer *other)
{
	return !other || t->o.priority > other->o.priority;
}

static struct transfer *
next_of(const struct daemon *d, int64_t now)
{
	struct transfer *best = NULL;

	for (struct transfer *t = d->transfers.list; t; t = t->next) {
		if (t->step == TRANSFER_QUEUED && !t->paused && !t->o.relay &&
		    t->again <= now && is_before(t, best))
			best = t;
	}
	return best;
}

unsigned
transfers_running(const struct daemon *d)
{
	unsigned n = 0;

	for (const struct transfer *t = d->transfers.list; t; t = t->next)
		n += t->step == TRANSFER_RUNNING && !t->paused && !t->o.relay;
	return n;
}

static void
over(struct daemon *d, struct transfer *t, int64_t now)
{
	struct fault fault = { 0 };

	t->ops->facts(t->run, &t->facts);
	if (t->facts.wants_copy && !t->stop_why && !d->stopping) {
		if (transfer_copy(d, t, &fault) == 0)
			return;
		fail(d, t, &fault);
		return;
	}
	why_set(t, t->stop_why ? t->stop_why : t->facts.why);
	if (t->facts.state != SENDER_FAILED || !try_again(d, t, now))
		transfer_end(d, t);
}

/*
 * Tells whether a transfer's time is over.  A running relay is not stopped
 * here: it takes in packets until its time, and sends them all.
 */
static bool
is_late(const struct transfer *t, int64_t now)
{
	return t->o.until && now >= t->o.until &&
	       (!t->o.relay || t->step == TRANSFER_QUEUED);
}

static void
step_one(struct daemon *d, struct transfer *t, int64_t now)
{
	bool fed = t->relay && !relay_step(t->relay, now);

	if (is_late(t, now))
		transfer_stop(d, t, "its time was over");
	transfer_scan_began(d, t, now);
	if (t->step == TRANSFER_QUEUED && t->stop_why)
		transfer_end(d, t);
	else if (t->step == TRANSFER_QUEUED && t->o.relay && !d->stopping)
		begin(d, t);
	else if (t->step == TRANSFER_QUEUED || !t->ops->ended(t->run))
		return;
	else if (fed) /* the relay still takes in packets: stop it before its
		       * memory is freed */
		relay_stop(t->relay, "nobody sends it");
	else
		over(d, t, now);
}

void
transfers_step(struct daemon *d, int64_t now)
{
	struct transfer *t, *next;

	for (t = d->transfers.list; t; t = next) {
		next = t->next;
		step_one(d, t, now);
	}
	while (!d->stopping &&
	       transfers_running(d) < d->setup.send->o.max_sends &&
	       (t = next_of(d, now)))
		begin(d, t);
}

int64_t
transfers_next(const struct daemon *d)
{
	int64_t next = INT64_MAX, now = clock_steady();

	for (const struct transfer *t = d->transfers.list; t; t = t->next) {
		if (t->o.until > now && t->o.until < next)
			next = t->o.until;
		if (t->o.scan && !t->begun && t->o.start > now &&
		    t->o.start < next)
			next = t->o.start;
		if (t->step == TRANSFER_QUEUED && t->again > now &&
		    t->again < next && !t->paused)
			next = t->again;
	}
	return next;
}

bool
transfers_yield(struct daemon *d)
{
	bool any = false;

	for (struct transfer *t = d->transfers.list; t; t = t->next) {
		if (!t->relay)
			continue;
		transfer_stop(d, t, "its memory is needed for a recording");
		any = true;
	}
	return any;
}

/* ---- the end --------------------------------------------------------- */

void
transfers_stop(struct daemon *d, int64_t now)
{
	d->transfers.stop_by = now + END_NS;
	for (struct transfer *t = d->transfers.list; t; t = t->next)
		transfer_stop(d, t, "the daemon was stopped");
}

bool
transfers_wait(const struct daemon *d, int64_t now)
{
	return d->transfers.list && now < d->transfers.stop_by;
}

/*
 * Frees what has ended.  Transfers whose thread hangs stay until the process
 * ends.
 */
bool
transfers_finish(struct daemon *d)
{
	struct transfer *t;

	while ((t = d->transfers.list)) {
		d->transfers.list = t->next;
		if (t->run && (t->relay || !t->ops->ended(t->run))) {
			t->next = d->transfers.hung;
			d->transfers.hung = t;
			continue;
		}
		if (transfer_run_drop(t))
			transfer_free(t);
	}
	transfer_waiters_clear(d);
	json_decref(d->transfers.ended);
	return !d->transfers.hung;
}
