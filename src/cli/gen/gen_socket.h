/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CLI_GEN_GEN_SOCKET_H
#define SPATE_CLI_GEN_GEN_SOCKET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fault.h"
#include "cli/gen/gen_tcp.h"
#include "cli/gen/gen_train.h"

/*
 * Sends trains of datagrams to one port, or to each port of a range through a
 * socket of its own.  The kernel cuts a train into datagrams (UDP_SEGMENT) if
 * it can: one system call and one pass through its stack instead of many.
 */
struct gen_socket {
	struct gen_tcp *tcp; /* over TCP; NULL: over UDP */
	int *fd;	     /* one for each port */
	unsigned ports;
	bool segments;	  /* the kernel cuts trains */
	unsigned train;	  /* datagrams sent at a time */
	uint64_t refused; /* times that no program was listening */
};

struct gen_to {
	const char *url; /* see gen_url.h */
	uint32_t bytes;	 /* length of a datagram */
	/* most datagrams that the kernel may cut from a train; 0 or 1: none */
	unsigned segment;
	struct gen_tcp_args tcp;
};

/* Opens the sockets.  Returns 0, or -errno with a fault. */
int gen_socket_open(struct gen_socket *s, const struct gen_to *to,
		    struct fault *fault);
void gen_socket_close(struct gen_socket *s);

/* Sends at most s->train datagrams to a port.  Returns 0 or -errno. */
int gen_socket_send(struct gen_socket *s, unsigned port,
		    struct gen_train *train);

/* Ends; over TCP it waits until the receiver has taken everything. */
int gen_socket_end(struct gen_socket *s);

#endif
