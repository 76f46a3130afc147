/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_RECEIVE_SAMPLE_H
#define SPATE_FLOW_RECEIVE_SAMPLE_H

#include <jansson.h>
#include <stdint.h>

#include "contract/format.h"
#include "contract/receive.h"

/*
 * A sample is a look at packets that are not recorded: how long they are,
 * what their headers say, and what is missing between them.  It takes every
 * packet as it is, also those that a recording would drop, because why it
 * would is what the one who looks wants to know.
 *
 * One thread at a time.
 */
struct sample;

struct sample_args {
	const struct format_ops *format;
	const struct format_shape *shape; /* of the stream; outlives it */
	unsigned subs;
};

/* 0 or -ENOMEM. */
int sample_make(struct sample **sample, const struct sample_args *args);
void sample_free(struct sample *s); /* NULL: nothing */

/* Takes one in; `now_ns` UTC. */
void sample_packet(struct sample *s, unsigned sub,
		   const struct receive_packet *packet, int64_t now_ns);

/*
 * What was seen in `span` ns, as an object:
 *
 *   datagrams, bytes, rate (bits/s), foreign, cut
 *   sizes      [{bytes, datagrams}..], the most frequent first
 *   senders    how many
 *   silent     how many substreams brought nothing
 *   lost       packets, or bytes of heaps; null: not known
 *   restarts   of a sequence
 *   threads    [{sub, thread, station, frames, lost}..] of formats with time
 *   fps        of a thread; 0: not known
 *   invalid    frames that the sender calls so
 *   ahead_s    data time - UTC of the last frame; null: it has none
 *   heaps      {complete, incomplete, bytes, lengths:[{bytes, heaps}..],
 *              items:[{id, immediate, bytes, value}..], control, flavour,
 *              malformed}; null: the format has none
 *   hints      [text..]: what comes, and is not as the configuration says
 *
 * A new reference; NULL without memory.
 */
json_t *sample_json(struct sample *s, int64_t span);

#endif
