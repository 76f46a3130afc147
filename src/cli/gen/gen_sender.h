/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CLI_GEN_GEN_SENDER_H
#define SPATE_CLI_GEN_GEN_SENDER_H

#include <signal.h>
#include <stdint.h>

#include "cli/gen/gen_plan.h"
#include "cli/gen/gen_socket.h"
#include "cli/gen/gen_source.h"

/* A port is where one of the streams goes, each by a plan of its own. */
struct gen_port {
	struct gen_plan plan;
	uint64_t waiting; /* a packet that did not fit in the last train */
	bool waits;	  /* is there one? */
};

/*
 * A gen_sender sends the packets of plans at a steady rate, on the caller's
 * thread.  The ports take turns, by trains or by heaps.  It waits by
 * sleeping, never by spinning: it may share a small machine with the receiver
 * that it feeds.
 */
struct gen_sender {
	struct gen_port *port;
	unsigned ports; /* as many as the socket has */
	struct gen_source *source;
	struct gen_socket *socket;
	bool by_heap;
	uint64_t rate;	 /* bits of datagrams per second; 0: no limit */
	int64_t most_ns; /* ends after this time; 0: with the plan */
	const volatile sig_atomic_t *stop; /* ends when it is set */

	/* What came of it. */
	uint64_t bytes;
	int64_t elapsed_ns;

	/* Its own. */
	unsigned turn;	    /* port */
	uint64_t taken;	    /* packets of this turn's train, cut by a burst */
	uint64_t next;	    /* packets of all plans that were looked at */
	uint64_t burst_end; /* those before this one may go now */
	uint64_t burst;
	int64_t start_ns; /* when the first is due, by the steady clock */
	double packet_ns; /* between packets; 0 without rate */
	bool ending;
	struct gen_train train;
};

/* Sends until all plans have ended.  0 or -errno. */
int gen_sender_run(struct gen_sender *s);

#endif
