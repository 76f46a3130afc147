/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_LIST_FRAMES_H
#define SPATE_STORE_LIST_FRAMES_H

#include "store/recording/recording.h"

/*
 * Reads whole frames of a recording, all of them or a share, which then is in
 * pieces of some frames that are spread evenly over the recording.  Frames of
 * which a packet is missing are left out, so no fill is taken for data.
 */
struct frames_reader {
	const struct format_ops *format;
	const struct format_shape *shape; /* both borrowed of the recording */
	unsigned sub;
	uint64_t most; /* bytes to read */
	/* Takes payload * parts bytes.  Returns 0 to go on, or -errno. */
	int (*frame)(void *arg, const void *frame);
	void *arg;
};

struct frames_counts {
	uint64_t read;	  /* frames */
	uint64_t missing; /* of those that were come to, for want of a packet */
	uint64_t unreadable; /* bytes that a disk did not give */
};

/*
 * Sets format and shape of a reader.  Returns 0; -ENOTSUP, with a fault, if the
 * recording does not consist of frames, or its format is not installed.
 */
int frames_of(const struct recording *rec, struct frames_reader *r,
	      struct fault *fault);

/* Returns 0; -ENOMEM; or what frame() returned. */
int frames_read(struct recording *rec, const struct frames_reader *r,
		struct frames_counts *counts);

#endif
