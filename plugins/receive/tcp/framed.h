/* SPDX-License-Identifier: MIT */
#ifndef SPATE_RECEIVE_TCP_FRAMED_H
#define SPATE_RECEIVE_TCP_FRAMED_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/handshake.h"
#include "wire/refuse.h"
#include "door.h"
#include "inlet.h"
#include "peer.h"
#include "transfer.h"

/*
 * Wire frames over several connections, each at a source of its own: what
 * comes on them is one sequence, and the core is told it nearly in order.
 */
struct framed_line { /* one connection */
	struct inlet inlet;
	uint32_t told; /* packets of the frame that is whole */
	uint64_t next; /* position of the packet after them */
	bool begun;    /* `next` is that of the inlet's frame */
	bool greeted;  /* its HELLO has come, and it is who it says */
	bool proves;   /* it came, and who it is will be proved */
	struct transfer_hello hello;
	struct handshake handshake;
	int64_t age;  /* ns, until then */
	bool blocked; /* its frame waits for what another is to bring */
	bool aimed;   /* the core aims at */
	uint64_t aim; /* that packet */
};

/*
 * Brings the payloads of DATA frames where they come in a way of their own
 * (ucx_fetch.h), each connection's in order.
 */
struct framed_beside {
	/* A connection is let in: what its sender has to know (the payload of
	 * a BESIDE), at most *bytes.  NULL, or a sentence why it cannot be. */
	const char *(*join)(void *arg, unsigned source, uint8_t *to,
			    uint32_t *bytes);
	void (*leave)(void *arg, unsigned source);
	/* Looks for the payload of the line's first frame (inlet.h), now that
	 * the core has said where it should be.  NULL, or what is wrong. */
	const char *(*look)(void *arg, unsigned source,
			    struct receive_batch *b);
	/* The call ends.  True: there is more to do than its descriptor will
	 * tell; *again: at once. */
	bool (*rest)(void *arg, unsigned source, bool *again);
};

struct framed {
	const struct framed_beside *beside; /* NULL: they come with it */
	void *beside_arg;
	struct door *door;
	struct peer *peer; /* of each line */
	struct framed_line *line;
	unsigned lines;
	struct transfer transfer;
	uint32_t packet_bytes;
	uint8_t secret[1024];
	uint32_t secret_bytes; /* 0: everybody may send */
};

int framed_make(struct framed *f, struct door *door, struct peer *peer,
		unsigned lines, const struct receive_args *args);
void framed_free(struct framed *f);

int framed_receive(struct framed *f, unsigned source, struct receive_batch *b);

/* Senders have to know the secret in this file; before anybody comes. */
int framed_secret(struct framed *f, const char *file,
		  const struct receive_args *args);

/* A HELLO or PROOF that is whole: framed_greet.c. */
void framed_greet(struct framed *f, unsigned source);
void framed_proof(struct framed *f, unsigned source);

/* The receiver has everything before that. */
void framed_have(const struct framed *f, unsigned source, uint64_t run,
		 uint64_t first);

/* Tells somebody why he is cut off. */
void framed_tell_why(const struct framed *f, int fd, const char *code,
		     const char *why);

/* The same, of a sender, and cuts it off. */
void framed_refuse(struct framed *f, unsigned source, const char *code,
		   const char *why);
/* One that sent what it should not have. */
void framed_broken(struct framed *f, unsigned source, const char *what);

/* Ends a connection. */
void framed_drop(struct framed *f, unsigned source, enum log_level level,
		 const char *why);

/* So much time has passed. */
void framed_tick(struct framed *f, int64_t ns);

#endif
