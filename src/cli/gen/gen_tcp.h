/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CLI_GEN_GEN_TCP_H
#define SPATE_CLI_GEN_GEN_TCP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fault.h"
#include "cli/gen/gen_train.h"
#include "cli/gen/gen_url.h"

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
 * Connects; with frames, waits until the receiver has accepted them.  Returns
 * 0, or -errno with a fault.
 */
int gen_tcp_open(struct gen_tcp **tcp, const struct gen_url *url,
		 const struct gen_tcp_args *args, struct fault *fault);
void gen_tcp_close(struct gen_tcp *t); /* may be NULL */

/*
 * Sends a train.  Returns 0; -errno if no connection is left, or at the second
 * interrupt.
 */
int gen_tcp_send(struct gen_tcp *t, const struct gen_train *train);

/*
 * Waits until the receiver has taken everything and closed.  Returns 0 or
 * -errno.
 */
int gen_tcp_end(struct gen_tcp *t);

/* Returns how many connections broke. */
unsigned gen_tcp_broken(const struct gen_tcp *t);

#endif
