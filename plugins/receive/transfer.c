/* SPDX-License-Identifier: MIT */
/*
 * Positions of a run lie in a stretch of 2^48 of their own (or the multiple
 * of `parts` below that, so that a frame begins where the core expects it),
 * and runs follow each other: those of the next transfer come after those of
 * the last.  There are 65536 stretches, and then they are used again.
 *
 * A run begins with its first packet, and with no other: the core would take
 * whichever came first for the beginning.
 */
#include "transfer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define STRETCH (UINT64_C(1) << 48)

int
transfer_make(struct transfer *t, const struct transfer_args *args)
{
	*t = (struct transfer){ .seats = args->seats,
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
transfer_free(struct transfer *t)
{
	free(t->seat);
}

static bool
is_taken(const struct transfer *t)
{
	bool taken = false;

	for (unsigned i = 0; i < t->seats; i++)
		taken |= t->seat[i].state != SEAT_FREE;
	return taken;
}

const char *
transfer_join(struct transfer *t, unsigned seat, const struct wire_hello *h,
	      int *gone)
{
	*gone = -1;
	if (h->packet_bytes != t->packet_bytes)
		return "it sends packets of another size than `payload`";
	if (h->connections > t->seats)
		return "it wants more connections than `connections`";
	if (h->transfer != t->id) {
		if (is_taken(t))
			return "another sender is connected";
		t->id = h->transfer;
		t->connections = h->connections;
		t->met = 0;
		memset(t->known, 0, sizeof t->known);
		t->base = t->above;
		t->age = 0;
	}
	t->met += !t->known[h->connection];
	t->known[h->connection] = true;
	for (unsigned i = 0; i < t->seats; i++) {
		if (t->seat[i].state != SEAT_FREE &&
		    t->seat[i].number == h->connection)
			*gone = (int)i;
	}
	t->seat[seat] = (struct transfer_seat){ .state = SEAT_JOINED,
						.number = h->connection };
	return NULL;
}

void
transfer_leave(struct transfer *t, unsigned seat)
{
	t->seat[seat].state = SEAT_FREE;
}

uint64_t
transfer_at(struct transfer *t, const struct wire_frame *f)
{
	uint64_t run = t->base + f->run;

	if (run >= t->above)
		t->above = run + 1;
	return (run & 0xffff) * t->stride + f->first;
}

bool
transfer_stand(struct transfer *t, unsigned seat, uint64_t at, bool ready)
{
	struct transfer_seat *s = &t->seat[seat];

	if (s->state == SEAT_STANDS && (int64_t)(at - s->at) < 0)
		return false;
	s->state = SEAT_STANDS;
	s->at = at;
	s->ready = ready;
	return true;
}

/* Waited for, although it is behind or nobody knows where. */
static bool
is_awaited(const struct transfer_seat *s)
{
	return s->state != SEAT_FREE &&
	       ((s->state == SEAT_STANDS && s->ready) ||
		s->quiet < TRANSFER_PATIENCE);
}

/* How far it is ahead of the last that is awaited; UINT64_MAX where nobody
 * knows. */
static uint64_t
lead_of(const struct transfer *t, unsigned seat)
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
transfer_may(struct transfer *t, unsigned seat, unsigned n)
{
	uint64_t run = t->seat[seat].at / t->stride;
	uint64_t lead, reach = run == t->run ? t->reach : 1;

	if (!t->reach || !n)
		return n;
	if (t->age < TRANSFER_PATIENCE && t->met < t->connections)
		return 0;
	lead = lead_of(t, seat);
	if (lead >= reach)
		return 0;
	t->run = run;
	return t->reach - lead < n ? (unsigned)(t->reach - lead) : n;
}

void
transfer_tick(struct transfer *t, int64_t ns)
{
	t->age += ns;
	for (unsigned i = 0; i < t->seats; i++)
		t->seat[i].quiet += ns;
}
