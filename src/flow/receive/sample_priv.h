/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_RECEIVE_SAMPLE_PRIV_H
#define SPATE_FLOW_RECEIVE_SAMPLE_PRIV_H

#include <stdbool.h>

#include "flow/receive/sample.h"
#include "flow/receive/sample_heaps.h"

/* What the files of a sample share. */
enum {
	SAMPLE_SIZES = 16,   /* of datagrams, that are told apart */
	SAMPLE_HEAD = 256,   /* bytes kept of one of each */
	SAMPLE_SENDERS = 16, /* that are told apart */
	SAMPLE_TRAILS = 1024,
};

struct sample_size {
	uint32_t bytes;
	uint32_t kept; /* of the first */
	uint64_t datagrams;
	uint8_t head[SAMPLE_HEAD];
};

/* Of one substream: a counter that should grow by one. */
struct sample_line {
	uint64_t datagrams, seen; /* seen: with a sequence */
	uint64_t first, last;	  /* since it began, or began anew */
	uint64_t span;		  /* of those before */
	unsigned restarts;
};

/* Of one thread of one station: frames that should grow by one. */
struct sample_trail {
	uint32_t sub, thread, station;
	uint64_t frames;
	int64_t second; /* of the first frame and */
	uint32_t frame;
	int64_t last_second; /* of the last in time */
	uint32_t last_frame;
};

struct sample {
	struct sample_args a;
	uint64_t datagrams, bytes, foreign, cut, invalid;
	struct sample_size size[SAMPLE_SIZES];
	unsigned sizes;
	uint32_t sender[SAMPLE_SENDERS];
	unsigned senders;
	struct sample_line *line; /* of each substream */
	struct sample_trail *trail;
	unsigned trails, at;	      /* at: the last that was met */
	uint32_t highest;	      /* frame in any second */
	int64_t time_second, time_ns; /* of the last with time; its arrival */
	uint32_t time_frame;
	bool timed;
	struct sample_heaps *heaps; /* NULL: the format has none */
};

/* sample_hint.c: sentences for those who wonder why nothing is recorded. */
json_t *sample_hints(const struct sample *s);

#endif
