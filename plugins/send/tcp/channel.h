/* SPDX-License-Identifier: MIT */
#ifndef SPATE_SEND_TCP_CHANNEL_H
#define SPATE_SEND_TCP_CHANNEL_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/handshake.h"
#include "contract/send.h"
#include "line.h"

/*
 * A channel is one connection of a transfer (wire.h): it says hello, proves
 * that it knows the secret, hears what the receiver has already, and then
 * carries one frame after the other.
 *
 *   DOWN -> GREETS -> OPEN -> ENDS -> ENDED;  from all of them back to DOWN
 */
enum {
	CHANNEL_IN = 4096,    /* bytes of an answer that are looked at */
	CHANNEL_SMALL = 1024, /* pieces below are copied together */
};

enum channel_state {
	CHANNEL_DOWN,
	CHANNEL_GREETS,
	CHANNEL_OPEN,
	CHANNEL_ENDS,  /* END was given, and is to be answered */
	CHANNEL_ENDED, /* it was: the receiver has all */
};

/* A packet of a transfer, and how they follow each other. */
struct place {
	uint32_t run;
	uint64_t first;
};

static inline bool
place_is_before(struct place a, struct place b)
{
	return a.run < b.run || (a.run == b.run && a.first < b.first);
}

struct channel;

/* Brings the payloads of DATA frames where they have a way of their own
 * (ucx_way.h), which channel_begin ... channel_detach go too then. */
struct channel_beside {
	/* The receiver says where to (BESIDE), before it says what it has.  0
	 * or -errno. */
	int (*open)(struct channel *c, const uint8_t *where, uint32_t bytes);
	void (*close)(struct channel *c); /* at any time */
	void (*free)(struct channel *c);
	bool (*is_open)(const struct channel *c);
	bool (*is_free)(const struct channel *c);    /* for one more frame */
	int (*step)(struct channel *c, int64_t now); /* 0 or -errno */
	/* Of the packets that were taken, how many of the first are gone. */
	uint64_t (*release)(const struct channel *c, uint64_t taken);
	uint64_t (*waits)(const struct channel *c); /* packets on their way */
	unsigned (*poll)(const struct channel *c, struct pollfd *fd,
			 int64_t *until);
	const char *way; /* send_facts::way */
};

/* What all channels of a transfer share. */
struct channel_args {
	const struct channel_beside *beside; /* NULL: with their frames */
	void *beside_args;
	const struct host *host;
	struct line_args line;
	uint64_t transfer;
	int64_t born; /* UTC ns: which of those who send it this one is;
			 0: what is lost stays so */
	uint32_t packet_bytes;
	uint32_t connections;
	uint32_t most; /* bytes of a frame's payload */
	const uint8_t *secret;
	uint32_t secret_bytes;
	const char *json; /* of the HELLO; "": none */
	char *why;	  /* what is, or went, wrong */
	uint32_t why_bytes;
};

struct channel {
	const struct channel_args *a;
	struct line line;
	unsigned number;
	enum channel_state state;
	bool carried;	   /* DATA, since it is up; the caller's, when DOWN */
	unsigned opened;   /* times; the caller's */
	bool too_many;	   /* it was refused for the number of connections */
	struct place told; /* the receiver knows that nothing before that will
			      come on this one any more */
	struct place have; /* what it answered */
	int64_t spoke;	   /* steady ns, when it was given something */
	struct handshake handshake;
	uint8_t in[WIRE_HEADER_MOST + CHANNEL_IN];
	uint32_t got;
	uint8_t *hello;
	uint32_t hello_bytes;
	/* The frame on its way. */
	struct wire_frame frame;
	uint8_t header[WIRE_HEADER];
	uint64_t taken; /* packets that were taken before its first one */
	uint8_t *stage; /* memory for what is copied: `most` bytes */
	uint32_t staged;
	bool detached; /* all of it is in memory of its own */
	void *way;     /* of channel_beside; NULL: none */
};

int channel_make(struct channel *c, const struct channel_args *args,
		 unsigned number);
void channel_free(struct channel *c);

/*
 * Calls, sends what is left, and hears what comes.  0; -EAGAIN: it is down,
 * and will be called again; -EXDEV: the receiver wants a copy; -EACCES or
 * -EPROTO: it will not do, whenever it is tried; else -errno: it broke.  It is
 * DOWN after all but 0, and `why` says so.
 */
int channel_step(struct channel *c, int64_t now);

/* Ends the connection, without a word. */
void channel_drop(struct channel *c, int err);

/* May it be given a frame? */
static inline bool
channel_is_free(const struct channel *c)
{
	return c->state == CHANNEL_OPEN && !line_is_busy(&c->line) &&
	       (!c->a->beside || c->a->beside->is_free(c));
}

/*
 * A frame: begin, add packets from packet i of a run on, which follow those
 * that were added (returns how many found room), and send what there is.
 * 0: it is with the kernel, or on its way; else as channel_step.
 */
void channel_begin(struct channel *c, struct place first, int64_t time_ns);
uint32_t channel_add(struct channel *c, const struct send_run *run, uint32_t i,
		     uint32_t n);
int channel_send(struct channel *c, int64_t now);

/* Nothing before that place comes on this one any more (DATA without packets);
 * and, nothing at all (END). */
int channel_mark(struct channel *c, struct place at, int64_t now);
int channel_end(struct channel *c, struct place at, int64_t now);

/* The memory of packets is wanted: what is not gone yet is copied. */
void channel_detach(struct channel *c);

#endif
