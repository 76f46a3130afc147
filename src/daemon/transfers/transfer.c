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
 *
 * Answers clients that wait for transfers, when the last of theirs has ended,
 * with what became of each.  If a client has gone, the answer is dropped.
 */
#include "daemon/transfers/transfer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/units.h"

static void
waiter_free(struct transfer_waiter *w)
{
	json_decref(w->sends);
	free(w->id);
	free(w);
}

int
transfer_wait(struct transfers *all, struct server_ticket ticket,
	      const unsigned *id, unsigned n)
{
	struct transfer_waiter *w = calloc(1, sizeof *w);

	if (!w)
		return -ENOMEM;
	*w = (struct transfer_waiter){ .ticket = ticket,
				       .id = calloc(n, sizeof *id),
				       .n = n,
				       .left = n,
				       .sends = json_array() };
	if (!w->id || !w->sends) {
		waiter_free(w);
		return -ENOMEM;
	}
	memcpy(w->id, id, n * sizeof *id);
	w->next = all->waiters;
	all->waiters = w;
	return 0;
}

/* Records the end of a transfer; true when the waiter was answered. */
static bool
waiter_tell(struct transfers *all, struct transfer_waiter *w,
	    struct transfer *t)
{
	for (unsigned i = 0; i < w->n; i++) {
		if (w->id[i] != t->id)
			continue;
		w->id[i] = 0;
		w->left--;
		json_array_append_new(w->sends, transfer_json(all, t));
	}
	if (w->left)
		return false;
	server_answer(
	    all->r->server, w->ticket,
	    json_pack("{s:[], s:O}", "recordings", "sends", w->sends));
	return true;
}

/* Tells all waiters that a transfer has ended. */
static void
transfer_waiters_tell(struct transfers *all, struct transfer *t)
{
	struct transfer_waiter **at = &all->waiters, *w;

	while ((w = *at)) {
		if (!waiter_tell(all, w, t)) {
			at = &w->next;
			continue;
		}
		*at = w->next;
		waiter_free(w);
	}
}

static void
transfer_waiters_clear(struct transfers *all)
{
	struct transfer_waiter *w;

	while ((w = all->waiters)) {
		all->waiters = w->next;
		waiter_free(w);
	}
}

/* ---- the queue ------------------------------------------------------- */

#define AGAIN_NS (10 * NS_SECOND)
#define END_NS	 (2 * NS_SECOND)

/* ---- looking --------------------------------------------------------- */

struct transfer *
transfer_find(const struct transfers *all, unsigned id)
{
	struct transfer *t = all->list;

	while (t && t->id != id)
		t = t->next;
	return t;
}

struct transfer *
transfer_of(const struct transfers *all, const char *name,
	    const struct transfer *after)
{
	struct transfer *t = after ? after->next : all->list;

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
	setup_send_drop(t->send);
	transfer_order_clear(&t->o);
	free(t);
}

static uint64_t
rate_usual(const struct transfers *all, const char *url)
{
	struct fault fault = { 0 };
	const struct setup_send_way *way =
	    setup_send_way(all->r->setup.send, url, &fault);

	return way && way->ops->head.flags & SEND_UNHEARD ? SEND_RATE_DATA
							  : SEND_RATE_FREE;
}

int
transfer_add(struct transfers *all, struct transfer_order *o,
	     struct transfer **transfer, struct fault *fault)
{
	struct transfer **end = &all->list, *t = NULL;
	int err = transfer_check(all, o, fault);

	if (!err) {
		t = calloc(1, sizeof *t);
		if (!t)
			err = fault_no_memory(fault);
	}
	if (err) {
		transfer_order_clear(o);
		return err;
	}
	t->o = *o;
	*o = (struct transfer_order){ 0 };
	if (t->o.rate == SETUP_SEND_USUAL)
		t->o.rate = rate_usual(all, t->o.to);
	t->kind = t->o.relay ? TRANSFER_RELAY : TRANSFER_SEND;
	t->id = ++all->r->last_id;
	t->queued_ns = clock_now();
	while (*end)
		end = &(*end)->next;
	*end = *transfer = t;
	all->r->host.wake(all->r->host.arg);
	return 0;
}

void
transfer_follow(struct transfers *all, const struct session *s, const char *to)
{
	struct fault fault = { 0 };
	struct transfer_order o;
	struct transfer *t;
	char line[sizeof fault];
	int err;

	transfer_order_init(&o, all->r->setup.send);
	o.follow = o.keep = true;
	o.of_scan = s->scan;
	snprintf(o.name, sizeof o.name, "%s", s->name);
	o.to = strdup(to);
	err =
	    o.to ? transfer_add(all, &o, &t, &fault) : fault_no_memory(&fault);
	if (!err)
		return;
	fault_line(&fault, line, sizeof line);
	log_line(LEVEL_ERROR, s->name, "is recorded but not sent: %s", line);
	all->failed++;
	if (s->scan)
		all->hooks.failed(all->hooks.arg, s->scan, line);
}

/* ---- ending ---------------------------------------------------------- */

static void
ended_remember(struct transfers *all, struct transfer *t)
{
	json_array_append_new(all->ended, transfer_json(all, t));
	if (json_array_size(all->ended) > RECORDER_ENDED)
		json_array_remove(all->ended, 0);
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

	log_line(f->state == SENDER_FAILED || gone ? LEVEL_WARN : LEVEL_INFO,
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
transfer_end(struct transfers *all, struct transfer *t)
{
	struct transfer **at = &all->list;

	t->step = TRANSFER_ENDED;
	t->ended_ns = clock_now();
	end_log(t);
	ended_remember(all, t);
	transfer_waiters_tell(all, t);
	if (t->facts.state == SENDER_FAILED) {
		all->failed++;
		if (t->o.of_scan && !all->r->stopping)
			all->hooks.failed(all->hooks.arg, t->o.of_scan, t->why);
	}
	if (t->o.scan && !all->r->stopping)
		all->hooks.ended(all->hooks.arg, t);
	while (*at != t)
		at = &(*at)->next;
	*at = t->next;
	if (transfer_run_drop(t)) {
		transfer_free(t);
		return;
	}
	t->next = all->hung;
	all->hung = t;
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
transfer_stop(struct transfers *all, struct transfer *t, const char *why)
{
	if (t->stop_why)
		return;
	t->stop_why = why;
	if (t->relay)
		relay_stop(t->relay, why);
	if (t->step == TRANSFER_RUNNING) {
		sender_stop(t->run);
		return;
	}
	t->facts.state = SENDER_STOPPED;
	why_set(t, why);
	all->r->host.wake(all->r->host.arg);
}

void
transfer_pause(struct transfers *all, struct transfer *t, bool pause)
{
	t->paused = pause;
	if (t->step == TRANSFER_RUNNING)
		sender_pause(t->run, pause);
	all->r->host.wake(all->r->host.arg);
}

void
transfer_rate(struct transfer *t, uint64_t rate)
{
	t->o.rate = rate;
	if (t->step == TRANSFER_RUNNING)
		sender_rate(t->run, rate);
}

/* ---- its turn -------------------------------------------------------- */

static void
fail(struct transfers *all, struct transfer *t, const struct fault *fault)
{
	char line[sizeof *fault];

	fault_line(fault, line, sizeof line);
	why_set(t, line);
	t->facts.state = SENDER_FAILED;
	transfer_end(all, t);
}

/*
 * Puts a failed transfer back into the queue while its recording goes on: the
 * peer may come back.
 */
static bool
try_again(struct transfers *all, struct transfer *t, int64_t now)
{
	const struct session *s = transfer_session(all, t->o.name);

	if (!t->o.keep || t->stop_why || all->r->stopping || !s ||
	    s->state > SESSION_RECORDING || !transfer_run_drop(t))
		return false;
	t->step = TRANSFER_QUEUED;
	t->kind = TRANSFER_SEND;
	t->tries++;
	t->again = now + AGAIN_NS;
	setup_send_drop(t->send);
	t->send = NULL;
	log_line(LEVEL_WARN, t->o.name,
		 "cannot be sent to %s: %s; is tried again", t->o.to, t->why);
	return true;
}

static void
begin(struct transfers *all, struct transfer *t)
{
	struct fault fault = { 0 };
	int err = transfer_check(all, &t->o, &fault);

	if (!err)
		err = transfer_begin(all, t, &fault);
	if (err) {
		fail(all, t, &fault);
		return;
	}
	t->step = TRANSFER_RUNNING;
	t->started_ns = clock_now();
	t->why[0] = '\0';
	log_line(LEVEL_INFO, t->o.name, "is sent to %s", t->o.to);
}

static bool
is_before(const struct transfer *t, const struct transfer *other)
{
	return !other || t->o.priority > other->o.priority;
}

static struct transfer *
next_of(const struct transfers *all, int64_t now)
{
	struct transfer *best = NULL;

	for (struct transfer *t = all->list; t; t = t->next) {
		if (t->step == TRANSFER_QUEUED && !t->paused && !t->o.relay &&
		    t->again <= now && is_before(t, best))
			best = t;
	}
	return best;
}

unsigned
transfers_running(const struct transfers *all)
{
	unsigned n = 0;

	for (const struct transfer *t = all->list; t; t = t->next)
		n += t->step == TRANSFER_RUNNING && !t->paused && !t->o.relay;
	return n;
}

static void
over(struct transfers *all, struct transfer *t, int64_t now)
{
	struct fault fault = { 0 };

	sender_facts(t->run, &t->facts);
	if (t->facts.wants_copy && !t->stop_why && !all->r->stopping) {
		if (transfer_copy(all, t, &fault) == 0)
			return;
		fail(all, t, &fault);
		return;
	}
	why_set(t, t->stop_why ? t->stop_why : t->facts.why);
	if (t->facts.state != SENDER_FAILED || !try_again(all, t, now))
		transfer_end(all, t);
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

/* Reports that the transfer of a scan has begun, once. */
static void
scan_began(struct transfers *all, struct transfer *t, int64_t now)
{
	if (!t->o.scan || t->begun || t->step != TRANSFER_RUNNING ||
	    now < t->o.start || all->r->stopping)
		return;
	t->begun = true;
	all->hooks.began(all->hooks.arg, t);
}

static void
step_one(struct transfers *all, struct transfer *t, int64_t now)
{
	bool fed = t->relay && !relay_step(t->relay, now);

	if (is_late(t, now))
		transfer_stop(all, t, "its time was over");
	scan_began(all, t, now);
	if (t->step == TRANSFER_QUEUED && t->stop_why)
		transfer_end(all, t);
	else if (t->step == TRANSFER_QUEUED && t->o.relay && !all->r->stopping)
		begin(all, t);
	else if (t->step == TRANSFER_QUEUED || !sender_ended(t->run))
		return;
	else if (fed) /* the relay still takes in packets: stop it before its
		       * memory is freed */
		relay_stop(t->relay, "nobody sends it");
	else
		over(all, t, now);
}

void
transfers_step(struct transfers *all, int64_t now)
{
	struct transfer *t, *next;

	for (t = all->list; t; t = next) {
		next = t->next;
		step_one(all, t, now);
	}
	while (!all->r->stopping &&
	       transfers_running(all) < all->r->setup.send->o.max_sends &&
	       (t = next_of(all, now)))
		begin(all, t);
}

int64_t
transfers_next(const struct transfers *all)
{
	int64_t next = INT64_MAX, now = clock_steady();

	for (const struct transfer *t = all->list; t; t = t->next) {
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
transfers_yield(struct transfers *all)
{
	bool any = false;

	for (struct transfer *t = all->list; t; t = t->next) {
		if (!t->relay)
			continue;
		transfer_stop(all, t, "its memory is needed for a recording");
		any = true;
	}
	return any;
}

/* ---- the end --------------------------------------------------------- */

void
transfers_stop(struct transfers *all, int64_t now)
{
	all->stop_by = now + END_NS;
	for (struct transfer *t = all->list; t; t = t->next)
		transfer_stop(all, t, "the daemon was stopped");
}

bool
transfers_wait(const struct transfers *all, int64_t now)
{
	return all->list && now < all->stop_by;
}

/*
 * Frees what has ended.  Transfers whose thread hangs stay until the process
 * ends.
 */
bool
transfers_finish(struct transfers *all)
{
	struct transfer *t;

	while ((t = all->list)) {
		all->list = t->next;
		if (t->run && (t->relay || !sender_ended(t->run))) {
			t->next = all->hung;
			all->hung = t;
			continue;
		}
		if (transfer_run_drop(t))
			transfer_free(t);
	}
	transfer_waiters_clear(all);
	json_decref(all->ended);
	return !all->hung;
}
