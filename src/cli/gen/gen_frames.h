/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CLI_GEN_GEN_FRAMES_H
#define SPATE_CLI_GEN_GEN_FRAMES_H

#include <stdint.h>

#include "cli/gen/gen_source.h"
#include "contract/format.h"

/*
 * Frames are the datagrams of ideal streams whose packets are all alike.  A
 * few of them lie ready, with their data, and only header, prefix and the
 * last 8 bytes are written anew for each packet.
 *
 * The streams of all ports have the same headers, but different data.
 */
struct gen_frames {
	struct gen_source source;
	const struct format_ops *format;
	const struct format_shape *shape;
	uint64_t seed;
	uint64_t first; /* sequence of packet 0 */
	int64_t second; /* of packet 0, UTC, and */
	uint32_t frame; /* its frame in that second */
	uint8_t *data;	/* source.ready datagrams */
};

/* `f` with the fields down to `frame` set, shape with fps and threads.
 * 0 or -ENOMEM. */
int gen_frames_init(struct gen_frames *f);
void gen_frames_finish(struct gen_frames *f);

/* The datagram of a port's packet, source.most bytes. */
uint8_t *gen_frames_make(struct gen_frames *f, unsigned port, uint64_t packet);

/* The sequence that a receiver reads from it. */
uint64_t gen_frames_sequence(struct gen_frames *f, uint64_t packet);

#endif
