/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_PARITY_PARITY_FILE_H
#define SPATE_STORE_PARITY_PARITY_FILE_H

#include "store/disk/file.h"
#include "store/parity/parity.h"

/*
 * The files of parity in a recording's folder on one disk, `dir`: parity blocks,
 * and the list that names them.  One thread at a time works on a folder.
 */

/* Opens the list to append to it, and cuts off a torn end that is no whole
 * record.  The caller closes list->fd.  0 or -errno. */
int parity_list_open(int dir, const char *name, struct append_file *list);

/* Appends tails to the list, durably.  0 or -errno. */
int parity_list_append(int dir, const char *name, const void *tails,
		       size_t bytes);

/* Writes the list of a disk anew, of what the table has of it, but for the blocks
 * that are `without`, by place in the table, unless that is NULL.  It replaces the
 * one that is there once it is durable.  0 or -errno. */
int parity_list_write(int dir, const char *name, const struct parity_table *t,
		      unsigned disk, const bool *without);

/*
 * Reads the tail of a parity block from the end of its file.  *tail is the
 * caller's, parity_tail_bytes(p) bytes.  0; -EBADMSG: there is none;
 * another -errno.
 */
int parity_tail_read(int fd, struct parity_record *p, uint8_t **tail);

/*
 * Reads the data of a parity block back, and holds them against its checksum.
 * read(), unless it is NULL, is told how many bytes were read, now and then.  0;
 * -EBADMSG: they are other ones; -ENODATA: there are fewer; or another -errno.
 */
int parity_data_check(int fd, const struct parity_record *p,
		      void (*read)(void *arg, size_t bytes), void *arg);

/* Writes a parity block, and replaces the one that is there once it is durable.
 * It is not listed.  0 or -errno. */
int parity_file_write(int dir, const char *name, const struct parity_record *p,
		      const struct index_record *member, const uint8_t *data);

/* Packs a tail; the caller frees it.  NULL: no memory. */
uint8_t *parity_tail_make(const struct parity_record *p,
			  const struct index_record *member);

/*
 * Makes a disk's list and the tails of its parity blocks agree.  A block that the
 * list does not name is listed, if it is good; it is set aside, if it is not:
 * it was being written.  The tail of one that is named is written again where it
 * is not what the list says.  A block that cannot be read stays.
 *
 * A list that is too long for one, or has a stretch of something else, is set aside
 * first, and written anew of what is good in it: parity that is made later would be
 * added to a list that nobody reads.  The caller reads the lists again then, from
 * their beginnings.
 */
struct parity_look {
	const struct parity_table *table; /* of all disks */
	unsigned disk;			  /* whose folder it is */
	bool dry;			  /* change nothing */
	/* Called for each thing done: the file, and what about it. */
	void (*say)(void *arg, unsigned disk, const char *file,
		    const char *what);
	void *arg;
	/* Results. */
	unsigned listed, tails, aside, failed;
	unsigned lists; /* set aside; they count in `aside`, too */
};

/* 0 or -errno: the folder cannot be read, or nothing be written to it. */
int parity_files_look(struct parity_look *l, int dir, const char *name);

#endif
