/* SPDX-License-Identifier: MIT */
#ifndef SPATE_SEND_ETD_ETD_H
#define SPATE_SEND_ETD_ETD_H

#include <stdbool.h>
#include <stdint.h>

#include "send/tcp/bytes.h"
#include "contract/send.h"
#include "etd_file.h"
#include "send/tcp/given.h"

/* Where a transfer to an etransfer server stands. */
enum etd_phase {
	ETD_OPENS,   /* the file */
	ETD_STANDS,  /* it is open, and nothing is on its way */
	ETD_LOADS,   /* N bytes are */
	ETD_CLOSING, /* the server has them; the file */
	ETD_RESTS,   /* it is closed */
};

struct send_state {
	struct line_args to, to_data;
	struct etd_file file;
	struct bytes bytes;
	struct given given;
	bool ordered;
	enum etd_phase phase;
	bool checked;  /* the file is as long as what was given */
	uint64_t left; /* of N, that were not given yet */
	uint64_t skip; /* bytes that are there already */
	uint64_t total;
	uint64_t last_have;
	uint64_t there_packets, there_bytes; /* taken, and there before */
	unsigned stuck;
	uint32_t back_run;
	uint64_t back_first;
	unsigned reconnects;
	char head[ETD_UUID + 64];
	char path[1024];
	char why[SEND_SENTENCE];
};

/* As send_ops has them: etd_push.c. */
int etd_send(struct send_state *s, const struct send_run *run, unsigned n,
	     uint64_t *taken);
int etd_finish(struct send_state *s);

#endif
