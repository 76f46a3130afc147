/* SPDX-License-Identifier: MIT */
/* Makes feeds and shows their counters; feed_take.c has what a feed takes of
 * each batch. */
#include "flow/receive/feed.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "flow/heaps/heaps.h"
#include "flow/receive/intake.h"
#include "flow/slots/slots.h"

/* ---- making ----------------------------------------------------------- */

/* Makes the scratch memory for places of the kind that the shape asks for. */
static int
scratch_for(struct scratch **scratch, const struct place_args *args)
{
	if (args->shape->store != HEAP_NONE)
		return heaps_scratch_make(scratch);
	return slots_scratch_make(scratch, args);
}

static int
place_make(struct place **place, const struct place_args *args)
{
	if (args->shape->store != HEAP_NONE)
		return heaps_make(place, args);
	return slots_make(place, args);
}

static int
places_make(struct feed *f)
{
	const struct feed_args *a = &f->a;
	unsigned places = f->in->a.places;
	int err = scratch_for(&f->scratch, &a->place[0]);

	f->place = calloc(places, sizeof(struct place *));
	f->shown = calloc(places, sizeof *f->shown);
	if (err || !f->place || !f->shown)
		return -ENOMEM;
	for (unsigned i = 0; i < places && !a->ready && !err; i++) {
		struct place_args args = a->place[i];

		args.scratch = f->scratch;
		err = place_make(&f->place[i], &args);
	}
	return err;
}

static int
sources_make(struct feed *f)
{
	struct intake *in = f->in;

	f->source = calloc(in->sources + 1, sizeof *f->source);
	if (!f->source)
		return -ENOMEM;
	for (unsigned i = 0; i < in->sources; i++)
		f->source[i].eye = (struct gate_eye){ .format = in->a.format,
						      .shape = in->a.shape,
						      .fps = &in->fps,
						      .last = GATE_BEFORE };
	return 0;
}

static int
split_open(struct feed *f)
{
	const struct intake_args *a = &f->in->a;
	struct split_args args = { .format = a->format,
				   .shape = a->shape,
				   .station = a->by == INTAKE_STATION,
				   .key = a->key,
				   .place = f->place,
				   .places = a->places,
				   .sources = f->in->sources,
				   .scratch = f->scratch };

	return a->by == INTAKE_SOURCE ? 0 : split_make(&f->split, &args);
}

int
feed_make(struct feed **feed, struct intake *in, const struct feed_args *args)
{
	struct feed *f = calloc(1, sizeof *f);
	int err;

	if (!f)
		return -ENOMEM;
	f->in = in;
	f->a = *args;
	f->gate = f->wanted = args->gate;
	err = sources_make(f);
	if (!err)
		err = places_make(f);
	if (!err)
		err = split_open(f);
	if (err) {
		feed_free(f);
		return err;
	}
	if (args->ready)
		memcpy(f->place, args->ready,
		       in->a.places * sizeof(struct place *));
	f->a.place = NULL; /* belonged to the caller */
	f->a.ready = NULL;
	*feed = f;
	return 0;
}

void
feed_free(struct feed *f)
{
	if (!f)
		return;
	for (unsigned i = 0; f->place && i < f->in->a.places; i++)
		place_free(f->place[i]);
	split_free(f->split);
	scratch_free(f->scratch);
	free(f->place);
	free(f->shown);
	free(f->source);
	free(f);
}

/* ---- the event loop --------------------------------------------------- */

void
feed_order(struct feed *f, const struct gate *gate)
{
	pthread_mutex_lock(&f->in->lock);
	f->wanted = *gate;
	pthread_mutex_unlock(&f->in->lock);
}

void
feed_look(struct feed *f, unsigned source, struct feed_view *view)
{
	const struct intake_source *s = &f->in->source[source];
	const struct feed_source *of = &f->source[source];

	pthread_mutex_lock(&f->in->lock);
	view->counts = s->counts;
	if (f->state == FEED_MADE)
		view->counts.datagrams = view->counts.overruns = 0;
	if (f->state == FEED_LEFT) {
		view->counts.datagrams = of->datagrams_end;
		view->counts.overruns = of->overruns_end;
	}
	if (f->state != FEED_MADE) {
		view->counts.datagrams -= of->datagrams;
		view->counts.overruns -= of->overruns;
	}
	pthread_mutex_unlock(&f->in->lock);
	view->place = s->place;
}

/* ---- the receiver thread ----------------------------------------------- */

void
feed_show(struct feed *f, unsigned place)
{
	counts_show(&f->shown[place], place_counts(f->place[place]));
}

/* True if nothing was placed yet: hundreds of armed feeds should cost
 * little. */
static bool
is_empty(const struct feed *f)
{
	return !f->opened && !f->a.early;
}

static bool
is_shown(struct feed *f, unsigned place)
{
	_Static_assert(offsetof(struct counts, datagrams) == 0, "the first");
	return atomic_load_explicit(&f->shown[place].n[0],
				    memory_order_relaxed) ==
	       place_counts(f->place[place])->datagrams;
}

void
feed_age(struct feed *f, int64_t now)
{
	for (unsigned i = 0; i < f->in->a.places; i++) {
		if (is_empty(f) && is_shown(f, i))
			continue;
		place_age(f->place[i], now);
		feed_show(f, i);
	}
}

void
feed_flush(struct feed *f, int64_t now)
{
	for (unsigned i = 0; i < f->in->a.places; i++)
		place_flush(f->place[i]);
	feed_age(f, now);
}
