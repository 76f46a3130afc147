/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CLI_GEN_GEN_SENDER_H
#define SPATE_CLI_GEN_GEN_SENDER_H

#include <signal.h>
#include <stdint.h>

#include "cli/gen/gen_plan.h"
#include "cli/gen/gen_socket.h"
#include "cli/gen/gen_source.h"

/* A port is the destination of one stream, with a plan of its own. */
struct gen_port {
	struct gen_plan plan;
	uint64_t waiting; /* a packet that did not fit into the last train */
	bool waits;	  /* `waiting` is valid */
};

/*
 * Sends the packets of plans at a steady rate, on the caller's thread.  Ports
 * take turns, by train or by heap.  It waits by sleeping, never by spinning: it
 * may share a small machine with the receiver.
 */
struct gen_sender {
	struct gen_port *port;
	unsigned ports; /* as many as the socket has */
	struct gen_source *source;
	struct gen_socket *socket;
	bool by_heap;
	uint64_t rate;	 /* bits of datagrams per second; 0: no limit */
	int64_t most_ns; /* ns after which it ends; 0: with the plans */
	const volatile sig_atomic_t *stop; /* set by a signal: end soon */

	/* The result. */
	uint64_t bytes;
	int64_t elapsed_ns;

	/* Used by gen_sender_run() alone. */
	unsigned turn;	    /* the port whose turn it is */
	uint64_t taken;	    /* packets already sent in this turn */
	uint64_t next;	    /* packets of all plans so far */
	uint64_t burst_end; /* packets before this one may go now */
	uint64_t burst;	    /* packets of a burst */
	int64_t start_ns;   /* steady ns: when packet 0 is due */
	double packet_ns;   /* ns between packets; 0 without a rate */
	bool ending;	    /* the plans were told to end */
	struct gen_train train;
};

/* Sends until all plans have ended.  Returns 0 or -errno. */
int gen_sender_run(struct gen_sender *s);

#endif
