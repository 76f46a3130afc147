/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_DISK_LAYOUT_H
#define SPATE_STORE_DISK_LAYOUT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "store/disk/disk.h"
#include "store/disk/sg.h"

/*
 * Names of the files and folders of a recording on each of its disks.  All
 * layouts have a folder with
 *
 *   <disk>/<name>/<name>.index      64-byte records, one per block
 *   <disk>/<name>/<name>.meta.jsonl metadata: lines of JSON (meta.h)
 *   <disk>/<name>/<name>.sums       checksums
 *   <disk>/<name>/<name>.quality.jsonl  what samples said, on one of the disks
 *   <disk>/<name>/<name>.parity.%08u    parity of blocks on other disks, and
 *   <disk>/<name>/<name>.parity         the list of it (store/parity/parity.h)
 *
 * and they differ in where the data is:
 *
 *   vbs    <disk>/<name>/<name>.%08u        one file per block, as FlexBuff
 *                                           writes it and its tools read it
 *   mark6  <disk>/<name>                    one file per disk, scatter/gather
 *                                           version 2; the folder is beside it
 *                                           and is called <disk>/<name>.spate
 *   file   <disk>/<name>/<name>.<extension> one file per disk, data only
 *
 * No other file knows these names.  struct layout_plan, below, knows where in a
 * file a block is.
 */
enum layout { LAYOUT_VBS, LAYOUT_MARK6, LAYOUT_SINGLE };
enum { LAYOUTS = 3 };

enum {
	LAYOUT_NAME = 64, /* longest recording name, in bytes */
	/* room for a recording's name, "_ds" and a stream, with its 0 */
	LAYOUT_FULL = 2 * LAYOUT_NAME + 4,
	LAYOUT_FILE = 192, /* room for any file name below, with its 0 */
	LAYOUT_CHUNKS = 100000000, /* block numbers have eight digits */
	LAYOUT_EXTENSION = 16,	   /* room for an extension, with its 0 */
};

/* Converts a layout to and from its word in the configuration and in metadata:
 * "vbs", "mark6", "file".  layout_parse() returns false for any other word. */
const char *layout_word(enum layout layout);
bool layout_parse(const char *word, enum layout *layout);

/* True if a recording may have this name: [A-Za-z0-9][A-Za-z0-9_+-]{0,63}, not
 * digits only, without "_ds". */
bool layout_name_good(const char *name);
/* Says in a sentence what is wrong with a name; NULL if it is good. */
const char *layout_name_fault(const char *name);

/*
 * True if a recording's folder may have this name: a recording's name or, where
 * several streams are recorded together, <name>_ds<stream> (with at most
 * LAYOUT_NAME bytes of stream).  No other name is ever made into a path.
 */
bool layout_folder_good(const char *folder);

/* Writes the name of a recording's folder on a disk into `file` (LAYOUT_FILE
 * bytes) and returns `file`. */
const char *layout_dir(char *file, const char *name, enum layout layout);
/*
 * The inverse of layout_dir(): writes the name of the recording whose folder
 * `dir` may be into `name` (LAYOUT_FILE bytes).  False if no recording's folder
 * has such a name.  *layout is never LAYOUT_SINGLE, whose folders look like
 * those of LAYOUT_VBS.
 */
bool layout_dir_name(const char *dir, char *name, enum layout *layout);

/* Opens the folder of a recording on the disk whose descriptor is given, in
 * either form of its name.  Readers may pass DISK_LINKS.  Returns the
 * descriptor, -ENOENT, or an error of disk_open_at(). */
int layout_dir_open(int disk, const char *name, enum disk_links links);

/* Names of files within the recording's folder.  Each function writes into
 * LAYOUT_FILE bytes at `file` and returns `file`. */
const char *layout_chunk(char *file, const char *name, uint64_t number);
const char *layout_index(char *file, const char *name);
/* The file with all data of a disk, relative to the recording's folder (for
 * mark6 "../<name>").  Layout vbs has no such file. */
const char *layout_data(char *file, const char *name, enum layout layout,
			const char *extension);
/* True if a data file may have this extension: letters and digits, not digits
 * alone (as chunks have), and not the extension of another file of ours. */
bool layout_extension_good(const char *extension);
/* Temporary name of the index, until its writer holds the lock on it. */
const char *layout_index_new(char *file, const char *name);
const char *layout_meta(char *file, const char *name);
/* The file that VLBI-streamer writes at the end, and finds recordings by. */
const char *layout_cfg(char *file, const char *name);
/* Checksums of pieces of blocks; and the mark that forbids `rm`. */
const char *layout_sums(char *file, const char *name);
const char *layout_protect(char *file, const char *name);
/* A parity block of the group of this number and generation; and the list of
 * those on this disk (store/parity/parity.h). */
const char *layout_parity(char *file, const char *name, uint64_t group,
			  uint64_t generation);
/* True if `file` is such a block of recording `name`. */
bool layout_parity_number(const char *file, const char *name, uint64_t *group,
			  uint64_t *generation);
const char *layout_parity_list(char *file, const char *name);
/* The list, or a parity block, while it is made anew, before it is renamed. */
const char *layout_parity_new(char *file, const char *name);
/* The name under which a parity block is set aside, made from its own name. */
const char *layout_parity_aside(char *aside, const char *file, unsigned n);
bool layout_is_parity(const char *file, const char *name);
/* The file with the findings about the signal of a recording while it was made; no
 * reader of the data needs it. */
const char *layout_quality(char *file, const char *name);
/* Marks a removal in progress: made before the first file of the recording is
 * removed, and removed after the last. */
const char *layout_removing(char *file, const char *name);

/* The name under which a second chunk with the same number is set aside;
 * readers ignore it.  `n` (below LAYOUT_ASIDES) makes further names where that
 * one is taken. */
enum { LAYOUT_ASIDES = 100 };
const char *layout_aside(char *file, const char *name, uint64_t number,
			 unsigned n);
bool layout_is_aside(const char *file, const char *name);

/* True if `file` is a chunk of recording `name`; *number is then its block. */
bool layout_chunk_number(const char *file, const char *name, uint64_t *number);

/* mark6: most bytes of a block, with its header */
enum { LAYOUT_SG_MOST = 10000000 };

/*
 * A layout plan says where on a disk each block of a recording is, and which
 * block lies at a position.  It is arithmetic alone, made from the first line
 * of the metadata; writers and readers ask the same plan.
 *
 *   vbs    every block has a file of its own
 *   mark6  block after block, each with a header, all of one length; a block
 *          with less data is filled up, except for the last one of a file
 *   file   block after block, as many bytes as each has
 *
 * A position in a shared file follows from the blocks before it on that disk,
 * in the order of the disk's index.  The plan is the same for all disks of the
 * recording.
 */
struct layout_plan {
	enum layout layout;
	char name[LAYOUT_FULL]; /* the recording's name */
	char extension[LAYOUT_EXTENSION];
	struct sg_header sg; /* mark6: the header of every file */
	/* vbs: bytes of a packet if NAME.cfg is written at the end, else 0 */
	uint32_t cfg_packet;
};

/* The position of one block on a disk, in bytes. */
struct layout_spot {
	char file[LAYOUT_FILE]; /* relative to the recording's folder */
	/* offset of the block in the file, its prefix included */
	uint64_t start;
	uint64_t offset; /* offset of its data in the file */
	uint64_t room;	 /* bytes that its data takes, from `offset` */
	uint64_t end;	 /* where the next block of this disk starts */
	uint8_t prefix[SG_BLOCK];
	unsigned prefix_bytes; /* block header, from `start` to `offset` */
};

/* Makes the plan from the first line of the metadata.  0; -EBADMSG if that line
 * contradicts itself. */
int layout_plan_make(struct layout_plan *plan, const char *name,
		     const json_t *head);

/* True if all blocks of a disk share one file. */
bool layout_plan_shared(const struct layout_plan *plan);

/* Length of the header of a data file, at most SG_HEADER.  Writes the header to
 * `raw` unless that is NULL. */
unsigned layout_plan_begin(const struct layout_plan *plan, uint8_t *raw);

/* Computes the position of a block with `bytes` of data.  `start` is the
 * `end` of the block before it on that disk, or layout_plan_begin() for the
 * first one. */
void layout_plan_spot(const struct layout_plan *plan, uint64_t start,
		      uint64_t number, uint64_t bytes,
		      struct layout_spot *spot);

/*
 * The inverse, for layouts whose blocks have headers: reads the SG_BLOCK bytes
 * `raw` found at the start of a block, with `left` bytes of the file from
 * there.  Returns 0, the block's number and the bytes of its data; -ENODATA at
 * the end of the file; -EBADMSG if it is no block; -ENOTSUP for layouts without
 * block headers, where only the index knows.
 */
int layout_plan_back(const struct layout_plan *plan, const uint8_t *raw,
		     uint64_t left, uint64_t *number, uint64_t *bytes);

#endif
