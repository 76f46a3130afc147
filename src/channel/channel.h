/* SPDX-License-Identifier: MIT */
#ifndef SPATE_SEND_TCP_CHANNEL_H
#define SPATE_SEND_TCP_CHANNEL_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/handshake.h"
#include "contract/send.h"
#include "channel/line.h"

/*
 * A channel is one connection of a transfer (wire/frame.h), at the sender's end.  It
 * says HELLO, proves that it knows the secret, learns what the receiver has
 * already, and then carries one frame after the other.
 *
 *   DOWN -> GREETS -> OPEN -> ENDS -> ENDED;  from all of them back to DOWN
 *
 * All functions belong to the sender thread, and none waits.
 */
enum {
	CHANNEL_IN = 4096, /* bytes of an answer that are read */
	/* the same for a copy */
	CHANNEL_COPY_IN = WIRE_ANSWER_MOST,
	CHANNEL_SMALL = 1024, /* bytes: smaller pieces are copied into one */
};

enum channel_state {
	CHANNEL_DOWN,
	CHANNEL_GREETS,
	CHANNEL_OPEN,
	CHANNEL_ENDS,  /* END was sent; its answer is awaited */
	CHANNEL_ENDED, /* the receiver has answered that it has everything */
};

/* The position of a packet in a transfer: its run and its sequence in the run. */
struct run_position {
	uint32_t run;
	uint64_t first;
};

/* Tells whether position a comes before position b. */
static inline bool
position_is_before(struct run_position a, struct run_position b)
{
	return a.run < b.run || (a.run == b.run && a.first < b.first);
}

struct channel;

/*
 * Callbacks for payloads of DATA and PIECE frames that do not go over the TCP
 * connection (plugins/ucx/way.h). channel_begin() to channel_detach() then use
 * them, too.
 */
struct channel_beside {
	/*
	 * The receiver has said where payloads go (the payload of BESIDE),
	 * before its HAVE.  Returns 0 or -errno.
	 */
	int (*open)(struct channel *c, const uint8_t *where, uint32_t bytes);
	void (*close)(struct channel *c); /* at any time */
	void (*free)(struct channel *c);
	bool (*is_open)(const struct channel *c);
	/* Tells whether one more frame may begin. */
	bool (*is_free)(const struct channel *c);
	int (*step)(struct channel *c, int64_t now); /* 0 or -errno */
	/*
	 * Returns how many of the first `taken` packets need their memory no
	 * more.
	 */
	uint64_t (*release)(const struct channel *c, uint64_t taken);
	uint64_t (*waits)(const struct channel *c); /* packets on their way */
	unsigned (*poll)(const struct channel *c, struct pollfd *fd,
			 int64_t *until);
	/*
	 * Pieces of a copy: the memory for the next one, which may be filled
	 * once is_free(); and sending it, with the header c->frame.  0 or
	 * -errno.
	 */
	uint8_t *(*stage)(const struct channel *c);
	int (*put)(struct channel *c);
	const char *way; /* text for send_facts::way */
};

/* Arguments that all channels of a transfer share. */
struct channel_args {
	/* NULL: payloads go with their frames */
	const struct channel_beside *beside;
	void *beside_args;
	const struct host *host;
	struct line_args line;
	uint64_t transfer;
	/* UTC ns: when this sender began; 0: lost packets are not sent again */
	int64_t born;
	uint32_t packet_bytes;
	uint32_t connections;
	uint32_t most; /* bytes of a frame's payload */
	const uint8_t *secret;
	uint32_t secret_bytes;
	const char *json; /* text of the HELLO; "": none */
	/*
	 * The transfer is a copy (wire/copy.h): WELCOME opens its channels in
	 * place of HAVE, frames go by channel_put(), and those of the receiver
	 * come here.  Returns 0; or -errno, which channel_step() returns.  NULL:
	 * the transfer sends packets.
	 */
	int (*hear)(struct channel *c, const struct wire_frame *f,
		    const uint8_t *payload);
	void *hear_arg; /* for `hear` */
	char *why;	/* sentence: last error */
	uint32_t why_bytes;
};

struct channel {
	const struct channel_args *a;
	struct line line;
	unsigned number;
	enum channel_state state;
	/* has carried DATA since it was opened; cleared by the caller */
	bool carried;
	unsigned opened; /* how often it was opened; the caller's */
	/* the receiver refused it because of the number of connections */
	bool too_many;
	/*
	 * the receiver knows that nothing before this position will come on this
	 * channel any more
	 */
	struct run_position told;
	struct run_position have; /* the position in the receiver's last HAVE */
	int64_t spoke;		  /* steady ns: when a frame was last sent */
	struct handshake handshake;
	uint8_t *in;		/* in_bytes: what the receiver says */
	uint32_t in_bytes, got; /* `got` of them have come */
	uint8_t *hello;		/* the HELLO frame */
	uint32_t hello_bytes;
	/* The frame on its way. */
	struct wire_frame frame;
	uint8_t header[WIRE_HEADER];
	/* packets that were taken before the first of this frame */
	uint64_t taken;
	uint8_t *stage; /* memory for pieces that are copied: `most` bytes */
	uint32_t staged;
	bool detached; /* the rest of the frame was copied to `stage` */
	void *way;     /* state of channel_beside; NULL: none */
};

/*
 * Prepares an unconnected channel; `args` must outlive it.  Returns 0 or
 * -ENOMEM; the caller calls channel_free() in either case.
 */
int channel_make(struct channel *c, const struct channel_args *args,
		 unsigned number);
void channel_free(struct channel *c);

/*
 * Connects, sends what is left, and reads answers.  Returns 0; -EAGAIN: not
 * connected, call again; -EXDEV: the receiver wants a copy of the recording;
 * -EACCES or -EPROTO: it will never work; -EBUSY: the receiver has no room, or
 * no disk, just now; else -errno: the connection broke.
 * After all but 0 the channel is DOWN, and `why` has a sentence.
 */
int channel_step(struct channel *c, int64_t now);

/* Closes the connection without sending anything. */
void channel_drop(struct channel *c, int err);

/* Tells whether a frame may be begun. */
static inline bool
channel_is_free(const struct channel *c)
{
	return c->state == CHANNEL_OPEN && !line_is_busy(&c->line) &&
	       (!c->a->beside || c->a->beside->is_free(c));
}

/*
 * Sending a frame: channel_begin(), then channel_add() for packets i to i + n
 * of a run, which must follow the packets added before (returns how many found
 * room), then channel_send(). channel_send() returns 0: the frame is sent or on
 * its way; else as channel_step().
 */
void channel_begin(struct channel *c, struct run_position first,
		   int64_t time_ns);
uint32_t channel_add(struct channel *c, const struct send_run *run, uint32_t i,
		     uint32_t n);
int channel_send(struct channel *c, int64_t now);

/*
 * channel_mark() says that nothing before `at` comes on this channel any more
 * (DATA without packets); channel_end() says that nothing comes at all (END).
 * Both return as channel_send().
 */
int channel_mark(struct channel *c, struct run_position at, int64_t now);
int channel_end(struct channel *c, struct run_position at, int64_t now);

/* Memory for the payload of a copy's next PIECE: `most` bytes. */
static inline uint8_t *
channel_stage(const struct channel *c)
{
	return c->a->beside ? c->a->beside->stage(c) : c->stage;
}

/* Sends what was given to the line; returns as channel_send(). */
int channel_flush(struct channel *c);

/*
 * Sends a frame of a copy, whose payload_bytes and payload_crc are set; the
 * payload stays in place while line_is_busy(), that of a PIECE, which lies in
 * channel_stage(), until channel_is_free().  Returns as channel_send().
 */
int channel_put(struct channel *c, const struct wire_frame *f,
		const void *payload, int64_t now);

/* Copies what is not sent yet, because the memory of packets is wanted back. */
void channel_detach(struct channel *c);

#endif
