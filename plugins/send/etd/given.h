/* SPDX-License-Identifier: MIT */
#ifndef SPATE_SEND_TCP_GIVEN_H
#define SPATE_SEND_TCP_GIVEN_H

#include <stdint.h>

#include "contract/send.h"

/*
 * Maps bytes of a stream to packets: remembers all packets that were given so
 * far, as parts of consecutive packets.
 */
struct given_part {
	uint64_t byte; /* offset of its first packet in the stream */
	uint64_t first;
	uint32_t run;
	uint32_t size; /* bytes of a packet */
};

struct given {
	struct given_part *part;
	uint32_t n, room;
	uint64_t bytes; /* length of the stream so far */
};

void given_free(struct given *g);

/* Appends packets i to i + n of a run.  Returns 0 or -ENOMEM. */
int given_add(struct given *g, const struct send_run *run, uint32_t i,
	      uint32_t n);

/*
 * Finds the packet that has a byte, which must not lie behind the last one.
 * Returns how many bytes of the packet lie before that byte.
 */
uint32_t given_find(const struct given *g, uint64_t byte, uint32_t *run,
		    uint64_t *first);

/* Forgets the packet that has this byte, and all behind it. */
void given_cut(struct given *g, uint64_t byte);

#endif
