/* SPDX-License-Identifier: MIT */
#ifndef SPATE_RECEIVE_TCP_FRAMED_H
#define SPATE_RECEIVE_TCP_FRAMED_H

#include <stdbool.h>
#include <stdint.h>

#include "door.h"
#include "transfer.h"
#include "wire/frame.h"
#include "wire/handshake.h"
#include "wire/refuse.h"

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

/* Tells whether the connection is between two frames. */
static inline bool
inlet_is_empty(const struct inlet *in)
{
	return in->start == in->end;
}

/*
 * The receiving end of a transfer in wire frames (wire/frame.h) over several
 * connections, each at a source of its own.  All connections carry one
 * sequence, and the core gets its packets nearly in order.  All functions but
 * framed_make(), framed_secret() and framed_free() belong to the receiver
 * thread.
 */
struct framed_line { /* one connection */
	struct inlet inlet;
	/* packets of the current frame already handed to the core */
	uint32_t told;
	uint64_t next; /* position of the packet that is handed over next */
	bool begun;    /* `next` belongs to the inlet's current frame */
	/* HELLO has come and was accepted, with the secret if there is one */
	bool greeted;
	bool proves; /* HELLO has come; a PROOF of the secret is awaited */
	struct transfer_hello hello;
	struct handshake handshake;
	/* ns since the connection came; counted until it is greeted */
	int64_t age;
	/* the frame is whole and waits for other connections */
	bool blocked;
	bool aimed;   /* the core's pairs are placed for packet `aim` */
	uint64_t aim; /* position of that packet */
};

/*
 * Callbacks for payloads of DATA frames that do not come in the TCP connection
 * (plugins/ucx/fetch.h).  The payloads of each connection come in order.
 */
struct framed_beside {
	/*
	 * A connection was accepted: writes what its sender has to know (the
	 * payload of a BESIDE frame) to `to`.  *bytes is the room there, then
	 * the length.  Returns NULL, or a sentence why the connection cannot be
	 * used.
	 */
	const char *(*join)(void *arg, unsigned source, uint8_t *to,
			    uint32_t *bytes);
	void (*leave)(void *arg, unsigned source);
	/*
	 * Looks for the payload of the line's first frame (struct inlet), after the
	 * core has placed its pairs.  Returns NULL, or what is wrong.
	 */
	const char *(*look)(void *arg, unsigned source,
			    struct receive_batch *b);
	/*
	 * Called at the end of framed_receive().  Returns true if there is more
	 * to do than the descriptor will show; *again: at once.
	 */
	bool (*rest)(void *arg, unsigned source, bool *again);
};

struct framed_receiver {
	/* NULL: payloads come in the connection */
	const struct framed_beside *beside;
	void *beside_arg;
	struct door *door;
	struct peer *peer; /* one for each line; the caller's */
	struct framed_line *line;
	unsigned lines;
	struct transfer_in transfer;
	uint32_t packet_bytes;
	uint8_t secret[1024];
	uint32_t secret_bytes; /* 0: no secret, every sender is accepted */
};

/*
 * Prepares `lines` connections.  Returns 0 or -ENOMEM; the caller calls
 * framed_free() in either case.  `door` and `peer` must outlive it.
 */
int framed_make(struct framed_receiver *f, struct door *door, struct peer *peer,
		unsigned lines, const struct receive_args *args);
void framed_free(struct framed_receiver *f);

/* Receives packets of a source, as receive_ops::receive. */
int framed_receive(struct framed_receiver *f, unsigned source,
		   struct receive_batch *b);

/*
 * Reads the secret that senders have to know from a file.  Called before any
 * connection is accepted.  Returns 0, or -errno with a sentence in args->why.
 */
int framed_secret(struct framed_receiver *f, const char *file,
		  const struct receive_args *args);

/* Closes a connection and logs why. */
void framed_drop(struct framed_receiver *f, unsigned source,
		 enum log_level level, const char *why);

/*
 * Called every tick: `ns` have passed since the last one.  Accepts connections
 * and closes those that sent no HELLO in time.
 */
void framed_tick(struct framed_receiver *f, int64_t ns);

#endif
