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
 * A sender is the thread of one transfer.  It takes parcels from a source,
 * chooses packets of them (cut.h), waits until they may go (pacer.h), and hands
 * them to a send plugin.
 *
 *   CONNECTING --> SENDING <--> WAITING  (for more of a live recording)
 *       ^            |  ^
 *       +- broken ---+  +--> PAUSED
 *                    |
 *                    +--> FINISHING --> DONE
 *   any of them --> STOPPED (by order), FAILED
 *
 * The event loop makes it and calls all functions below; none of them waits,
 * except sender_free for a thread that is about to end.
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
	/* The prefix that the packets were received with, made again from the
	 * sequence. */
	SEND_PREFIX_MADE,
	SEND_PREFIX_NONE, /* no prefix */
};

/* Special rates, beside bits per second. */
#define SEND_RATE_FREE UINT64_C(0) /* as fast as the peer takes it */
#define SEND_RATE_DATA                                                         \
	UINT64_MAX /* at the pace of the data's own times; 1/16
		    * faster for a recording that still grows */

/* The part of the source that is sent.  With all fields 0, but sub -1,
 * everything is. */
struct send_choice {
	/* Range of times, UTC ns; to_ns 0: up to the end. */
	int64_t from_ns, to_ns;
	/* Or range of offsets in the recording's file; to_byte 0: up to the
	 * end. */
	uint64_t from_byte, to_byte;
	const uint32_t *threads; /* thread IDs of VDIF packets; NULL: all */
	unsigned threads_n;
	int sub;	/* only this substream; -1: all */
	uint32_t strip; /* bytes left out at the beginning of each packet */
	/* Leaves the format's header out, if that is longer than `strip`. */
	bool headers_off;
	enum send_prefix prefix;
	/* Bytes of a datagram cut from rows, header included; 0: 8192. */
	uint32_t packet;
};

struct sender_args {
	const char *name;      /* name of the recording or stream; copied */
	const char *to;	       /* URL of the peer; copied */
	struct source *source; /* taken over, also on an error */
	const struct send_ops *ops;
	const void *options; /* the plugin's; they outlive the sender */
	/* NULL: the source describes its data (source_ops::about) */
	const struct format_ops *format;
	/* With all it points to, outlives the sender. */
	const struct format_shape *shape;
	unsigned subs;
	struct send_choice choice; /* its thread list is copied */
	/* Bits per second of packets with their prefix; or SEND_RATE_FREE or
	 * SEND_RATE_DATA. */
	uint64_t rate;
	unsigned connections;
	bool plain, ordered;
	uint64_t transfer;     /* see send_args; 0: a random one is made */
	const char *about;     /* copied; or NULL */
	const uint8_t *secret; /* copied */
	uint32_t secret_bytes;
	int64_t patience; /* ns that a peer may be away; 0: a minute */
	/* Called once when the sender has ended, unless sender_free came
	 * before; on its thread. */
	void (*changed)(void *arg);
	void *arg;
};

struct sender_facts {
	enum sender_state state;
	/* State is FAILED because the peer takes copies instead (-EXDEV). */
	bool wants_copy;
	char why[SEND_SENTENCE]; /* explains the state; may be empty */
	uint64_t packets, bytes; /* sent to the peer; some may be sent twice */
	/* Bytes that the peer had before, so that they were not sent. */
	uint64_t there;
	/* Bytes of the source, as far as known; 0: not known. */
	uint64_t total;
	uint64_t missing; /* packets that were never received */
	/* Packets that are damaged, or on a disk that is away. */
	uint64_t unreadable;
	uint64_t dropped; /* packets dropped for lack of memory (relay) */
	int64_t time_ns;  /* UTC ns, of the last packet sent */
	double rate;	  /* bits per second over the last second */
	uint64_t asked;	  /* the rate that was ordered last */
	uint64_t burst;	  /* bytes of the largest burst */
	struct source_facts source;
	struct send_facts send;
};

struct sender;

/* Starts the thread.  0, or -errno with a fault. */
int sender_start(struct sender **sender, const struct sender_args *args,
		 struct fault *fault);

void sender_rate(struct sender *s, uint64_t rate);
void sender_pause(struct sender *s, bool pause);
/* Orders the sender to end as soon as possible.  Calling it again does
 * nothing. */
void sender_stop(struct sender *s);

void sender_facts(struct sender *s, struct sender_facts *facts);

/* True in state DONE, STOPPED or FAILED: the thread is about to end, or hangs
 * in a call that waits for a disk or a name server, and was told to stop. */
bool sender_ended(struct sender *s);

/* Frees a sender that has ended.  False: its thread hangs in such a call; it
 * frees itself when that returns, and what it was given has to stay. */
bool sender_free(struct sender *s);

#endif
