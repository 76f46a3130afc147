/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CLI_GEN_GEN_SENDER_H
#define SPATE_CLI_GEN_GEN_SENDER_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "cli/gen/gen_socket.h"
#include "cli/gen/gen_source.h"

/*
 * A plan says which packets of an ideal stream, numbered from 0, are sent and
 * in which order: which are lost, sent twice or overtaken on purpose.  It is a
 * pure function of the seed, and counts exactly.
 *
 * The first and the last GEN_GUARD packets are sent unchanged, so that a
 * receiver sees every loss as a gap between two packets.
 */
enum { GEN_GUARD = 64 };

struct gen_chances {
	/* probability for each packet, 0 to 1 */
	double loss, reorder, duplicate;
	/*
	 * an overtaken packet comes 1 to this many packets late; 1 swaps
	 * neighbours
	 */
	uint32_t displace;
	uint64_t seed;
};

struct gen_plan {
	struct gen_chances chances;
	uint64_t packets; /* number of packets in the plan */
	uint64_t next;	  /* number of packets planned so far */
	uint64_t sent, lost, swapped, duplicated;

	uint64_t held; /* the packet that is held back */
	/* how many packets shall overtake it; 0: none is held */
	uint32_t behind;
	uint32_t passed; /* how many packets have overtaken it */
	bool again;	 /* `last` is to be sent again */
	uint64_t last;
};

void gen_plan_init(struct gen_plan *plan, const struct gen_chances *chances,
		   uint64_t packets);

/* Returns the next packet to send in *packet; false: the plan has ended. */
bool gen_plan_next(struct gen_plan *plan, uint64_t *packet);

/*
 * Ends a plan early, with this many packets.  The number must be larger than
 * `next`, so that the end lies behind all packets lost or held.
 */
void gen_plan_end(struct gen_plan *plan, uint64_t packets);

/* A port is the destination of one stream, with a plan of its own. */
struct gen_port {
	struct gen_plan plan;
	uint64_t waiting; /* a packet that did not fit into the last train */
	bool waits;	  /* `waiting` is valid */
};

#define GEN_STEP (5 * NS_SECOND)
#define GEN_LATE (100 * NS_MS)

/* A time in which bursts were GEN_LATE behind theirs, or more; less than two
 * seconds lie between two bursts of it. */
struct gen_late {
	int64_t from, to; /* steady ns */
	int64_t most_ns;
};

enum { GEN_LATES = 256 };

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

	/* For packets that go when they are due by the clock. */
	double exact_ns;  /* ns between packets; 0: the rate says it */
	int64_t begin_ns; /* steady ns: when packet 0 is due */
	int64_t step_ns;  /* ns that all is later after each GEN_STEP */
	double drift;	  /* how much longer each second is */

	/* The result. */
	uint64_t bytes;
	int64_t elapsed_ns;
	int64_t late_ns; /* that a burst was sent behind its time, at most */
	struct gen_late
	    late[GEN_LATES]; /* the last one grows when all are used */
	unsigned lates;

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
