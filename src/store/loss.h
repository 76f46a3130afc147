/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_LOSS_H
#define SPATE_STORE_LOSS_H

#include "store/recording.h"

/*
 * When a recording lost packets: how many in each of LOSS_COLUMNS parts of
 * its length, and the longest stretches without any.
 *
 * Indexes tell it, to a block; within a block the metadata does, which is
 * read of the blocks that lost most, and of others their loss is taken as
 * spread evenly.  So it costs little however much was lost.  All `lost` of a
 * map are the packets_lost of the recording.
 */
enum { LOSS_COLUMNS = 60, LOSS_WORST = 10 };

struct loss_column {
	uint64_t packets, lost;
	uint64_t absent; /* of blocks that are on none of the disks */
};

struct loss_stretch {
	int64_t from_ns, to_ns;
	uint64_t lost;
	uint16_t sub;
	bool absent;
};

struct loss_map {
	int64_t from_ns, to_ns; /* of the data; both 0: there is none */
	struct loss_column column[LOSS_COLUMNS];
	struct loss_stretch worst[LOSS_WORST]; /* the worst first */
	unsigned worsts;
};

/* 0 or -ENOMEM. */
int loss_find(struct recording *rec, struct loss_map *map);

/* Sets "loss_map" and "loss_worst" in what recording_info() gave; 0, or -ENOMEM. */
int loss_tell(struct recording *rec, json_t *info);

#endif
