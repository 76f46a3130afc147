/* SPDX-License-Identifier: MIT */
/*
 * A subscriber takes mostly all packets of a batch, as they came: the time
 * window is open, and no edge is near.  Else its own packets are picked.  Only
 * the leading subscriber moves packets within the memory in which they landed;
 * the others copy, and write to no memory that another subscriber still has to
 * read.  A packet that landed in slots of the leading subscriber but is not its
 * own is simply not placed: the slot's bit stays clear, and the next packet may
 * land there.
 *
 * A packet without a stamp counts as if it came when the pass began.  Those
 * that were in a socket when the recording was stopped still belong to it,
 * unless another subscriber is open to take them.
 *
 * The data time of a single packet may be wrong, and must not end a recording:
 * a time window by data time closes only after BELIEVED packets in a row, or
 * after UNDISPUTED without a contradiction.
 */
#include "flow/receive/subscriber.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "flow/heaps/heaps.h"
#include "flow/receive/intake.h"
#include "flow/slots/slots.h"

/* ---- making ----------------------------------------------------------- */

/* Makes the scratch memory for placements of the kind that the shape asks for.
 * */
static int
scratch_for(struct scratch **scratch, const struct placement_args *args)
{
	if (args->shape->store != HEAP_NONE)
		return heaps_scratch_make(scratch);
	return slots_scratch_make(scratch, args);
}

static int
placement_make(struct placement **placement, const struct placement_args *args)
{
	if (args->shape->store != HEAP_NONE)
		return heaps_make(placement, args);
	return slots_make(placement, args);
}

static int
places_make(struct subscriber *f)
{
	const struct subscriber_args *a = &f->a;
	unsigned placements = f->in->a.placements;
	int err = scratch_for(&f->scratch, &a->placement[0]);

	f->placement = calloc(placements, sizeof(struct placement *));
	f->shown = calloc(placements, sizeof *f->shown);
	if (err || !f->placement || !f->shown)
		return -ENOMEM;
	for (unsigned i = 0; i < placements && !a->ready && !err; i++) {
		struct placement_args args = a->placement[i];

		args.scratch = f->scratch;
		err = placement_make(&f->placement[i], &args);
	}
	return err;
}

static int
sources_make(struct subscriber *f)
{
	struct intake *in = f->in;

	f->source = calloc(in->sources + 1, sizeof *f->source);
	if (!f->source)
		return -ENOMEM;
	for (unsigned i = 0; i < in->sources; i++)
		f->source[i].eye =
		    (struct time_window_state){ .format = in->a.format,
						.shape = in->a.shape,
						.fps = &in->fps,
						.last = TIME_BEFORE };
	return 0;
}

static int
split_open(struct subscriber *f)
{
	const struct intake_args *a = &f->in->a;
	struct split_args args = { .format = a->format,
				   .shape = a->shape,
				   .station = a->by == INTAKE_STATION,
				   .key = a->key,
				   .placement = f->placement,
				   .placements = a->placements,
				   .sources = f->in->sources,
				   .scratch = f->scratch };

	return a->by == INTAKE_SOURCE ? 0 : split_make(&f->split, &args);
}

int
subscriber_make(struct subscriber **subscriber, struct intake *in,
		const struct subscriber_args *args)
{
	struct subscriber *f = calloc(1, sizeof *f);
	int err;

	if (!f)
		return -ENOMEM;
	f->in = in;
	f->a = *args;
	f->time_window = f->wanted = args->time_window;
	err = sources_make(f);
	if (!err)
		err = places_make(f);
	if (!err)
		err = split_open(f);
	if (err) {
		subscriber_free(f);
		return err;
	}
	if (args->ready)
		memcpy(f->placement, args->ready,
		       in->a.placements * sizeof(struct placement *));
	f->a.placement = NULL; /* belonged to the caller */
	f->a.ready = NULL;
	*subscriber = f;
	return 0;
}

void
subscriber_free(struct subscriber *f)
{
	if (!f)
		return;
	for (unsigned i = 0; f->placement && i < f->in->a.placements; i++)
		placement_free(f->placement[i]);
	split_free(f->split);
	scratch_free(f->scratch);
	free(f->placement);
	free(f->shown);
	free(f->source);
	free(f);
}

/* ---- the event loop --------------------------------------------------- */

void
subscriber_order(struct subscriber *f, const struct time_window *time_window)
{
	pthread_mutex_lock(&f->in->lock);
	f->wanted = *time_window;
	pthread_mutex_unlock(&f->in->lock);
}

void
subscriber_look(struct subscriber *f, unsigned source,
		struct subscriber_view *view)
{
	const struct intake_source *s = &f->in->source[source];
	const struct subscriber_source *of = &f->source[source];

	pthread_mutex_lock(&f->in->lock);
	view->counts = s->counts;
	if (f->state == SUBSCRIBER_MADE)
		view->counts.datagrams = view->counts.overruns = 0;
	if (f->state == SUBSCRIBER_LEFT) {
		view->counts.datagrams = of->datagrams_end;
		view->counts.overruns = of->overruns_end;
	}
	if (f->state != SUBSCRIBER_MADE) {
		view->counts.datagrams -= of->datagrams;
		view->counts.overruns -= of->overruns;
	}
	pthread_mutex_unlock(&f->in->lock);
	view->placement = s->placement;
}

/* ---- the receiver thread ----------------------------------------------- */

void
subscriber_show(struct subscriber *f, unsigned placement)
{
	counts_show(&f->shown[placement],
		    placement_counts(f->placement[placement]));
}

/* True if nothing was placed yet: hundreds of armed subscribers should cost
 * little. */
static bool
is_empty(const struct subscriber *f)
{
	return !f->opened && !f->a.early;
}

static bool
is_shown(struct subscriber *f, unsigned placement)
{
	_Static_assert(offsetof(struct counts, datagrams) == 0, "the first");
	return atomic_load_explicit(&f->shown[placement].n[0],
				    memory_order_relaxed) ==
	       placement_counts(f->placement[placement])->datagrams;
}

void
subscriber_age(struct subscriber *f, int64_t now)
{
	for (unsigned i = 0; i < f->in->a.placements; i++) {
		if (is_empty(f) && is_shown(f, i))
			continue;
		placement_age(f->placement[i], now);
		subscriber_show(f, i);
	}
}

void
subscriber_flush(struct subscriber *f, int64_t now)
{
	for (unsigned i = 0; i < f->in->a.placements; i++)
		placement_flush(f->placement[i]);
	subscriber_age(f, now);
}

/* ---- packets of a batch ------------------------------------------------ */

/*
 * Times in ns.  AHEAD: longer than a pass takes.  SETTLE: from a packet's stamp
 * until it is in its socket.  GRACE: between two queues of a network card.
 * GRACE_DATA: between two packets of a stream, by data time.  FLUSH: from the
 * end of a subscriber until packets that are left are given up.
 */
#define AHEAD	   INT64_C(50000000)
#define SETTLE	   INT64_C(1000000)
#define GRACE	   INT64_C(10000000)
#define GRACE_DATA INT64_C(100000000)
#define FLUSH	   NS_SECOND

enum { BELIEVED = 8 }; /* packets in a row behind the time window */
#define UNDISPUTED INT64_C(2000000000) /* ns */

/* Landings, for a split, of packets that are in none of its pairs. */
static const int16_t subscriber_nowhere[RECEIVE_BATCH] = {
	[0 ... RECEIVE_BATCH - 1] = -1
};

/* ---- the time window --------------------------------------------------------- */

static bool
is_void(const struct time_window *g)
{
	return g->close <= g->open;
}

int64_t
subscriber_ahead(const struct subscriber *f, int64_t now)
{
	const struct time_window *g = &f->time_window;

	if (f->until || is_void(g))
		return INT64_MAX;
	if (g->data)
		return f->opened ? 0 : INT64_MAX - 1;
	if (now >= g->close)
		return INT64_MAX;
	return now >= g->open ? 0 : g->open - now;
}

static bool
is_near(int64_t edge, int64_t now)
{
	return edge > now - ARRIVAL_OLD && edge < now + AHEAD;
}

bool
subscriber_near(const struct subscriber *f, int64_t now)
{
	const struct time_window *g = &f->time_window;

	if (g->data)
		return false;
	return f->until || is_near(g->open, now) || is_near(g->close, now);
}

bool
subscriber_closes(const struct subscriber *f, int64_t now)
{
	if (is_void(&f->time_window))
		return true;
	if (!f->time_window.data)
		return now >= f->time_window.close;
	for (unsigned i = 0; i < f->in->sources; i++) {
		const struct subscriber_source *of = &f->source[i];

		if (of->passed ||
		    (of->after && now - of->after_at > UNDISPUTED))
			return true;
	}
	return false;
}

/* How much later, in ns, a packet may come that is from before the edge. */
static int64_t
grace(const struct subscriber *f)
{
	return f->time_window.data ? GRACE_DATA : GRACE;
}

void
subscriber_close(struct subscriber *f, int64_t now)
{
	f->settled = now;
	if (!f->time_window.data && f->time_window.close > 0)
		f->settled = f->time_window.close;
	f->settled +=
	    f->in->a.late + (f->time_window.data ? GRACE_DATA : SETTLE);
	f->until = now + f->in->a.late + FLUSH;
}

/* A source that can make its sender wait may itself wait for a source behind
 * it: it counts as empty only when a whole round brought nothing. */
bool
subscriber_waits(struct subscriber *f, struct intake_source *s, int64_t now,
		 bool came, bool more)
{
	struct subscriber_source *of = &f->source[s->number];

	if (of->passed && now >= of->passed + grace(f) + f->in->a.late)
		of->drained = true;
	if (s->waits)
		return came && !of->drained;
	if (!more && now >= f->settled)
		of->drained = true;
	return !of->drained;
}

/* True if packets without a stamp that waited at the end belong to this
 * subscriber.  They do not if a packet before them came after the time window
 * closed. */
static bool
takes_rest(const struct subscriber *f, const struct subscriber_source *of,
	   const struct receive_packet *packet, const struct subscriber_time *t)
{
	return t->alone && !of->passed && !of->drained &&
	       !f->time_window.data && !is_void(&f->time_window) &&
	       !packet->arrived;
}

static void
after_count(struct subscriber_source *of, unsigned n, int64_t now)
{
	if (!of->after)
		of->after_at = now;
	of->after += n;
	if (of->after >= BELIEVED && !of->passed)
		of->passed = now;
}

static enum time_side
sides_look(struct subscriber *f, struct intake_source *s,
	   const struct receive_packet *packet, unsigned n,
	   const struct subscriber_time *t, uint8_t *side)
{
	struct subscriber_source *of = &f->source[s->number];
	enum time_side all;

	of->eye.arrival = f->in->arrival;
	of->eye.now = t->at;
	all = time_window_split(&f->time_window, &of->eye, packet, n, side);
	if (all == TIME_AFTER && takes_rest(f, of, packet, t))
		return TIME_IN;
	if (all != TIME_AFTER)
		of->after = 0;
	else if (f->time_window.data)
		after_count(of, n, t->now);
	else if (!of->passed)
		of->passed = t->now;
	return all;
}

/* ---- packets ---------------------------------------------------------- */

unsigned
subscriber_aim(struct subscriber *f, struct intake_source *s,
	       struct receive_pair *pair, unsigned n)
{
	unsigned room;

	f->scratch->used = 0;
	if (f->split)
		room = split_aim(f->split, s->number, pair, n);
	else
		room = placement_aim(f->placement[s->placement],
				     &f->source[s->number].prediction, pair, n);
	/* packets that will not be placed need no room */
	return f->opened || f->a.early ? room : n;
}

unsigned
subscriber_room(struct subscriber *f, struct intake_source *s, unsigned n)
{
	struct receive_pair pair[RECEIVE_BATCH];

	return f->opened ? subscriber_aim(f, s, pair, n) : n;
}

/* The placement whose counts get packets that have no placement. */
static struct placement *
place_any(const struct subscriber *f, const struct intake_source *s)
{
	return f->placement[f->split ? 0 : s->placement];
}

static void
split_put(struct subscriber *f, struct intake_source *s,
	  const struct receive_packet *packet, unsigned n,
	  const int16_t *landing, const struct subscriber_time *t)
{
	const struct split_batch b = { .source = s->number,
				       .packet = packet,
				       .packets = n,
				       .landing = landing,
				       .now_ns = t->utc,
				       .now = t->now };
	const uint16_t *placement;
	unsigned placements;

	placement = split_batch(f->split, &b, &placements);
	while (placements--)
		subscriber_show(f, placement[placements]);
}

/* Hands packets to their placements.  `landing`, for a split: the pair of each
 * packet, -1 for none; NULL: packet i is in pair i. */
static void
packets_put(struct subscriber *f, struct intake_source *s,
	    const struct receive_packet *packet, unsigned n,
	    const int16_t *landing, const struct subscriber_time *t)
{
	if (f->split) {
		split_put(f, s, packet, n, landing, t);
		return;
	}
	placement_batch(f->placement[s->placement],
			&f->source[s->number].prediction, packet, n, t->utc,
			t->now);
}

static void
time_window_opened(struct subscriber *f)
{
	f->opened = true;
	if (f->a.opened)
		f->a.opened(f->a.arg);
}

/* Takes its own packets of a batch with an edge in it. */
static void
packets_pick(struct subscriber *f, struct intake_source *s,
	     const struct receive_batch *b, const struct subscriber_time *t,
	     uint8_t *side, bool leads)
{
	unsigned count[TIME_MIXED] = { 0 };
	struct time_window_picked own;

	for (unsigned i = 0; i < b->packets; i++) {
		count[side[i]]++;
		if (f->a.early && side[i] == TIME_BEFORE)
			side[i] = TIME_IN;
	}
	if (!f->a.early && count[TIME_BEFORE])
		placement_drop(place_any(f, s), DROP_BEFORE_START,
			       count[TIME_BEFORE]);
	if (count[TIME_IN] && !f->opened)
		time_window_opened(f);
	time_window_pick(&own, b->packet, side, b->packets, TIME_IN);
	packets_put(f, s, own.packet, own.n,
		    leads ? own.from : subscriber_nowhere, t);
}

/* Tells the placements of an empty batch.  Threads that share placements wait
 * for each other, so a thread without packets must show that it passed, too. */
static void
nothing_put(struct subscriber *f, struct intake_source *s,
	    const struct subscriber_time *t, bool leads)
{
	if (leads || f->in->a.rings)
		packets_put(f, s, NULL, 0, NULL, t);
}

void
subscriber_take(struct subscriber *f, struct intake_source *s,
		const struct receive_batch *b, const struct subscriber_time *t,
		bool leads)
{
	const int16_t *landing = leads ? NULL : subscriber_nowhere;
	uint8_t side[RECEIVE_BATCH];
	enum time_side all;

	if (!b->packets) {
		nothing_put(f, s, t, leads);
		return;
	}
	all = sides_look(f, s, b->packet, b->packets, t, side);
	if (all == TIME_IN && !f->opened)
		time_window_opened(f);
	if (all == TIME_IN || (all == TIME_BEFORE && f->a.early)) {
		packets_put(f, s, b->packet, b->packets, landing, t);
	} else if (all == TIME_MIXED) {
		packets_pick(f, s, b, t, side, leads);
	} else {
		if (all == TIME_BEFORE)
			placement_drop(place_any(f, s), DROP_BEFORE_START,
				       b->packets);
		nothing_put(f, s, t, leads);
	}
}

void
subscriber_expect(struct subscriber *f, struct intake_source *s,
		  uint64_t sequence)
{
	placement_expect(f->placement[s->placement],
			 &f->source[s->number].prediction, sequence);
}
