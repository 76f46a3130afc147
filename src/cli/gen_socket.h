/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CLI_GEN_SOCKET_H
#define SPATE_CLI_GEN_SOCKET_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/fault.h"

/*
 * A gen_socket sends trains of datagrams of one size to one address.  The
 * kernel cuts a train into datagrams, with UDP_SEGMENT, where it can: one
 * system call and one walk through its stack instead of many.
 */
enum { GEN_TRAIN = 64 }; /* most datagrams of a train */

struct gen_socket {
	int fd;
	bool segments;	  /* the kernel cuts */
	unsigned train;	  /* datagrams that fit in one */
	uint64_t refused; /* times that nobody was listening there */
};

/* url: "udp://host:port", an IPv6 address in brackets.  0 or -errno. */
int gen_socket_open(struct gen_socket *s, const char *url, uint32_t bytes,
		    struct fault *fault);
void gen_socket_close(struct gen_socket *s);

/* Sends n datagrams, at most s->train, each one iovec.  0 or -errno. */
int gen_socket_send(struct gen_socket *s, struct iovec *iov, unsigned n);

#endif
