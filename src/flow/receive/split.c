/* SPDX-License-Identifier: MIT */
/*
 * The placement of a packet is known only once it has landed.  But a sender
 * sends its threads in turn, so the next packets are for the same placements,
 * in the same order, as those one turn ago:
 *
 *   came   0 1 2 3 0 1 2 3 0 1 2 | 3 0 1 2 3 0 ...  expected
 *              ^ one turn before |
 *
 * The length of a turn is the distance from the last packet with which the
 * placement changed back to the previous change to the same placement; so
 * bursts are turns too (0 0 1 1 0 0).  Every placement is asked for as many
 * pairs as it is expected to need, and the pairs are given to the kernel in the
 * order of the turn.
 *
 *   pair of the call     0    1    2    3    4    5
 *   placement, its pair 3,0  0,0  1,0  2,0  3,1  0,1
 *
 * A packet that came out of turn lies in a slot of another placement, which
 * does not know of it and may move another packet there: so it is copied to
 * scratch memory before any placement sorts its part.
 *
 * Cost, compared with one placement for all: the header is read twice, here and
 * in the placement, 10 ns each; each placement sorts a batch of its own, some
 * 50 ns, shared by its packets.  A packet of 8 kB takes the kernel 1 us.  After
 * a lost packet the rest of its batch is out of turn: two copies each.
 */
#include "flow/receive/split.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	HISTORY = 4096,			       /* packets, a power of two */
	LONGEST = HISTORY - 2 * RECEIVE_BATCH, /* longest turn, in packets */
	NOWHERE = UINT16_MAX,
};

/* State of one placement during a call. */
struct part {
	uint64_t began; /* number, from 1, of the packet with which the turn
			   last came to it; 0: none did */
	uint16_t first; /* first of its pairs, later of its packets */
	uint16_t n;
};

struct split {
	struct split_args a;
	struct part *part;
	struct prediction *prediction; /* sources x placements */
	uint8_t *scratch;

	/* Hash table of placements by key, with open addressing. */
	uint32_t mask;
	uint16_t *slot;

	uint64_t came; /* packets in all */
	uint64_t turn; /* length in packets; 0: not known */
	uint16_t history[HISTORY];

	/* State of one call: the placement of each pair, the pair's index among
	 * that placement's pairs, and the placements that take part. */
	uint16_t of[RECEIVE_BATCH], nth[RECEIVE_BATCH];
	/* Payload address of each pair. */
	const uint8_t *payload[RECEIVE_BATCH];
	unsigned pairs;
	struct receive_pair own[RECEIVE_BATCH];
	struct receive_packet packet[RECEIVE_BATCH];
	uint16_t taking[RECEIVE_BATCH];
	unsigned takings;
};

/* ---- placements by key ------------------------------------------------- */

static uint32_t
slot_of(const struct split *s, uint32_t key)
{
	uint32_t at = key * 0x9e3779b1u >> 16 & s->mask;

	while (s->slot[at] != NOWHERE && s->a.key[s->slot[at]] != key)
		at = (at + 1) & s->mask;
	return at;
}

static int
keys_make(struct split *s)
{
	uint32_t size = 16;

	while (size < 2 * s->a.placements)
		size *= 2;
	s->mask = size - 1;
	s->slot = malloc(size * sizeof *s->slot);
	if (!s->slot)
		return -ENOMEM;
	memset(s->slot, 0xff, size * sizeof *s->slot);
	for (unsigned i = 0; i < s->a.placements; i++)
		s->slot[slot_of(s, s->a.key[i])] = (uint16_t)i;
	return 0;
}

int
split_make(struct split **split, const struct split_args *args)
{
	struct split *s = calloc(1, sizeof *s);
	uint64_t scratch = (uint64_t)RECEIVE_BATCH * args->scratch->slot_bytes;

	if (!s)
		return -ENOMEM;
	s->a = *args;
	s->part = calloc(args->placements, sizeof *s->part);
	s->prediction = calloc((size_t)args->sources * args->placements + 1,
			       sizeof *s->prediction);
	s->scratch = malloc(scratch);
	if (!s->part || !s->prediction || !s->scratch || keys_make(s) < 0) {
		split_free(s);
		return -ENOMEM;
	}
	memset(s->scratch, 0, scratch);
	*split = s;
	return 0;
}

void
split_free(struct split *s)
{
	if (!s)
		return;
	free(s->slot);
	free(s->scratch);
	free(s->prediction);
	free(s->part);
	free(s);
}

/* ---- aiming ------------------------------------------------------------ */

/* Place that packet number i from now is expected for. */
static uint16_t
expected(const struct split *s, unsigned i)
{
	if (!s->turn)
		return 0;
	return s->history[(s->came - s->turn + i % s->turn) % HISTORY];
}

/* Records that a packet came for this placement. */
static void
saw(struct split *s, uint16_t placement)
{
	struct part *part = &s->part[placement];
	uint64_t now = s->came + 1, turn = now - part->began;

	if (!s->turn || s->history[(s->came - 1) % HISTORY] != placement) {
		s->turn = part->began && turn <= LONGEST ? turn : 1;
		part->began = now;
	}
	s->history[s->came++ % HISTORY] = placement;
}

/* Counts one more pair, or packet, of this placement.  Returns its index. */
static uint16_t
part_add(struct split *s, uint16_t placement)
{
	struct part *part = &s->part[placement];

	if (part->n == 0)
		s->taking[s->takings++] = placement;
	return part->n++;
}

/* Gives each placement a contiguous range. */
static void
parts_lay(struct split *s)
{
	uint16_t first = 0;

	for (unsigned i = 0; i < s->takings; i++) {
		struct part *part = &s->part[s->taking[i]];

		part->first = first;
		first = (uint16_t)(first + part->n);
	}
}

static void
parts_forget(struct split *s)
{
	for (unsigned i = 0; i < s->takings; i++)
		s->part[s->taking[i]].n = 0;
	s->takings = 0;
}

static struct prediction *
prediction_of(struct split *s, unsigned source, uint16_t placement)
{
	return &s->prediction[(size_t)source * s->a.placements + placement];
}

unsigned
split_aim(struct split *s, unsigned source, struct receive_pair *pair,
	  unsigned n)
{
	unsigned room = 0;

	for (unsigned i = 0; i < n; i++) {
		s->of[i] = expected(s, i);
		s->nth[i] = part_add(s, s->of[i]);
	}
	parts_lay(s);
	for (unsigned i = 0; i < s->takings; i++) {
		uint16_t placement = s->taking[i];
		const struct part *part = &s->part[placement];

		room += placement_aim(s->a.placement[placement],
				      prediction_of(s, source, placement),
				      s->own + part->first, part->n);
	}
	for (unsigned i = 0; i < n; i++) {
		pair[i] = s->own[s->part[s->of[i]].first + s->nth[i]];
		s->payload[i] = pair[i].payload;
	}
	s->pairs = n;
	parts_forget(s);
	return room;
}

/* ---- dealing out ------------------------------------------------------- */

/* Returns the placement of a packet; NOWHERE: it has none, and was counted as
 * dropped. */
static uint16_t
placement_of(struct split *s, const struct receive_packet *k)
{
	const struct format_shape *shape = s->a.shape;
	struct format_packet f;
	enum drop why;
	uint16_t placement;

	if (k->flags & RECEIVE_FOREIGN) {
		why = DROP_FOREIGN;
	} else if (k->flags & RECEIVE_CUT ||
		   k->bytes != shape->prefix + shape->payload) {
		why = DROP_WRONG_SIZE;
	} else {
		s->a.format->parse(shape, k->prefix, k->payload, &f);
		why = DROP_UNREADABLE;
		if (f.has & FORMAT_READABLE) {
			why = DROP_UNSPLIT;
			placement = s->slot[slot_of(
			    s, s->a.station ? f.station : f.thread)];
			if (placement != NOWHERE)
				return placement;
		}
	}
	placement_drop(s->a.placement[0], why, 1);
	return NOWHERE;
}

/* Sorts packet i into placement of[i], as number nth[i]. */
static void
packets_place(struct split *s, const struct split_batch *b, uint16_t *of,
	      uint16_t *nth)
{
	for (unsigned i = 0; i < b->packets; i++) {
		of[i] = placement_of(s, &b->packet[i]);
		if (of[i] == NOWHERE)
			continue;
		nth[i] = part_add(s, of[i]);
		saw(s, of[i]);
	}
	parts_lay(s);
}

/* Hands a packet to its placement, as if it had come there alone. */
static void
packet_hand(struct split *s, const struct split_batch *b, unsigned i,
	    uint16_t placement, unsigned to)
{
	const struct receive_packet *k = &b->packet[i];
	int at = b->landing ? b->landing[i] : (int)i;
	bool landed =
	    at >= 0 && (unsigned)at < s->pairs && k->payload == s->payload[at];
	uint8_t *aside = s->scratch + (uint64_t)i * s->a.scratch->slot_bytes;

	s->packet[to] = *k;
	if (landed && s->of[at] != placement) {
		memcpy(aside, k->payload, s->a.shape->payload);
		s->packet[to].payload = aside;
	}
}

static void
part_give(struct split *s, const struct split_batch *b, uint16_t number)
{
	const struct part *part = &s->part[number];

	placement_batch(s->a.placement[number],
			prediction_of(s, b->source, number),
			s->packet + part->first, part->n, b->now_ns, b->now);
}

const uint16_t *
split_batch(struct split *s, const struct split_batch *b, unsigned *placements)
{
	uint16_t of[RECEIVE_BATCH], nth[RECEIVE_BATCH];

	packets_place(s, b, of, nth);
	for (unsigned i = 0; i < b->packets; i++) {
		if (of[i] != NOWHERE)
			packet_hand(s, b, i, of[i],
				    s->part[of[i]].first + nth[i]);
	}
	for (unsigned i = 0; i < s->takings; i++)
		part_give(s, b, s->taking[i]);
	*placements = s->takings;
	parts_forget(s);
	return s->taking;
}
