/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_WRITE_COPY_LINES_H
#define SPATE_STORE_WRITE_COPY_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/recording/recording.h"

/*
 * The lines of metadata that belong to each block, byte for byte: a copy of the
 * recording needs them on whichever disk it puts the block.  They are the lines
 * of its holes, and of descriptors and control heaps first seen in it.  The
 * latter do not name their block: it is the one whose "written" line follows
 * them.
 *
 * Lines are indexed by offset and read when asked for.  Used by the recording's
 * thread only.
 */
struct copy_lines;

/*
 * Reads the metadata of all disks.  Free the result before the recording is
 * closed.  Returns 0 or -errno; after an error *lines may be set, and must be
 * freed then.
 */
int copy_lines_make(struct copy_lines **lines, struct recording *rec);
void copy_lines_free(struct copy_lines *t); /* NULL is allowed */

/* Reads what was added, after recording_refresh().  Returns 0 or -errno. */
int copy_lines_refresh(struct copy_lines *t);

/*
 * The first line of the copy's metadata: the recording's.  Of another program's
 * recording it says that as "copied_of", since the copy is one of ours.  A new
 * reference; NULL without memory.
 */
json_t *copy_lines_head(const struct copy_lines *t);

struct copy_lines_block {
	struct index_record record; /* as the copy's index has it */
	uint64_t base;		    /* absolute sequence of its run's slot 0 */
	int64_t arrival_ns; /* arrival of the first packet of its run; 0:
			       unknown */
	uint32_t gap;	    /* slots before it without a packet */
	char *lines;	    /* malloc'ed; NULL: none */
	size_t bytes;	    /* length of `lines`, newlines included */
};

/* Gives what belongs to a block of the recording.  The caller frees b->lines.
 * Returns 0 or -errno. */
int copy_lines_block(struct copy_lines *t, const struct index_record *r,
		     struct copy_lines_block *b);

/*
 * Gives the end of the recording: its end record (false: none yet), and *lines,
 * malloc'ed: the lines that every disk repeats, which say who resumed it and
 * how it ended; NULL without memory.
 */
bool copy_lines_end(const struct copy_lines *t, struct index_record *end,
		    char **lines);

#endif
