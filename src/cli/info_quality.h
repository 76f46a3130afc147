/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CLI_INFO_QUALITY_H
#define SPATE_CLI_INFO_QUALITY_H

#include <jansson.h>

#include "cli/show/cli.h"

/* Options of `spate info --quality`. */
struct info_quality_args {
	uint64_t tones, tone_offset, sample_rate; /* Hz */
	uint64_t channels, bits;
	uint64_t read; /* bytes, at most */
};

/*
 * Reads frames of a recording, or of all <name>_ds<stream>, and prints what they
 * say of the signal.  Returns 0; -EBADMSG, with a fault, if it is not good; or
 * another -errno with a fault.
 */
int info_quality(const struct cli *cli, const struct info_quality_args *args,
		 const char *name, struct fault *fault);

/*
 * Appends an object of QUALITY_KEYS to `lines` for each channel of a recording,
 * and prints nothing.  0, or -errno with a fault.
 */
struct recording;
int info_quality_lines(const struct info_quality_args *args,
		       struct recording *rec, json_t *lines,
		       struct fault *fault);

#endif
