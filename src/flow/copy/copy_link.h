/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_COPY_COPY_LINK_H
#define SPATE_FLOW_COPY_COPY_LINK_H

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "wire/wire_copy.h"

/*
 * A link is one connection of a copy, to a thread that does nothing else: it
 * waits for the peer, and for an eventfd that tells it to stop.
 *
 * Calls return 0; -ECANCELED when they are to stop; -ECONNRESET when the peer
 * is gone; -ETIMEDOUT at `until` (steady ns; INT64_MAX: never); else -errno.
 * A peer that vanishes is noticed by the kernel, which asks it (link_tune).
 */
struct copy_link {
	int fd;	    /* does not block */
	int stop;   /* an eventfd */
	int64_t by; /* steady ns: it has time until then, whatever is asked of
		       it below; 0: it has as much as it likes */
};

/*
 * Sets what every socket of a copy has: a peer that does not answer for half a
 * minute is gone.  Of who sends pieces the kernel would say so, too, when the
 * peer has no room for as long, so it has to ask link_gone() now and then; and
 * when it goes, killed or not, what it has sent and the peer did not read goes
 * with it, so that the peer knows at once.
 */
void link_tune(int fd, bool sends);
bool link_gone(int fd);

int link_read(const struct copy_link *l, void *to, size_t bytes, int64_t until);

/* The header of a frame; -EBADMSG and a sentence where it is none.  Whole or
 * not at all: -ETIMEDOUT only before its first byte. */
int link_frame(const struct copy_link *l, struct wire_frame *f, int64_t until,
	       const char **why);

/* The payload of one, with its checksum right; -EBADMSG else. */
int link_payload(const struct copy_link *l, const struct wire_frame *f,
		 void *to);

/* A frame, whose lengths and checksums are made here. */
int link_send(const struct copy_link *l, const struct wire_frame *frame,
	      const void *payload, uint32_t bytes);

/* Waits, as long as it is not to stop and the peer is there.  0, -ECANCELED or
 * -ECONNRESET. */
int link_pause(const struct copy_link *l, int ms);

/* "10.1.2.3" or "fd00::1". */
enum { LINK_PEER = 64 };
void link_peer(int fd, char text[LINK_PEER]);

#endif
