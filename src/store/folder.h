/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_FOLDER_H
#define SPATE_STORE_FOLDER_H

#include <jansson.h>
#include <stdint.h>

#include "store/disk.h"
#include "store/index.h"

/*
 * A folder is the part of one recording on one disk while it is written:
 * its chunks, its index, its metadata.  It belongs to the disk's writer
 * thread.  The order of durability, for each round of blocks:
 *
 *   fdatasync every chunk; fsync the folder (the first time the disk too);
 *   append their records to the index, and fdatasync it
 *
 * so that whatever the index names is on the disk.
 */
struct folder;

/*
 * Makes the folder (which must not exist: -EEXIST), its empty index, and
 * its metadata with `head` as the first line, and makes them durable.
 * 0 or -errno; what was made is removed on failure.
 */
int folder_create(struct folder **folder, const struct disk *disk,
		  const char *name, const json_t *head);

/* A new chunk, with `flags` beside O_CREAT | O_EXCL | O_WRONLY and `bytes`
 * reserved where the file system can.  Returns the descriptor or -errno. */
int folder_chunk(struct folder *folder, uint64_t number, int flags,
		 uint64_t bytes);

/* Removes a chunk that could not be written. */
void folder_unchunk(struct folder *folder, uint64_t number);

/* Puts a line at the end of the metadata; durable with the next sync. */
int folder_note(struct folder *folder, const json_t *line);

/* The rest of a round: the chunks of these records were just fdatasynced.
 * Records in the order of their numbers.  0 or -errno. */
int folder_sync(struct folder *folder, const struct index_record *records,
		unsigned n);

/* Appends the end record and `tail` to the metadata, durably.  Either may
 * be NULL.  The folder is freed whatever is returned. */
int folder_close(struct folder *folder, const struct index_record *end,
		 const json_t *tail);

#endif
