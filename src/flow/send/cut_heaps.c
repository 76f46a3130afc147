/* SPDX-License-Identifier: MIT */
/*
 * How a stored packet is sent:
 *
 *   stored     | header, items |            data of the heap             |
 *   sent       | head, items | .... | head | ...... | head | ...... | head | .
 *               `----- packet -----' `-- packet --' `-- packet --' `------'
 *
 * Only heads are made here, in memory for as many as one call gives; data stay
 * where they are.  Consecutive packets with heads of one length form a run: a
 * heap has three runs at most, or a few more if it has very many items.
 *
 * A heap that came in part is stored as one packet per stretch; each is cut in
 * the same way, so the receiver sees the same holes.  Control heaps and
 * descriptors are cut like other heaps.
 */
#include "flow/send/cut_heaps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	/* Bytes of heads of one call: enough for 6000 packets without items. */
	HEADS = 256 << 10,
	ITEM = 8,
};

struct cut_heaps {
	const struct format_ops *format;
	uint32_t packet; /* bytes of a datagram that is sent */
	struct parcel parcel;
	uint64_t at; /* offset of the next stored packet in the parcel */
	uint64_t bad;

	/* The stored packet that is being cut. */
	bool cutting;
	struct format_piece piece;
	uint32_t items, items_sent;
	uint64_t bytes_sent;
	const uint8_t *data;

	uint64_t *item; /* array of FORMAT_ITEMS */
	uint8_t *heads;
	uint32_t used; /* bytes of heads in use */
};

int
cut_heaps_make(struct cut_heaps **cut, const struct cut_heaps_args *args)
{
	uint32_t packet = args->packet ? args->packet : CUT_HEAPS_PACKET;
	struct cut_heaps *c;

	if (args->shape->store != HEAP_ROW || packet < CUT_HEAPS_LEAST ||
	    packet > CUT_HEAPS_MOST)
		return -EINVAL;
	c = calloc(1, sizeof *c);
	if (!c)
		return -ENOMEM;
	c->format = args->format;
	c->packet = packet / ITEM * ITEM;
	c->item = malloc(FORMAT_ITEMS * sizeof *c->item);
	c->heads = malloc(HEADS);
	if (!c->item || !c->heads) {
		cut_heaps_free(c);
		return -ENOMEM;
	}
	*cut = c;
	return 0;
}

void
cut_heaps_free(struct cut_heaps *c)
{
	if (!c)
		return;
	free(c->item);
	free(c->heads);
	free(c);
}

void
cut_heaps_begin(struct cut_heaps *c, const struct parcel *parcel)
{
	c->parcel = *parcel;
	c->at = 0;
	c->cutting = false;
	if (parcel->err || !parcel->data)
		c->parcel.bytes = 0;
}

uint64_t
cut_heaps_bad(const struct cut_heaps *c)
{
	return c->bad;
}

/* ---- stored packets --------------------------------------------------- */

/* Reads the header of the stored packet at c->at; false: there is none, or the
 * packet does not end within the parcel. */
static bool
piece_read(struct cut_heaps *c)
{
	const uint8_t *at = c->parcel.data + c->at;
	uint64_t left = c->parcel.bytes - c->at;
	uint32_t have = left < 64 ? (uint32_t)left : 64;
	int answer;

	for (;;) {
		answer = c->format->piece(at, have, 0, &c->piece);
		if (answer <= 0)
			break;
		if ((uint64_t)answer > left || (uint32_t)answer <= have)
			return false;
		have = (uint32_t)answer;
	}
	return !answer && c->piece.items <= FORMAT_ITEMS &&
	       (uint64_t)c->piece.header + c->piece.bytes <= left;
}

/* Starts on the next stored packet; false: none is left.  Behind a bad one
 * nothing tells where the next begins, so it ends the parcel. */
static bool
piece_begin(struct cut_heaps *c)
{
	const uint8_t *at;

	if (c->at >= c->parcel.bytes)
		return false;
	at = c->parcel.data + c->at;
	if (!piece_read(c)) {
		c->bad += c->parcel.bytes - c->at;
		c->at = c->parcel.bytes;
		return false;
	}
	c->items = c->format->items(at, &c->piece, c->item, FORMAT_ITEMS);
	c->items_sent = 0;
	c->bytes_sent = 0;
	c->data = at + c->piece.header;
	c->at += (uint64_t)c->piece.header + c->piece.bytes;
	c->cutting = true;
	return true;
}

/* ---- packets that are sent -------------------------------------------- */

struct slice {
	uint32_t items, head, data;
};

/* Sizes of the next packet: as many items as fit, but leaving room for 8 bytes
 * of data while there are any, since receivers expect data in each packet. */
static struct slice
slice_next(const struct cut_heaps *c)
{
	uint64_t left = c->piece.bytes - c->bytes_sent;
	uint32_t room = c->packet - c->format->wrap_bytes(&c->piece, 0);
	uint32_t most = (room - (left ? ITEM : 0)) / ITEM;
	struct slice s = { .items = c->items - c->items_sent };

	if (s.items > most)
		s.items = most;
	s.head = c->format->wrap_bytes(&c->piece, s.items);
	room = c->packet - s.head;
	s.data = left < room ? (uint32_t)left : room;
	return s;
}

static void
head_write(struct cut_heaps *c, const struct slice *s)
{
	struct format_piece p = c->piece;

	p.offset += c->bytes_sent;
	p.bytes = s->data;
	c->format->wrap(&p, c->item + c->items_sent, s->items,
			c->heads + c->used);
	c->used += s->head;
	c->items_sent += s->items;
	c->bytes_sent += s->data;
	c->cutting = c->items_sent < c->items || c->bytes_sent < c->piece.bytes;
}

/* Estimates a packet's arrival, as if the packets of its block had come
 * evenly. */
static int64_t
time_at(const struct cut_heaps *c, const uint8_t *data)
{
	const struct index_record *r = &c->parcel.record;
	double part = (double)(data - c->parcel.data) / (double)r->bytes;

	if (!r->bytes)
		return r->first_ns;
	return r->first_ns +
	       (int64_t)(part * (double)(r->last_ns - r->first_ns));
}

static void
run_begin(struct cut_heaps *c, struct send_run *run, const struct slice *s)
{
	*run = (struct send_run){
		.head = c->heads + c->used,
		.data = c->data + c->bytes_sent,
		.head_bytes = s->head,
		.head_stride = s->head,
		.data_bytes = s->data,
		.data_stride = s->data,
		.packets = 1,
		.time_ns = time_at(c, c->data + c->bytes_sent),
	};
}

/* Makes a run of as many packets of equal size as there are. */
static void
run_cut(struct cut_heaps *c, struct send_run *run)
{
	struct slice s = slice_next(c), next;

	run_begin(c, run, &s);
	head_write(c, &s);
	while (c->cutting && c->used + c->packet <= HEADS) {
		next = slice_next(c);
		if (next.head != s.head || next.data != s.data)
			break;
		head_write(c, &next);
		run->packets++;
	}
}

unsigned
cut_heaps_next(struct cut_heaps *c, struct send_run *run, unsigned most)
{
	unsigned n = 0;

	c->used = 0;
	while (n < most && c->used + c->packet <= HEADS &&
	       (c->cutting || piece_begin(c)))
		run_cut(c, &run[n++]);
	return n;
}
