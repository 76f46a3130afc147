/* SPDX-License-Identifier: MIT */
/* The figures of a disk, for the queue, whose choice depends on them, and for
 * the status. */
#include "base/log.h"
#include "base/units.h"
#include "flow/write/writer_priv.h"

void
writer_took(struct writer *w, uint64_t bytes, int64_t took, int64_t behind)
{
	int64_t p99;

	disk_speed_add(&w->speed, bytes, took, behind);
	w->told = false;
	p99 = disk_speed_p99(&w->speed);
	pthread_mutex_lock(&w->lock);
	w->facts.speed = w->speed.speed;
	w->facts.latency = w->speed.took;
	w->facts.latency_p99 = p99;
	pthread_mutex_unlock(&w->lock);
}

static void
bench_log(const struct writer *w, bool benched)
{
	char bytes[UNITS_TEXT], span[UNITS_TEXT];

	units_show_bytes(bytes, w->speed.bytes);
	units_show_span(span, w->speed.took);
	if (benched)
		log_line(LEVEL_WARN, w->disk.path,
			 "slow: %s took %s, much longer than on the other "
			 "disks; it gets blocks only when no other is idle",
			 bytes, span);
	else
		log_line(LEVEL_INFO, w->disk.path,
			 "not slow any more: %s took %s", bytes, span);
}

void
writer_report(struct writer *w)
{
	struct disk_figures figures = { .device = w->disk.id.device,
					.free = w->facts.space.free,
					.speed = w->speed.speed,
					.bytes = w->speed.bytes,
					.took = w->told ? 0 : w->speed.took,
					.in_flight = w->loads };
	bool benched;

	w->told = true;
	benched = taker_report(w->taker, &figures);
	if (benched == w->facts.benched)
		return;
	pthread_mutex_lock(&w->lock);
	w->facts.benched = benched;
	pthread_mutex_unlock(&w->lock);
	bench_log(w, benched);
}
