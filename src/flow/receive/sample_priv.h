/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_RECEIVE_SAMPLE_PRIV_H
#define SPATE_FLOW_RECEIVE_SAMPLE_PRIV_H

#include <stdbool.h>

#include "flow/receive/sample.h"
#include "flow/receive/sample_heaps.h"

/* State that the files of a sample share. */
enum {
	SAMPLE_SIZES = 16,   /* lengths of datagrams that are told apart */
	SAMPLE_HEAD = 256,   /* bytes kept of one datagram of each length */
	SAMPLE_SENDERS = 16, /* senders that are told apart */
	SAMPLE_TRAILS = 1024,
};

struct sample_size {
	uint32_t bytes;
	uint32_t kept; /* bytes kept, of the first datagram */
	uint64_t datagrams;
	uint8_t head[SAMPLE_HEAD];
};

/* One substream: a counter that should grow by one. */
struct sample_line {
	uint64_t datagrams, seen; /* all; those with a sequence */
	uint64_t first, last;	  /* sequences since the last restart */
	uint64_t span;		  /* length of the sequences before that */
	unsigned restarts;
};

/* One thread of one station: frames that should grow by one. */
struct sample_trail {
	uint32_t sub, thread, station;
	uint64_t frames;
	int64_t second; /* of the first frame, with `frame` */
	uint32_t frame;
	int64_t last_second; /* of the newest by time, with last_frame */
	uint32_t last_frame;
};

struct sample {
	struct sample_args a;
	uint64_t datagrams, bytes, foreign, cut, invalid;
	struct sample_size size[SAMPLE_SIZES];
	unsigned sizes;
	uint32_t sender[SAMPLE_SENDERS];
	unsigned senders;
	struct sample_line *line; /* per substream */
	struct sample_trail *trail;
	unsigned trails, at;	      /* at: the one found last */
	uint32_t highest;	      /* highest frame number in any second */
	int64_t time_second, time_ns; /* of the newest packet with a time; its
					 arrival, UTC ns */
	uint32_t time_frame;
	bool timed;
	struct sample_heaps *heaps; /* NULL: the format has no heaps */
};

/* Makes hints for users who wonder why nothing is recorded (sample_hint.c). */
json_t *sample_hints(const struct sample *s);

#endif
