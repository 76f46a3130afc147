/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_FOLDER_PRIV_H
#define SPATE_STORE_FOLDER_PRIV_H

#include <sys/types.h>

#include "store/folder.h"
#include "store/layout.h"

/*
 * What the parts of a folder share: folder.c makes and ends it,
 * folder_reopen.c finds it again, folder_place.c says where blocks go,
 * folder_sums.c keeps their checksums.
 */
struct tail {
	int fd;	     /* open for appending */
	off_t bytes; /* good ones */
};

struct folder {
	enum layout layout;
	char *name;
	int disk; /* the disk's folder; borrowed */
	int dir;
	struct tail index, meta;
	struct tail sums; /* -1: none came yet */
	bool noted;	  /* meta has lines that are not durable */
	bool summed;	  /* the same of sums */
};

/* A folder with nothing open.  0, -EINVAL (its name), -ENOMEM. */
int folder_make(struct folder **folder, const struct disk *disk,
		const char *name);
/* Puts it at the end; what does not fit is cut off again.  0 or -errno. */
int folder_append(struct tail *tail, const void *data, size_t bytes);
/* Closes what is open. */
void folder_free(struct folder *f);

#endif
