/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_RECORDING_H
#define SPATE_STORE_RECORDING_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "store/disk.h"
#include "store/index.h"

/*
 * A recording, opened to be read: the indexes of all disks merged, and its
 * bytes as one file.
 *
 * The file is every block in the order of numbers: a chunk's data, or fill
 * for a stretch in which nothing arrived or whose chunk cannot be read.  So
 * a place in the file follows from the index by arithmetic.  The visible end
 * is the end of the longest prefix without an unknown block; of a recording
 * that has ended it is the whole.  Bytes below it never change.
 *
 * One thread at a time.
 */
struct recording;

enum recording_state {
	RECORDING_COMPLETE,    /* an end record on at least one disk */
	RECORDING_LIVE,	       /* no end record, and its index is locked by
				   the writer that is still at it */
	RECORDING_INTERRUPTED, /* no end record and nobody writes it */
};

/*
 * One block: its record, and where it is.  record.bytes is its length in the
 * file, of a gap too.  A number whose record is on no disk gets one made up
 * from its neighbours, of kind RECORDING_ABSENT.
 */
enum { RECORDING_ABSENT = 0 };

struct recording_block {
	struct index_record record;
	uint64_t offset; /* of its first byte in the file */
	int disk;	 /* in the disks given to open; -1: no chunk
				   (a gap, or its disk is not there) */
};

struct recording_run {
	uint32_t run;
	uint64_t base;	      /* absolute sequence of its slot 0 */
	uint64_t first, last; /* relative sequences with data */
	uint64_t packets;
	uint64_t missing; /* slots from first to last without one */
	int64_t first_ns, last_ns;
};

struct recording_facts {
	enum recording_state state;
	const char *name, *stream, *format, *extension;
	uint32_t payload;
	int64_t start_ns, end_ns;  /* when it began and ended, UTC; the
				   end of the last block while it runs */
	uint64_t bytes;		   /* to the visible end */
	uint64_t packets, missing; /* of all runs; of absent
				   numbers nothing is known */
	unsigned chunks, gaps;
	unsigned absent;    /* numbers whose record is on no disk */
	uint64_t torn;	    /* bytes of torn index tails */
	const json_t *head; /* first line of the metadata; borrowed */
	const json_t *tail; /* its end line, or NULL; borrowed */
	const struct recording_run *run;
	unsigned runs;
};

/*
 * `disks` must outlive it.  -ENOENT when no disk has the folder, -ENODATA
 * when it is there without any readable metadata (recover may help); else
 * -errno; each with a fault.
 */
int recording_open(struct recording **rec, const struct disks *disks,
		   const char *name, struct fault *fault);
void recording_close(struct recording *rec);

const struct recording_facts *recording_facts(const struct recording *rec);
const struct recording_block *recording_blocks(const struct recording *rec,
					       size_t *n);

/*
 * Reads bytes of the file: as many as there are up to the visible end, 0 at
 * it, or -errno.  A chunk that is missing or short is filled; *filled counts
 * such bytes up (NULL: nobody asks).
 */
ssize_t recording_read(struct recording *rec, void *data, size_t bytes,
		       uint64_t offset, uint64_t *filled);

/* Looks again: a live recording has grown.  0 or -errno. */
int recording_refresh(struct recording *rec);

/* Which slots of a block have no packet, as [first, count] pairs of slots,
 * from the metadata; calls back for each.  0 or -errno. */
int recording_holes(struct recording *rec, uint64_t number,
		    void (*hole)(void *arg, uint32_t slot, uint32_t count),
		    void *arg);

/* Everything `spate info` shows; a new reference, or NULL without memory. */
json_t *recording_info(const struct recording *rec);

/* The names on these disks, sorted, each once: *names is malloc'ed, with its
 * texts in one piece (free(*names)).  0 or -errno. */
int recording_list(const struct disks *disks, char ***names, size_t *n);

#endif
