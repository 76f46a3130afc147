/* SPDX-License-Identifier: MIT */
/*
 * Large frames are read to their end and no further than the next header, so
 * that each lies where the one before it lay, in memory that is in the cache.
 * Small frames are read many at once.  Bytes left over, a header or part of a
 * small frame, move to the front.
 *
 *   start                                end
 *     | header | payload ... | header ... |
 *
 * The checksum is computed as bytes come, right after the kernel wrote them.
 */
#include "inlet.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { LARGE = 64 << 10 };

int
inlet_make(struct inlet *in, wire_crc32c *crc32c)
{
	*in = (struct inlet){ .crc32c = crc32c };
	in->data = malloc(INLET_BYTES);
	return in->data ? 0 : -ENOMEM;
}

void
inlet_free(struct inlet *in)
{
	free(in->data);
}

void
inlet_clear(struct inlet *in)
{
	*in = (struct inlet){ .crc32c = in->crc32c,
			      .data = in->data,
			      .beside = in->beside };
}

static bool
is_beside(const struct inlet *in)
{
	return in->beside && in->frame.type == WIRE_DATA;
}

/* Returns the bytes of the first frame that come in the connection. */
static uint32_t
frame_bytes(const struct inlet *in)
{
	return in->frame.header_bytes +
	       (is_beside(in) ? 0 : in->frame.payload_bytes);
}

uint8_t *
inlet_room(struct inlet *in, uint32_t *bytes)
{
	uint32_t have = in->end - in->start;
	uint32_t whole = in->headed ? frame_bytes(in) : 0;
	uint32_t need = whole > have ? whole - have : 0;

	if (in->start)
		memmove(in->data, in->data + in->start, have);
	in->start = 0;
	in->end = have;
	*bytes = need >= LARGE ? need + WIRE_HEADER : INLET_WINDOW;
	return in->data + have;
}

void
inlet_came(struct inlet *in, uint32_t bytes)
{
	in->end += bytes;
}

static void
header_read(struct inlet *in)
{
	const uint8_t *at = in->data + in->start;
	uint32_t have = in->end - in->start;

	/*
	 * The magic is checked before the header is whole: a sender of another
	 * protocol may send less than a header and wait for an answer.
	 */
	if (have >= sizeof(uint32_t) && read_le32(at) != WIRE_MAGIC)
		in->why = "something that is no frame of spate's";
	else if (have >= WIRE_HEADER)
		in->why = wire_unpack(&in->frame, at, in->crc32c);
	in->headed = have >= WIRE_HEADER && !in->why;
	in->checked = in->crc = 0;
}

/* Continues the checksum over the part of the payload that is here. */
static void
payload_check(struct inlet *in)
{
	uint32_t have = in->end - in->start, came;

	if (is_beside(in)) {
		if (in->payload && !in->checked && !in->trusted)
			in->crc =
			    in->crc32c(0, in->payload, in->frame.payload_bytes);
		in->checked = in->payload ? in->frame.payload_bytes : 0;
		return;
	}
	if (have <= in->frame.header_bytes)
		return;
	came = have - in->frame.header_bytes;
	if (came > in->frame.payload_bytes)
		came = in->frame.payload_bytes;
	in->crc = in->crc32c(in->crc, inlet_payload(in) + in->checked,
			     came - in->checked);
	in->checked = came;
}

enum inlet_state
inlet_frame(struct inlet *in)
{
	if (!in->headed && !in->why)
		header_read(in);
	if (!in->headed)
		return in->why ? INLET_BROKEN : INLET_PARTIAL;
	payload_check(in);
	if (in->end - in->start < frame_bytes(in) || inlet_waits(in))
		return INLET_PARTIAL;
	if (in->trusted || in->crc == in->frame.payload_crc)
		return INLET_WHOLE;
	in->headed = false;
	in->why = "a frame whose payload has a wrong checksum";
	return INLET_BROKEN;
}

void
inlet_next(struct inlet *in)
{
	in->start += frame_bytes(in);
	in->taken += in->payload != NULL;
	in->payload = NULL;
	in->trusted = false;
	in->headed = false;
}
