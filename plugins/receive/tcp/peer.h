/* SPDX-License-Identifier: MIT */
#ifndef SPATE_RECEIVE_TCP_PEER_H
#define SPATE_RECEIVE_TCP_PEER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include "contract/receive.h"
#include "net/endpoint.h"

/*
 * A peer is the sender connected at one source.  Senders come and go, while the
 * source's descriptor stays: it is an epoll set that holds the sender's socket.
 * The set also polls readable while data was read and not yet handed to the
 * core.  Used by the receiver thread.
 */
struct peer {
	const struct host *host;
	int set;
	/* a descriptor that is always readable; owned by the caller */
	int wake;
	bool woken;
	int fd; /* -1: no sender is connected */
	union endpoint from;
	/* present or last sender; "": there was none */
	char name[ENDPOINT_TEXT];
	/* since the last tick the receiver could not take more */
	bool held;
	uint64_t bytes, seen; /* bytes in all, and at the last tick */
	int64_t quiet;	      /* ns of silence */
	struct receive_counts counts;
};

/* Makes the source's descriptor, without a sender.  Returns 0 or -errno. */
int peer_make(struct peer *p, const struct host *host, int wake);
void peer_free(struct peer *p);

/* Takes a connection's descriptor over, and closes it in peer_leave(). */
void peer_seat(struct peer *p, int fd, const union endpoint *from);

/* Closes the connection and logs `why`; NULL: no line. */
void peer_leave(struct peer *p, enum log_level level, const char *why);

/*
 * Reads once.  Returns the bytes that came; 0: nothing yet; -ENODATA: the
 * sender has closed; else -errno.
 */
int peer_read(struct peer *p, const struct iovec *iov, int n);

/* `left`: data is left to be handed over, so the set has to poll readable. */
void peer_wake(struct peer *p, bool left);

/*
 * Counts the time since the last tick.  Returns true if the sender was silent
 * for `stall` ns (0: for ever) although it could have been read.
 */
bool peer_tick(struct peer *p, int64_t ns, int64_t stall);

#endif
