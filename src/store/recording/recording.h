/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_RECORDING_RECORDING_H
#define SPATE_STORE_RECORDING_RECORDING_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "contract/format.h"
#include "store/disk/disk.h"
#include "store/record/index.h"
#include "store/disk/layout.h"

struct sums;

/*
 * A recording, opened for reading: the indexes of all disks merged, and its
 * bytes as one file for each substream (mostly there is one).
 *
 * A file is all blocks of its substream in the order of their numbers.  Where
 * there is no data, the file depends on how the recording stores:
 *
 *   packets   fill, where nothing arrived or a chunk cannot be read
 *   cubes     the same, with zeros as fill: a slot is the item of one heap, and
 *             its position in the file tells its time
 *   rows      nothing.  A row is heaps of any length back to back: a chunk that
 *             is missing is left out, and a short one ends with its last whole
 *             packet.  How long it is, is looked up once, when its record is
 *             first seen.
 *
 * So a position in the file follows from the index by arithmetic.  Bytes below
 * the visible end never change.  In a live recording the visible end is where
 * the first block would be that is unknown and may still come; in one that has
 * ended it is the end of the file.
 *
 * If the record of a number is on no disk, its substream is unknown.  In a
 * recording with one substream its place is filled, up to the sequence of the
 * next block.  In a recording with several it is in no file; but if two
 * neighbours in a file belong to one run, and the sequence of the second says
 * that slots are missing between them, these are filled.  Such a loss before
 * the first or behind the last block of a run cannot be seen, and is not made
 * up.
 *
 * Not thread-safe: one thread at a time.
 */
struct recording;

enum recording_state {
	/* at least one disk has an end record; recording_facts::failed says
	 * whether it failed */
	RECORDING_COMPLETE,
	/* no end record, and its index is locked by its writer */
	RECORDING_LIVE,
	RECORDING_INTERRUPTED, /* no end record, and nobody writes it */
};

/*
 * Further kinds of records.  A number whose record is on no disk gets a record
 * of kind RECORDING_ABSENT, made up from its neighbours.  A number that was
 * skipped when a daemon resumed the recording was never given to a block,
 * unless a disk says so: RECORDING_UNUSED, which is in no file.
 */
enum { RECORDING_ABSENT = 0, RECORDING_UNUSED = 4 };

/* One block: its record, and where its data is. */
struct recording_block {
	struct index_record record;
	/* position of its first byte in its substream's file */
	uint64_t offset;
	uint64_t bytes; /* length in that file; also of a gap */
	uint64_t at;	/* offset of its data in the file on its disk */
	/* index in the disks given to open; -1: no chunk (a gap, or its disk is
	 * not there) */
	int disk;
	bool remembered; /* not in an index yet: see recording_remember() */
	/* no index has it, but the parity of its group says what it is: its
	 * data is computed, and `disk` is that of a parity block */
	bool computed;
};

/* A run of a substream.  For heaps, `packets` and `missing` count the packets
 * of heaps. */
struct recording_run {
	uint32_t run;
	uint16_t sub;
	uint64_t base; /* absolute sequence of its slot 0 */
	/* first and last relative sequence with data; for rows the heap counts
	 * of the first heaps of the first and the last block */
	uint64_t first, last;
	uint64_t packets;
	uint64_t missing; /* lost packets; see loss.h */
	int64_t first_ns, last_ns;
};

/* One substream, and its file. */
struct recording_sub {
	uint64_t bytes; /* bytes of its file, to the visible end */
	uint64_t packets, missing;
	unsigned chunks, gaps;
	const struct recording_run *run;
	unsigned runs;
	int64_t first_ns, last_ns; /* 0: it has no data */
};

/* Everything that is known of a recording as a whole. */
struct recording_facts {
	enum recording_state state;
	const char *reason; /* why it ended, from the end line; "": unknown */
	bool failed;	    /* the recording ended before its time */
	const char *name, *stream, *format, *extension;
	const char *layout;  /* "vbs", "mark6", "file" */
	const char *made_by; /* "spate", "jive5ab", "VLBI-streamer", "Mark6" */
	/* `missing` is an estimate, from a part of the packets */
	bool estimated;
	/* what is wrong with another program's recording; NULL: it is ours;
	 * borrowed */
	const json_t *notes;
	uint32_t payload;
	enum heap_store store;
	/* channels in a file of cubes, as configured */
	unsigned channels_per_file;
	/* when it began and ended, UTC; while it runs, end_ns is the end of the
	 * last block */
	int64_t start_ns, end_ns;
	uint64_t bytes; /* length of all files, to the visible end */
	/* sums over all runs; missing are the lost ones, see loss.h */
	uint64_t packets, missing;
	unsigned chunks, gaps;
	unsigned absent;    /* numbers whose record is on no disk, or of which
			     * only that is left, in a list of parity */
	unsigned parity;    /* parity blocks of a group, as configured */
	unsigned computed;  /* chunks whose data follows from parity alone */
	unsigned protected; /* chunks that survive `parity` disks more */
	unsigned weakened;  /* others that survive one disk more */
	/* rows only: bytes that are in the records but in no chunk */
	uint64_t left_out;
	uint64_t torn;		 /* bytes of torn index tails */
	uint64_t descriptors;	 /* number of descriptors in the metadata */
	const json_t *described; /* these descriptors in base64; borrowed */
	/* start, stop and reissue heaps in the metadata */
	uint64_t controls;
	const json_t *head; /* first line of the metadata; borrowed */
	const json_t *tail; /* end line of the metadata, or NULL; borrowed */
	/* lines of daemons that resumed the recording, in order; borrowed */
	const json_t *resumed;
	const struct recording_run *run; /* all runs, sorted by substream */
	unsigned runs;
	/* one per substream, also without data */
	const struct recording_sub *sub;
	unsigned subs;
};

/*
 * Opens a recording; `disks` must outlive it.  Returns 0; -ENOENT if no disk
 * has its folder; -ENODATA if it is there without any readable metadata
 * (`recover` may help); -EIDRM if its removal was begun; or another -errno;
 * each with a fault.  Close it with recording_close().
 */
int recording_open(struct recording **rec, const struct disks *disks,
		   const char *name, struct fault *fault);
/* The same for callers that read little of it: chunks of rows are assumed to be
 * as long as their records say, and are not looked at. */
int recording_open_by_index(struct recording **rec, const struct disks *disks,
			    const char *name, struct fault *fault);
void recording_close(struct recording *rec);

/* The facts of the recording; borrowed, and updated by a refresh. */
const struct recording_facts *recording_facts(const struct recording *rec);

/* All blocks of all substreams, by number; borrowed until the next refresh. */
const struct recording_block *recording_blocks(const struct recording *rec,
					       size_t *n);

/* Chooses the substream to read; initially 0.  A number past the last substream
 * is an empty file. */
void recording_select(struct recording *rec, unsigned sub);

/*
 * Reads bytes of the selected file.  Returns how many there are up to the
 * visible end, 0 at that end, or -errno.  Bytes of a missing or short chunk are
 * filled, and added to *filled (unless NULL).  In rows such bytes are -EIO.
 */
ssize_t recording_read(struct recording *rec, void *data, size_t bytes,
		       uint64_t offset, uint64_t *filled);

/* Counts what recording_read() had to make up for: `healed` blocks were
 * computed from parity (a block counts again if another one was computed in
 * between), and `damaged` bytes were given with a wrong checksum, as parity
 * does not mend them. */
struct recording_mended {
	uint64_t healed, damaged;
};
struct recording_mended recording_mended(const struct recording *rec);

/* Like recording_read(), as if no chunk could be read: gives the fill.  The
 * range must be below the visible end.  0 or -errno; -ENOTSUP for rows. */
int recording_fill_bytes(struct recording *rec, void *data, size_t bytes,
			 uint64_t offset);

/*
 * Holds a shared lock on the indexes until the recording is closed or released,
 * so that a removal sees that it is being read; on the metadata as long as the
 * recording has no end, since its writer may go on with it.  Call it again
 * after a refresh, for disks that came.  A disk that its writer left without an
 * end, because it hangs, is left out.  0; -EIDRM if it is being removed; -EBUSY
 * if another process has the lock; with a fault unless that is NULL.
 */
int recording_hold(struct recording *rec, struct fault *fault);

/* True if a disk hangs, so that a refresh leaves that disk alone. */
bool recording_hangs(const struct recording *rec);

/* True if it is on disks that can only be read, as those of a bucket. */
bool recording_reads_only(const struct recording *rec);

/* True if the recording was removed or is being removed.  Looks at the
 * disks. */
bool recording_is_removed(const struct recording *rec);

/* Reads what is new in a live recording.  Cheap if there is nothing new.  0 or
 * -errno. */
int recording_refresh(struct recording *rec);

/* Declares that numbers below `end` of a live recording which no disk has will
 * not come any more, as its writer knows.  Takes effect at the next refresh. */
void recording_settle(struct recording *rec, uint64_t end);

/*
 * Remembers n records of blocks and gaps of a live recording that were seen in
 * its writer's memory.  From the next refresh on they count as if an index had
 * them.  Once visible they keep position and length, even if an index later
 * says something else, or never has them.  A block without a chunk is filled;
 * in rows reading it is an error.  Returns how many are new, or -ENOMEM.
 */
int recording_remember(struct recording *rec, const struct index_record *r,
		       size_t n);
/* Finds the checksums of a block's quanta beside its index.  NULL: none are
 * known.  Good until the next call. */
const struct sums *recording_sums(struct recording *rec,
				  const struct recording_block *b);

/* Remembers everything that another handle of the same recording shows or
 * remembers.  Returns how many are new, or -ENOMEM. */
int recording_remember_all(struct recording *rec,
			   const struct recording *other);
/* True if a block is remembered, in no index yet, and may still come there. */
bool recording_is_awaited(const struct recording *rec, uint64_t number);

/* A range of time, or of bytes of a substream's file, and the blocks that have
 * something of it (and perhaps a few more). */
struct recording_range {
	int64_t from_ns, to_ns;	     /* UTC; to_ns 0: no end */
	uint64_t from_byte, to_byte; /* to_byte 0: no end */
	int sub;		     /* -1: all substreams */
	uint64_t first, end;	     /* result: block numbers, `end` excluded */
	/* result: blocks behind the range exist, so nothing more will be in
	 * it */
	bool over;
};
/* Sets first, end and over. */
void recording_range(const struct recording *rec, struct recording_range *r);

/*
 * Calls back for each stretch of a block that has no packet, as the metadata
 * says: in slots, for heaps in bytes of the block.  0; -ENODATA if packets are
 * missing and no line says where; -EAGAIN if the block is awaited
 * (recording_is_awaited()) and has no line yet; or another -errno.
 */
int recording_holes(struct recording *rec, uint64_t number,
		    void (*hole)(void *arg, uint64_t at, uint64_t count),
		    void *arg);

/*
 * Clears the bits of slots that lack a packet, or any byte of a cube's item;
 * `present` has a bit for each of `slots` slots of the block from slot `from`
 * on.  Returns as recording_holes().
 */
int recording_present(struct recording *rec, uint64_t number, uint64_t from,
		      uint32_t slots, uint64_t *present);

/* On how many disks it was recorded, as its metadata says. */
unsigned recording_disks_were(const struct recording *rec);

/* How many of these are away.  0 as well if it has an end and no block is on
 * none of the disks, as after a rebuild. */
unsigned recording_disks_away(const struct recording *rec);

/* True if an end line says that the recording failed. */
bool recording_failed(const json_t *tail);

/* Everything that `spate info` shows; a new reference, or NULL without
 * memory. */
json_t *recording_info(const struct recording *rec);

/* Lists the recordings on these disks, sorted, each once.  *names is malloc'ed
 * together with its texts: free(*names).  0 or -errno. */
int recording_list(const struct disks *disks, char ***names, size_t *n);

/* Name of the recording whose metadata was written last.  0; -ENOENT if there
 * is none; or another -errno. */
int recording_last(const struct disks *disks, char name[LAYOUT_FILE]);

#endif
