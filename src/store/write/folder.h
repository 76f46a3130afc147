/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_WRITE_FOLDER_H
#define SPATE_STORE_WRITE_FOLDER_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "store/record/block.h"
#include "store/disk/disk.h"
#include "store/record/index.h"

/*
 * A folder is the part of one recording on one disk while it is written: its
 * chunks, its index, its metadata.  It is used by the disk's writer thread
 * only.  The order of durability, for each sync round of blocks:
 *
 *   fdatasync every chunk; fsync the folder (the first time the disk too);
 *   append their records to the index, and fdatasync it
 *
 * so that whatever the index names is on the disk.
 */
struct folder;

/*
 * Makes the folder with an empty index and with metadata whose first line is
 * `head`, all durable.  A folder that a crash left half made is taken over.
 * Returns 0; -EEXIST: it is another recording's; -EBUSY: another process makes
 * one of this name, or has locked what it left half made; or -errno.  On failure
 * nothing of it is left behind.
 */
int folder_create(struct folder **folder, const struct disk *disk,
		  const char *name, const json_t *head);

/* Removes a folder that was just made, and frees it.  False, and nothing is done:
 * it has a block already, or was not made by folder_create(). */
bool folder_drop(struct folder *folder);

/* The file and offset for the data of one block. */
struct folder_target {
	int fd;
	bool own;	 /* the block's own file, which the caller fdatasyncs
			    and closes; else the folder does both */
	uint64_t offset; /* in the file, of `before` and the data behind it */
	bool parity;	 /* it is a parity block */
	uint64_t number;
	uint64_t bytes; /* bytes to write: more than the data of a block that
			   closed early if all blocks have the same length on
			   disk */
	/* Bytes to write in front of the data, valid until the target is
	 * written or undone, and zeros to write behind it: so that it is whole
	 * pages where fd is O_DIRECT and the file is shared. */
	const void *before;
	uint32_t before_bytes, pad;
};

/*
 * Makes the file of a block, or extends the file that all blocks share, and
 * reserves `bytes` if the file system can.  `flags`: O_DIRECT if the caller
 * writes so.  Returns 0 or -errno: then nothing was made.
 */
int folder_target_make(struct folder *folder, uint64_t number, uint64_t bytes,
		       int flags, struct folder_target *target);

/*
 * Does the same for a parity block of the group of this number, which has a file
 * of its own in every layout.  -EEXIST: the disk has one of that group.
 */
int folder_parity_make(struct folder *folder, uint64_t group, uint64_t bytes,
		       int flags, struct folder_target *target);

/* Adds the tails of parity blocks to the list of those, durably; the blocks are
 * durable.  0 or -errno. */
int folder_parity_sync(struct folder *folder, const void *tails, size_t bytes);

/* Says that the target of a shared file is written, with this data: the next
 * block may begin in its last page.  No effect on a file of its own. */
void folder_target_wrote(struct folder *folder,
			 const struct folder_target *target, const void *data);

/* Takes a target back because the block could not be written.  Closes a file of
 * its own.  Returns 0 or -errno: some of it may be left. */
int folder_target_undo(struct folder *folder,
		       const struct folder_target *target);

/* Removes the file of a block whose layout gives each a file of its own.  0 or
 * -errno; 0 where there is none. */
int folder_chunk_remove(struct folder *folder, uint64_t number);

/* True if only one block at a time may be written, because all share a file. */
bool folder_serial(const struct folder *folder);

/*
 * Makes a new chunk, with `flags` beside O_CREAT | O_EXCL | O_WRONLY and
 * `bytes` reserved if the file system can.  Returns the descriptor or -errno.
 */
int folder_chunk(struct folder *folder, uint64_t number, int flags,
		 uint64_t bytes);

/* Appends a line to the metadata; durable with the next folder_sync(). */
int folder_note(struct folder *folder, const json_t *line);

/* Appends lines of text to the metadata, each with its newline; durable with
 * the next folder_sync(). */
int folder_note_lines(struct folder *folder, const char *lines, size_t bytes);

/* Appends the checksums of a sealed block; durable with the next folder_sync().
 * Returns 0, also if the block has none, or -errno. */
int folder_sum(struct folder *folder, const struct block *b);

/*
 * Ends a sync round: adds these records to the index, in ascending order of
 * numbers.  The caller has fdatasynced chunks of their own.  Returns 0 or
 * -errno.
 */
int folder_sync(struct folder *folder, const struct index_record *records,
		unsigned n);

/* Appends `tail` to the metadata and the end record to the index, durably.
 * Either may be NULL.  Frees the folder, whatever it returns. */
int folder_close(struct folder *folder, const struct index_record *end,
		 const json_t *tail);

#endif
