/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CONTRACT_RECEIVE_H
#define SPATE_CONTRACT_RECEIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "contract/plugin.h"

/*
 * A receive plugin takes datagrams from somewhere and lets them land where
 * the core expects them.
 *
 * Before each call the core writes down, in `pair`, where the next packets
 * should go, in the order in which it expects them: the first bytes of each
 * into its prefix, the rest into its payload.  The plugin lands packet i in
 * pair i where it can do so without a copy, and says in `packet` what came,
 * in the order of arrival.  A packet that is somewhere else is fine, except
 * in another pair: the core moves it.  Nothing writes to a pair after the
 * call.
 *
 * A stream may be made of substreams: sequences of their own, such as the
 * ports of a range.  Every source brings packets of one of them.  The core
 * may open several instances of a plugin for one stream, each of which takes
 * its share of the sources and belongs to another receiver thread.
 *
 *   plan -> open -> [ receive on source 0..n-1, whenever its fd polls
 *   readable ] -> close
 *
 * open and close are called by the event loop; receive and counts by one
 * receiver thread, the same for all sources of an instance.  Nothing blocks.
 */
enum { RECEIVE_BATCH = 128 }; /* most pairs and packets of one call */

/*
 * One piece of memory for each packet that is expected.  A packet that is as
 * long as its pair is as expected; one that is longer, up to receive_args::
 * longest, comes whole all the same, elsewhere.  Only the last one of a frame
 * or heap may be expected shorter than the others.
 */
struct receive_pair {
	uint8_t *prefix;
	uint8_t *payload;
	uint32_t prefix_bytes;
	uint32_t payload_bytes;
};

enum {
	RECEIVE_CUT = 1,      /* longer than `longest`: not whole */
	RECEIVE_FOREIGN = 2,  /* of a sender that is not allowed */
	RECEIVE_SEQUENCE = 4, /* `sequence` is known: it came beside the
				    packet, and goes before the format's */
};

/*
 * One packet that came: prefix_bytes at prefix, the rest of its bytes at
 * payload.  Pointers stay good until the next receive().
 *
 * `arrived` is when the kernel took it in, and not when it was read, where
 * the kernel says so: the source is a ring, or a socket of datagrams, and then
 * all packets of a train have one time.  Where it has a price for every packet
 * it is told only while receive_batch::stamps asks for it.
 */
struct receive_packet {
	uint8_t *prefix;
	uint8_t *payload;
	uint32_t prefix_bytes;
	uint32_t bytes;	   /* of the datagram, as far as it is here */
	uint32_t flags;	   /* RECEIVE_ bits */
	uint32_t sender;   /* differs between senders, as far as 32 bits can;
			      0: not asked for, see receive_args::senders */
	uint64_t sequence; /* with RECEIVE_SEQUENCE */
	int64_t arrived;   /* UTC ns; see below; 0: not known */
};

struct receive_batch {
	const struct receive_pair *pair;
	unsigned pairs; /* how many there are */
	unsigned room;	/* of those, how many are in free blocks: a plugin
			   that can make its sender wait takes no more */
	unsigned want;	/* set by the plugin: pairs for next time */
	/*
	 * Set by a plugin that knows the sequence of a source's next packet,
	 * which comes with RECEIVE_SEQUENCE: the next pairs are where that
	 * packet and those behind it belong, and `room` is of them; it has to
	 * be said in every call, because others may begin runs.  With
	 * `again` it is called once more although it told nothing.
	 */
	bool known, again;
	uint64_t next;
	bool stamps; /* set by the core: `arrived` is wanted, because the edge
			of a recording is near.  It is true also of what came
			before it was asked for */
	bool empty;  /* set by a plugin that knows that nothing is left for
		       now: it need not be asked to be sure */
	struct receive_packet packet[RECEIVE_BATCH];
	unsigned packets; /* set by the plugin */
};

enum { RECEIVE_SENDER = 64 };

/* Of one source, since it was opened. */
struct receive_counts {
	uint64_t datagrams;  /* handed to the core */
	uint64_t calls;	     /* system calls that brought some */
	uint64_t overruns;   /* lost by the kernel before us; the kernel
				   counts a train of packets as one */
	const char *address; /* where it listens, as configured; NULL */
	const char *device;  /* the interface it is bound to; NULL: any */
	char sender[RECEIVE_SENDER]; /* of its last packet; "": not known */
};

/* What a stream with these options would be made of. */
struct receive_plan {
	unsigned subs;	  /* substreams, at least 1 */
	unsigned threads; /* receiver threads that share the packets of every
			     single substream; 1 but for packet rings */
	bool sequence;	  /* all packets come with RECEIVE_SEQUENCE, and
			     without prefix */
	int64_t late;	  /* ns after which a packet that came can be received
			     at the latest; 0: at once */
};

struct receive_args {
	const struct host *host;
	const void *options; /* the plugin's own, filled by its table */
	uint32_t prefix;     /* bytes of a datagram that are not stored */
	uint32_t payload;    /* bytes that are; 0: datagrams differ in length,
				as the pieces of heaps do */
	uint32_t longest;    /* datagram that is to come whole */
	bool senders;	     /* receive_packet::sender is wanted */
	unsigned share;	     /* of the `shares` instances this is one: it */
	unsigned shares;     /* takes substreams with sub % shares == share,
				or where plan::threads is not 1, its share of
				the packets of every one */
	const struct format_ops *format;  /* for plugins that make */
	const struct format_shape *shape; /* their packets */
	uint32_t reach;	    /* packets: one that comes so many before another
				   that it follows makes that one late; fewer
				   are put in order.  0: not known */
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

	/*
	 * Checks options before anything is opened, and says what they make.
	 * 0, or -EINVAL with a sentence in `why`.  NULL: one substream, one
	 * thread, nothing to check.
	 */
	int (*plan)(const void *options, struct receive_plan *plan, char *why,
		    uint32_t why_bytes);

	/* The substream that a source brings.  NULL: 0 for all. */
	unsigned (*sub)(const struct receive_state *state, unsigned source);
};

#endif
