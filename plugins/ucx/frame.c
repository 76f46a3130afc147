/* SPDX-License-Identifier: MIT */
/*
 * The functions channel_begin() to channel_detach() of send/tcp/channel.h, for
 * frames whose payloads go by UCX.
 *
 * A payload is one stretch of memory, never a list of pieces: libucx 1.13
 * breaks up lists in its rendezvous protocol, and later versions are half as
 * fast with them.  Packets that lie one behind the other are sent from there,
 * if that memory can wait (way.c).  All others are copied into the message's
 * own memory, which an adapter knows after its first use.
 *
 * The frame header also goes through the TCP connection, where it keeps its
 * place among the frames without payload.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "way.h"

enum {
	IN_PLACE = 64 << 10
}; /* bytes below which a copy costs less than a message of its own */

void
channel_begin(struct channel *c, struct place first, int64_t time_ns)
{
	struct way_message *m = way_next(c);

	c->frame = (struct wire_frame){ .type = WIRE_DATA,
					.run = first.run,
					.first = first.first,
					.time_ns = (uint64_t)time_ns };
	m->state = WAY_FILLS;
	m->in_place = false;
	m->data = m->stage;
	m->taken = c->taken;
}

/* Tells whether n packets of a run can be sent from where they lie. */
static bool
lies_well(const struct channel *c, const struct send_run *run, uint32_t n)
{
	const struct way_args *a = c->a->beside_args;

	return a->in_place_ok && !run->head_bytes &&
	       run->data_stride == run->data_bytes &&
	       (uint64_t)n * run->data_bytes >= IN_PLACE;
}

static void
packet_copy(struct channel *c, const struct send_run *run, uint32_t i)
{
	uint8_t *to = way_next(c)->stage + c->frame.payload_bytes;

	if (run->head_bytes)
		memcpy(to, run->head + (size_t)i * run->head_stride,
		       run->head_bytes);
	memcpy(to + run->head_bytes, run->data + (size_t)i * run->data_stride,
	       run->data_bytes);
	c->frame.payload_bytes += run->head_bytes + run->data_bytes;
}

uint32_t
channel_add(struct channel *c, const struct send_run *run, uint32_t i,
	    uint32_t n)
{
	uint32_t room =
	    (c->a->most - c->frame.payload_bytes) / c->a->packet_bytes;
	const uint8_t *data = run->data + (size_t)i * run->data_stride;
	struct way_message *m = way_next(c);

	if (n > room)
		n = room;
	if (m->in_place || !n)
		return 0;
	if (!c->frame.packets && lies_well(c, run, n)) {
		m->in_place = true;
		m->data = data;
		c->frame.payload_bytes = n * run->data_bytes;
	} else if (!run->head_bytes && run->data_stride == run->data_bytes) {
		memcpy(m->stage + c->frame.payload_bytes, data,
		       (size_t)n * run->data_bytes);
		c->frame.payload_bytes += n * run->data_bytes;
	} else {
		for (uint32_t k = 0; k < n; k++)
			packet_copy(c, run, i + k);
	}
	c->frame.packets += n;
	return n;
}

/* Sends the frame header over the TCP connection. */
static int
header_send(struct channel *c, int64_t now)
{
	int err;

	c->told = (struct place){ (uint32_t)c->frame.run,
				  c->frame.first + c->frame.packets };
	c->spoke = now;
	wire_pack(&c->frame, c->header, c->a->host->crc32c);
	line_give(&c->line, c->header, WIRE_HEADER);
	err = line_flush(&c->line, 0);
	return err == -EAGAIN ? 0 : err;
}

int
channel_send(struct channel *c, int64_t now)
{
	struct way_message *m = way_next(c);
	int err;

	c->carried = true;
	err = way_send(c, m);
	if (!err)
		err = header_send(c, now);
	if (!err)
		return 0;
	snprintf(c->a->why, c->a->why_bytes, "%s is gone: %s", c->line.peer,
		 strerror(-err));
	channel_drop(c, err);
	return err;
}

int
channel_mark(struct channel *c, struct place at, int64_t now)
{
	int err;

	c->frame = (struct wire_frame){ .type = WIRE_DATA,
					.run = at.run,
					.first = at.first };
	err = header_send(c, now);
	if (err)
		channel_drop(c, err);
	return err;
}

int
channel_end(struct channel *c, struct place at, int64_t now)
{
	int err;

	c->frame = (struct wire_frame){ .type = WIRE_END,
					.run = at.run,
					.first = at.first };
	c->state = CHANNEL_ENDS;
	err = header_send(c, now);
	if (err)
		channel_drop(c, err);
	return err;
}

/*
 * Closes the channel if it sends packets from where they lie: they cannot be
 * copied in time, see way.c.
 */
void
channel_detach(struct channel *c)
{
	const struct way *w = c->way;
	bool elsewhere = false;

	for (unsigned i = 0; w && i < WAY_MESSAGES; i++)
		elsewhere |=
		    w->message[i].state == WAY_GOES && w->message[i].in_place;
	if (elsewhere)
		channel_drop(c, -ECANCELED);
}
