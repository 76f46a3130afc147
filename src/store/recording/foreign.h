/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_RECORDING_FOREIGN_H
#define SPATE_STORE_RECORDING_FOREIGN_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "store/disk/layout.h"

struct recording;

/*
 * A foreign recording was made by another program, and has no index.  What
 * is needed to read it is made up in memory when it is opened, from the names
 * and the bytes of its files; nothing is ever written to it.
 *
 *   jive5ab        <disk>/<rec>/<rec>.%08u, frames and nothing else
 *   VLBI-streamer  the same with <rec>.cfg, packets with their network header,
 *                  the end of a chunk padded; or one file, <disk>/<rec>/<rec>
 *   Mark6          <disk>/<rec> or <disk>/data/<rec>: scatter/gather files
 *
 * Names may be any that are safe in a path and to print.
 */
struct foreign;

bool foreign_name_good(const char *name);

/* How many folders of a disk have names that are not, but for hidden ones. */
size_t foreign_unnamed(int disk);

/* Where in a disk they may be, beside the disk's folder itself. */
#define FOREIGN_DATA "data"

/* Is this one, by its name and its first bytes?  In that folder of a disk; on
 * a disk, wherever it may be. */
bool foreign_is(int disk, const char *folder, const char *name);
bool foreign_on(int disk, const char *name);

/* Of the file of that name on a disk, wherever it may be; false: there is
 * none. */
struct stat;
bool foreign_stat(int disk, const char *name, struct stat *st);

/*
 * Makes parts, head and base of a recording that has neither index nor
 * metadata.  0; -ENOENT: there is nothing that is known; -EBADMSG: there is,
 * without one whole packet; or -errno.
 */
int foreign_open(struct recording *rec);
void foreign_close(struct foreign *f); /* NULL: nothing */

/* Opens the file that a block is in: the descriptor, or -errno; and where in
 * it the first packet is. */
int foreign_chunk(const struct recording *rec, uint64_t number,
		  uint64_t *offset);
/* The same by the file's path from the disk on, RECORDING_PATH bytes. */
int foreign_where(const struct recording *rec, uint64_t number, char *file,
		  uint64_t *offset);
/* As recording_holes: slots of a block with what another recorder put where no
 * packet came.  -ENODATA: nobody looked which they are, or some that were lost
 * have no slots. */
bool foreign_knows_holes(const struct recording *rec, uint64_t number);
/* How many are lost is an estimate, by what some of its packets are. */
bool foreign_estimates(const struct foreign *f);
int foreign_holes(const struct recording *rec, uint64_t number,
		  void (*hole)(void *arg, uint64_t at, uint64_t count),
		  void *arg);

/* The bytes of data that can be there now, or -errno. */
int64_t foreign_chunk_bytes(const struct recording *rec, uint64_t number);

/*
 * The layout that an index of ours can describe it as: vbs where each block is
 * a file of its own, mark6 where all are where they should be in their files.
 * False: there is none.
 */
bool foreign_layout(const struct recording *rec, enum layout *layout);

/* Chunks that are not used, since another disk has one of the number. */
struct foreign_double {
	uint64_t number; /* in the file's name */
	unsigned disk, kept;
};
size_t foreign_doubles(const struct foreign *f);
struct foreign_double foreign_double(const struct foreign *f, size_t i);

/* Sentences about what is wrong with it; borrowed. */
const json_t *foreign_notes(const struct foreign *f);

#endif
