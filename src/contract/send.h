/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CONTRACT_SEND_H
#define SPATE_CONTRACT_SEND_H

#include <stdbool.h>
#include <stdint.h>

#include "contract/plugin.h"

struct pollfd;

/*
 * A send plugin brings packets to somewhere else.
 *
 * The core's sender thread, one for each transfer, owns everything else: it
 * finds the packets, in memory or on disks, chooses among them, makes their
 * prefixes, and decides when they may go.
 *
 *   check -> open -> { send ... poll } -> finish -> close
 *
 * check is called by any thread, all others by the sender's thread.  Only
 * open may wait, for a name to be resolved, and no longer than that; a peer
 * that does not read, or does not answer, is waited for by the core, with
 * what poll says.
 */

/*
 * A run is packets in a row that are all alike: packet i is head_bytes at
 * head + i * head_stride, and behind them data_bytes at data + i *
 * data_stride.  They are numbered through, from `first`.
 */
struct send_run {
	const uint8_t *head; /* NULL: head_bytes is 0 */
	const uint8_t *data;
	uint32_t head_bytes, head_stride;
	uint32_t data_bytes, data_stride;
	uint32_t packets; /* at least 1 */
	uint16_t sub;	  /* substream */
	uint32_t run;
	uint64_t first;	 /* sequence, relative to the run */
	int64_t time_ns; /* of the first packet, UTC; 0: not known */
	int64_t due;	 /* steady (CLOCK_MONOTONIC) ns, when the first one is
			    to go; 0: at once.  The core does not ask sooner
			    than SEND_AHEAD before that */
	int64_t every;	 /* ns from packet to packet; 0: all together */
};

enum {
	SEND_RUNS = 256, /* most of one call */
	SEND_SENTENCE = 320,
};

/* A plugin that can have packets sent at a time (SEND_TIMED) is given them so
 * much before; others when they are due. */
#define SEND_AHEAD INT64_C(2000000) /* ns */

struct send_args {
	const struct host *host;
	const void *options;  /* the plugin's own, filled by its table */
	const char *to;	      /* the URL, as it was given */
	uint32_t head_bytes;  /* of most packets */
	uint32_t data_bytes;  /* the same; 0: they differ */
	unsigned subs;	      /* substreams that may come, at least 1 */
	unsigned connections; /* that are wanted; 0: the plugin chooses */
	bool plain;	   /* bytes and nothing else, where there is a choice */
	bool ordered;	   /* nothing of it may be left out: what a broken
				connection lost is asked for again */
	uint64_t transfer; /* which one this is: the same when it is tried
				again, never 0 */
	bool zerocopy_ok;  /* the kernel may keep the memory for as long as a
			      peer does not read (MSG_ZEROCOPY): it is not
			      wanted back in the middle */
	uint64_t rate;	   /* bits per second that are asked for; 0: any */
	uint64_t total;	   /* bytes that it will be, all in all, as plain
			      bytes; 0: not known, as of what still grows */
	const char *name;  /* of what is sent, for the peer */
	const char *about; /* JSON, for a peer that wants to know more */
	const uint8_t *secret; /* shared with the peer; NULL: there is none */
	uint32_t secret_bytes;
	char *why; /* where check and open say, in a sentence, what is wrong */
	uint32_t why_bytes; /* and what would do */
};

/* Since it was opened. */
struct send_facts {
	uint64_t packets;     /* that the kernel, or the peer, has */
	uint64_t bytes;	      /* of them, heads and data */
	uint64_t calls;	      /* that it took */
	uint64_t refused;     /* packets that came back: nobody listens */
	uint64_t lost;	      /* packets that were taken, and are not sent */
	unsigned connections; /* that it has now */
	unsigned reconnects;
	uint64_t burst;	 /* most bytes that left together; 0: not known */
	const char *way; /* how, for people: "udp, trains of 7"; static */
	char peer[96];	 /* whom it talks to; "": nobody yet */
	char why[SEND_SENTENCE]; /* what is wrong now, or went wrong; "" */
	/* Taken, and not sent, since the peer had them before. */
	uint64_t there_packets, there_bytes;
};

enum {
	SEND_TIMED = 1,	 /* head.flags: it may; see send_ops::timed */
	SEND_BLOCKS = 2, /* head.flags: it wants long runs of data that lie
			    one behind the other, a block at best */
	SEND_PLAIN = 4,	 /* head.flags: it sends bytes and knows no packets, as
			    if `plain` were always asked for */
	SEND_BARE = 8,	 /* head.flags: it tells the sequence of packets in its
			    own way: they come without the prefix that was
			    received with them */
	SEND_UNHEARD = 16, /* head.flags: no receiver can make it wait, and what
			      comes too fast is lost */
};

struct send_state;

struct send_ops {
	struct plugin head;

	/* Are the URL and the options such as it takes?  0; -EINVAL with
	 * `why`.  Looks at nothing outside. */
	int (*check)(const struct send_args *args);

	/* 0 or -errno with `why`. */
	int (*open)(struct send_state **state, const struct send_args *args);

	/*
	 * Takes the first packets of these runs, as many as it can at once;
	 * *taken says how many of all, and may be 0: then poll says what to
	 * wait for.  What data points to stays as it is until release() has
	 * told so; heads and runs are only good for this call.  With n 0 it
	 * gets on with what it has: its connection, and what it took.
	 *
	 * 0; -EAGAIN: nothing can be taken until it is connected (again), which
	 * it sees to itself in later calls, one attempt in each: the core waits
	 * longer and longer between them; -ERESTART: some that were taken did
	 * not arrive, and back() says from where on they are wanted; -EXDEV:
	 * the peer wants the recording as a copy (wire.h), not packets; else
	 * -errno, with facts.why: it will not work any more.
	 */
	int (*send)(struct send_state *state, const struct send_run *run,
		    unsigned n, uint64_t *taken);

	/*
	 * What to wait for until send, release or finish get on: at most `most`
	 * descriptors; returns how many.  *until (steady ns) is brought forward
	 * where it has to be called again by then.
	 */
	unsigned (*poll)(struct send_state *state, struct pollfd *fd,
			 unsigned most, int64_t *until);

	/* Of all packets that were ever taken, how many of the first need
	 * their memory no more. */
	uint64_t (*release)(struct send_state *state);

	/* The memory of what was taken is wanted: copies what is not gone yet.
	 * After it release() tells all.  Never waits. */
	void (*detach)(struct send_state *state);

	/* All were given, and there are no more: sees them through.  0: the
	 * peer has them, as far as it tells; -EAGAIN: wait (poll), and call
	 * again; else as send. */
	int (*finish)(struct send_state *state);

	void (*facts)(struct send_state *state, struct send_facts *facts);

	/* Also in the middle; what was not sent is dropped. */
	void (*close)(struct send_state *state);

	/* After -ERESTART: the first packet that is wanted.  What was taken
	 * so far it has let go, as by detach.  NULL where that never comes. */
	void (*back)(struct send_state *state, uint32_t *run, uint64_t *first);

	/* Can it send at a time, over the way that it has?  NULL: never. */
	bool (*timed)(struct send_state *state);

	/* Another rate is asked for.  NULL: it does not care. */
	void (*rate)(struct send_state *state, uint64_t bits);
};

#endif
