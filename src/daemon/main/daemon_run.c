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

void
daemon_forget(struct daemon *d, const char *name)
{
	for (size_t i = json_array_size(d->ended); i--;) {
		const json_t *was =
		    json_object_get(json_array_get(d->ended, i), "name");

		if (!strcmp(json_string_value(was), name))
			json_array_remove(d->ended, i);
	}
}

void
daemon_began(struct daemon *d, struct session *s)
{
	struct entry e;

	report_entry(s, &e);
	catalogue_live(keeper_catalogue(d->keeper), &e);
	log_line(LOG_INFO, s->name, "recording stream %s", s->stream->name);
	if (s->send)
		transfer_follow(d, s, s->send);
}

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
	catalogue_live(keeper_catalogue(d->keeper), &e);
	keeper_touch(d->keeper, s->name);
}

static void
session_end(struct daemon *d, struct session *s)
{
	struct session **at = &d->sessions;
	char group[sizeof s->group];

	while (*at != s)
		at = &(*at)->next;
	*at = s->next;
	if (!s->cancelled)
		json_array_append_new(d->ended, report_info(s));
	if (json_array_size(d->ended) > DAEMON_ENDED)
		json_array_remove(d->ended, 0);
	memcpy(group, s->group, sizeof group);
	schedule_host_ended(d, s);
	mapping_end(d, s->id);
	if (!s->cancelled)
		catalogue_ended(d, s);
	session_free(s);
	daemon_tell(d, group);
}

static void
sessions_step(struct daemon *d, int64_t now)
{
	struct session *s, *next;

	for (s = d->sessions; s; s = next) {
		enum session_state before = s->state;

		next = s->next;
		session_step(s, now);
		if (before == SESSION_ARMED && s->state != before &&
		    !s->cancelled) {
			daemon_began(d, s);
			schedule_host_began(d, s);
		}
		if (s->state != before && s->state == SESSION_RECORDING)
			keeper_poke(d->keeper);
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

	if (schedule_host_next(d) < next)
		next = schedule_host_next(d);
	if (transfers_next(d) < next)
		next = transfers_next(d);
	for (const struct session *s = d->sessions; s; s = s->next) {
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
	log_line(LOG_INFO, NULL, "ready on %s: %u disks, %u streams",
		 d->setup.control.socket, fleet_writers(&d->fleet),
		 d->setup.streams);
	service_ready(d);
	while (!d->stopping || d->sessions || d->probes ||
	       transfers_wait(d, clock_steady()) || inbox_busy(d->inbox)) {
		int err = daemon_fds_wait(&d->fds, wait_ms(d));
		int64_t now = clock_steady();

		if (err) {
			log_line(LOG_ERROR, NULL,
				 "the event loop cannot wait: %s",
				 strerror(-err));
			return err;
		}
		service_step(d, now);
		schedule_host_step(d);
		sessions_step(d, now);
		transfers_step(d, now);
		inbox_step(d->inbox, now);
		mappings_step(d, now);
		fleet_tidy(&d->fleet,
			   d->sessions != NULL || inbox_busy(d->inbox));
		fleet_step(&d->fleet, now);
		admission_watch(d, now);
		daemon_disks(d, now);
		keeper_step(d->keeper, &d->fleet);
		daemon_probes(d, NULL);
		daemon_chores(d);
	}
	return 0;
}
