/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_LAYOUT_H
#define SPATE_STORE_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The vbs layout, as FlexBuff writes it and its tools read it:
 *
 *   <disk>/<name>/<name>.%08u       the chunks
 *   <disk>/<name>/<name>.index      64-byte records, one per block
 *   <disk>/<name>/<name>.meta.jsonl what is rare and worth reading
 *
 * This is the only place that knows these names.
 */
enum {
	LAYOUT_NAME = 64,  /* longest recording name */
	LAYOUT_FILE = 160, /* room for any file name below, with its 0 */
	LAYOUT_CHUNKS = 100000000, /* numbers have eight digits */
};

enum layout { LAYOUT_VBS };

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

/* File names within the recording's folder, into LAYOUT_FILE bytes. */
const char *layout_chunk(char *file, const char *name, uint64_t number);
const char *layout_index(char *file, const char *name);
/* What the index is called until it is locked. */
const char *layout_index_new(char *file, const char *name);
const char *layout_meta(char *file, const char *name);
/* Checksums of pieces of blocks, and the mark that forbids rm. */
const char *layout_sums(char *file, const char *name);
const char *layout_protect(char *file, const char *name);
/* Stands there from before the first file is removed until after the last. */
const char *layout_removing(char *file, const char *name);

/* The other way: is this file a chunk of `name`, and which? */
bool layout_chunk_number(const char *file, const char *name, uint64_t *number);

#endif
