/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CONTRACT_RECEIVE_H
#define SPATE_CONTRACT_RECEIVE_H

#include <stdint.h>

#include "contract/plugin.h"

/*
 * A receive plugin takes datagrams from somewhere and lets them land where
 * the core expects them.
 *
 * Before each call the core writes down, in `pair`, where the prefix and the
 * payload of the next packets should go, in the order in which it expects
 * them.  The plugin lands packet i in pair i where it can do so without a
 * copy, and says in `packet` what came, in the order of arrival.  A packet
 * that is somewhere else is fine, except in another pair: the core moves it.
 * Nothing writes to a pair after the call.
 *
 *   open -> [ receive on source 0..n-1, whenever its fd polls readable ] -> close
 *
 * open and close are called by the event loop; receive and counts by one
 * receiver thread, the same for all sources of an instance.  Nothing blocks.
 */
enum { RECEIVE_BATCH = 128 }; /* most pairs and packets of one call */

/* One piece of memory for each packet that is expected. */
struct receive_pair {
	uint8_t *prefix;  /* shape's prefix bytes */
	uint8_t *payload; /* shape's payload bytes */
};

enum {
	RECEIVE_CUT = 1,     /* longer than prefix + payload: not whole */
	RECEIVE_FOREIGN = 2, /* of a sender that is not allowed */
};

/* One packet that came; pointers stay good until the next receive(). */
struct receive_packet {
	uint8_t *prefix;
	uint8_t *payload;
	uint32_t bytes; /* of the datagram, as far as it is here */
	uint32_t flags; /* RECEIVE_ bits */
};

struct receive_batch {
	const struct receive_pair *pair;
	unsigned pairs; /* how many there are */
	unsigned want;	/* set by the plugin: pairs for next time */
	struct receive_packet packet[RECEIVE_BATCH];
	unsigned packets; /* set by the plugin */
};

/* Of one source, since it was opened. */
struct receive_counts {
	uint64_t datagrams; /* handed to the core */
	uint64_t calls;	    /* system calls that brought some */
	uint64_t overruns;  /* lost by the kernel before us; the kernel
				   counts a train of packets as one */
};

struct receive_args {
	const struct host *host;
	const void *options; /* the plugin's own, filled by its table */
	uint32_t prefix;     /* bytes of a datagram that are not stored */
	uint32_t payload;    /* bytes that are */
	const struct format_ops *format;  /* for plugins that make */
	const struct format_shape *shape; /* their packets */
	char *why;	    /* where open() says, in a sentence, what is */
	uint32_t why_bytes; /* wrong and what would do */
};

struct receive_state;
struct format_ops;
struct format_shape;

struct receive_ops {
	struct plugin head;

	/* Makes an instance with its sources.  0 or -errno with `why`. */
	int (*open)(struct receive_state **state,
		    const struct receive_args *args);

	/* How many sources there are: sockets, mostly. */
	unsigned (*sources)(const struct receive_state *state);

	/* The descriptor of one source, to poll for reading. */
	int (*fd)(const struct receive_state *state, unsigned source);

	/*
	 * Takes what has arrived, at most one batch.  0, with `packets`
	 * nothing where nothing is there; -ENODATA when nothing will ever
	 * come again; else -errno, and the source is polled no more.
	 */
	int (*receive)(struct receive_state *state, unsigned source,
		       struct receive_batch *batch);

	void (*counts)(struct receive_state *state, unsigned source,
		       struct receive_counts *counts);

	void (*close)(struct receive_state *state);
};

#endif
