/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_WRITE_FOLDER_PRIV_H
#define SPATE_STORE_WRITE_FOLDER_PRIV_H

#include <sys/types.h>

#include "store/write/folder.h"
#include "store/disk/file.h"
#include "store/disk/layout.h"
#include "store/record/geometry.h"

/*
 * Declarations shared by the files of a folder.
 *
 *   folder.c         creates it, places blocks in it, appends to its index,
 *                    metadata and checksums, and closes it
 *   store/finish/folder_resume.c opens one that exists, and cleans it up
 */

struct folder {
	struct layout_plan plan;
	int disk; /* descriptor of the disk's directory; borrowed */
	int dir;
	struct append_file index, meta;
	struct append_file sums;    /* -1: no checksums yet */
	struct append_file parity;  /* -1: no parity yet */
	struct index_record *found; /* by folder_resume(), until folder_found()
				       gives them away */
	size_t found_n;
	bool ours;   /* the lock of its index is held */
	bool noted;  /* meta has lines that are not durable */
	bool summed; /* sums has records that are not durable */

	/* Layouts in which blocks share one file: */
	int data, direct; /* the file, and again with O_DIRECT; -1: not open */
	bool broken;	  /* the file does not match the members below: it
			     takes no more blocks */
	uint64_t end;	  /* end of the blocks placed so far */
	uint64_t synced;  /* end of the blocks in the index */
	uint64_t reserved;
	struct layout_spot last; /* the block placed last, its number and bytes
				    of data; */
	uint64_t last_number, last_bytes; /* start == end: none */
	/* The bytes of the file from its last whole page on, up to edge_end;
	 * and room for the header of the next block.  UINT64_MAX: not known. */
	uint8_t edge[GEOMETRY_PAGE + SG_BLOCK];
	uint64_t edge_end;
};

/* Makes a struct folder with nothing open.  Returns 0; -EINVAL: bad name;
 * -EBADMSG: bad layout in the head; -ENOMEM. */
int folder_make(struct folder **folder, const struct disk *disk,
		const char *name, const json_t *head);
/* Closes everything and frees the folder. */
void folder_free(struct folder *f);

/* ---- the shared file; nothing is done if each block has a file of its own --- */

/*
 * Opens the shared file and goes on behind the blocks in the index.  Anything
 * behind them is copied to the file aside of chunk `aside`, and cut off.
 */
int folder_data_reopen(struct folder *f, const struct index_record *records,
		       size_t n, uint64_t aside);
/* Notes in the metadata, for recover, that the file was cut at `end`: earlier
 * notes of blocks behind that are void. */
void folder_data_note(struct folder *f, uint64_t end);

#endif
