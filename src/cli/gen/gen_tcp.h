/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CLI_GEN_GEN_TCP_H
#define SPATE_CLI_GEN_GEN_TCP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fault.h"
#include "cli/gen/gen_train.h"
#include "cli/gen/gen_url.h"

/*
 * A gen_tcp sends trains over TCP: as plain bytes, or each as a wire frame
 * (wire/wire.h), dealt to its connections in turn.  A connection that
 * breaks is left out from then on, and what was on it is lost.
 */
struct gen_tcp;

struct gen_tcp_args {
	bool framed;
	unsigned connections;
	uint32_t prefix, payload; /* bytes of a packet; frames leave the prefix
				     out */
};

/* 0 or -errno.  Frames: the receiver has said that it takes them. */
int gen_tcp_open(struct gen_tcp **tcp, const struct gen_url *url,
		 const struct gen_tcp_args *args, struct fault *fault);
void gen_tcp_close(struct gen_tcp *t); /* NULL is none */

/* 0; -errno when no connection is left, or when it is interrupted for the
 * second time. */
int gen_tcp_send(struct gen_tcp *t, const struct gen_train *train);

/* Waits until the receiver has closed, because it has taken everything. */
int gen_tcp_end(struct gen_tcp *t);

/* How many connections broke. */
unsigned gen_tcp_broken(const struct gen_tcp *t);

#endif
