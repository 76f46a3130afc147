/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_SEND_CUT_HEAPS_H
#define SPATE_FLOW_SEND_CUT_HEAPS_H

#include <stdint.h>

#include "contract/format.h"
#include "contract/send.h"
#include "flow/source/source.h"

/*
 * Heaps cut in packets: a block of rows has one packet for each heap, or for
 * each stretch of one that came, as long as it is; what goes to the network
 * are datagrams of one size, each with a header made for it
 * (format_ops::wrap), the last one of a heap shorter.  All items are in the
 * first one of a heap, or the first few, where they are many.
 *
 * Pure but for its own memory: the same block gives the same packets.
 */
struct cut_heaps;

enum {
	CUT_HEAPS_PACKET = 8192, /* bytes of a datagram, where nobody says */
	CUT_HEAPS_LEAST = 128,
	CUT_HEAPS_MOST = 65507,
};

struct cut_heaps_args {
	const struct format_ops *format;
	const struct format_shape *shape;
	uint32_t packet; /* bytes of a datagram, header and all, rounded down
			    to 8; 0: CUT_HEAPS_PACKET */
};

/* 0; -ENOMEM; -EINVAL: not rows (a cube has no packets any more), or that size
 * cannot be.  What args points to outlives it. */
int cut_heaps_make(struct cut_heaps **heaps, const struct cut_heaps_args *args);
void cut_heaps_free(struct cut_heaps *heaps);

/* Goes to the beginning of a parcel, whose block is of rows. */
void cut_heaps_begin(struct cut_heaps *heaps, const struct parcel *p);

/*
 * The next packets of it, as at most n runs; returns how many, and 0 at its
 * end.  Sets head, data, their bytes and strides, `packets` and time_ns; the
 * rest is the caller's.  Heads lie in `heaps` and are good until the next
 * call; data point into the parcel.
 */
unsigned cut_heaps_next(struct cut_heaps *heaps, struct send_run *run,
			unsigned n);

/* Bytes of parcels that were no packets, and were passed over. */
uint64_t cut_heaps_bad(const struct cut_heaps *heaps);

#endif
