/* SPDX-License-Identifier: MIT */
#ifndef SPATE_UCX_FETCH_H
#define SPATE_UCX_FETCH_H

#include "receive/tcp/framed.h"
#include "ucx/worker.h"

/*
 * Fetches the payloads of one connection's frames by UCX, for a stream or for a
 * copy.  Each payload is an
 * active message that announces itself and stays with its sender until it is
 * asked for, so a full pool makes the sender wait.
 *
 *   NONE -> OFFERED -> COMES -> HERE -> NONE
 *
 * Messages are numbered.  The front is the message whose frame is first in the
 * inlet, or that a copy asks for.  The receiver thread, or that of the copy's
 * connection, calls all functions but fetch_make() and fetch_free().
 */
enum { FETCH_MESSAGES = 16 };

enum fetch_state { FETCH_NONE, FETCH_OFFERED, FETCH_COMES, FETCH_HERE };

struct fetch;

struct fetch_message {
	struct fetch *fetch;
	enum fetch_state state;
	void *offer; /* libucx's handle of the offer */
	uint64_t bytes;
	uint8_t header[UCX_HEADER];
	struct wire_frame frame; /* the frame header in `header` */
	uint8_t *at;		 /* destination of the payload */
	/* `at` is where the core expects it, not `stage` */
	bool straight;
	/* memory of WIRE_PAYLOAD_MOST bytes, made when first used */
	uint8_t *stage;
};

struct fetch {
	struct ucx_library *library;
	struct ucx_worker worker; /* open while a sender is connected */
	wire_crc32c *crc32c;
	/* of a stream; NULL for a copy */
	struct peer *peer;
	struct framed_line *line;
	uint32_t packet_bytes;
	uint64_t taken; /* of a copy: number of the front */
	/* random number that the sender puts into its messages */
	uint64_t token;
	/*
	 * the connection's transports are known; tame: see ucx_worker_is_tame()
	 */
	bool known, tame;
	/* error in the sender's messages; NULL: none */
	const char *why;
	char text[160]; /* why a sender could not join */
	bool asked;	/* the core had room in this call */
	struct fetch_message message[FETCH_MESSAGES];
};

struct fetch_args {
	struct ucx_library *library;
	struct framed_receiver *framed;
	unsigned source;
};

/* Prepares a source's fetch, and has its inlet expect payloads from it. */
void fetch_make(struct fetch *f, const struct fetch_args *args);
void fetch_free(struct fetch *f);

/* The callbacks of framed_beside with these names. */
const char *fetch_join(struct fetch *f, uint8_t *to, uint32_t *bytes);
void fetch_leave(struct fetch *f);
const char *fetch_look(struct fetch *f, const struct receive_batch *b);
bool fetch_rest(struct fetch *f, bool *again);

/* ---- copies ---------------------------------------------------------- */

void fetch_make_copy(struct fetch *f, struct ucx_library *library,
		     wire_crc32c *crc32c);

/*
 * Lets the sender of the TCP connection `fd` connect; writes the payload of
 * BESIDE.  *bytes is the room at `to`, then the length.  Returns NULL, or a
 * sentence why not.
 */
const char *fetch_listen(struct fetch *f, int fd, uint8_t *to, uint32_t *bytes);

/* As receive_beside_ops::fetch. */
int fetch_piece(struct fetch *f, const uint8_t *header, void *to);

#endif
