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
 * A removal takes a recording off all disks that are there.  It looks first,
 * at everything, and changes nothing until it is begun; then, each step on
 * all disks before the next:
 *
 *   mark     <name>.removing in its folder, durably
 *   index    goes, durably
 *   the rest: chunks, sums, metadata, then the mark, then the folder
 *
 * Whatever stops it in between, what is left looks like no recording: nobody
 * opens what is marked, on whichever disk; and a program that does not know
 * the mark finds no index.  A removal of the same name ends what was begun.
 * When a mark cannot be made, those that were are taken back.
 *
 * Only files that the layout knows are removed, nothing through a link, and
 * what else is in its folder only by force, files alone.
 */
struct removal;

struct removal_facts {
	unsigned disks;		 /* that have some of it */
	uint64_t files, bytes;	 /* bytes: of disk that this frees */
	uint64_t extras, others; /* files that are not ours; what is none */
	bool protected, live;
	bool read;  /* somebody reads it: holds a lock on its index */
	bool begun; /* before, and not ended */
};

/* How the chunks go; each may be left out. */
struct removal_pace {
	unsigned rest;	   /* pause, in parts of the time that each took */
	atomic_bool *stop; /* ends it early: -ECANCELED */
	void (*say)(void *arg, uint64_t bytes, uint64_t of);
	void *arg;
};

/* Looks.  `disks` outlives it.  -ENOENT where none has it; -ELOOP where there
 * is a link instead; else 0 or -errno; each with a fault. */
int removal_open(struct removal **removal, const struct disks *disks,
		 const char *name, struct fault *fault);
void removal_close(struct removal *r);

const struct removal_facts *removal_facts(const struct removal *r);

/* May it be?  By force, what is read and what has other files in it, too.
 * 0 or -EBUSY, -EPERM with a fault that says why not. */
int removal_allowed(const struct removal *r, bool force, struct fault *fault);

/* Removes it.  Locks are asked for again: one that is live by now stays.  0
 * or -errno with a fault. */
int removal_run(struct removal *r, bool force, const struct removal_pace *pace,
		struct fault *fault);

/* {name, files, bytes, extras, protected, live, read, begun, disks:[..],
 * away:[..]}: away are disks that its metadata names and that are not there:
 * what they have stays. */
json_t *removal_json(const struct removal *r);

#endif
