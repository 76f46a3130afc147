/* SPDX-License-Identifier: MIT */
#ifndef SPATE_SEND_TCP_FRAMED_H
#define SPATE_SEND_TCP_FRAMED_H

#include <stdbool.h>
#include <stdint.h>

#include "channel/channel.h"
#include "contract/send.h"

/*
 * Sends a transfer in wire frames over one or more channels.  Each frame goes
 * to the next channel that has room, so that positions only grow on each channel.
 *
 * When a channel that carried packets breaks, nobody knows which of them
 * arrived.  All channels are then opened again, the receiver says up to where
 * it has everything, and the transfer goes on from there (-ERESTART).  A
 * transfer that is not `ordered` goes on where it is, and counts the packets as
 * lost.
 */
enum { FRAMED_CHANNELS = 64 };

struct framed_options {
	uint64_t frame;			     /* bytes of a frame's payload */
	const struct channel_beside *beside; /* as in channel_args */
	void *beside_args;
};

struct framed_sender {
	struct channel_args args;
	struct channel *channel;
	unsigned channels, turn;
	bool ordered;
	/*
	 * no number was asked for: use as many channels as the receiver accepts
	 */
	bool any;
	bool begun; /* the receiver has said what it has */
	struct run_position
	    next;	/* position behind the last packet that was taken */
	uint64_t taken; /* packets */
	uint64_t lost;
	unsigned reconnects;
	char json[1024];
	char why[SEND_SENTENCE];
	/*
	 * why the packets cannot go in frames; "": they can.  The receiver is
	 * asked first all the same, because an inbox takes such a recording as
	 * a copy
	 */
	char unfit[SEND_SENTENCE];
};

/*
 * Makes the channels.  Returns 0, or -errno with args->why.  `to` is copied.
 */
int framed_open(struct framed_sender *f, const struct send_args *args,
		const struct framed_options *o, const struct line_args *to);
/* Frees what framed_open() made, and not the state. */
void framed_close(struct send_state *state);

/*
 * The callbacks of send_ops with these names, for a state that begins with a
 * struct framed_sender.
 */
int framed_send(struct send_state *state, const struct send_run *run,
		unsigned n, uint64_t *taken);
unsigned framed_poll(struct send_state *state, struct pollfd *fd, unsigned most,
		     int64_t *until);
uint64_t framed_release(struct send_state *state);
void framed_detach(struct send_state *state);
int framed_finish(struct send_state *state);
void framed_facts(struct send_state *state, struct send_facts *facts);
void framed_back(struct send_state *state, uint32_t *run, uint64_t *first);

#endif
