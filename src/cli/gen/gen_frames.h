/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CLI_GEN_GEN_FRAMES_H
#define SPATE_CLI_GEN_GEN_FRAMES_H

#include <stdint.h>

#include "base/fault.h"
#include "cli/gen/gen_source.h"
#include "contract/format.h"

/*
 * Makes datagrams of ideal streams whose packets are all alike.  Some datagrams
 * lie ready with their data; only header, prefix and the last 8 bytes are
 * written for each packet, unless there is to be a signal.  The streams of all ports have the same headers and
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
	/* makes the data of each packet anew; NULL: it lies ready */
	struct gen_signal *signal;
	uint8_t *data; /* source.ready datagrams */
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

struct conf;

struct args_texts;

/*
 * A gen_format is a format plugin with a shape that has everything a generator
 * needs: threads, and frames per second.
 */
struct gen_format {
	const struct format_ops *ops;
	struct format_shape shape;
	uint32_t *threads;
	void *options;	   /* the plugin's own options */
	struct conf *conf; /* owns the texts of the options */
};

/* The options that were given; texts as in the configuration, NULL: default. */
struct gen_wish {
	const char *format, *sequence, *threads;
	const struct args_texts *options; /* "key=value" */
	uint32_t prefix, payload, fps;
	uint32_t heap;	/* heap formats: bytes of data in each heap */
	uint64_t rate;	/* 0: any */
	int64_t around; /* UTC second near the data */
};

/*
 * Loads the plugin and completes the shape.  Returns 0, or -errno with a fault.
 */
int gen_format_open(struct gen_format *f, const struct gen_wish *wish,
		    struct fault *fault);

void gen_format_close(struct gen_format *f);

#endif
