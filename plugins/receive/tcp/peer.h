/* SPDX-License-Identifier: MIT */
#ifndef SPATE_RECEIVE_TCP_PEER_H
#define SPATE_RECEIVE_TCP_PEER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include "contract/receive.h"
#include "net/endpoint.h"

/*
 * A peer is who is connected at one source: peers come and go, the source's
 * descriptor stays, because it is a set (epoll) that their sockets are put
 * into.  The set is also readable while something is left that was read but
 * not told yet.
 */
struct peer {
	const struct host *host;
	int set;
	int wake; /* a descriptor that is always readable; the caller's */
	bool woken;
	int fd; /* -1: nobody */
	union endpoint from;
	char name[ENDPOINT_TEXT]; /* of the last one; "": there was none */
	bool held;		  /* since the last tick we did not want more */
	uint64_t bytes, seen;	  /* in all, and at the last tick */
	int64_t quiet;		  /* ns */
	struct receive_counts counts;
};

int peer_make(struct peer *p, const struct host *host, int wake);
void peer_free(struct peer *p);

/* Takes the descriptor over. */
void peer_seat(struct peer *p, int fd, const union endpoint *from);

/* Ends the connection; one line says why, where there is a `why`. */
void peer_leave(struct peer *p, enum log_level level, const char *why);

/* Bytes that came; 0: nothing yet; -ENODATA: it has ended; -errno. */
int peer_read(struct peer *p, const struct iovec *iov, int n);

/* Something is left to be told, or no longer. */
void peer_wake(struct peer *p, bool left);

/* So much time has passed.  True when it has been silent for `stall` (0:
 * for ever), though it could have been heard. */
bool peer_tick(struct peer *p, int64_t ns, int64_t stall);

#endif
