/* SPDX-License-Identifier: MIT */
/* Answers to transfers that follow a recording while it is made: which numbers
 * are durable or lost, whether more will come, and a wake-up when that changes.
 * A writer reports a whole sync at once. */
#include "flow/output/output_priv.h"
#include "flow/memory/tap.h"

/* Wakes every tap; caller holds output::tapping. */
static void
taps_poke(struct output *o)
{
	for (struct tap *t = o->taps; t; t = *tap_peer(t))
		tap_poke(t);
}

void
output_settle(struct output *o, const struct index_record *r, size_t n)
{
	pthread_mutex_lock(&o->tapping);
	for (size_t i = 0; i < n; i++)
		durable_set_add(&o->settled, r[i].number);
	taps_poke(o);
	pthread_mutex_unlock(&o->tapping);
}

void
output_settle_lost(struct output *o, uint64_t number, bool gap)
{
	pthread_mutex_lock(&o->tapping);
	durable_set_lose(&o->settled, number);
	if (gap)
		durable_set_lose(&o->settled, number - 1);
	taps_poke(o);
	pthread_mutex_unlock(&o->tapping);
}

bool
output_is_lost(struct output *o, uint64_t number)
{
	bool lost;

	pthread_mutex_lock(&o->tapping);
	lost = durable_set_is_lost(&o->settled, number);
	pthread_mutex_unlock(&o->tapping);
	return lost || number < o->first_number;
}

uint64_t
output_settled(struct output *o, uint64_t from)
{
	uint64_t end;

	pthread_mutex_lock(&o->tapping);
	end = durable_set_end(&o->settled, from);
	pthread_mutex_unlock(&o->tapping);
	return end;
}

unsigned
output_floor(struct output *o, uint64_t from, uint64_t *floor,
	     struct output_stretch *lost, unsigned room)
{
	const struct durable_set *s = &o->settled;
	unsigned n = 0;

	pthread_mutex_lock(&o->tapping);
	*floor = durable_set_end(s, 0);
	from = durable_set_next(s, from, true);
	for (; from < *floor && n < room; n++) {
		lost[n].from = from;
		lost[n].to = durable_set_next(s, from, false);
		if (lost[n].to > *floor)
			lost[n].to = *floor;
		from = durable_set_next(s, lost[n].to, true);
	}
	if (from < *floor)
		*floor = from;
	pthread_mutex_unlock(&o->tapping);
	return n;
}

void
output_end(struct output *o)
{
	pthread_mutex_lock(&o->tapping);
	o->over = true;
	taps_poke(o);
	pthread_mutex_unlock(&o->tapping);
}

/* Reads `over` before next_number: after the end no number is added, so *end is
 * final if `over` is true. */
bool
output_over(struct output *o, uint64_t *end)
{
	bool over;

	pthread_mutex_lock(&o->tapping);
	over = o->over;
	pthread_mutex_unlock(&o->tapping);
	pthread_mutex_lock(&o->lock);
	*end = o->next_number;
	pthread_mutex_unlock(&o->lock);
	return over;
}

void
output_hurry(struct output *o, int64_t before)
{
	atomic_store_explicit(&o->hurry, before, memory_order_relaxed);
}

bool
output_learned(struct output *o, struct format_shape *shape)
{
	bool learned;

	pthread_mutex_lock(&o->lock);
	learned = !o->learning;
	if (learned)
		*shape = o->own;
	if (learned && !shape->fps)
		shape->fps = o->fps;
	pthread_mutex_unlock(&o->lock);
	return learned;
}

int
output_tap_open(struct output *o, struct stock *stock, struct tap **tap)
{
	const struct tap_of of = { .session = o,
				   .format = o->format,
				   .shape = o->shape };
	struct tap *t;
	int err = tap_make(&t, &of, stock);

	if (err)
		return err;
	output_hold(o);
	pthread_mutex_lock(&o->tapping);
	*tap_peer(t) = o->taps;
	o->taps = t;
	pthread_mutex_unlock(&o->tapping);
	*tap = t;
	return 0;
}

void
output_tap_close(struct output *o, struct tap *t)
{
	struct tap **at;

	if (!t)
		return;
	pthread_mutex_lock(&o->tapping);
	for (at = &o->taps; *at != t; at = tap_peer(*at))
		;
	*at = *tap_peer(t);
	pthread_mutex_unlock(&o->tapping);
	tap_free(t);
	output_drop(o);
}
