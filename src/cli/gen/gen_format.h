/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CLI_GEN_GEN_FORMAT_H
#define SPATE_CLI_GEN_GEN_FORMAT_H

#include "base/fault.h"
#include "contract/format.h"

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
