/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CLI_GEN_GEN_SOCKET_H
#define SPATE_CLI_GEN_GEN_SOCKET_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/fault.h"
#include "cli/gen/gen_source.h"

/*
 * A train is the datagrams that go out with one call.  All have
 * gen_source::most bytes, except that the last may be shorter.
 */
enum { GEN_TRAIN = 64 }; /* most datagrams of a train */

struct gen_train {
	struct iovec iov[GEN_TRAIN * GEN_PIECES];
	uint8_t pieces[GEN_TRAIN];  /* pieces of iov, for each datagram */
	uint64_t number[GEN_TRAIN]; /* number of each datagram in its plan */
	unsigned n;		    /* datagrams */
	unsigned iovs;
};

/*
 * Sends trains over TCP: as plain bytes, or as wire frames (wire/frame.h), which
 * its connections carry in turn.  A connection that breaks is left out from
 * then on, and its data is lost.
 */
struct gen_tcp;

struct gen_tcp_args {
	bool framed;
	unsigned connections;
	/* bytes of a packet; frames leave the prefix out */
	uint32_t prefix, payload;
};

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
	/*
	 * the destination: "udp://host:port", a range of ports as
	 * "udp://host:41000-41431", or "tcp://host:port"; an IPv6 address
	 * stands in brackets
	 */
	const char *url;
	uint32_t bytes; /* length of a datagram */
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

/* Returns how many connections broke. */
unsigned gen_tcp_broken(const struct gen_tcp *t);

#endif
