/* SPDX-License-Identifier: MIT */
#ifndef SPATE_SEND_TCP_FRAMED_H
#define SPATE_SEND_TCP_FRAMED_H

#include <stdbool.h>
#include <stdint.h>

#include "channel.h"
#include "contract/send.h"

/*
 * A transfer in wire frames, over one channel or more.  Frames are dealt to
 * whichever channel has room, one at a time, so that on each of them places
 * only grow.
 *
 * When a channel breaks that has carried some of it, nobody knows which of
 * them arrived: all channels are called anew, the receiver says up to where it
 * has everything, and the transfer goes on from there (-ERESTART).  One that
 * is not `ordered` goes on from where it is, and counts what was lost.
 */
enum { FRAMED_CHANNELS = 64 };

struct framed_options {
	uint64_t frame;			     /* bytes */
	const struct channel_beside *beside; /* as in channel_args */
	void *beside_args;
};

struct framed {
	struct channel_args args;
	struct channel *channel;
	unsigned channels, turn;
	bool ordered;
	bool any;	   /* as many channels as the receiver takes */
	bool begun;	   /* it is known what the receiver has */
	struct place next; /* behind the last packet that was taken */
	uint64_t taken;	   /* packets */
	uint64_t lost;
	unsigned reconnects;
	char json[1024];
	char why[SEND_SENTENCE];
	char unfit[SEND_SENTENCE]; /* why it cannot go in frames; "": it can.
				      Who takes copies takes it all the same,
				      so that is asked first */
};

/* 0 or -errno with args->why.  `to` is copied. */
int framed_open(struct framed *f, const struct send_args *args,
		const struct framed_options *o, const struct line_args *to);
void framed_close(struct framed *f);

/* As send_ops has them. */
int framed_send(struct framed *f, const struct send_run *run, unsigned n,
		uint64_t *taken);
unsigned framed_poll(const struct framed *f, struct pollfd *fd, unsigned most,
		     int64_t *until);
uint64_t framed_release(const struct framed *f);
void framed_detach(struct framed *f);
int framed_finish(struct framed *f);
void framed_facts(const struct framed *f, struct send_facts *facts);

#endif
