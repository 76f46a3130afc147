/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CLI_GEN_FRAMES_H
#define SPATE_CLI_GEN_FRAMES_H

#include <stdint.h>

#include "contract/format.h"

/*
 * Frames are the datagrams of an ideal stream, made when they are asked for:
 * a few of them lie ready, with their data, and only header, prefix and the
 * last 8 bytes are written anew for each packet.
 *
 * All bytes are a function of the seed, the shape and the packet's number.
 */
struct gen_frames {
	const struct format_ops *format;
	const struct format_shape *shape;
	uint64_t seed;
	uint64_t first; /* sequence of packet 0 */
	int64_t second; /* of packet 0, UTC, and */
	uint32_t frame; /* its frame in that second */
	uint32_t ready; /* how many packets lie side by side */
	uint32_t bytes; /* of a datagram */
	uint8_t *data;
};

/* `f` with the fields down to `frame` set, shape with fps and threads.
 * 0 or -ENOMEM. */
int gen_frames_init(struct gen_frames *f);
void gen_frames_finish(struct gen_frames *f);

/* The datagram of a packet.  It is good until the packet `ready` before or
 * after this one, or any further away, is asked for. */
uint8_t *gen_frames_make(struct gen_frames *f, uint64_t packet);

/* The sequence that a receiver reads from it. */
uint64_t gen_frames_sequence(struct gen_frames *f, uint64_t packet);

#endif
