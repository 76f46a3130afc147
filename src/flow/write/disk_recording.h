/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_WRITE_DISK_RECORDING_H
#define SPATE_FLOW_WRITE_DISK_RECORDING_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "store/record/block.h"
#include "flow/memory/heartbeat.h"
#include "flow/write/writes_in_flight.h"
#include "flow/output/output.h"
#include "store/disk/disk.h"
#include "store/write/folder.h"

/*
 * A disk recording is one recording on one disk while it is written: its
 * folder, and the chunks that are written but not yet durable.  A sync (in the
 * code a "round") makes them durable and names them in the index.
 *
 *   open -> { announce, note, add ... sync }* -> close
 *                 ^                    |
 *                 +-- resume <- suspend <-+  the disk was away meanwhile
 *
 * Only the disk's thread calls these functions, except disk_recording_risk: the
 * event loop calls that for a disk which does not answer and so keeps its
 * thread inside one of the others.
 */
enum {
	DISK_RECORDING_ROUND = 128, /* chunks that make a sync due at once */
	/* Most chunks without a sync: all that are under way may still arrive
	 * before the next look at what is due. */
	DISK_RECORDING_MOST = DISK_RECORDING_ROUND + WRITES_FILES - 1,
};

struct disk_recording {
	struct output *output; /* a reference is held */
	struct folder *folder; /* NULL: disk_recording_suspend closed it */
	struct disk_recording *next; /* linked in writer::recordings */
	struct heartbeat *beat;	     /* the disk's heartbeat, or NULL */
	bool serial;		     /* all blocks share a file; constant */
	/* The disk refused it just now: the writer suspends it once it writes
	 * none of its blocks. */
	bool refused;
	bool told_refused; /* in the log, since a block of it was written */

	int fd
	    [DISK_RECORDING_MOST]; /* open files of chunks that are not yet durable */
	bool fd_parity[DISK_RECORDING_MOST]; /* this one is of a parity block */
	unsigned fds;
	/* Steady ns: when the first chunk since the last sync was added. */
	int64_t since;

	/* Protects the fields below.  The disk's thread alone changes
	 * records, and so reads them without it; `risked` is also changed by
	 * disk_recording_risk, and `away` by disk_recording_rescue. */
	pthread_mutex_t lock;
	/* Records of chunks that are not yet durable; the record of a gap may
	 * stand before a chunk's. */
	struct index_record record[2 * DISK_RECORDING_MOST];
	unsigned records;
	/* Records whose block is on its way to another disk. */
	bool away[2 * DISK_RECORDING_MOST];
	/* How many of them, from the first on, were counted as at risk. */
	unsigned risked;
	bool indexing; /* the index is being written: none can go away now */

	/* Chunks of blocks that went away and that are still to be removed; by
	 * the disk's thread alone. */
	struct index_record moved[DISK_RECORDING_MOST];
	unsigned moved_n;

	/* Tails of parity blocks that are not in the list yet, how many, and of
	 * how many members their groups are; by the disk's thread alone. */
	uint8_t *tails;
	size_t tails_bytes;
	unsigned tails_n, tails_members;

	/* A line of the metadata could not be written, and that was logged. */
	bool unnoted;
	bool unsummed; /* checksums could not be written, and that was logged */
	/* For each substream, the last run whose line is in the metadata: 2 *
	 * (run + 1), plus 1 if the line has frames per second; 0: none. */
	uint64_t *told;
};

/* Makes the recording's folder on the disk, or opens it where it is there.
 * Holds the output.  0 or -errno. */
int disk_recording_open(struct disk_recording **rec, const struct disk *disk,
			struct output *o, struct heartbeat *beat);

/* Opens a folder that is there; -ENOENT where there is none. */
int disk_recording_again(struct disk_recording **rec, const struct disk *disk,
			 struct output *o, struct heartbeat *beat);

/* Closes all files so that the disk can be unmounted; the folder gets no end
 * record.  Call disk_recording_sync first. */
void disk_recording_suspend(struct disk_recording *rec);

/* Opens the folder again and continues at its end, or makes a new folder where
 * there is none (another disk is mounted there now).  0 or -errno. */
int disk_recording_resume(struct disk_recording *rec, const struct disk *disk);

/*
 * Writes a block's substream, run and place to the metadata before its chunk is
 * written: after a crash the chunk alone would not tell them.  Does so only for
 * recordings of several substreams or of heaps, and where all blocks share a
 * file.
 */
void disk_recording_announce(struct disk_recording *rec, const struct block *b);

/* Writes a chunk's checksums, and the lines of the metadata about its run,
 * missing packets and heaps, after its data is written. */
void disk_recording_note(struct disk_recording *rec, const struct block *b);

/* Adds a written block's index records to those of the next sync, and takes
 * over the chunk's open file (fd -1: the chunk has no file of its own).  Never
 * asks anything of the disk. */
void disk_recording_add(struct disk_recording *rec, const struct block *b,
			int fd);

/* Steady ns when the next sync is due; 0: now; INT64_MAX: nothing waits for
 * one. */
int64_t disk_recording_due(const struct disk_recording *rec);

/*
 * Makes all added chunks durable, then names them in the index.  0 or
 * -errno.  Of chunks that could not be made durable, those whose blocks are
 * still in memory are given to other disks; the others are counted as at risk,
 * or as lost if the folder was removed.  Chunks that went away are in
 * disk_recording::moved then: remove them with disk_recording_moved().  An
 * error of parity alone costs only parity: the chunks are named, and the error
 * is returned.
 */
int disk_recording_sync(struct disk_recording *rec);

/* Gives blocks that are not durable yet, and still in memory, to other disks,
 * because this one does not answer; returns how many.  Any thread. */
unsigned disk_recording_rescue(struct disk_recording *rec);

/* Removes the next chunk that went away, and returns true; *err: 0, or -errno
 * and it may still be there.  False: there is none. */
bool disk_recording_moved(struct disk_recording *rec, struct index_record *r,
			  int *err);

/* Counts all chunks that wait for a sync as at risk, because the disk does
 * not answer.  The sync takes that back should it succeed after all.  Any
 * thread. */
void disk_recording_risk(struct disk_recording *rec);

/* Syncs, writes the end record and the metadata's last line, and frees the
 * disk recording
 * and its hold of the output.  `end` NULL: no end is written.  Nothing is
 * written to a suspended one.  0 or -errno. */
int disk_recording_close(struct disk_recording *rec,
			 const struct index_record *end, const json_t *tail);

#endif
