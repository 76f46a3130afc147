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

/*
 * A recording, opened to be read: the indexes of all disks merged, and its
 * bytes as one file for each of its substreams (one, mostly).
 *
 * A file is every block of its substream in the order of numbers.  What it
 * has where no data is depends on how the recording stores:
 *
 *   packets   fill for a stretch in which nothing arrived, or whose chunk
 *             cannot be read
 *   cubes     the same, with zeros as fill: a slot is the item of one heap,
 *             and its place in the file tells its time
 *   rows      nothing.  A row is heaps of any length, one after the other: a
 *             chunk that is not there is left out, one that is short ends
 *             with its last whole packet.  What it is about is looked at
 *             once, when its record is first seen.
 *
 * So a place in the file follows from the index by arithmetic.  Bytes below
 * the visible end never change; it is the end of the longest prefix, of all
 * numbers, without an unknown block, and of a recording that has ended the
 * whole.
 *
 * Of a number whose record is on no disk nobody knows the substream.  Where
 * there is one, it is filled, up to the next block's sequence.  Where there
 * are several, it is in no file; but when two neighbours in a file are of one
 * run and the sequence of the second says that slots are missing between
 * them, these are filled.  What was lost so before the first block or behind
 * the last block of a run cannot be seen, and is not made up.
 *
 * One thread at a time.
 */
struct recording;

enum recording_state {
	RECORDING_COMPLETE,    /* an end record on at least one disk; whether
				  it failed, recording_facts::failed says */
	RECORDING_LIVE,	       /* no end record, and its index is locked by
				   the writer that is still at it */
	RECORDING_INTERRUPTED, /* no end record and nobody writes it */
};

/*
 * One block: its record, and where it is.  A number whose record is on no
 * disk gets one made up from its neighbours, of kind RECORDING_ABSENT; but one
 * that was passed over when the recording was resumed was never given to a
 * block, unless a disk says so: RECORDING_UNUSED, which is in no file.
 */
enum { RECORDING_ABSENT = 0, RECORDING_UNUSED = 4 };

struct recording_block {
	struct index_record record;
	uint64_t offset; /* of its first byte in its substream's file */
	uint64_t bytes;	 /* that it has there; of a gap too */
	uint64_t at;	 /* of its data in its disk's file */
	int disk;	 /* in the disks given to open; -1: no chunk
				   (a gap, or its disk is not there) */
	bool remembered; /* in no index: see recording_remember() */
};

/* What counts in packets does so in pieces, where those are of heaps. */
struct recording_run {
	uint32_t run;
	uint16_t sub;
	uint64_t base;	      /* absolute sequence of its slot 0 */
	uint64_t first, last; /* relative sequences with data; of rows the
				 counts of the first heaps of its first and
				 last block */
	uint64_t packets;
	uint64_t missing; /* lost; see loss.h */
	int64_t first_ns, last_ns;
};

struct recording_sub {
	uint64_t bytes; /* of its file, to the visible end */
	uint64_t packets, missing;
	unsigned chunks, gaps;
	const struct recording_run *run;
	unsigned runs;
	int64_t first_ns, last_ns; /* 0: it has nothing */
};

struct recording_facts {
	enum recording_state state;
	const char *reason; /* why it ended, of the end line; "" unknown */
	bool failed;	    /* before it was to end */
	const char *name, *stream, *format, *extension;
	const char *layout;  /* "vbs", "mark6", "file" */
	const char *made_by; /* "spate", "jive5ab", "VLBI-streamer", "Mark6" */
	bool estimated;	     /* `missing`, by what some of its packets are */
	const json_t *notes; /* what is wrong with another program's; NULL: it
				is ours; borrowed */
	uint32_t payload;
	enum heap_store store;
	unsigned channels_per_file; /* of cubes, as configured */
	int64_t start_ns, end_ns;   /* when it began and ended, UTC; the
				   end of the last block while it runs */
	uint64_t bytes;		    /* to the visible end, of all files */
	uint64_t packets, missing;  /* of all runs; missing are lost, see
				   loss.h */
	unsigned chunks, gaps;
	unsigned absent;	 /* numbers whose record is on no disk */
	uint64_t left_out;	 /* of rows: bytes that records tell of and no
				chunk gives */
	uint64_t torn;		 /* bytes of torn index tails */
	uint64_t descriptors;	 /* that the metadata keeps */
	const json_t *described; /* they, as texts; borrowed */
	uint64_t controls;     /* start, stop and reissue heaps that it tells */
	const json_t *head;    /* first line of the metadata; borrowed */
	const json_t *tail;    /* its end line, or NULL; borrowed */
	const json_t *resumed; /* lines that say that another daemon went on,
				  in their order; borrowed */
	const struct recording_run *run; /* by substream */
	unsigned runs;
	const struct recording_sub *sub; /* silent ones, too */
	unsigned subs;
};

/*
 * `disks` must outlive it.  -ENOENT when no disk has the folder, -ENODATA
 * when it is there without any readable metadata (recover may help), -EIDRM
 * when its removal was begun; else -errno; each with a fault.
 */
int recording_open(struct recording **rec, const struct disks *disks,
		   const char *name, struct fault *fault);
/* The same for who looks at little of it: of rows, every chunk is taken to be
 * as long as its record says, and none is looked at. */
int recording_open_by_index(struct recording **rec, const struct disks *disks,
			    const char *name, struct fault *fault);
void recording_close(struct recording *rec);

const struct recording_facts *recording_facts(const struct recording *rec);

/* By number, of all substreams. */
const struct recording_block *recording_blocks(const struct recording *rec,
					       size_t *n);

/* Chooses the substream that is read; at first that is 0.  Past the last
 * one is an empty file. */
void recording_select(struct recording *rec, unsigned sub);

/*
 * Reads bytes of the file: as many as there are up to the visible end, 0 at
 * it, or -errno.  A chunk that is missing or short is filled; *filled counts
 * such bytes up (NULL: nobody asks).  Of rows it is an error.
 */
ssize_t recording_read(struct recording *rec, void *data, size_t bytes,
		       uint64_t offset, uint64_t *filled);

/* What is at an offset of the file: a block's chunk, or what no chunk has.  0;
 * -ENODATA from the end on. */
struct recording_spot {
	const struct recording_block *block; /* or that before a stretch */
	uint64_t at, left; /* bytes: from its beginning; that are alike */
	bool chunk;
};
int recording_find(const struct recording *rec, uint64_t offset,
		   struct recording_spot *spot);

/* As recording_read(), as if no chunk could be read: what it would fill.  Below the
 * visible end; 0 or -errno.  Of rows it is an error. */
int recording_fill_bytes(struct recording *rec, void *data, size_t bytes,
			 uint64_t offset);

/*
 * Holds it until it is closed: who would remove it sees that it is being read.
 * Of a live one it does nothing, and may be called again after a refresh.  0;
 * -EIDRM where it is being removed, -EBUSY where somebody else is at it; with
 * a fault, unless that is NULL.
 */
int recording_hold(struct recording *rec, struct fault *fault);

/* Does a disk hang, so that a refresh leaves it alone? */
bool recording_hangs(const struct recording *rec);

/* Was it removed, or is about to be?  Looks at disks. */
bool recording_is_removed(const struct recording *rec);

/* Looks again: a live recording has grown.  It costs little where nothing is
 * new.  0 or -errno. */
int recording_refresh(struct recording *rec);

/* Somebody knows of a live one that what no disk has of the numbers below
 * `end` will not come any more; it counts from the next refresh on. */
void recording_settle(struct recording *rec, uint64_t end);

/*
 * Blocks, and gaps, of a live one that were seen in the memory of who writes
 * it.  From the next refresh on they count as there, until an index has them.
 * Whatever that says, and if none ever does: what was visible keeps its place
 * and length.  A block without a chunk is filled; of rows that is an error.
 * How many are new, or -ENOMEM.
 */
int recording_remember(struct recording *rec, const struct index_record *r,
		       size_t n);
/* What another that has the same recording open remembers.  The same. */
int recording_remember_all(struct recording *rec,
			   const struct recording *other);
/* Is it in no index, and may come yet? */
bool recording_is_awaited(const struct recording *rec, uint64_t number);

/* The blocks that have something of some time, or of some bytes of a
 * substream's file: these, and perhaps more. */
struct recording_range {
	int64_t from_ns, to_ns;	     /* UTC; to 0: no end */
	uint64_t from_byte, to_byte; /* the same */
	int sub;		     /* -1: of all */
	uint64_t first, end;	     /* numbers; set by: */
	bool over; /* there are blocks behind it: no more will be in it */
};
void recording_range(const struct recording *rec, struct recording_range *r);

/*
 * What a block has no packet for, from the metadata: calls back for each
 * stretch, in slots, of heaps in bytes of the block.  0; -ENODATA where some
 * is missing and no line tells what; -EAGAIN of one that is awaited, as long as
 * no line does; or -errno.
 */
int recording_holes(struct recording *rec, uint64_t number,
		    void (*hole)(void *arg, uint64_t at, uint64_t count),
		    void *arg);

/* Does an end line say that the recording failed? */
bool recording_failed(const json_t *tail);

/* "complete", "failed", "recording" or "interrupted". */
const char *recording_state_show(const struct recording_facts *f);

/* Everything `spate info` shows; a new reference, or NULL without memory. */
json_t *recording_info(const struct recording *rec);

/* The names on these disks, sorted, each once: *names is malloc'ed, with its
 * texts in one piece (free(*names)).  0 or -errno. */
int recording_list(const struct disks *disks, char ***names, size_t *n);

/* The one that began or ended last: whose metadata was last written to.
 * -ENOENT where there is none; else 0 or -errno. */
int recording_last(const struct disks *disks, char name[LAYOUT_FILE]);

#endif
