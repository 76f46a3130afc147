/* SPDX-License-Identifier: MIT */
/*
 * Transfers for the schedule: sending a recording from a time on, relaying a
 * stream from a time to a time, and sending a recording while it is made.
 *
 * The first two are transfers that carry the scan's number, and their end is
 * its end.  If the daemon ends first, the next one continues such a scan: from
 * the beginning, unless the receiver knows what it has.
 *
 * The third belongs to its recording: it begins with it, and again when the
 * recording is resumed, and does not affect the scan's state.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "daemon/main/daemon.h"
#include "daemon/schedule/schedule_host.h"
#include "daemon/transfers/transfer_order.h"

static int
no_memory(struct fault *fault)
{
	return fault_set(fault, -ENOMEM, "no-memory", "out of memory");
}

static int
order_of(struct daemon *d, const struct scan *scan,
	 const struct schedule_when *when, struct transfer_order *o,
	 struct fault *fault)
{
	transfer_order_init(o, d->setup.send);
	o->relay = scan->action == SCAN_RELAY;
	o->follow = true;
	o->priority = scan->priority;
	o->scan = scan->id;
	o->start = when->start;
	o->until = when->stop == INT64_MAX ? 0 : when->stop;
	snprintf(o->name, sizeof o->name, "%s",
		 o->relay ? scan->stream[0] : scan->name);
	o->to = strdup(scan->to);
	return o->to ? 0 : no_memory(fault);
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

int
transfer_scan_arm(struct daemon *d, struct scan *scan,
		  const struct schedule_when *when, struct fault *fault)
{
	struct transfer_order o;
	struct transfer *t;
	int err = order_of(d, scan, when, &o, fault);

	if (!err)
		err = transfer_add(d, &o, &t, fault);
	if (err)
		return may_come(scan, err);
	snprintf(scan->recording, sizeof scan->recording, "%s", scan->name);
	return 0;
}

void
transfer_scan_began(struct daemon *d, struct transfer *t, int64_t now)
{
	if (!t->o.scan || t->begun || t->step != TRANSFER_RUNNING ||
	    now < t->o.start || d->stopping)
		return;
	t->begun = true;
	schedule_began(d->schedule, t->o.scan, schedule_host_now());
}

/*
 * Changes the times of queued transfers.  A relay that runs keeps its start,
 * which its receivers have already.
 */
void
transfer_scan_move(struct daemon *d, const struct scan *scan,
		   const struct schedule_when *when)
{
	for (struct transfer *t = d->transfers.list; t; t = t->next) {
		if (t->o.scan == scan->id && t->step == TRANSFER_QUEUED)
			t->o.start = when->start;
	}
	transfer_scan_stop_at(d, scan, when->stop);
}

void
transfer_scan_stop(struct daemon *d, const struct scan *scan, const char *why)
{
	for (struct transfer *t = d->transfers.list; t; t = t->next) {
		if (t->o.scan == scan->id)
			transfer_stop(d, t, why);
	}
}

void
transfer_scan_stop_at(struct daemon *d, const struct scan *scan, int64_t at)
{
	for (struct transfer *t = d->transfers.list; t; t = t->next) {
		if (t->o.scan != scan->id)
			continue;
		t->o.until = at == INT64_MAX ? 0 : at;
		if (t->relay)
			relay_stop_at(t->relay, t->o.until);
	}
}

static bool
waited(const struct transfer *t)
{
	return !t->started_ns && t->o.until && clock_steady() >= t->o.until;
}

void
transfer_scan_ended(struct daemon *d, const struct transfer *t)
{
	bool failed = t->facts.state == SENDER_FAILED;

	if (!t->o.scan || d->stopping)
		return;
	/* A short transfer may have ended before it was seen running. */
	if (!t->begun && t->facts.state == SENDER_DONE)
		schedule_began(d->schedule, t->o.scan, schedule_host_now());
	schedule_ended(d->schedule, t->o.scan, failed || waited(t),
		       waited(t) ? "it waited for its turn until its end"
				 : t->why,
		       schedule_host_now());
}

void
transfer_follow(struct daemon *d, const struct session *s, const char *to)
{
	struct fault fault = { 0 };
	struct transfer_order o;
	struct transfer *t;
	char line[sizeof fault];
	int err;

	transfer_order_init(&o, d->setup.send);
	o.follow = o.keep = true;
	snprintf(o.name, sizeof o.name, "%s", s->name);
	o.to = strdup(to);
	err = o.to ? transfer_add(d, &o, &t, &fault) : no_memory(&fault);
	if (!err)
		return;
	fault_line(&fault, line, sizeof line);
	log_line(LOG_ERROR, s->name, "is recorded, and not sent: %s", line);
}
