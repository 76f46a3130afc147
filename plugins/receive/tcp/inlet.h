/* SPDX-License-Identifier: MIT */
#ifndef SPATE_RECEIVE_TCP_INLET_H
#define SPATE_RECEIVE_TCP_INLET_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/frame.h"

/*
 * An inlet cuts the bytes of one connection into wire frames, and gives out
 * frames that are whole and whose checksums are right:
 *
 *   { inlet_room -> the caller reads there -> inlet_came }* -> inlet_frame
 *   is INLET_WHOLE -> ... -> inlet_next
 *
 * Once inlet_frame() has said INLET_BROKEN it always does, until inlet_clear().
 * The inlet reads no socket itself.
 *
 * With `beside`, payloads of DATA frames do not come in the connection: a frame
 * is whole when the owner has set `payload` to where its payload lies.
 */
enum inlet_state { INLET_PARTIAL, INLET_WHOLE, INLET_BROKEN };

enum {
	INLET_WINDOW = 256 << 10, /* bytes read at once when frames are small */
	INLET_BYTES = WIRE_HEADER_MOST + WIRE_PAYLOAD_MOST + INLET_WINDOW,
};

struct inlet {
	wire_crc32c *crc32c;
	uint8_t *data;	     /* INLET_BYTES */
	uint32_t start, end; /* bytes of `data` that are not used up */
	/* the first frame in `data`; valid if `headed` */
	struct wire_frame frame;
	bool headed;
	/*
	 * payload bytes of that frame that were checked, and their CRC32C so
	 * far
	 */
	uint32_t checked, crc;
	const char *why; /* INLET_BROKEN: what came instead of a frame */
	/* payloads of DATA come another way; set by the owner */
	bool beside;
	/* payload of the first frame, not in `data`; NULL: not there yet */
	uint8_t *payload;
	bool trusted;	/* `payload` has no checksum */
	uint64_t taken; /* frames with such a payload that are done */
};

int inlet_make(struct inlet *in, wire_crc32c *crc32c); /* 0 or -ENOMEM */
void inlet_free(struct inlet *in);
void inlet_clear(struct inlet *in); /* for the next connection */

/*
 * Returns where the next bytes are to be read to, and how many fit.  Only in
 * state INLET_PARTIAL.
 */
uint8_t *inlet_room(struct inlet *in, uint32_t *bytes);

/* Notes that the caller has read so many bytes to inlet_room(). */
void inlet_came(struct inlet *in, uint32_t bytes);

/* Checks the first frame as far as it is here, and returns its state. */
enum inlet_state inlet_frame(struct inlet *in);

/* Returns the payload of a whole frame. */
static inline uint8_t *
inlet_payload(const struct inlet *in)
{
	if (in->payload)
		return in->payload;
	return in->data + in->start + in->frame.header_bytes;
}

/* Tells whether the first frame waits for a payload that comes another way. */
static inline bool
inlet_waits(const struct inlet *in)
{
	return in->beside && in->headed && in->frame.type == WIRE_DATA &&
	       in->frame.payload_bytes && !in->payload;
}

/*
 * Tells whether inlet_room() may be called.  While a frame waits for its
 * payload, the bytes behind it fill the memory.
 */
static inline bool
inlet_has_room(const struct inlet *in)
{
	return !inlet_waits(in) || in->end - in->start <= INLET_WINDOW;
}

/* Removes the first frame. */
void inlet_next(struct inlet *in);

/* Tells whether the connection is between two frames. */
static inline bool
inlet_is_empty(const struct inlet *in)
{
	return in->start == in->end;
}

#endif
