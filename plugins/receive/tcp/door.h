/* SPDX-License-Identifier: MIT */
#ifndef SPATE_RECEIVE_TCP_DOOR_H
#define SPATE_RECEIVE_TCP_DOOR_H

#include <stdbool.h>
#include <stdint.h>

#include "net/address.h"
#include "net/allow.h"
#include "contract/receive.h"

/*
 * A door is the set of listening sockets of one stream, with a list of networks
 * that may connect.  Opened and closed by the event loop, used by one receiver
 * thread.
 */
enum { DOOR_LISTENERS = 16 };

struct door {
	struct host host;
	struct allow allow;
	struct address address[DOOR_LISTENERS];
	int fd[DOOR_LISTENERS];
	unsigned n;
	unsigned says;	 /* refusals that may be logged before the next tick */
	unsigned unsaid; /* refusals that were not logged since the last tick */
};

struct door_options {
	struct option_texts listen, allow;
	/* bytes, of each connection; 0: the kernel chooses */
	uint64_t socket_buffer;
};

/*
 * Checks the options and opens nothing.  Returns 0, or -EINVAL with a sentence
 * in `why`.
 */
int door_check(const struct door_options *o, char *why, uint32_t why_bytes);

/*
 * Opens the sockets.  Returns 0, or -errno with a sentence in args->why; then
 * everything is closed again.
 */
int door_open(struct door *d, const struct door_options *o,
	      const struct receive_args *args);
void door_close(struct door *d);

/*
 * Accepts the next connection that is allowed; refuses those that are not.
 * Returns a descriptor that does not block, owned by the caller, or -1: none is
 * waiting.  *from is the peer's address.
 */
int door_accept(struct door *d, union endpoint *from);

/* Closes a connection that door_accept() returned, and logs `why`. */
void door_refuse(struct door *d, int fd, const union endpoint *from,
		 const char *why);

/*
 * Allows SAYS more log lines and logs how many refusals were not logged, so
 * that a flood of strangers does not flood the log.  Called every tick (50 ms).
 */
void door_tick(struct door *d);

#endif
