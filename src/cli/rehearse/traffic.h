/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CLI_REHEARSE_TRAFFIC_H
#define SPATE_CLI_REHEARSE_TRAFFIC_H

#include <stdint.h>

#include "base/fault.h"
#include "cli/show/cli.h"

/*
 * Traffic is what is rehearsed: streams that come at the same time, each with
 * the rate, the size of packets and the ports of a stream of the configuration.
 * Each packet carries a counter, whatever the format of that stream.
 */
enum { TRAFFIC_STREAMS = 32, TRAFFIC_PREFIX = 8 /* least, for the counter */ };

struct traffic_stream {
	char name[80]; /* in the configuration; "": as the first one there */
	uint64_t rate; /* bits per second */
	uint32_t payload, prefix; /* bytes of a packet: stored, and before it */
	unsigned ports;
};

struct traffic {
	uint64_t rate; /* of all streams together, that has to hold */
	char of[200];  /* where it is from */
	struct traffic_stream stream[TRAFFIC_STREAMS];
	unsigned n;
};

/* Makes it of one stream. */
void traffic_one(struct traffic *t, const struct traffic_stream *stream);

/*
 * Makes it of the streams that are recorded when most is, by the schedule, or as
 * that would be with a file.  Returns 0, or -errno with a fault.
 */
int traffic_of_schedule(struct traffic *t, const struct cli *cli,
			const char *file, struct fault *fault);

#endif
