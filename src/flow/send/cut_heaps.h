/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_SEND_CUT_HEAPS_H
#define SPATE_FLOW_SEND_CUT_HEAPS_H

#include <stdint.h>

#include "contract/format.h"
#include "contract/send.h"
#include "flow/source/source.h"

/*
 * Cuts heaps into packets.  A block of rows stores one packet for each heap, or
 * for each stretch of a heap that was received, whatever its length.  The
 * network gets datagrams of one size, each with a header made for it
 * (format_ops::wrap), the last one of a heap shorter.  A heap's first datagram
 * has all its items, or the first few datagrams if there are many.
 *
 * The result depends on the block alone: the same block gives the same packets.
 */
struct cut_heaps;

enum {
	CUT_HEAPS_PACKET = 8192, /* bytes of a datagram, unless chosen */
	CUT_HEAPS_LEAST = 128,
	CUT_HEAPS_MOST = 65507,
};

struct cut_heaps_args {
	const struct format_ops *format;
	const struct format_shape *shape;
	/* Bytes of a datagram with its header, rounded down to 8; 0:
	 * CUT_HEAPS_PACKET. */
	uint32_t packet;
};

/* 0; -ENOMEM; -EINVAL: the recording has no rows (a cube's packets are gone),
 * or the size is out of bounds.  All that args points to outlives it. */
int cut_heaps_make(struct cut_heaps **heaps, const struct cut_heaps_args *args);
void cut_heaps_free(struct cut_heaps *heaps);

/* Starts on a parcel, whose block has rows. */
void cut_heaps_begin(struct cut_heaps *heaps, const struct parcel *p);

/*
 * Returns the parcel's next packets as at most n runs, and how many runs these
 * are; 0: the parcel has no more.  Sets head, data, their bytes and strides,
 * `packets` and time_ns; the caller sets the rest.  Heads lie in `heaps` and
 * are valid until the next call; data point into the parcel.
 */
unsigned cut_heaps_next(struct cut_heaps *heaps, struct send_run *run,
			unsigned n);

/* Bytes of all parcels so far that were skipped because they are no packets. */
uint64_t cut_heaps_bad(const struct cut_heaps *heaps);

#endif
