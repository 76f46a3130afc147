/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_RECORDING_LOSS_H
#define SPATE_STORE_RECORDING_LOSS_H

#include "store/recording/recording.h"

/*
 * Counting of losses.
 *
 *   datagram  a datagram that came for the recording
 *   packet    a datagram that is in a written block, each sequence number once
 *   drop      a datagram that is not, with its reason (flow/place/counts.h):
 *             datagrams = packets + drops
 *   lost      a sequence number from the first to the highest that came, of
 *             each run, that is in no written block
 *
 * So a number is lost if nothing came with it (which is no drop), or if its
 * datagram was dropped here (late, no_buffer, unwritten, untimed); also behind
 * the last written block and before the first.  Drops without a place in a run
 * (wrong_size, out_of_window ...) are not lost.  Drops that nobody wanted
 * (duplicate, before_start ...) are neither lost nor missed; loss_missed() adds
 * up everything that was wanted and is not in the recording.  Blocks that were
 * written, but to a disk that is not here, are absent, not lost.
 *
 * Heaps do not number their packets.  Lost are the packets that a heap lacks,
 * and as many packets as a heap has for each heap that is missing between
 * others, or was dropped behind the last one.
 *
 * The daemon counts in this way while it records, and writes the result into
 * the last line of the metadata.  Readers use that line (loss_count()): it knows
 * what no index shows, blocks that no disk took and packets behind the last
 * block.  Without it the indexes are counted (recording_place.c), from the
 * first to the last packet of each run.
 */

/* Slots first..last without a packet, if `packets` of them have one. */
static inline uint64_t
loss_between(uint64_t first, uint64_t last, uint64_t packets)
{
	uint64_t slots = last - first + 1;

	return slots > packets ? slots - packets : 0;
}

/*
 * Lost packets of a recording or a substream.  `end` is the end line or an
 * entry of its `subs`: its number counts, less the packets that were found
 * since and were not counted then; but never less than `counted`, as counted in
 * the indexes.  If `end` is NULL or has no numbers: `counted`.
 */
uint64_t loss_count(const json_t *end, uint64_t packets, uint64_t counted);

/* Packets that were wanted and are not in the recording: `lost`, and the wanted
 * drops that are not part of `lost`.  `drops` is the object of the end line, or
 * NULL. */
uint64_t loss_missed(const json_t *drops, uint64_t lost);

/* The mark of a part of a recording: ' ' no packets, '.' nothing lost, '-' up to
 * 0.1 % of them, '+' up to 1 %, '#' more. */
static inline char
loss_mark(uint64_t packets, uint64_t lost)
{
	uint64_t all = packets + lost;

	if (!all)
		return ' ';
	if (!lost)
		return '.';
	if (lost <= all / 1000)
		return '-';
	return lost <= all / 100 ? '+' : '#';
}

/* True if a drop with this reason lost a packet that was wanted. */
bool loss_is_wanted(const char *drop);

/*
 * A loss map says when a recording lost packets: how many in each of
 * LOSS_COLUMNS parts of its length, or in one if it has none, and in which stretches it lost most.
 *
 * The indexes say it to a block.  Within a block the holes in the metadata say
 * it: they are read for the blocks that lost most; in other blocks the loss is
 * taken as spread evenly.  So the cost does not grow with the losses.  Losses
 * that no index shows happened mostly behind the last block, and are put there.
 * All `lost` of a map add up to the packets_lost of the recording, except for
 * blocks that no disk took, which are absent.
 */
enum { LOSS_COLUMNS = 60, LOSS_WORST = 10 };

/* Packets in one part of the recording's length. */
struct loss_column {
	uint64_t packets, lost;
	uint64_t absent; /* packets in blocks that are on none of the disks */
};

/* Slots that are next to each other and have no packet. */
struct loss_stretch {
	int64_t from_ns, to_ns;
	uint64_t lost;
	uint16_t sub;
	bool absent;
};

struct loss_map {
	/* UTC, ns, of the data; both 0: there is no data */
	int64_t from_ns, to_ns;
	struct loss_column column[LOSS_COLUMNS];
	struct loss_stretch worst[LOSS_WORST]; /* the worst first */
	unsigned worsts;
};

/* Fills in the map.  0 or -ENOMEM. */
int loss_find(struct recording *rec, struct loss_map *map);

/* Sets "loss_map" and "loss_worst" in the JSON that recording_info() gave.  0
 * or -ENOMEM. */
int loss_add_json(struct recording *rec, json_t *info);

#endif
