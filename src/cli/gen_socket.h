/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CLI_GEN_SOCKET_H
#define SPATE_CLI_GEN_SOCKET_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/fault.h"
#include "cli/gen_source.h"

/*
 * A gen_socket sends trains of datagrams to one port, or to each of a range,
 * from a socket for each.  The kernel cuts a train into datagrams, with
 * UDP_SEGMENT, where it can: one system call and one walk through its stack
 * instead of many.
 */
enum { GEN_TRAIN = 64 }; /* most datagrams of a train */

/* All datagrams of a train are gen_source::most bytes, but the last one. */
struct gen_train {
	struct iovec iov[GEN_TRAIN * GEN_PIECES];
	uint8_t pieces[GEN_TRAIN]; /* of iov, for each datagram */
	unsigned n;		   /* datagrams */
	unsigned iovs;
};

struct gen_socket {
	int *fd; /* of each port */
	unsigned ports;
	bool segments;	  /* the kernel cuts */
	unsigned train;	  /* datagrams that are sent at a time */
	uint64_t refused; /* times that nobody was listening there */
};

struct gen_to {
	const char *url;  /* "udp://host:port", "udp://host:41000-41431", an
			    IPv6 address in brackets */
	uint32_t bytes;	  /* of a datagram */
	unsigned segment; /* most datagrams that the kernel is to cut; 0 or 1:
			     none */
};

/* 0 or -errno. */
int gen_socket_open(struct gen_socket *s, const struct gen_to *to,
		    struct fault *fault);
void gen_socket_close(struct gen_socket *s);

/* Sends at most s->train datagrams to a port.  0 or -errno. */
int gen_socket_send(struct gen_socket *s, unsigned port,
		    struct gen_train *train);

#endif
