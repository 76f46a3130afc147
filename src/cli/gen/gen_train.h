/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CLI_GEN_GEN_TRAIN_H
#define SPATE_CLI_GEN_GEN_TRAIN_H

#include <stdint.h>
#include <sys/uio.h>

#include "cli/gen/gen_source.h"

/*
 * A train is the datagrams that go out with one call.  All have
 * gen_source::most bytes, except that the last may be shorter.
 */
enum { GEN_TRAIN = 64 }; /* most datagrams of a train */

struct gen_train {
	struct iovec iov[GEN_TRAIN * GEN_PIECES];
	uint8_t pieces[GEN_TRAIN];  /* pieces of iov, for each datagram */
	uint64_t number[GEN_TRAIN]; /* number of each datagram in its plan */
	unsigned n;		    /* datagrams */
	unsigned iovs;
};

#endif
