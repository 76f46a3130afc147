/* SPDX-License-Identifier: MIT */
/*
 * One turn of the event loop: wait until a descriptor is ready or a time is
 * due, call the owner of each ready descriptor (fds.h), then step everything
 * that has a time of its own.  A session that has ended is freed in this turn.
 */
#include "daemon/main/daemon.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "daemon/schedule/admission.h"
#include "daemon/sessions/report.h"
#include "daemon/schedule/schedule_host.h"

/* Adds the ended recording to the catalogue with the counts of the session; the
 * keeper replaces them when it has read the disks. */
static void
catalogue_ended(struct daemon *d, struct session *s)
{
	struct entry e;

	report_entry(s, &e);
	e.state = s->failed ? ENTRY_FAILED : ENTRY_COMPLETE;
	if (s->failed)
		snprintf(e.why, sizeof e.why, "%s", s->reason);
	catalogue_live(keeper_catalogue(d->r.keeper), &e);
	keeper_touch(d->r.keeper, s->name);
}

static void
session_end(struct daemon *d, struct session *s)
{
	struct session **at = &d->r.sessions;
	char group[sizeof s->group];

	while (*at != s)
		at = &(*at)->next;
	*at = s->next;
	if (!s->cancelled)
		json_array_append_new(d->r.ended, report_info(s));
	if (json_array_size(d->r.ended) > RECORDER_ENDED)
		json_array_remove(d->r.ended, 0);
	memcpy(group, s->group, sizeof group);
	schedule_host_ended(&d->host, s);
	mapping_end(&d->r, s->id);
	if (!s->cancelled)
		catalogue_ended(d, s);
	session_free(s);
	daemon_tell(d, group);
}

static void
sessions_step(struct daemon *d, int64_t now)
{
	struct session *s, *next;

	for (s = d->r.sessions; s; s = next) {
		enum session_state before = s->state;

		next = s->next;
		session_step(s, now);
		if (before == SESSION_ARMED && s->state != before &&
		    !s->cancelled) {
			d->r.hooks.began(d, s);
			schedule_host_began(&d->host, s);
		}
		if (s->state != before && s->state == SESSION_RECORDING)
			keeper_poke(d->r.keeper);
		if (s->state == SESSION_ENDED)
			session_end(d, s);
		else if (s->state != before)
			daemon_tell(d, s->group);
	}
}

/* Returns ms until the next known time, at most until the service's next
 * look. */
static int
wait_ms(const struct daemon *d)
{
	int64_t now = clock_steady(), next = now + d->service.look_ns;

	if (schedule_host_next(&d->host) < next)
		next = schedule_host_next(&d->host);
	if (transfers_next(&d->transfers) < next)
		next = transfers_next(&d->transfers);
	for (const struct session *s = d->r.sessions; s; s = s->next) {
		if (s->state == SESSION_ARMED && !s->when.data &&
		    s->when.start < next)
			next = s->when.start;
		if (s->stop_at && s->state <= SESSION_RECORDING &&
		    s->stop_at < next)
			next = s->stop_at;
	}
	return next <= now ? 0 : (int)((next - now + 999999) / 1000000);
}

int
daemon_run(struct daemon *d)
{
	log_line(LEVEL_INFO, NULL, "ready on %s: %u disks, %u streams",
		 d->r.setup.control.socket, fleet_writers(&d->r.fleet),
		 d->r.setup.streams);
	service_ready(d);
	while (!d->r.stopping || d->r.sessions || d->r.probes ||
	       transfers_wait(&d->transfers, clock_steady()) ||
	       inbox_busy(d->inbox)) {
		int err = daemon_fds_wait(&d->r.fds, wait_ms(d));
		int64_t now = clock_steady();

		if (err) {
			log_line(LEVEL_ERROR, NULL,
				 "the event loop cannot wait: %s",
				 strerror(-err));
			return err;
		}
		service_step(d, now);
		schedule_host_step(&d->host);
		sessions_step(d, now);
		transfers_step(&d->transfers, now);
		inbox_step(d->inbox, now);
		mappings_step(&d->r, now);
		fleet_tidy(&d->r.fleet,
			   d->r.sessions != NULL || inbox_busy(d->inbox));
		fleet_step(&d->r.fleet, now);
		admission_watch(&d->host, now);
		daemon_disks(d, now);
		keeper_step(d->r.keeper, &d->r.fleet);
		probes_step(&d->r, NULL);
		daemon_chores(d);
	}
	return 0;
}
