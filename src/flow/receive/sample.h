/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_RECEIVE_SAMPLE_H
#define SPATE_FLOW_RECEIVE_SAMPLE_H

#include <jansson.h>
#include <stdint.h>

#include "contract/format.h"
#include "contract/receive.h"
#include "flow/place/data_clock.h"

/*
 * A sample looks at packets that are not recorded: how long they are, what
 * their headers say, and what is missing between them.  It takes every packet,
 * also those that a recording would drop, because the user wants to know why it
 * would.
 *
 * One thread at a time.
 */
struct sample;

struct sample_args {
	const struct format_ops *format;
	const struct format_shape *shape; /* not copied */
	unsigned subs;
};

/* Makes a sample.  Returns 0 or -ENOMEM. */
int sample_make(struct sample **sample, const struct sample_args *args);
void sample_free(struct sample *s); /* NULL is allowed */

/* Takes a packet in; now_ns is UTC. */
void sample_packet(struct sample *s, unsigned sub,
		   const struct receive_packet *packet, int64_t now_ns);

/* Takes the window of the data's clock, and begins the next one. */
void sample_window(struct sample *s, struct data_clock_window *w);

/*
 * Returns what was seen in `span` ns, as a JSON object:
 *
 *   datagrams, bytes, rate (bits/s), foreign, cut
 *   sizes      [{bytes, datagrams}..], the most frequent first
 *   senders    number of senders
 *   silent     number of substreams that brought nothing
 *   lost       packets, or bytes of heaps; null: not known
 *   restarts   number of restarts of a sequence
 *   threads    [{sub, thread, station, frames, lost}..] of formats with time
 *   fps        of a thread; 0: not known
 *   invalid    number of frames that the sender marks invalid
 *   ahead_s    data time - UTC of the last frame; null: it has none
 *   heaps      {complete, incomplete, bytes, lengths:[{bytes, heaps}..],
 *              items:[{id, immediate, bytes, value}..], control, flavour,
 *              malformed}; null: the format has none
 *   hints      [text..]: differences from the configuration
 *
 * The caller owns the reference.  NULL: no memory.
 */
json_t *sample_json(struct sample *s, int64_t span);

#endif
