/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CONTRACT_SEND_H
#define SPATE_CONTRACT_SEND_H

#include <stdbool.h>
#include <stdint.h>

#include "contract/plugin.h"

struct pollfd;

/*
 * A send plugin transports packets to another program or machine.
 *
 * The core's sender thread, one per transfer, does everything else: it finds
 * the packets, in memory or on disks, selects them, makes their prefixes, and
 * decides when they may go.
 *
 *   check -> open -> { send ... poll } -> finish -> close
 *
 * Any thread may call check; the transfer's sender thread calls all others.
 * Only open may block, for as long as resolving a name takes.  A peer that does
 * not read or answer is waited for by the core, on the descriptors that poll
 * gives.
 */

/*
 * A run is a row of packets of equal size: packet i is head_bytes at head + i *
 * head_stride, followed by data_bytes at data + i * data_stride.  The packets
 * are numbered consecutively from `first`.
 */
struct send_run {
	const uint8_t *head; /* NULL if head_bytes is 0 */
	const uint8_t *data;
	uint32_t head_bytes, head_stride;
	uint32_t data_bytes, data_stride;
	uint32_t packets; /* at least 1 */
	uint16_t sub;	  /* substream */
	uint32_t run;
	uint64_t first;	 /* sequence of the first packet, relative to the run */
	int64_t time_ns; /* time of the first packet, UTC ns; 0: unknown */
	int64_t due;	 /* time at which the first packet is to leave,
			  * CLOCK_MONOTONIC ns; 0: at once.  The core never
			  * calls earlier than SEND_AHEAD before it */
	int64_t every;	 /* ns from packet to packet; 0: all may leave
			  * together */
};

enum {
	SEND_RUNS = 256, /* most runs in one call */
	SEND_SENTENCE = 320,
};

/*
 * A plugin that can have packets sent at a time (SEND_TIMED) gets them this
 * long before they are due; other plugins get them when they are due.
 */
#define SEND_AHEAD INT64_C(2000000) /* ns */

struct send_args {
	const struct host *host;
	const void *options;   /* the plugin's own options, filled by its
				* table */
	const char *to;	       /* the URL, as the user gave it */
	uint32_t head_bytes;   /* send_run::head_bytes of most packets */
	uint32_t data_bytes;   /* send_run::data_bytes of all packets; 0:
				* they differ */
	unsigned subs;	       /* substreams that may come, at least 1 */
	unsigned connections;  /* number wanted; 0: the plugin chooses */
	bool plain;	       /* send bytes alone, without framing, if there
				* is a choice */
	bool ordered;	       /* every packet must arrive: those lost by a
				* broken connection are asked for again with
				* back() */
	uint64_t transfer;     /* ID of the transfer: the same when it is
				* tried again, never 0 */
	bool zerocopy_ok;      /* MSG_ZEROCOPY is allowed: the kernel may
				* keep memory for as long as a peer does not
				* read; the core does not need it back
				* earlier */
	uint64_t rate;	       /* bits per second asked for; 0: no limit */
	uint64_t total;	       /* size of the whole transfer as plain bytes;
				* 0: unknown, as for a recording that still
				* grows */
	const char *name;      /* name of the recording, for the peer */
	const char *about;     /* JSON with more about it, for a peer that
				* wants to know */
	const uint8_t *secret; /* secret shared with the peer; NULL: none */
	uint32_t secret_bytes;
	char *why; /* room for a sentence of check and open: what is wrong
		    * and what would work */
	uint32_t why_bytes; /* bytes that `why` has room for */
};

/* Counters of an instance since it was opened. */
struct send_facts {
	uint64_t packets;     /* packets handed to the kernel, or received by
			       * the peer */
	uint64_t bytes;	      /* bytes of these packets, heads and data */
	uint64_t calls;	      /* system calls that these packets took */
	uint64_t refused;     /* packets that were refused: nobody listens at
			       * the other end */
	uint64_t lost;	      /* packets that were taken and will not be sent */
	unsigned connections; /* open connections */
	unsigned reconnects;
	uint64_t burst;	 /* most bytes that left together; 0: unknown */
	const char *way; /* how packets go, for users: "udp, trains of 7";
			  * static text */
	char peer[96];	 /* address of the peer; "": no peer yet */
	char why[SEND_SENTENCE]; /* present or last trouble, in a sentence;
				  * or "" */
	/* Taken and not sent, because the peer had them already. */
	uint64_t there_packets, there_bytes;
};

enum {
	SEND_TIMED = 1,	   /* head.flags: the plugin may be able to send
			    * packets at a given time; see send_ops::timed */
	SEND_BLOCKS = 2,   /* head.flags: the plugin wants long runs of
			    * contiguous data, a whole block if possible */
	SEND_PLAIN = 4,	   /* head.flags: the plugin sends bytes and knows no
			    * packets, as if `plain` were always set */
	SEND_BARE = 8,	   /* head.flags: the plugin transmits the sequence
			    * of packets in its own way, so they come without
			    * the prefix that was received with them */
	SEND_UNHEARD = 16, /* head.flags: no receiver can make the plugin
			    * wait; packets that come too fast are lost */
};

struct send_state;
struct channel_beside;
struct object_ops;

struct send_ops {
	struct plugin head;

	/*
	 * Checks the URL and the options, without looking at anything outside
	 * of them.  0, or -EINVAL with `why`.
	 */
	int (*check)(const struct send_args *args);

	/* Makes an instance.  0, or -errno with `why`. */
	int (*open)(struct send_state **state, const struct send_args *args);

	/*
	 * Takes the first packets of these runs, as many as it can at once;
	 * *taken says how many in all, and may be 0: then poll says what to
	 * wait for.  The memory at `data` stays unchanged until release()
	 * counts its packets; heads and runs are valid during the call only.
	 * With n 0 the plugin continues what it has begun: connecting, or
	 * sending packets it took.
	 *
	 * Returns 0; -EAGAIN: nothing can be taken until it is connected
	 * (again); it makes one attempt in each later call, and the core waits
	 * longer and longer between calls; -ERESTART: some packets that were
	 * taken did not arrive, and back() says from which on they are wanted;
	 * -EXDEV: the peer wants the recording as a copy (wire/frame.h), not as
	 * packets; any other -errno, with facts.why: the instance is of no
	 * further use.
	 */
	int (*send)(struct send_state *state, const struct send_run *run,
		    unsigned n, uint64_t *taken);

	/*
	 * Says what to wait for before send, release or finish can continue:
	 * fills in at most `most` descriptors and returns how many.  Moves
	 * *until (CLOCK_MONOTONIC ns) to an earlier time if it must be called
	 * by then.
	 */
	unsigned (*poll)(struct send_state *state, struct pollfd *fd,
			 unsigned most, int64_t *until);

	/*
	 * Returns how many packets, counted from the first that was ever taken,
	 * no longer need their memory.
	 */
	uint64_t (*release)(struct send_state *state);

	/*
	 * Gives up all memory of packets that were taken, by copying what is
	 * not sent yet: afterwards release() counts all of them.  Never waits.
	 */
	void (*detach)(struct send_state *state);

	/*
	 * Called when no more packets will come: sends the rest.  Returns 0
	 * once the peer has all packets, as far as it tells; -EAGAIN: wait
	 * (poll) and call again; else as send.
	 */
	int (*finish)(struct send_state *state);

	void (*facts)(struct send_state *state, struct send_facts *facts);

	/*
	 * Frees the instance, at any time; packets that were not sent are
	 * dropped.
	 */
	void (*close)(struct send_state *state);

	/*
	 * After -ERESTART, says the first packet that is wanted.  The memory of
	 * all packets taken so far is released, as by detach.  NULL if send
	 * never returns -ERESTART.
	 */
	void (*back)(struct send_state *state, uint32_t *run, uint64_t *first);

	/*
	 * Tells whether the plugin can send packets at a given time
	 * (send_run::due) over the route that it uses.  NULL: never.
	 */
	bool (*timed)(struct send_state *state);

	/*
	 * Sets another rate, bits per second.  NULL: the plugin ignores the
	 * rate.
	 */
	void (*rate)(struct send_state *state, uint64_t bits);

	/*
	 * Opens the callbacks by which a copy's channels send payloads beside
	 * their TCP connections (channel/channel.h): *args is
	 * channel_args::beside_args of all channels of the copy, whose thread
	 * makes all calls.  `channel_bytes` is sizeof(struct channel) of the
	 * caller; -ELIBACC: the plugin was built with another.  0, or -errno
	 * with a sentence.  Both are NULL for a plugin that has no other way
	 * than TCP.
	 */
	int (*beside_open)(const struct channel_beside **beside, void **args,
			   uint32_t channel_bytes, char *why,
			   uint32_t why_bytes);
	void (*beside_close)(void *args); /* when all channels are freed */

	/*
	 * Puts whole recordings, as files, into a store of objects
	 * (contract/object.h).  A plugin that has this takes no packets, and
	 * has no other callback but check.  NULL: it sends packets.
	 */
	const struct object_ops *objects;

	/*
	 * Checks what the table of options cannot, when the configuration is
	 * read.  Returns NULL, or the name of the option that is wrong, with
	 * `why`.  NULL: the table is all.
	 */
	const char *(*option_wrong)(const void *options, char *why,
				    uint32_t why_bytes);
};

#endif
