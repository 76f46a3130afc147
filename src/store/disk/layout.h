/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_DISK_LAYOUT_H
#define SPATE_STORE_DISK_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "store/disk/disk.h"

/*
 * Where a recording lies on each of its disks.  The folder is the same in all
 * layouts, but for its name:
 *
 *   <disk>/<name>/<name>.index      64-byte records, one per block
 *   <disk>/<name>/<name>.meta.jsonl what is rare and worth reading
 *   <disk>/<name>/<name>.sums       checksums
 *
 * and the data are
 *
 *   vbs    <disk>/<name>/<name>.%08u        a file for each block: as FlexBuff
 *                                           writes it and its tools read it
 *   mark6  <disk>/<name>                    one file per disk, scatter/gather
 *                                           version 2; the folder is beside
 *                                           it, <disk>/<name>.spate
 *   file   <disk>/<name>/<name>.<extension> one file per disk, nothing but
 *                                           data
 *
 * This is the only place that knows these names; layout_map.h knows where in
 * a file a block is.
 */
enum layout { LAYOUT_VBS, LAYOUT_MARK6, LAYOUT_SINGLE };
enum { LAYOUTS = 3 };

enum {
	LAYOUT_NAME = 64,  /* longest recording name */
	LAYOUT_FILE = 160, /* room for any file name below, with its 0 */
	LAYOUT_CHUNKS = 100000000, /* numbers have eight digits */
	LAYOUT_EXTENSION = 16,	   /* room for one, with its 0 */
};

/* As in the configuration and in metadata: "vbs", "mark6", "file". */
const char *layout_word(enum layout layout);
bool layout_parse(const char *word, enum layout *layout);

/* [A-Za-z0-9][A-Za-z0-9_+-]{0,63}, not digits only, without "_ds". */
bool layout_name_good(const char *name);
/* A sentence that says what is wrong with it; NULL for a good one. */
const char *layout_name_fault(const char *name);

/*
 * A folder is called as its recording, or, where several streams were
 * recorded together, <name>_ds<stream> (up to LAYOUT_NAME for the stream).
 * What this refuses is never made into a path.
 */
bool layout_folder_good(const char *folder);

/* What is on a disk: the folder with index and metadata of a recording, into
 * LAYOUT_FILE bytes. */
const char *layout_dir(char *file, const char *name, enum layout layout);
/*
 * The other way: the name of the recording whose folder this may be, into
 * LAYOUT_FILE bytes; false where it is no recording's.  LAYOUT_SINGLE looks
 * like LAYOUT_VBS.
 */
bool layout_dir_name(const char *dir, char *name, enum layout *layout);

/* Opens the folder of a recording on a disk, whose descriptor is given, by
 * whichever name it goes; links to it are for those who read.  The descriptor,
 * -ENOENT, or as disk_open_at(). */
int layout_dir_open(int disk, const char *name, enum disk_links links);

/* File names within the recording's folder, into LAYOUT_FILE bytes. */
const char *layout_chunk(char *file, const char *name, uint64_t number);
const char *layout_index(char *file, const char *name);
/* The file with all data of a disk, seen from the folder ("../x"); of layout
 * vbs there is none. */
const char *layout_data(char *file, const char *name, enum layout layout,
			const char *extension);
/* Is it one that makes a file name, and none of those above? */
bool layout_extension_good(const char *extension);
/* What the index is called until it is locked. */
const char *layout_index_new(char *file, const char *name);
const char *layout_meta(char *file, const char *name);
/* The file that VLBI-streamer writes at the end, and finds recordings by. */
const char *layout_cfg(char *file, const char *name);
/* Checksums of pieces of blocks, and the mark that forbids rm. */
const char *layout_sums(char *file, const char *name);
const char *layout_protect(char *file, const char *name);
/* Stands there from before the first file is removed until after the last. */
const char *layout_removing(char *file, const char *name);

/* What a second chunk of a number is called, which readers do not look at;
 * `n` below LAYOUT_ASIDES where others have that name. */
enum { LAYOUT_ASIDES = 100 };
const char *layout_aside(char *file, const char *name, uint64_t number,
			 unsigned n);
bool layout_is_aside(const char *file, const char *name);

/* The other way: is this file a chunk of `name`, and which? */
bool layout_chunk_number(const char *file, const char *name, uint64_t *number);

#endif
