/* SPDX-License-Identifier: MIT */
#ifndef SPATE_SEND_ETD_ETD_H
#define SPATE_SEND_ETD_ETD_H

#include <stdbool.h>
#include <stdint.h>

#include "send/tcp/bytes.h"
#include "contract/send.h"
#include "etd_file.h"
#include "send/tcp/given.h"

/* The state of a transfer to an etransfer server. */
enum etd_phase {
	ETD_OPENS,   /* the file is being opened */
	ETD_STANDS,  /* the file is open; no load is on its way */
	ETD_LOADS,   /* a load of N bytes is on its way */
	ETD_CLOSING, /* the server has the load; the file is being closed */
	ETD_RESTS,   /* the file is closed */
};

struct send_state {
	struct line_args to, to_data;
	struct etd_file file;
	struct bytes bytes;
	struct given given;
	bool ordered;
	enum etd_phase phase;
	bool checked;  /* the file was found to be as long as what was given */
	uint64_t left; /* bytes of the load that were not given yet */
	/* bytes of the next packets that the server has already */
	uint64_t skip;
	uint64_t total; /* bytes of the whole recording; 0: unknown */
	/* bytes that the server had when it was asked last */
	uint64_t last_have;
	/* taken, and not sent because the server had them */
	uint64_t there_packets, there_bytes;
	unsigned stuck;	   /* times in a row that last_have did not grow */
	uint32_t back_run; /* after -ERESTART: packet that is wanted */
	uint64_t back_first;
	unsigned reconnects;
	char head[ETD_UUID + 64]; /* text before the bytes of a load */
	char path[1024];	  /* file on the server */
	char why[SEND_SENTENCE];
};

/* The callbacks of send_ops with these names, in etd_push.c. */
int etd_send(struct send_state *s, const struct send_run *run, unsigned n,
	     uint64_t *taken);
int etd_finish(struct send_state *s);

#endif
