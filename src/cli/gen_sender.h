/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CLI_GEN_SENDER_H
#define SPATE_CLI_GEN_SENDER_H

#include <signal.h>
#include <stdint.h>

#include "cli/gen_frames.h"
#include "cli/gen_plan.h"
#include "cli/gen_socket.h"

/*
 * A gen_sender sends the packets of a plan at a steady rate, on the caller's
 * thread.  It waits by sleeping, never by spinning: it may share a small
 * machine with the receiver that it feeds.
 */
struct gen_sender {
	struct gen_plan *plan;
	struct gen_frames *frames;
	struct gen_socket *socket;
	uint64_t rate;	 /* bits of datagrams per second; 0: no limit */
	int64_t most_ns; /* ends after this time; 0: with the plan */
	const volatile sig_atomic_t *stop; /* ends when it is set */

	/* What came of it. */
	uint64_t bytes;
	int64_t elapsed_ns;

	/* Its own. */
	int64_t start_ns;   /* when packet 0 is due, by the steady clock */
	double packet_ns;   /* between packets; 0 without rate */
	uint64_t burst_end; /* packets before this one may go now */
	uint64_t burst;
	bool waits; /* `waiting` did not fit in the last train */
	uint64_t waiting;
};

/* Sends until the plan's end.  0 or -errno. */
int gen_sender_run(struct gen_sender *s);

#endif
