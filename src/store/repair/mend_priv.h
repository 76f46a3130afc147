/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_REPAIR_MEND_PRIV_H
#define SPATE_STORE_REPAIR_MEND_PRIV_H

#include <stdatomic.h>

#include "store/parity/parity_file.h"
#include "store/recording/recording_priv.h"
#include "store/repair/mend.h"

/* A recording that is being mended, by scrub or rebuild, and by nobody else. */
struct mend {
	const struct mend_args *a;
	struct mend_report *report;
	const char *verb; /* "scrub" or "rebuild" */
	struct recording *rec;
	const struct disks *disks;
	uint64_t total;
	atomic_uint_fast64_t done; /* bytes */
};

/*
 * Opens a recording and locks its folders, which no link leads to, against others
 * that mend it.  `m` has all but `rec`, and mend_close() follows in any case.  0,
 * or -errno with a fault.
 */
int mend_open(struct mend *m, const char *name, struct fault *fault);
void mend_close(struct mend *m);

/* Locks the folders, also those that have come since. */
int mend_lock(const struct mend *m, const char *name, struct fault *fault);

/* Sets the fault of an error; returns err, which may be 0. */
int mend_fault(const struct mend *m, const char *name, int err,
	       struct fault *fault);

__attribute__((format(printf, 2, 3))) void mend_say(const struct mend *m,
						    const char *format, ...);

/* Adds bytes to those that are done, and tells of it. */
void mend_progress(struct mend *m, uint64_t bytes);

const char *mend_path(const struct mend *m, int disk);

/* Computes a block into `data`, behind everybody else's I/O.  0 or -errno. */
int mend_heal(const struct mend *m, const struct recording_block *b,
	      uint8_t *data);

/* Writes a new file, durable under its name.  0 or -errno; -EEXIST. */
int mend_file_new(int dir, const char *file, const void *data, uint64_t bytes);

/* Makes the lists of parity and the parity blocks agree, and counts what is away
 * then.  0 or -errno. */
int mend_lists(struct mend *m);

/* The rows of a group, computed anew, each `bytes` long. */
struct mend_rows {
	uint8_t *row[PARITY_ROWS];
	uint32_t crc[PARITY_ROWS];
	uint64_t bytes;
};

/*
 * Computes the rows of a group from its members, as mend_heal().
 *
 *   without bad[]  all have to be good, if only by what parity gives of them
 *   with bad[]     it is 0 or -errno of each member.  The rows are those of a
 *                  group of the others, each of which is good on its disk: one
 *                  that parity gives must not leave the group that gives it
 *
 * mend_rows_free() follows in any case.  0 or -errno.
 */
int mend_rows_make(const struct mend *m, const struct index_record *member,
		   unsigned members, unsigned rows, struct mend_rows *w,
		   int *bad);
void mend_rows_free(struct mend_rows *w);

/* Reads a block back from its disk.  0 if it is good there; or -errno. */
int mend_member_check(const struct mend *m, const struct index_record *r);

/* ---- rebuild.c, for rebuild_parity.c ------------------------------------- */

/* True if chunks and parity may be put onto this disk: it has some of the
 * recording, its index has an end, and its metadata can be read. */
bool rebuild_takes(const struct mend *m, unsigned disk);

/* The disks that have something of the group of a block. */
struct block_bars rebuild_group_disks(const struct recording *rec,
				      uint64_t number);

/* Returns the disk with the most room that is none of these, or, where `any`, also
 * one of these; -1: none has room. */
int rebuild_disk(const struct mend *m, const struct block_bars *bars, bool any,
		 uint64_t bytes);

/* Copies the line that says which packets of a block are missing to a disk, if
 * `from` has one and that disk has none.  0 or -errno. */
int rebuild_holes(const struct mend *m, const struct recording *from,
		  uint64_t number, int disk);

/* True if a chunk is here, and its group does not make up for every disk. */
bool rebuild_needs_group(const struct recording *rec, size_t number);

/*
 * Gives the recording a folder, without chunks, on disks that are mounted and have
 * none: as many as are away of those on which it was recorded.  They are to be
 * locked, and the recording refreshed.  0 or -ENOMEM; what a disk does not take is
 * said and counted.
 */
int rebuild_folders(struct mend *m);

/* Makes groups that make up for any disk of all chunks.  0 or -errno. */
int rebuild_parity(struct mend *m);

#endif
