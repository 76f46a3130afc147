/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_REPAIR_REMOVAL_H
#define SPATE_STORE_REPAIR_REMOVAL_H

#include <jansson.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/fault.h"
#include "store/disk/disk.h"

/*
 * A removal deletes a recording from all disks that are present.  Opening one
 * only looks.  Running it does each step on all disks before the next:
 *
 *   mark     <name>.removing in its folder, durably
 *   index    deleted, durably
 *   the rest: chunks, sums, metadata, then the mark, then the folder
 *
 * If it is interrupted, the remains are not taken for a recording: our readers
 * refuse a marked folder on any disk, and a program that does not know the mark
 * finds no index.  Another removal of the same name completes it.  If a mark
 * cannot be made, the marks already made are removed.
 *
 * Only files that the layout knows are deleted, and links are not followed.
 * With force, other files in the folder are deleted too, but no folders.
 */
struct removal;

struct removal_facts {
	unsigned disks;		 /* disks that have some of it */
	uint64_t files, bytes;	 /* bytes: disk space that this frees */
	uint64_t extras, others; /* files that are not ours; other entries */
	bool protected, live;
	bool read;  /* a reader holds a lock on its index */
	bool begun; /* an earlier removal was interrupted */
};

/* How fast chunks are deleted.  It may be NULL, and each member 0. */
struct removal_pace {
	unsigned rest;	   /* pause after each file, in multiples of the time
			      it took */
	atomic_bool *stop; /* set by another thread to end it early:
			      -ECANCELED */
	void (*say)(void *arg, uint64_t bytes, uint64_t of);
	void *arg;
};

/*
 * Looks at a recording.  Returns 0; -ENOENT: no disk has it; -ELOOP: a link is
 * in its place; -ENOTSUP: it is a set of Mark6 files without a folder; or
 * -errno; each with a fault.  Close it before `disks`.
 */
int removal_open(struct removal **removal, const struct disks *disks,
		 const char *name, struct fault *fault);

/* Frees it.  Nothing is changed on disk. */
void removal_close(struct removal *r);

const struct removal_facts *removal_facts(const struct removal *r);

/*
 * Says whether the removal is allowed.  `force` also allows it while the
 * recording is being read or its folder has other files.  Returns 0, or -EBUSY
 * or -EPERM with a fault that says why not.
 */
int removal_allowed(const struct removal *r, bool force, struct fault *fault);

/* Removes the recording.  Asks for the locks again: a recording that is being
 * written by now stays.  Returns 0 or -errno with a fault. */
int removal_run(struct removal *r, bool force, const struct removal_pace *pace,
		struct fault *fault);

/*
 * Returns {name, files, bytes, extras, protected, live, read, begun,
 * disks:[..], away:[..]}.  `away` are disks named in its metadata that are not
 * present: what is on them stays.
 */
json_t *removal_json(const struct removal *r);

#endif
