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

	pace_add(&w->pace, bytes, took, behind);
	w->told = false;
	p99 = pace_p99(&w->pace);
	pthread_mutex_lock(&w->lock);
	w->facts.speed = w->pace.speed;
	w->facts.latency = w->pace.took;
	w->facts.latency_p99 = p99;
	pthread_mutex_unlock(&w->lock);
}

static void
bench_log(const struct writer *w, bool benched)
{
	char bytes[UNITS_TEXT], span[UNITS_TEXT];

	units_show_bytes(bytes, w->pace.bytes);
	units_show_span(span, w->pace.took);
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
writer_rank(struct writer *w)
{
	struct choice_rank rank = { .device = w->disk.id.device,
				    .free = w->facts.space.free,
				    .speed = w->pace.speed,
				    .bytes = w->pace.bytes,
				    .took = w->told ? 0 : w->pace.took,
				    .flight = w->loads };
	bool benched;

	w->told = true;
	benched = taker_rank(w->taker, &rank);
	if (benched == w->facts.benched)
		return;
	pthread_mutex_lock(&w->lock);
	w->facts.benched = benched;
	pthread_mutex_unlock(&w->lock);
	bench_log(w, benched);
}
