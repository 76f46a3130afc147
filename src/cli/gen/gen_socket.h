/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CLI_GEN_GEN_SOCKET_H
#define SPATE_CLI_GEN_GEN_SOCKET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fault.h"
#include "cli/gen/gen_tcp.h"
#include "cli/gen/gen_train.h"

/*
 * A gen_socket sends trains of datagrams to one port, or to each of a range,
 * from a socket for each.  The kernel cuts a train into datagrams, with
 * UDP_SEGMENT, where it can: one system call and one walk through its stack
 * instead of many.
 */
struct gen_socket {
	struct gen_tcp *tcp; /* or */
	int *fd;	     /* of each port */
	unsigned ports;
	bool segments;	  /* the kernel cuts */
	unsigned train;	  /* datagrams that are sent at a time */
	uint64_t refused; /* times that nobody was listening there */
};

struct gen_to {
	const char *url;  /* see gen_url.h */
	uint32_t bytes;	  /* of a datagram */
	unsigned segment; /* most datagrams that the kernel is to cut; 0 or 1:
			     none */
	struct gen_tcp_args tcp;
};

/* 0 or -errno. */
int gen_socket_open(struct gen_socket *s, const struct gen_to *to,
		    struct fault *fault);
void gen_socket_close(struct gen_socket *s);

/* Sends at most s->train datagrams to a port.  0 or -errno. */
int gen_socket_send(struct gen_socket *s, unsigned port,
		    struct gen_train *train);

/* That was all.  Over TCP it waits until the receiver has taken it. */
int gen_socket_end(struct gen_socket *s);

#endif
