/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_RECORDING_LOSS_H
#define SPATE_STORE_RECORDING_LOSS_H

#include "store/recording/recording.h"

/*
 * How much a recording lost.
 *
 *   datagram  came for it
 *   packet    a datagram that is in a written block, each sequence number once
 *   drop      a datagram that is not, with its reason (flow/place/counts.h):
 *             datagrams = packets + drops
 *   lost      a sequence number from the first to the highest that came, of
 *             each run, that is in no written block
 *
 * So a number is lost whether nothing came with it, which is no drop, or its
 * datagram was dropped here (late, no_buffer, unwritten); also behind the last
 * block that was written, and before the first.  Drops without a place in a
 * run (wrong_size, out_of_window ...) are not lost, and drops that
 * nobody wanted (duplicate, before_start ...) are neither: loss_missed() adds
 * up what a recording lacks of what there was.  Blocks that were written, and
 * are on a disk that is not here, are absent, not lost.
 *
 * Heaps have no numbers for their packets: pieces are counted that should be
 * in a heap, and as many for each heap that is missing between others, or
 * that was dropped behind the last.
 *
 * The daemon counts so while it records, and its last line in the metadata
 * says what came out; readers believe that line (loss_told), which knows what
 * no index tells: blocks that no disk took, and what came behind the last
 * block.  Without it indexes are counted (recording_count.c), between the
 * first and the last packet of each run.
 */

/* Slots first..last without a packet. */
static inline uint64_t
loss_between(uint64_t first, uint64_t last, uint64_t packets)
{
	uint64_t slots = last - first + 1;

	return slots > packets ? slots - packets : 0;
}

/*
 * Lost of a recording, or of a substream: as said in the end line, or in an
 * entry of its `subs`, less what was found since (packets that are here now,
 * and were not counted then), and not less than was counted in the indexes.
 * NULL, or one that does not say: what was counted.
 */
uint64_t loss_told(const json_t *said, uint64_t packets, uint64_t counted);

/* What a recording lacks of what there was to record: `lost`, and drops that
 * are not in there and that somebody wanted.  `drops` as told, or NULL. */
uint64_t loss_missed(const json_t *drops, uint64_t lost);

/* Is a drop of this recorder, of packets that were wanted? */
bool loss_is_wanted(const char *drop);

/*
 * When a recording lost packets: how many in each of LOSS_COLUMNS parts of
 * its length, and the longest stretches without any.
 *
 * Indexes tell it, to a block; within a block the metadata does, which is
 * read of the blocks that lost most, and of others their loss is taken as
 * spread evenly.  So it costs little however much was lost.  What no index
 * tells was lost behind the last block, mostly, and is put there.  All `lost`
 * of a map are the packets_lost of the recording, but for those of blocks that
 * no disk took: they are absent.
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
