/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CONTRACT_RECEIVE_H
#define SPATE_CONTRACT_RECEIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "contract/plugin.h"

/*
 * A receive plugin takes datagrams from the network, or makes them, and lands
 * them in memory that the core chose.
 *
 * Before each call the core lists in `pair` where the next packets should go,
 * in the order in which it expects them: the first bytes of each into its
 * prefix, the rest into its payload.  The plugin lands packet i in pair i if it
 * can do so without a copy, and lists in `packet` what came, in order of
 * arrival.  A packet may lie elsewhere, though not in another packet's pair:
 * the core then copies it.  Nothing writes to a pair after the call.
 *
 * A stream may consist of substreams: sequences of their own, such as the ports
 * of a range.  Every source brings packets of one substream.  The core may open
 * several instances of a plugin for one stream; each takes its share of the
 * sources and belongs to another receiver thread.
 *
 *   plan -> open -> [ receive on source 0..n-1, whenever its fd polls
 *   readable ] -> close
 *
 * The event loop calls open and close; one receiver thread, the same for all
 * sources of an instance, calls receive and counts.  No callback blocks.
 */
enum { RECEIVE_BATCH = 128 }; /* most pairs and most packets of one call */

/*
 * A pair is memory for one expected packet.  A packet as long as its pair is as
 * expected.  A longer one, up to receive_args::longest, is delivered whole as
 * well, elsewhere.  Only the last packet of a frame or heap may be expected to
 * be shorter than the others.
 */
struct receive_pair {
	uint8_t *prefix;
	uint8_t *payload;
	uint32_t prefix_bytes;
	uint32_t payload_bytes;
};

enum {
	RECEIVE_CUT = 1,      /* longer than receive_args::longest; its end
			       * is cut off */
	RECEIVE_FOREIGN = 2,  /* from a sender that `allow` does not list */
	RECEIVE_SEQUENCE = 4, /* `sequence` is valid: it came beside the
			       * packet, and takes precedence over the
			       * format's */
	RECEIVE_CARD = 8,     /* `arrived` is the stamp of a network card, in
			       * UTC, not the kernel's; only while
			       * receive_batch::card is set */
};

/*
 * One packet that came: prefix_bytes at prefix, the rest of its bytes at
 * payload.  The pointers are valid until the next receive().
 *
 * `arrived` is the time at which the kernel took the packet in, not the time at
 * which it was read, if the kernel tells: it does for packet rings and datagram
 * sockets, where all packets of one train (merged by GRO) share one time.  A
 * source for which time stamps cost something per packet gives them only while
 * receive_batch::stamps is set.
 */
struct receive_packet {
	uint8_t *prefix;
	uint8_t *payload;
	uint32_t prefix_bytes;
	uint32_t bytes;	   /* bytes of the datagram, as far as they are here */
	uint32_t flags;	   /* RECEIVE_ bits */
	uint32_t sender;   /* hash of the sender's address; 0: not asked for,
			    * see receive_args::senders and
			    * receive_batch::stamps */
	uint64_t sequence; /* valid with RECEIVE_SEQUENCE */
	int64_t arrived;   /* UTC ns, see above; 0: unknown */
};

struct receive_batch {
	const struct receive_pair *pair;
	unsigned pairs; /* number of pairs */
	unsigned room;	/* the first `room` pairs are in free blocks: a
			 * plugin that can make its sender wait takes no more
			 * than these */
	unsigned want;	/* set by the plugin: pairs that the next call should
			 * offer */
	/*
	 * Set by a plugin that knows the sequence of a source's next packet,
	 * which will come with RECEIVE_SEQUENCE: `known` is true and `next` is
	 * that sequence.  The next call's pairs are then the places of that
	 * packet and those behind it, and `room` counts these.  Set it in every
	 * call, because other sources may begin runs.  With `again` set the
	 * plugin is called once more even if it delivered no packet.
	 */
	bool known, again;
	uint64_t next;
	bool stamps; /* set by the core: `arrived` is wanted, because the
		      * start or end of a recording is near, or these packets
		      * are looked at; and `sender`, if that is known, of the
		      * same sender as that of the last packet for all that
		      * it sent.  Packets that came before this was set have
		      * a time too */
	bool empty;  /* set by a plugin that knows that nothing is left to
		      * read for now: the core need not call again to find
		      * out */
	bool card;   /* set by the core, with `stamps`: a stamp of the network
		      * card is better than the kernel's, because these packets
		      * are looked at; packets of one source need not be in the
		      * order of such stamps */
	struct receive_packet packet[RECEIVE_BATCH];
	unsigned packets; /* set by the plugin: number of entries in `packet` */
};

enum { RECEIVE_SENDER = 64 };

/* Counters of one source since it was opened. */
struct receive_counts {
	uint64_t datagrams;  /* handed to the core */
	uint64_t calls;	     /* system calls that brought at least one */
	uint64_t overruns;   /* lost by the kernel because its buffer was
			      * full; the kernel counts a merged train of
			      * packets as one */
	const char *address; /* address that the source listens on, as
			      * configured; or NULL */
	const char *device;  /* interface that the source is bound to; NULL:
			      * any */
	char sender[RECEIVE_SENDER]; /* address of the last packet's sender;
				      * "": unknown */
};

/* plan()'s answer: what a stream with these options consists of. */
struct receive_plan {
	unsigned subs;	  /* substreams, at least 1 */
	unsigned threads; /* receiver threads that share the packets of each
			   * substream; 1, except for packet rings */
	bool sequence;	  /* all packets come with RECEIVE_SEQUENCE and
			   * without a prefix */
	int64_t late;	  /* longest delay, ns, between a packet's arrival
			   * and the call that can deliver it; 0: none */
};

/*
 * Bytes of socket buffers that a plugin with an option `socket_buffer` takes at
 * least for all sockets of one address, where the option is 0.
 */
#define RECEIVE_BUFFER (UINT64_C(256) << 20)

struct receive_args {
	const struct host *host;
	const void *options; /* the plugin's own options, filled by its table */
	uint32_t prefix;     /* bytes of each datagram that are not stored */
	uint32_t payload;    /* bytes that are stored; 0: datagrams differ in
			      * length, as the pieces of heaps do */
	uint32_t longest;    /* bytes of the longest datagram that must come
			      * whole */
	bool senders;	     /* receive_packet::sender is wanted */
	unsigned share;	     /* number of this instance, from 0 */
	unsigned shares;     /* instances of this stream.  Each takes the
			      * substreams with sub % shares == share; or, if
			      * receive_plan::threads is not 1, its share of
			      * the packets of every substream */
	const struct format_ops *format;  /* format, for plugins that make
					   * their packets */
	const struct format_shape *shape; /* shape of the packets that such a
					   * plugin makes, and rate of the whole
					   * stream; NULL: nothing is known */
	uint32_t reach;	    /* reordering window in packets: a packet that
			     * comes `reach` or more ahead of a missing one
			     * makes that one late; packets closer than that
			     * are put in order.  0: unknown */
	char *why;	    /* room for open()'s sentence on failure: what is
			     * wrong and what would work */
	uint32_t why_bytes; /* bytes that `why` has room for */
};

/*
 * Payloads beside a connection: the core has accepted a TCP connection, reads
 * its frames, and has the plugin fetch some of their payloads another way.
 * Copies use it (wire/copy.h).
 *
 *   open -> { fetch, until it does not return -EAGAIN } -> close
 *
 * The connection's own thread makes all calls; threads of other connections
 * call at the same time.  Only open may block.
 */
struct receive_beside_args {
	int fd;		      /* the TCP connection */
	uint8_t *where;	      /* open writes the payload of BESIDE here */
	uint32_t where_bytes; /* room at `where`; on return the length */
	uint32_t (*crc32c)(uint32_t crc, const void *data, uint64_t bytes);
	char *why; /* room for open()'s sentence on failure */
	uint32_t why_bytes;
};

struct receive_beside;

struct receive_beside_ops {
	/* 0, or -errno with `why`. */
	int (*open)(struct receive_beside **beside,
		    struct receive_beside_args *args);
	int (*fd)(const struct receive_beside *beside);
	/*
	 * Moves on what is under way, and prepares the descriptor to be polled
	 * for reading; false: there is more to do at once.
	 */
	bool (*rest)(struct receive_beside *beside);
	/*
	 * Fetches the next payload, that of the frame with this packed header,
	 * to `to`; NULL: drops it.  Returns 0; -EAGAIN: call again with the
	 * same arguments after the descriptor polled readable; another -errno:
	 * it will not come.  The plugin may write to `to` until fetch returns
	 * 0, or close does.
	 */
	int (*fetch)(struct receive_beside *beside, const uint8_t *header,
		     void *to);
	void (*close)(struct receive_beside *beside);
};

struct receive_state;
struct format_ops;
struct format_shape;

struct receive_ops {
	struct plugin head;

	/* Makes an instance and opens its sources.  0, or -errno with `why`. */
	int (*open)(struct receive_state **state,
		    const struct receive_args *args);

	/* Returns the number of sources: sockets, mostly. */
	unsigned (*sources)(const struct receive_state *state);

	/* Returns the descriptor of one source, to be polled for reading. */
	int (*fd)(const struct receive_state *state, unsigned source);

	/*
	 * Takes what has arrived, one batch at most.  Returns 0, with `packets`
	 * 0 if nothing is there; -ENODATA if nothing will ever come again;
	 * another -errno on failure, and the source is not polled any more.
	 */
	int (*receive)(struct receive_state *state, unsigned source,
		       struct receive_batch *batch);

	void (*counts)(struct receive_state *state, unsigned source,
		       struct receive_counts *counts);

	void (*close)(struct receive_state *state);

	/*
	 * Checks options before anything is opened, and fills in the plan.  0,
	 * or -EINVAL with a sentence in `why`.  NULL: one substream, one
	 * thread, nothing to check.
	 */
	int (*plan)(const void *options, struct receive_plan *plan, char *why,
		    uint32_t why_bytes);

	/*
	 * Returns the substream that a source brings.  NULL: 0 for all sources.
	 */
	unsigned (*sub)(const struct receive_state *state, unsigned source);

	/* NULL: the plugin fetches no payloads beside a connection. */
	const struct receive_beside_ops *beside;
};

#endif
