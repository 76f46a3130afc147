/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_SEND_SENDER_H
#define SPATE_FLOW_SEND_SENDER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fault.h"
#include "contract/format.h"
#include "contract/send.h"
#include "flow/source/source.h"

/*
 * A sender is the thread of one transfer: it takes parcels from a source,
 * chooses packets of them (cut.h), waits until they may go (pacer.h), and
 * hands them to a send plugin.
 *
 *   CONNECTING --> SENDING <--> WAITING  (for more of a live recording)
 *       ^            |  ^
 *       +- broken ---+  +--> PAUSED
 *                    |
 *                    +--> FINISHING --> DONE
 *   any of them --> STOPPED (by order), FAILED
 *
 * The event loop makes it, orders and looks; nothing of that waits.
 */
enum sender_state {
	SENDER_CONNECTING,
	SENDER_SENDING,
	SENDER_WAITING,
	SENDER_PAUSED,
	SENDER_FINISHING,
	SENDER_DONE,
	SENDER_STOPPED,
	SENDER_FAILED,
};
enum { SENDER_STATES = SENDER_FAILED + 1 };

enum send_prefix {
	SEND_PREFIX_MADE, /* as they came: made again from the sequence */
	SEND_PREFIX_NONE, /* left out */
};

/* Rates, beside bits per second: */
#define SEND_RATE_FREE UINT64_C(0) /* as fast as it goes */
#define SEND_RATE_DATA                                                         \
	UINT64_MAX /* as fast as the data came; a bit faster
				      where they still come */

/* What of it is sent.  All zero is all. */
struct send_choice {
	int64_t from_ns, to_ns; /* by time, UTC; to 0: to the end */
	uint64_t from_byte,
	    to_byte;		 /* or by bytes of the file; to 0: the end */
	const uint32_t *threads; /* of VDIF; NULL: all */
	unsigned threads_n;
	int sub;	  /* one substream alone; -1: all */
	uint32_t strip;	  /* bytes left out at the beginning of each packet */
	bool headers_off; /* the same, of as many as the format's header has */
	enum send_prefix prefix;
	uint32_t
	    packet; /* bytes of a datagram of rows, header and all; 0: 8192 */
};

struct sender_args {
	const char *name;      /* of what is sent; copied */
	const char *to;	       /* the URL; copied */
	struct source *source; /* taken over, also on an error */
	const struct send_ops *ops;
	const void *options; /* the plugin's; outlive it */
	/* format NULL: the source says (source_ops::about) what its data are */
	const struct format_ops *format;
	const struct format_shape *shape; /* borrowed, as what it points to */
	unsigned subs;
	struct send_choice choice; /* threads are copied */
	uint64_t rate; /* bits per second of packets, prefix included; or
			   SEND_RATE_ */
	unsigned connections;
	bool plain, ordered;
	uint64_t transfer;     /* see send_args; 0: drawn by chance */
	const char *about;     /* copied; or NULL */
	const uint8_t *secret; /* copied */
	uint32_t secret_bytes;
	int64_t patience; /* ns that a peer may be away; 0: a minute */
	/* It has got into another state that ends it; any thread. */
	void (*changed)(void *arg);
	void *arg;
};

struct sender_facts {
	enum sender_state state;
	bool wants_copy; /* FAILED, because the peer takes copies (-EXDEV) */
	char why[SEND_SENTENCE]; /* of the state; may be empty */
	uint64_t packets, bytes; /* that went to the peer, some twice */
	uint64_t there;	     /* bytes that it had before, and were not sent */
	uint64_t total;	     /* bytes of data that it will be; 0: not known */
	uint64_t missing;    /* packets that never were there */
	uint64_t unreadable; /* that are damaged, or on a disk that is away */
	uint64_t dropped;    /* that nobody kept for it (relay) */
	int64_t time_ns;     /* of the last packet */
	double rate;	     /* bits per second, of the last second */
	uint64_t asked;	     /* as ordered last */
	uint64_t burst;	     /* bytes, the largest */
	struct source_facts source;
	struct send_facts send;
};

struct sender;

/* Starts the thread.  0 or -errno with a fault. */
int sender_start(struct sender **sender, const struct sender_args *args,
		 struct fault *fault);

void sender_rate(struct sender *s, uint64_t rate);
void sender_pause(struct sender *s, bool pause);
/* Ends it as soon as can be; again: nothing. */
void sender_stop(struct sender *s);

void sender_facts(struct sender *s, struct sender_facts *facts);

/* DONE, STOPPED or FAILED: its thread is about to end, and waits for nothing
 * but perhaps a disk that hangs. */
bool sender_ended(struct sender *s);

/* Of one that has ended.  False: its thread hangs with a disk; it goes by
 * itself when that answers, and what it was given has to stay. */
bool sender_free(struct sender *s);

#endif
