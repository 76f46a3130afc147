/* SPDX-License-Identifier: MIT */
/*
 * There are about as many ranges as connections: each connection extends its
 * own range at the end, until the range meets the next one.
 *
 * Each run has a stretch of 2^48 positions of its own (or the multiple of
 * `parts` below that, so that a frame begins where the core expects it).  Runs
 * follow each other, and the runs of the next transfer come after those of the
 * last.  There are 65536 stretches, which are then used again.
 *
 * The first packet that the core gets of a run has to be the run's first: the
 * core takes the first one for the beginning. transfer_may() therefore lets
 * only the hindmost connection begin a run.
 */
#include "transfer.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static bool
is_before(uint64_t a, uint64_t b)
{
	return (int64_t)(a - b) < 0;
}

void
told_clear(struct told *t, uint64_t low)
{
	t->low = low;
	t->n = 0;
}

static unsigned
at_most(uint64_t n, unsigned most)
{
	return n < most ? (unsigned)n : most;
}

/* Returns the index of the first range that ends behind `at`. */
static unsigned
range_find(const struct told *t, uint64_t at)
{
	unsigned i = t->n;

	while (i && is_before(at, t->range[i - 1].to))
		i--;
	return i;
}

unsigned
told_already(const struct told *t, uint64_t at, unsigned n)
{
	unsigned i = range_find(t, at);

	if (is_before(at, t->low))
		return at_most(t->low - at, n);
	if (i < t->n && !is_before(at, t->range[i].from))
		return at_most(t->range[i].to - at, n);
	return 0;
}

unsigned
told_not_yet(const struct told *t, uint64_t at, unsigned n)
{
	unsigned i = range_find(t, at);

	return i < t->n ? at_most(t->range[i].from - at, n) : n;
}

static void
range_remove(struct told *t, unsigned i)
{
	t->n--;
	memmove(&t->range[i], &t->range[i + 1],
		(t->n - i) * sizeof t->range[0]);
}

static void
range_insert(struct told *t, unsigned i, struct told_range r)
{
	if (t->n == TOLD_RANGES) {
		range_remove(t, 0);
		i -= i > 0;
	}
	memmove(&t->range[i + 1], &t->range[i],
		(t->n - i) * sizeof t->range[0]);
	t->range[i] = r;
	t->n++;
}

void
told_add(struct told *t, uint64_t at, unsigned n)
{
	unsigned i = range_find(t, at);

	if (i && t->range[i - 1].to == at)
		t->range[--i].to = at + n;
	else
		range_insert(t, i, (struct told_range){ at, at + n });
	if (i >= t->n)
		i = t->n - 1;
	if (i + 1 < t->n && t->range[i].to == t->range[i + 1].from) {
		t->range[i].to = t->range[i + 1].to;
		range_remove(t, i + 1);
	}
}

void
told_rise(struct told *t, uint64_t low)
{
	if (!is_before(t->low, low))
		return;
	t->low = low;
	while (t->n && !is_before(low, t->range[0].to))
		range_remove(t, 0);
	if (t->n && is_before(t->range[0].from, low))
		t->range[0].from = low;
}

#define STRETCH (UINT64_C(1) << 48)

int
transfer_make(struct transfer_in *t, const struct transfer_args *args)
{
	*t = (struct transfer_in){ .seats = args->seats,
				   .packet_bytes = args->packet_bytes,
				   .reach = args->reach,
				   .stride = STRETCH,
				   .run = UINT64_MAX };
	if (args->parts)
		t->stride -= t->stride % args->parts;
	t->seat = calloc(t->seats, sizeof *t->seat);
	return t->seat ? 0 : -ENOMEM;
}

void
transfer_free(struct transfer_in *t)
{
	free(t->seat);
}

static bool
is_taken(const struct transfer_in *t)
{
	bool taken = false;

	for (unsigned i = 0; i < t->seats; i++)
		taken |= t->seat[i].state != SEAT_FREE;
	return taken;
}

/* Returns the position at which run 0 of the transfer begins. */
static uint64_t
beginning(const struct transfer_in *t)
{
	return (t->base & 0xffff) * t->stride;
}

static const char *
refuse(const struct transfer_in *t, const struct transfer_hello *h,
       const char **code)
{
	*code = "size";
	if (h->wire.packet_bytes != t->packet_bytes)
		return "it sends packets of another size than `payload`";
	*code = "connections";
	if (h->wire.connections > t->seats)
		return "it wants more connections than `connections`";
	*code = "bad";
	if (h->wire.transfer == t->id && h->born == t->born &&
	    h->wire.connections != t->connections)
		return "its connections say different things";
	*code = "busy";
	if (!is_taken(t))
		return NULL;
	if (h->wire.transfer != t->id)
		return "another sender is connected";
	if (h->born != t->born)
		return "it is being sent already";
	return NULL;
}

/*
 * Begins another transfer, or the same one from a sender that was started again
 * and has new connections.
 */
static void
transfer_begin(struct transfer_in *t, const struct transfer_hello *h)
{
	if (h->wire.transfer != t->id) {
		t->base = t->above;
		told_clear(&t->told, beginning(t));
	}
	t->id = h->wire.transfer;
	t->born = h->born;
	t->connections = h->wire.connections;
	t->met = 0;
	memset(t->known, 0, sizeof t->known);
	t->age = 0;
}

struct transfer_answer
transfer_join(struct transfer_in *t, unsigned seat,
	      const struct transfer_hello *h)
{
	unsigned number = h->wire.connection;
	struct transfer_answer a = { .gone = -1 };

	a.why = refuse(t, h, &a.code);
	if (a.why)
		return a;
	if (h->wire.transfer != t->id || h->born != t->born)
		transfer_begin(t, h);
	t->met += !t->known[number];
	t->known[number] = true;
	t->place[number] = t->told.low;
	for (unsigned i = 0; i < t->seats; i++) {
		if (t->seat[i].state != SEAT_FREE &&
		    t->seat[i].number == number)
			a.gone = (int)i;
	}
	t->seat[seat] =
	    (struct transfer_seat){ .state = SEAT_JOINED, .number = number };
	return a;
}

void
transfer_leave(struct transfer_in *t, unsigned seat)
{
	t->seat[seat].state = SEAT_FREE;
}

uint64_t
transfer_at(struct transfer_in *t, const struct wire_frame *f)
{
	uint64_t run = t->base + f->run;

	if (run >= t->above)
		t->above = run + 1;
	return (run & 0xffff) * t->stride + f->first;
}

/*
 * Tells whether connections are still to come, which may begin before the
 * others.
 */
static bool
is_gathering(const struct transfer_in *t)
{
	return t->age < TRANSFER_PATIENCE && t->met < t->connections;
}

/*
 * Moves a connection, and raises `low` to the lowest position of all
 * connections: nothing is missing below it.
 */
static void
place_set(struct transfer_in *t, unsigned number, uint64_t at)
{
	uint64_t low = at;

	t->place[number] = at;
	if (is_gathering(t))
		return;
	for (unsigned i = 0; i < t->connections; i++) {
		if (t->known[i] && (int64_t)(t->place[i] - low) < 0)
			low = t->place[i];
	}
	told_rise(&t->told, low);
}

bool
transfer_stand(struct transfer_in *t, unsigned seat, uint64_t at, bool ready)
{
	struct transfer_seat *s = &t->seat[seat];

	if (s->state == SEAT_STANDS && (int64_t)(at - s->at) < 0)
		return false;
	s->state = SEAT_STANDS;
	s->at = at;
	s->ready = ready;
	place_set(t, s->number, at);
	return true;
}

void
transfer_have(const struct transfer_in *t, uint64_t *run, uint64_t *first)
{
	*run = (t->told.low / t->stride - t->base) & 0xffff;
	*first = t->told.low % t->stride;
}

/*
 * Tells whether others wait for this seat, although it is behind or its
 * position is not known.
 */
static bool
is_awaited(const struct transfer_seat *s)
{
	return s->state != SEAT_FREE &&
	       ((s->state == SEAT_STANDS && s->ready) ||
		s->quiet < TRANSFER_PATIENCE);
}

/*
 * Returns how far a seat is ahead of the hindmost seat that others wait for;
 * UINT64_MAX if a position is not known.
 */
static uint64_t
lead_of(const struct transfer_in *t, unsigned seat)
{
	const struct transfer_seat *me = &t->seat[seat];
	uint64_t lead = 0;

	for (unsigned i = 0; i < t->seats; i++) {
		const struct transfer_seat *s = &t->seat[i];
		int64_t behind = (int64_t)(me->at - s->at);

		if (i == seat || !is_awaited(s))
			continue;
		if (s->state == SEAT_JOINED)
			return UINT64_MAX;
		if (behind > 0 && (uint64_t)behind > lead)
			lead = (uint64_t)behind;
	}
	return lead;
}

unsigned
transfer_may(struct transfer_in *t, unsigned seat, unsigned n)
{
	uint64_t run = t->seat[seat].at / t->stride;
	uint64_t lead, reach = run == t->run ? t->reach : 1;

	if (!n)
		return n;
	/*
	 * A packet that is sent again after a connection broke may come much
	 * later, and finds its place only if no packet behind it was handed
	 * over.
	 */
	if (t->born)
		return is_gathering(t) || t->seat[seat].at != t->told.low ? 0
									  : n;
	if (!t->reach)
		return n;
	if (is_gathering(t))
		return 0;
	lead = lead_of(t, seat);
	if (lead >= reach)
		return 0;
	t->run = run;
	return t->reach - lead < n ? (unsigned)(t->reach - lead) : n;
}

void
transfer_tick(struct transfer_in *t, int64_t ns)
{
	t->age += ns;
	for (unsigned i = 0; i < t->seats; i++)
		t->seat[i].quiet += ns;
}
