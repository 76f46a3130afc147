/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_WRITE_FOLDER_PRIV_H
#define SPATE_STORE_WRITE_FOLDER_PRIV_H

#include <sys/types.h>

#include "store/write/folder.h"
#include "store/disk/layout.h"

/*
 * Declarations shared by the files of a folder.
 *
 *   folder.c         creates and closes it; index and metadata
 *   folder_reopen.c  opens one that exists
 *   folder_resume.c  cleans up what a killed daemon left in it
 *   folder_place.c   where blocks go
 *   folder_data.c    the file that all blocks share in some layouts
 *   folder_sums.c    checksums
 */
struct tail {
	int fd;	     /* open for appending */
	off_t bytes; /* bytes of whole records or lines */
};

struct folder {
	struct layout_map map;
	int disk; /* descriptor of the disk's directory; borrowed */
	int dir;
	struct tail index, meta;
	struct tail sums;	    /* -1: no checksums yet */
	struct index_record *found; /* by folder_resume(), until folder_found()
				       gives them away */
	size_t found_n;
	bool noted;  /* meta has lines that are not durable */
	bool summed; /* sums has records that are not durable */

	/* Layouts in which blocks share one file: */
	int data, direct; /* the file, and again with O_DIRECT; -1: not open */
	bool undirect;	  /* O_DIRECT was refused */
	bool broken;	  /* the file does not match the members below: it
			     takes no more blocks */
	uint64_t end;	  /* end of the blocks placed so far */
	uint64_t synced;  /* end of the blocks in the index */
	uint64_t reserved;
	struct layout_spot last; /* the block placed last, its number and bytes
				    of data; */
	uint64_t last_number, last_bytes; /* start == end: none */
};

/* Makes a struct folder with nothing open.  Returns 0; -EINVAL: bad name;
 * -EBADMSG: bad layout in the head; -ENOMEM. */
int folder_make(struct folder **folder, const struct disk *disk,
		const char *name, const json_t *head);
/* Appends records to the index, durably.  Returns 0 or -errno. */
int folder_append_records(struct folder *f, const struct index_record *records,
			  unsigned n);
/* Appends to a file.  What did not fit whole is cut off again.  Returns 0 or
 * -errno. */
int folder_append(struct tail *tail, const void *data, size_t bytes);
/* Makes whole blocks durable and gives them their index records.  Returns 0 or
 * -errno. */
int folder_adopt(struct folder *f, const struct index_record *records,
		 size_t n);
/* Removes a folder that a crash interrupted before it had an index. */
void folder_sweep(struct folder *f);
/* Copies the shared file from offset `end` on into a file aside, named for
 * chunk `number`.  Returns 0 or -errno. */
int folder_aside(struct folder *f, uint64_t end, uint64_t number);
/* Closes everything and frees the folder. */
void folder_free(struct folder *f);

/* ---- the shared file; these do nothing if blocks have files of their own ---- */

/* Makes the shared file, durably, which must not exist; and removes it. */
int folder_data_create(struct folder *f);
void folder_data_remove(struct folder *f);
/*
 * Opens the shared file and goes on behind the blocks in the index.  Anything
 * behind them is cut off; with `aside` it is copied to the file aside of chunk
 * *aside before.
 */
int folder_data_reopen(struct folder *f, const struct index_record *records,
		       size_t n, const uint64_t *aside);
/* Notes in the metadata, for recover, that the file was cut at `end`: earlier
 * notes of blocks behind that are void. */
void folder_data_note(struct folder *f, uint64_t end);
/* As folder_place() and folder_unplace(). */
int folder_data_place(struct folder *f, uint64_t number, uint64_t bytes,
		      int flags, struct folder_place *place);
int folder_data_unplace(struct folder *f, const struct folder_place *place);
/* Makes the shared file durable. */
int folder_data_sync(struct folder *f);
/* Notes that the index names these blocks now. */
void folder_data_synced(struct folder *f, const struct index_record *records,
			unsigned n);
/* Takes these blocks back: the index will not name them. */
void folder_data_rewind(struct folder *f, const struct index_record *records,
			unsigned n);
/* Cuts off what was reserved or padded behind the data, or removes the file if
 * it has no block. */
int folder_data_end(struct folder *f);

#endif
