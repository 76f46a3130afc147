/* SPDX-License-Identifier: MIT */
/*
 * How a recording ends, in the order in which data flow: the receivers let go
 * of the stream and close open blocks; the last block in flight reaches a disk;
 * every disk syncs, or fails, or does not answer.  Only then the totals are
 * known, and every writer puts them at the end of its index.
 *
 * The parts of a split stream get their packets from the same sockets, so they
 * all stop when one is stopped.
 */
#include "daemon/sessions/session.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "daemon/sessions/report.h"

/* Ends an armed session: no folders exist, so there is nothing to wait for. */
static void
session_cancel(struct session *s, const char *reason)
{
	s->reason = reason;
	s->state = SESSION_STOPPING;
	s->cancelled = true;
	supply_cancel(s->supply, reason);
	s->end_ns = clock_now();
	log_line(LEVEL_INFO, s->name, "cancelled (%s) before it began", reason);
}

void
session_stop(struct session *s, const char *reason)
{
	if (s->state > SESSION_RECORDING)
		return;
	if (s->state == SESSION_ARMED) {
		session_cancel(s, reason);
		return;
	}
	s->reason = reason;
	s->state = SESSION_STOPPING;
	s->end_ns = clock_now();
	if (s->stop_at && s->stop_at < clock_steady())
		s->end_ns -= clock_steady() - s->stop_at;
	supply_stop(s->supply, reason);
}

void
session_stop_at(struct session *s, int64_t at)
{
	struct gate gate = s->supply->gate;

	if (s->state > SESSION_RECORDING || s->supply->stopped)
		return;
	s->when.stop = at;
	if (!gate.data)
		s->stop_at = at;
	gate.close = at ? at : INT64_MAX;
	supply_gate(s->supply, &gate);
}

void
session_start_at(struct session *s, int64_t at)
{
	struct gate gate = s->supply->gate;

	if (s->state != SESSION_ARMED || gate.data)
		return;
	s->when.start = s->started = gate.open = at;
	s->start_ns = clock_now() + at - clock_steady();
	supply_gate(s->supply, &gate);
}

/* True if all writers have done their job.  The acquire pairs with the writers'
 * release (output.h). */
static bool
jobs_done(struct session *s)
{
	return atomic_load_explicit(&s->output->jobs, memory_order_acquire) ==
	       0;
}

static void
folders_sync(struct session *s)
{
	struct fleet *fleet = s->host->fleet;

	atomic_store(&s->output->jobs, fleet_writers(fleet));
	for (unsigned i = 0; i < fleet->n; i++) {
		struct writer *w = fleet_writer(fleet, i);

		if (w && writer_sync(w, s->output) < 0)
			/* no memory for a few bytes, and no way back */
			abort();
	}
}

static void
folders_end(struct session *s)
{
	struct index_record end = {
		.number = atomic_load(&s->output->records),
		.first = atomic_load(&s->output->packets),
		.first_ns = s->start_ns,
		.last_ns = s->end_ns,
		.kind = INDEX_END,
	};
	struct fleet *fleet = s->host->fleet;
	json_t *tail = report_tail(s);

	output_end(s->output);
	/* Release: a hung disk that gets to its begin job later makes no
	 * folder. */
	atomic_store_explicit(&s->output->ended, true, memory_order_release);

	/* A copy for each writer: the reference count of a JSON value orders
	 * nothing between threads, so the last owner might free it while
	 * another still reads. */
	atomic_store(&s->output->jobs, fleet_writers(fleet));
	for (unsigned i = 0; i < fleet->n; i++) {
		struct writer *w = fleet_writer(fleet, i);

		if (w &&
		    writer_end(w, s->output, &end, json_deep_copy(tail)) < 0)
			/* no memory for a few bytes, and no way back */
			abort();
	}
	json_decref(tail);
}

/* Logs once when no disk takes blocks any more, and once when disks do
 * again. */
static void
disks_look(struct session *s)
{
	const struct stock *stock = s->supply->stock;
	bool none = fleet_takers(s->host->fleet) == 0;

	if (none && !s->diskless)
		log_line(LEVEL_ERROR, s->name,
			 "no disk takes blocks: they wait in memory, which has "
			 "room for %u more of %u",
			 stock_home(stock), stock_blocks(stock));
	if (!none && s->diskless)
		log_line(LEVEL_WARN, s->name, "disks take blocks again");
	s->diskless = none;
}

/*
 * One folder is enough to record, and a hung disk is not waited for.  If no
 * disk could make a folder, a client's order fails, since the client is there
 * to see it.  A scan of the schedule begins all the same: a disk may come back
 * while it lasts.
 */
static void
begin_look(struct session *s)
{
	/* the folders of these disks are counted */
	bool done = jobs_done(s);

	if (atomic_load(&s->output->folders) || (done && s->scan)) {
		s->state = SESSION_RECORDING;
	} else if (done) {
		s->failed = true;
		session_stop(s, "no disk could take it");
	}
}

/* Waits until no block is in flight.  Gives the rest up if no disk takes blocks
 * and their number has not changed for SESSION_PATIENCE. */
static void
writing_look(struct session *s, int64_t now)
{
	unsigned left =
	    atomic_load_explicit(&s->output->in_flight, memory_order_acquire);

	if (left != s->left) {
		s->left = left;
		s->left_since = now;
	}
	if (left && !fleet_takers(s->host->fleet) &&
	    now - s->left_since >= SESSION_PATIENCE) {
		log_line(LEVEL_ERROR, s->name,
			 "no disk takes its last %u blocks: they are lost",
			 left);
		if (!fleet_works(s->host->fleet)) {
			s->failed = true;
			s->reason = "no disk is left";
		}
		fleet_abandon(s->host->fleet, s->output);
		left = atomic_load_explicit(&s->output->in_flight,
					    memory_order_acquire);
	}
	if (left)
		return;
	s->state = SESSION_SYNCING;
	folders_sync(s);
}

/* Logs dropped packets at once, so that a disk can be mended or the next scan
 * saved; at most once a second.  The line at the end has the rest. */
static void
no_buffer_tell(struct session *s, const struct counts *c, int64_t now)
{
	uint64_t n = c->drop[DROP_NO_BUFFER];

	if (n == s->no_buffer || now - s->no_buffer_at < NS_SECOND)
		return;
	log_line(LEVEL_WARN, s->name,
		 "%" PRIu64 " packets were dropped (no_buffer), %" PRIu64
		 " in all: %u of its %u blocks are free; disks are too slow, "
		 "or do not answer, or another recording has the memory",
		 n - s->no_buffer, n, stock_home(s->supply->stock),
		 stock_blocks(s->supply->stock));
	s->no_buffer = n;
	s->no_buffer_at = now;
}

static void
ended(struct session *s)
{
	struct counts c;

	s->state = SESSION_ENDED;
	supply_counts(s->supply, s->part, &c);
	if (!s->cancelled)
		no_buffer_tell(s, &c, clock_steady());
	if (!s->in->own)
		stream_learned(s->stream, s->shape);
	report_summary(s);
}

void
session_subs_sample(struct session *s, int64_t now)
{
	for (unsigned i = 0; s->sub && i < s->stream->plan.subs; i++) {
		struct session_sub *sub = &s->sub[i];
		struct counts c;

		supply_sub_counts(s->supply, i, &c);
		if (c.datagrams != sub->datagrams)
			sub->last = now;
		sub->datagrams = c.datagrams;
	}
}

static void
rate_sample(struct session *s, int64_t now)
{
	double seconds = (double)(now - s->sampled) / 1e9;
	struct counts c;
	uint64_t bytes;

	if (seconds < 1)
		return;
	supply_counts(s->supply, s->part, &c);
	bytes = c.bytes - s->sampled_bytes;
	s->rate = (double)bytes * 8 / seconds;
	s->sampled = now;
	s->sampled_bytes = c.bytes;
	no_buffer_tell(s, &c, now);
	session_subs_sample(s, now);
}

/* Begins when the start is due, by the clock or by the data. */
static void
armed_look(struct session *s, int64_t now)
{
	supply_age(s->supply, s->part, now);
	if (s->when.data ? atomic_load(&s->supply->opened)
			 : now >= s->when.start)
		session_start(s);
}

/* Ends when its time is over, or when its supply has ended: the gate closed by
 * itself, or another part was stopped. */
static void
end_look(struct session *s, int64_t now)
{
	if ((s->stop_at && now >= s->stop_at) || supply_flushed(s->supply))
		session_stop(s,
			     s->supply->stopped ? s->supply->stopped : "time");
	if (s->supply->stopped)
		session_stop(s, s->supply->stopped);
}

void
session_step(struct session *s, int64_t now)
{
	rate_sample(s, now);
	supply_fill(s->supply);
	if (s->state == SESSION_ARMED)
		armed_look(s, now);
	if (s->state == SESSION_BEGINNING)
		begin_look(s);
	if (s->state == SESSION_RECORDING && jobs_done(s))
		disks_look(s);
	end_look(s, now);
	if (s->state == SESSION_STOPPING && jobs_done(s) &&
	    supply_flushed(s->supply))
		s->state = s->cancelled ? SESSION_ENDED : SESSION_WRITING;
	if (s->state == SESSION_WRITING)
		writing_look(s, now);
	if (s->state == SESSION_SYNCING && jobs_done(s) &&
	    !fleet_leaves(s->host->fleet)) {
		s->state = SESSION_CLOSING;
		folders_end(s);
	}
	if (s->state == SESSION_CLOSING && jobs_done(s))
		ended(s);
}
