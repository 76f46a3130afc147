/* SPDX-License-Identifier: MIT */
#ifndef SPATE_UCX_FETCH_H
#define SPATE_UCX_FETCH_H

#include "receive/tcp/framed.h"
#include "ucx/worker.h"

/*
 * A fetch gets the payloads of one connection's frames by UCX.  Each is an
 * active message that says what it is, and stays with its sender until it is
 * asked for: so a full pool makes the sender wait.
 *
 *   NONE -> OFFERED -> COMES -> HERE -> NONE
 *
 * Messages are numbered; the one whose frame is first in the inlet is the
 * front.
 */
enum { FETCH_MESSAGES = 16 };

enum fetch_state { FETCH_NONE, FETCH_OFFERED, FETCH_COMES, FETCH_HERE };

struct fetch;

struct fetch_message {
	struct fetch *fetch;
	enum fetch_state state;
	void *offer; /* libucx's word for it */
	uint64_t bytes;
	uint8_t header[UCX_HEADER];
	struct wire_frame frame; /* what that says */
	uint8_t *at;		 /* where it goes */
	bool straight;		 /* and that is where the core wants it */
	uint8_t *stage;		 /* memory of its own, made when first used */
};

struct fetch {
	struct ucx_library *library;
	struct ucx_worker worker; /* open while somebody is connected */
	struct peer *peer;
	struct framed_line *line;
	uint32_t packet_bytes;
	uint64_t token;
	bool known, tame; /* what ways it has; see ucx_worker_is_tame */
	const char *why;  /* what is wrong with its messages */
	char text[160];	  /* why it could not be joined */
	bool asked;	  /* there was room in this call */
	struct fetch_message message[FETCH_MESSAGES];
};

struct fetch_args {
	struct ucx_library *library;
	struct framed *framed;
	unsigned source;
};

void fetch_make(struct fetch *f, const struct fetch_args *args);
void fetch_free(struct fetch *f);

/* As framed_beside has them. */
const char *fetch_join(struct fetch *f, uint8_t *to, uint32_t *bytes);
void fetch_leave(struct fetch *f);
const char *fetch_look(struct fetch *f, const struct receive_batch *b);
bool fetch_rest(struct fetch *f, bool *again);

#endif
