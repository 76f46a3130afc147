/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_WRITE_FOLDER_PRIV_H
#define SPATE_STORE_WRITE_FOLDER_PRIV_H

#include <sys/types.h>

#include "store/write/folder.h"
#include "store/disk/layout_map.h"

/*
 * What the parts of a folder share: folder.c makes and ends it,
 * folder_reopen.c and folder_resume.c find it again, folder_place.c says where blocks go,
 * folder_sums.c keeps their checksums, and folder_data.c is the file that all
 * blocks share in some layouts.
 */
struct tail {
	int fd;	     /* open for appending */
	off_t bytes; /* good ones */
};

struct folder {
	struct layout_map map;
	int disk; /* the disk's folder; borrowed */
	int dir;
	struct tail index, meta;
	struct tail sums;	    /* -1: none came yet */
	struct index_record *found; /* by folder_resume; not yet taken */
	size_t found_n;
	bool noted;  /* meta has lines that are not durable */
	bool summed; /* the same of sums */

	/* Where all blocks share a file. */
	int data, direct; /* the file, and again with O_DIRECT; -1 */
	bool undirect;	  /* O_DIRECT was refused */
	bool broken;	  /* what is in it is not what is said below */
	uint64_t end;	  /* of the blocks in it */
	uint64_t synced;  /* of those that the index names */
	uint64_t reserved;
	struct layout_spot last; /* and its number and bytes of data; */
	uint64_t last_number, last_bytes; /* start == end: there is none */
};

/* A folder with nothing open.  0, -EINVAL (its name), -EBADMSG (the head's
 * layout), -ENOMEM. */
int folder_make(struct folder **folder, const struct disk *disk,
		const char *name, const json_t *head);
/* Puts records behind the others, durably.  0 or -errno. */
int folder_append_records(struct folder *f, const struct index_record *records,
			  unsigned n);
/* Puts it at the end; what does not fit is cut off again.  0 or -errno. */
int folder_append(struct tail *tail, const void *data, size_t bytes);
/* Gives whole blocks their records, which the index lacks.  0 or -errno. */
int folder_adopt(struct folder *f, const struct index_record *records,
		 size_t n);
/* Removes a folder in which a crash left nothing but beginnings. */
void folder_sweep(struct folder *f);
/* Copies what is in the file of all blocks from `end` on into a file of its
 * own, as the chunk `number`.  0 or -errno. */
int folder_aside(struct folder *f, uint64_t end, uint64_t number);
/* Closes what is open. */
void folder_free(struct folder *f);

/* ---- the file of all blocks: nothing where each has its own -------------- */

/* Makes it, which must not exist, durably; and takes that back. */
int folder_data_create(struct folder *f);
void folder_data_remove(struct folder *f);
/* Goes on behind the blocks that the index names.  What is behind them goes;
 * with `aside` it may have come, and is set aside as the chunk *aside. */
int folder_data_reopen(struct folder *f, const struct index_record *records,
		       size_t n, const uint64_t *aside);
/* Notes for recover that it was cut there: what was noted of blocks behind is
 * not so. */
void folder_data_note(struct folder *f, uint64_t end);
/* As folder_place and folder_unplace. */
int folder_data_place(struct folder *f, uint64_t number, uint64_t bytes,
		      int flags, struct folder_place *place);
int folder_data_unplace(struct folder *f, const struct folder_place *place);
/* Makes durable what is in it. */
int folder_data_sync(struct folder *f);
/* The index names these now. */
void folder_data_synced(struct folder *f, const struct index_record *records,
			unsigned n);
/* It will not: takes them back. */
void folder_data_rewind(struct folder *f, const struct index_record *records,
			unsigned n);
/* Leaves it as long as its data: what was reserved or filled behind goes, and
 * where nothing was written, the file. */
int folder_data_end(struct folder *f);

#endif
