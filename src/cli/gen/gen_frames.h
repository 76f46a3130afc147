/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CLI_GEN_GEN_FRAMES_H
#define SPATE_CLI_GEN_GEN_FRAMES_H

#include <stdint.h>

#include "cli/gen/gen_source.h"
#include "contract/format.h"

/*
 * Makes datagrams of ideal streams whose packets are all alike.  Some datagrams
 * lie ready with their data; only header, prefix and the last 8 bytes are
 * written for each packet.  The streams of all ports have the same headers and
 * different data.
 */
struct gen_frames {
	struct gen_source source;
	const struct format_ops *format;
	const struct format_shape *shape;
	uint64_t seed;
	uint64_t first; /* sequence of packet 0 */
	int64_t second; /* UTC second of packet 0 */
	uint32_t frame; /* frame of packet 0 in that second */
	uint8_t *data;	/* source.ready datagrams */
};

/*
 * Makes the ready datagrams.  The fields down to `frame` must be set, and the
 * shape must have fps and threads.  Returns 0 or -ENOMEM.
 */
int gen_frames_init(struct gen_frames *f);
void gen_frames_finish(struct gen_frames *f);

/*
 * Returns the datagram of a port's packet, source.most bytes, valid as
 * gen_source::ready says.
 */
uint8_t *gen_frames_make(struct gen_frames *f, unsigned port, uint64_t packet);

/* Returns the sequence that a receiver reads from a packet. */
uint64_t gen_frames_sequence(struct gen_frames *f, uint64_t packet);

#endif
