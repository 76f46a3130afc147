/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_COPY_COPY_LINK_H
#define SPATE_FLOW_COPY_COPY_LINK_H

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "contract/receive.h"
#include "wire/copy.h"

/*
 * A link is one connection of a copy, at the receiver's end.  The calls below
 * block their thread until the peer has sent or taken something, or an eventfd tells it to stop.
 *
 * They return 0; -ECANCELED when told to stop; -ECONNRESET when the peer is
 * gone; -ETIMEDOUT at `until` (steady ns; INT64_MAX: never); or another -errno.
 * The kernel notices a peer that vanishes, by keepalives (link_tune).
 */
struct copy_link {
	int fd;	  /* non-blocking socket */
	int stop; /* eventfd; readable: stop */
	/* Steady ns: a limit on every read and write, whatever `until` says; 0:
	 * no limit. */
	int64_t by;
	/* Payloads of pieces come this way; `beside` NULL: with their frames. */
	const struct receive_beside_ops *ops;
	struct receive_beside *beside;
};

/* Sets the options of the socket: a sender that does not answer for half a
 * minute is gone. */
void link_tune(int fd);

int link_read(const struct copy_link *l, void *to, size_t bytes, int64_t until);

/* Reads the header of a frame.  With a sentence: -EBADMSG, its checksum is wrong,
 * so the connection is broken; -EPROTO, the peer sent what cannot be.
 * -ETIMEDOUT only before its first byte, so a frame is read whole or not at
 * all. */
int link_frame(const struct copy_link *l, struct wire_frame *f, int64_t until,
	       const char **why);

/* Reads the payload of a frame; -EBADMSG: its checksum is wrong. */
int link_payload(const struct copy_link *l, const struct wire_frame *f,
		 void *to);

/* Reads the payload of a piece; `to` NULL: drops it.  Its checksum is the
 * caller's.  -EBADMSG: another came beside the connection.  After a failure the
 * connection is of no further use, and nothing writes to `to` any more. */
int link_piece(struct copy_link *l, const struct wire_frame *f, void *to);

/* Frees what fetches payloads, if there is any. */
void link_beside_close(struct copy_link *l);

/* Sends a frame; sets its lengths and checksums. */
int link_send(const struct copy_link *l, const struct wire_frame *frame,
	      const void *payload, uint32_t bytes);

/* Waits for so many milliseconds at most.  0; -ECANCELED: told to stop;
 * -ECONNRESET: the peer is gone. */
int link_pause(const struct copy_link *l, int ms);

/* Writes the peer's address as text: "10.1.2.3" or "fd00::1". */
enum { LINK_PEER = 64 };
void link_peer(int fd, char text[LINK_PEER]);

#endif
