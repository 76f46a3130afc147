/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_RECORDING_PRIV_H
#define SPATE_STORE_RECORDING_PRIV_H

#include "contract/format.h"
#include "store/fill.h"
#include "store/layout.h"
#include "store/recording.h"

/* What the sources of a recording, and those who check it, share. */

/* Its folder on one disk. */
struct recording_part {
	int dir;		     /* -1: not on this disk */
	struct index_record *record; /* without the end record */
	size_t records;
	uint64_t index_bytes; /* as far as it was read */
	uint64_t torn;
	uint64_t meta_bytes; /* as far as it was read, whole lines */
	bool indexed;	     /* there is an index */
	bool ended;
	bool locked; /* somebody writes */
	struct index_record end;
};

/* A line with the holes of one block, and where it is. */
struct recording_line {
	uint64_t number, offset;
	size_t bytes;
	unsigned disk;
};

struct recording_base {
	uint32_t run;
	uint64_t base;
};

/* A number's other chunk, which is not used. */
struct recording_duplicate {
	uint64_t number;
	unsigned disk;
};

/* An open chunk, at its number modulo RECORDING_OPEN. */
enum { RECORDING_OPEN = 64 };

struct recording_chunk {
	uint64_t number;
	int fd; /* -1: none */
};

struct recording {
	const struct disks *disks;
	char name[LAYOUT_FILE];
	struct recording_part *part; /* one per disk */
	json_t *head, *tail;
	struct format_shape shape;
	uint32_t slots; /* of a full block */

	struct recording_line *line;
	size_t lines;
	struct recording_base *base;
	size_t bases;

	struct recording_block *block;
	size_t blocks;
	struct recording_duplicate *duplicate;
	size_t duplicates;
	struct recording_run *run;
	struct recording_facts facts;

	/* The reader's. */
	struct recording_chunk chunk[RECORDING_OPEN];
	struct fill fill;
	bool filling; /* fill is there */
	bool fps_sought;
	const struct recording_block *filled; /* that it is ready for */
	uint8_t *slot;			      /* one payload */
};

/* Reads what is new in the metadata of all disks.  0 or -ENOMEM. */
int recording_meta(struct recording *rec);

/* Makes blocks, runs and facts from the parts.  0, -EBADMSG, -ENOMEM. */
int recording_merge(struct recording *rec);

/* Loads its format, which must agree to its shape.  0 or -errno. */
int recording_format(const struct recording *rec,
		     const struct format_ops **format, struct fault *fault);

/* Absolute sequence of a run's slot 0; 0 where no disk tells. */
uint64_t recording_base(const struct recording *rec, uint32_t run);

/* The length of a chunk of one disk, or -errno. */
int64_t recording_chunk_bytes(const struct recording *rec, unsigned disk,
			      uint64_t number);

/* Closes chunks and forgets the fill. */
void recording_read_finish(struct recording *rec);

#endif
