/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_FOREIGN_FOREIGN_H
#define SPATE_STORE_FOREIGN_FOREIGN_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "store/disk/layout.h"
#include "store/record/index.h"

/*
 * A foreign recording was made by another program and has no index.  All that
 * is needed to read it is made up in memory when it is opened, from the names
 * and the bytes of its files; nothing is ever written to it.
 *
 *   jive5ab        <disk>/<rec>/<rec>.%08u, frames and nothing else
 *   VLBI-streamer  the same with <rec>.cfg: packets with their network header,
 *                  the end of a chunk padded; or one file, <disk>/<rec>/<rec>
 *   Mark6          <disk>/<rec> or <disk>/data/<rec>: scatter/gather files
 *
 * Its name may be any that is safe in a path and to print.
 */
struct foreign;

/* True if the name is safe in a path and to print. */
bool foreign_name_good(const char *name);

/* Number of folders on a disk whose names foreign_name_good() refuses, hidden
 * ones not counted. */
size_t foreign_unnamed(int disk);

/* Folder of a disk that may have recordings, too, beside the disk's own
 * folder. */
#define FOREIGN_DATA "data"

/* foreign_is(): true if `name` in that folder of a disk is a foreign recording,
 * by its name and first bytes.  foreign_on(): the same for all folders of the
 * disk. */
bool foreign_is(int disk, const char *folder, const char *name);
bool foreign_on(int disk, const char *name);

/* Looks up the file with that name on a disk, in either folder.  False if there
 * is none. */
struct stat;
bool foreign_stat(int disk, const char *name, struct stat *st);

enum { FOREIGN_PATH = 2 * LAYOUT_FILE }; /* room for a path on a disk */

/*
 * Finds a recording that has neither index nor metadata, and makes up what such
 * files would say.  `disks` must outlive it.  0; -ENOENT if there is no known
 * kind of recording; -EBADMSG if there is one without a single whole packet;
 * -ENOTSUP if several files of one recording cannot be put in order; or another
 * -errno.  Call foreign_close(*f) in either case.
 */
int foreign_open(struct foreign **f, const struct disks *disks,
		 const char *name);
void foreign_close(struct foreign *f); /* NULL is allowed */

/* The name of its files: the name that was opened, maybe with an extension
 * (.vdif, .m5b ...). */
const char *foreign_name(const struct foreign *f);
/* The first line of metadata, made up; a borrowed reference. */
json_t *foreign_head(const struct foreign *f);
/* The absolute sequence of slot 0 of its only run. */
uint64_t foreign_base(const struct foreign *f);
/* The end record that all disks would have. */
struct index_record foreign_end(const struct foreign *f);
/* Hands over the descriptor of the folder on a disk, which the caller closes;
 * negative if the recording is not on this disk. */
int foreign_take_dir(struct foreign *f, unsigned disk);
/* Makes the index records of a disk's blocks, in the order of their numbers;
 * malloc'ed.  0 or -ENOMEM. */
int foreign_records(const struct foreign *f, unsigned disk,
		    struct index_record **records, size_t *n);

/* Opens the file that a block is in.  Returns the descriptor, which the
 * caller closes, or -errno; *offset is where the block's first packet is in
 * the file. */
int foreign_chunk(const struct foreign *f, uint64_t number, uint64_t *offset);
/* The same without opening: `file` gets the path relative to the disk
 * (FOREIGN_PATH bytes).  0 or -errno. */
int foreign_where(const struct foreign *f, uint64_t number, char *file,
		  uint64_t *offset);
/* True if foreign_holes() can say which slots of the block have no packet. */
bool foreign_knows_holes(const struct foreign *f, uint64_t number);
/* True if the number of lost packets is an estimate, from a part of the
 * packets. */
bool foreign_estimates(const struct foreign *f);
/* Calls back for the slots of a block that another recorder filled where no
 * packet came, like recording_holes().  -ENOENT if there is no such block;
 * -ENODATA if the slots are not known, or some lost packets have no slot in the
 * file. */
int foreign_holes(const struct foreign *f, uint64_t number,
		  void (*hole)(void *arg, uint64_t at, uint64_t count),
		  void *arg);

/* Bytes of the block's data that can be in its file as long as that is now; or
 * -errno. */
int64_t foreign_chunk_bytes(const struct foreign *f, uint64_t number);

/*
 * The layout with which an index of ours can describe this recording: vbs if
 * each block is a file of its own, mark6 if all blocks are where our layout plan
 * expects them.  False if there is none.
 */
bool foreign_layout(const struct foreign *f, enum layout *layout);

/* A chunk that is not used, because there is another one with its number. */
struct foreign_double {
	uint64_t number; /* number in the file's name */
	/* the disk of this chunk, and of the one that is used */
	unsigned disk, kept;
};
size_t foreign_doubles(const struct foreign *f);
struct foreign_double foreign_double(const struct foreign *f, size_t i);

/* Sentences about what is wrong with the recording; a borrowed reference. */
const json_t *foreign_notes(const struct foreign *f);

#endif
