/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_FINISH_LEFTOVERS_H
#define SPATE_STORE_FINISH_LEFTOVERS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/disk/layout.h"
#include "store/record/index.h"

/*
 * Leftovers are the blocks of a recording that one disk has and its index does
 * not name: after a crash, or a sync that failed.  They are found from the
 * lines of the metadata, the names of chunks, and the headers of Mark6's
 * blocks.  Nothing is changed, and no data is read.
 */
struct leftover {
	/* The number; all but times, flags and crc if `noted`. */
	struct index_record record;
	uint32_t gap; /* slots of the gap record before it, if `written` */
	bool noted;   /* a line says that it was begun, or written */
	bool written; /* a line says that it was written: `record` is all */
	/* Written, and all its data are there: this is its record. */
	bool whole;
	/* A chunk file exists; in a shared file, some of its data do. */
	bool there;

	/* In a file that blocks share: */
	uint64_t start, at, end; /* offsets of its header, of its data, and
				    behind it */
	uint64_t bytes;		 /* of its data that are in the file */
	bool full;		 /* those are as many as were to be written */
	bool headless;		 /* Mark6: its header is not there */
};

struct leftovers {
	bool shared;
	struct leftover *block; /* by number; in a shared file by place */
	size_t n;
	uint64_t next; /* above all numbers of index, lines and chunks */
	uint64_t end;  /* shared file: offset behind the index's blocks */
	bool chunks;   /* there is a chunk file, in the index or not */

	char *text; /* the metadata: its whole lines, */
	size_t bytes;
	int64_t noted_ns; /* and when it was last written to; 0: never */

	char file[LAYOUT_FILE]; /* after an error: what cannot be read */
};

/*
 * Looks at a recording's folder `dir`, whose index has these records.  The
 * caller ends with leftovers_clear(), also after an error.  Returns 0; -EFBIG if
 * the metadata are implausibly long; or -errno.
 */
int leftovers_read(struct leftovers *l, int dir, const struct layout_plan *plan,
		   const struct index_record *record, size_t records);
void leftovers_clear(struct leftovers *l);

/* True if the first line of the metadata is `head`. */
bool leftovers_head_is(const struct leftovers *l, const json_t *head);

/*
 * Appends the records of whole blocks below number `below`, each behind that of
 * its gap, to the malloc'ed list *record of *n.  In a shared file it stops
 * at the first block that is not whole, because the place of a block follows
 * from those before it; *stop is that block's number, else l->next.  Returns 0
 * or -ENOMEM.
 */
int leftovers_adopt(const struct leftovers *l, uint64_t below,
		    struct index_record **record, size_t *n, uint64_t *stop);

#endif
