/* SPDX-License-Identifier: MIT */
#ifndef SPATE_RECEIVE_TCP_INLET_H
#define SPATE_RECEIVE_TCP_INLET_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/wire.h"

/*
 * An inlet takes the bytes of one connection as they come, and gives back
 * wire frames that are whole and whose checksums are right:
 *
 *   { inlet_room -> bytes are read there -> inlet_came }* -> inlet_frame is
 *   INLET_WHOLE -> ... -> inlet_next
 *
 * Once it is INLET_BROKEN it stays so.  It does no input itself.
 *
 * With `beside` the payloads of DATA frames do not come in the connection: a
 * frame is whole when somebody says where its payload lies.
 */
enum inlet_state { INLET_PARTIAL, INLET_WHOLE, INLET_BROKEN };

enum {
	INLET_WINDOW = 256 << 10, /* read at once, where frames are small */
	INLET_BYTES = WIRE_HEADER_MOST + WIRE_PAYLOAD_MOST + INLET_WINDOW,
};

struct inlet {
	wire_crc32c *crc32c;
	uint8_t *data; /* INLET_BYTES */
	uint32_t start, end;
	struct wire_frame frame; /* the first in it, with `headed` */
	bool headed;
	uint32_t checked, crc; /* bytes of its payload, and theirs */
	const char *why;       /* INLET_BROKEN: what came */
	bool beside;	       /* set by whoever brings the payloads, */
	uint8_t *payload;      /* where the first frame's is; NULL: not here */
	bool trusted;	       /* it has no checksum */
	uint64_t taken;	       /* frames with one that are done with */
};

int inlet_make(struct inlet *in, wire_crc32c *crc32c); /* 0 or -ENOMEM */
void inlet_free(struct inlet *in);
void inlet_clear(struct inlet *in); /* for another connection */

/* Where the next bytes go, and how many of them; only while it is
 * INLET_PARTIAL. */
uint8_t *inlet_room(struct inlet *in, uint32_t *bytes);
void inlet_came(struct inlet *in, uint32_t bytes);

/* What there is to know of the frame that comes next. */
enum inlet_state inlet_frame(struct inlet *in);

/* Of a whole one. */
static inline uint8_t *
inlet_payload(const struct inlet *in)
{
	if (in->payload)
		return in->payload;
	return in->data + in->start + in->frame.header_bytes;
}

/* Does the first frame wait for a payload beside? */
static inline bool
inlet_waits(const struct inlet *in)
{
	return in->beside && in->headed && in->frame.type == WIRE_DATA &&
	       in->frame.payload_bytes && !in->payload;
}

/* Is there room for what inlet_room promises? */
static inline bool
inlet_has_room(const struct inlet *in)
{
	return !inlet_waits(in) || in->end - in->start <= INLET_WINDOW;
}

/* That one is done with: the next. */
void inlet_next(struct inlet *in);

/* Between two frames? */
static inline bool
inlet_is_empty(const struct inlet *in)
{
	return in->start == in->end;
}

#endif
