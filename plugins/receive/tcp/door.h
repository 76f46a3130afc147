/* SPDX-License-Identifier: MIT */
#ifndef SPATE_RECEIVE_TCP_DOOR_H
#define SPATE_RECEIVE_TCP_DOOR_H

#include <stdbool.h>
#include <stdint.h>

#include "net/address.h"
#include "net/allow.h"
#include "contract/receive.h"

/*
 * A door is where the peers of one stream come in: sockets that listen, and a
 * list of who is allowed.
 */
enum { DOOR_LISTENERS = 16 };

struct door {
	struct host host;
	struct allow allow;
	struct address address[DOOR_LISTENERS];
	int fd[DOOR_LISTENERS];
	unsigned n;
	unsigned says;	 /* refusals that may be told before the next tick */
	unsigned unsaid; /* that were not */
};

struct door_options {
	struct option_texts listen, allow;
	uint64_t socket_buffer; /* of each connection; 0: the kernel's choice */
};

/* Would these options do?  Opens nothing. */
int door_check(const struct door_options *o, char *why, uint32_t why_bytes);

/* 0, or -errno with a sentence in args->why; then there is no door. */
int door_open(struct door *d, const struct door_options *o,
	      const struct receive_args *args);
void door_close(struct door *d);

/* Who comes next and is allowed: a descriptor, not blocking; -1: nobody. */
int door_accept(struct door *d, union endpoint *from);

/* Turns away somebody who was let in by door_accept. */
void door_refuse(struct door *d, int fd, const union endpoint *from,
		 const char *why);

/* Now and then: a flood of strangers is no flood of log lines. */
void door_tick(struct door *d);

#endif
