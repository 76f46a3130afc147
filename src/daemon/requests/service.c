/* SPDX-License-Identifier: MIT */
/*
 * The watchdog message (WATCHDOG=1) must mean that data flow.  The event loop
 * sends it only if every receiver thread has made a turn since the last look.
 * Disks do not count: a hung disk is normal life, and the other disks carry on.
 *
 * After the process was stopped for a while (SIGSTOP, a suspended machine) the
 * first look finds that no receiver has moved.  Only STILL such looks in a row
 * are logged.
 *
 * Taking memory at the start and writing the rest at the end may take longer
 * than a unit file can know, so the daemon extends the manager's timeouts
 * itself (EXTEND_TIMEOUT_USEC) and the unit keeps ordinary ones.
 */
#include "daemon/requests/service.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "base/units.h"
#include "daemon/requests/daemon.h"
#include "daemon/requests/notify.h"
#include "daemon/schedule/schedule.h"

enum {
	LOOK = 1000000000,	/* ns between looks, at most */
	LOOK_LEAST = 250000000, /* ns; receivers turn every tenth of a second */
	SAY = 5,		/* looks between two status lines */
	STILL = 10,		/* still looks in a row until it is logged */
	EXTEND_US = 60000000,
};

void
service_open(struct service *s)
{
	int64_t patience = notify_patience();

	*s = (struct service){ .look_ns = LOOK, .watched = patience > 0 };
	if (s->watched && patience / 4 < s->look_ns)
		s->look_ns = patience / 4;
	if (s->look_ns < LOOK_LEAST)
		s->look_ns = LOOK_LEAST;
}

/* Extends the start timeout by a minute: to map the memory takes no time, but a
 * machine that has to write out others for it may need some. */
void
service_memory(const struct service *s, uint64_t bytes)
{
	char text[UNITS_TEXT], lines[160];

	(void)s;
	snprintf(lines, sizeof lines,
		 "STATUS=taking %s of memory\nEXTEND_TIMEOUT_USEC=%llu",
		 units_show_bytes(text, bytes), (unsigned long long)EXTEND_US);
	notify_say(lines);
}

/* ---- the status line ------------------------------------------------- */

static unsigned
recordings(const struct daemon *d)
{
	unsigned n = 0;

	for (const struct session *s = d->r.sessions; s; s = s->next)
		n++;
	return n;
}

/* Makes "; next r4123 at 2026-11-20T10:00:00Z" of the first scan that waits. */
static void
next_make(const struct daemon *d, char *text, size_t bytes)
{
	const struct scan_list *list =
	    d->host.schedule ? schedule_scans(d->host.schedule) : NULL;
	char time[UNITS_TEXT];

	*text = 0;
	for (unsigned i = 0; list && i < list->n; i++) {
		const struct scan *s = list->scan[i];

		if (s->state != SCAN_WAITING && s->state != SCAN_ARMED)
			continue;
		units_show_time(time, s->start);
		snprintf(text, bytes, "; next %s at %.19sZ", s->name, time);
		return;
	}
}

static void
line_make(const struct daemon *d, char *line, size_t bytes)
{
	unsigned n = recordings(d);
	const char *what = n == 1 ? "recording" : "recordings";
	struct disk_set_space space;
	char text[UNITS_TEXT], next[SCAN_NAME + UNITS_TEXT];

	if (d->service.stopping) {
		snprintf(line, bytes, "stopping: %u %s to be flushed", n, what);
		return;
	}
	disk_set_space(&d->r.disks, &space);
	next_make(d, next, sizeof next);
	snprintf(line, bytes, "%u %s, %s free on %u of %u disks%s", n, what,
		 units_show_bytes(text, space.free), space.disks,
		 disk_set_writers(&d->r.disks), next);
}

static void
say(struct daemon *d, const char *first)
{
	struct service *s = &d->service;
	char lines[sizeof s->line + 200];

	line_make(d, s->line, sizeof s->line);
	snprintf(lines, sizeof lines, "%sSTATUS=%s", first, s->line);
	notify_say(lines);
	s->said = clock_steady();
}

void
service_ready(struct daemon *d)
{
	say(d, "READY=1\n");
}

/* CLOCK_MONOTONIC in us, as MONOTONIC_USEC= wants it. */
static uint64_t
monotonic_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

void
service_reloading(struct daemon *d)
{
	char lines[80];

	(void)d;
	snprintf(lines, sizeof lines, "RELOADING=1\nMONOTONIC_USEC=%llu",
		 (unsigned long long)monotonic_us());
	notify_say(lines);
}

void
service_reloaded(struct daemon *d)
{
	say(d, "READY=1\n");
}

static void
stop_extend(struct daemon *d)
{
	char first[80];

	snprintf(first, sizeof first, "STOPPING=1\nEXTEND_TIMEOUT_USEC=%d\n",
		 EXTEND_US);
	say(d, first);
}

void
service_stopping(struct daemon *d)
{
	d->service.stopping = true;
	stop_extend(d);
}

/* ---- looks ----------------------------------------------------------- */

static void
look(struct daemon *d)
{
	struct service *s = &d->service;

	if (receivers_move(&d->r.receivers)) {
		s->still = 0;
		if (s->watched)
			notify_say("WATCHDOG=1");
		return;
	}
	if (++s->still == STILL)
		log_line(LEVEL_ERROR, NULL, "a receiver thread stands still%s",
			 s->watched ? ": no watchdog messages until it runs"
				    : "");
}

void
service_step(struct daemon *d, int64_t now)
{
	struct service *s = &d->service;
	char line[sizeof s->line];

	if (now - s->looked < s->look_ns)
		return;
	s->looked = now;
	look(d);
	if (s->stopping) {
		stop_extend(d);
		return;
	}
	line_make(d, line, sizeof line);
	if (strcmp(line, s->line) && now - s->said >= SAY * s->look_ns)
		say(d, "");
}
