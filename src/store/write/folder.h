/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_WRITE_FOLDER_H
#define SPATE_STORE_WRITE_FOLDER_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "contract/block.h"
#include "store/disk/disk.h"
#include "store/record/index.h"

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

/*
 * Opens the folder of a recording that was written to here before and has no
 * end yet: the disk was away.  A torn index record or line of metadata is cut
 * off; what follows is appended.  `head` must be the first line that is there:
 * else it is another recording of the name.  Bytes of the disk that no index
 * record names stay where they have a file of their own, and go elsewhere.
 * 0; -ENOENT: it is not there (folder_create makes it); -EEXIST: another
 * recording; -EALREADY: it has its end; -EBUSY: somebody has it open, also an
 * older struct folder of this process, for longer than half a second; or
 * -errno.
 */
int folder_reopen(struct folder **folder, const struct disk *disk,
		  const char *name, const json_t *head);

/*
 * The same of a recording that another process wrote to, until it was killed:
 * blocks below that number, which are whole and not in the index, get their
 * records (adopt.h).  What was on its way to the disk stays where it has a
 * file of its own, and is set aside where not.  A folder in which there is
 * nothing yet but its beginnings is removed, and so not there.
 */
int folder_resume(struct folder **folder, const struct disk *disk,
		  const char *name, const json_t *head, uint64_t below);

/* The records that folder_resume found or made, once: *record is the caller's
 * to free, and NULL where there are none. */
size_t folder_found(struct folder *folder, struct index_record **record);

/* Where the data of one block goes. */
struct folder_place {
	int fd;
	bool own;	 /* the block's own file: to be fdatasynced and closed
			    by the caller; else the folder does both */
	bool direct;	 /* fd is O_DIRECT, and offset a multiple of a page */
	uint64_t offset; /* of the data in the file */
	uint64_t number;
	uint64_t bytes; /* to be written: more than the data of a block that
			   closed early, where blocks are all of one length */
};

/*
 * Makes the file of a block, or extends the one that all blocks share, with
 * `bytes` reserved where the file system can.  `flags`: O_DIRECT, where the
 * caller can write so; the place says whether he has to.  0 or -errno: then
 * nothing is there.
 */
int folder_place(struct folder *folder, uint64_t number, uint64_t bytes,
		 int flags, struct folder_place *place);

/* Takes a place back: a block could not be written to it.  Closes a file of
 * its own.  0 or -errno: something of it may be left. */
int folder_unplace(struct folder *folder, const struct folder_place *place);

/* One block at a time may be on its way, since all share a file. */
bool folder_serial(const struct folder *folder);

/* A new chunk, with `flags` beside O_CREAT | O_EXCL | O_WRONLY and `bytes`
 * reserved where the file system can.  Returns the descriptor or -errno. */
int folder_chunk(struct folder *folder, uint64_t number, int flags,
		 uint64_t bytes);

/* Removes a chunk that could not be written. */
void folder_unchunk(struct folder *folder, uint64_t number);

/* Puts a line at the end of the metadata; durable with the next sync. */
int folder_note(struct folder *folder, const json_t *line);

/* The same with lines that are text already, each with its newline. */
int folder_note_lines(struct folder *folder, const char *lines, size_t bytes);

/* Keeps the checksums of a sealed block; durable with the next sync.  0, also
 * where none were taken, or -errno. */
int folder_sum(struct folder *folder, const struct block *b);

/* The rest of a round: the chunks of these records were just fdatasynced.
 * Records in the order of their numbers.  0 or -errno. */
int folder_sync(struct folder *folder, const struct index_record *records,
		unsigned n);

/* Appends the end record and `tail` to the metadata, durably.  Either may
 * be NULL.  The folder is freed whatever is returned. */
int folder_close(struct folder *folder, const struct index_record *end,
		 const json_t *tail);

#endif
