/* SPDX-License-Identifier: MIT */
#ifndef SPATE_SEND_TCP_GIVEN_H
#define SPATE_SEND_TCP_GIVEN_H

#include <stdint.h>

#include "contract/send.h"

/*
 * Which packet has which byte of a stream: of all that was given so far, in
 * stretches of packets that are numbered through.
 */
struct given_part {
	uint64_t byte; /* of its first packet */
	uint64_t first;
	uint32_t run;
	uint32_t size; /* of a packet */
};

struct given {
	struct given_part *part;
	uint32_t n, room;
	uint64_t bytes; /* behind the last one */
};

void given_free(struct given *g);

/* Packets i to i + n of a run.  0 or -ENOMEM. */
int given_add(struct given *g, const struct send_run *run, uint32_t i,
	      uint32_t n);

/* The packet that has this byte, which is not behind the last one, and how many
 * of its bytes lie before that. */
uint32_t given_find(const struct given *g, uint64_t byte, uint32_t *run,
		    uint64_t *first);

/* Forgets what is behind the packet with this byte, and itself. */
void given_cut(struct given *g, uint64_t byte);

#endif
