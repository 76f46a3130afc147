/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_PARITY_HEAL_H
#define SPATE_STORE_PARITY_HEAL_H

#include <stdbool.h>
#include <stdint.h>

#include "store/disk/layout.h"
#include "store/parity/code.h"
#include "store/parity/parity.h"

/*
 * Healing computes a block that cannot be read from what is left of its group.
 *
 * Each source is read whole, in pieces, and held against its checksum: one that
 * is away, short or damaged counts as lost, too, and as many sources may be lost
 * as there are good parity blocks.  The result is held against the checksum of
 * the block, so a wrong byte is never given.  Recordings without checksums have
 * no such proof.
 *
 * A disk that does not answer within the patience counts as lost, too.  Each
 * source is read by a thread of its own, and the one of such a disk is left
 * behind.
 */

/* The place of the bytes of a member or a parity block. */
struct parity_source {
	int disk; /* the caller's number of its disk; -1: away */
	int dir;  /* the recording's folder there, borrowed; -1: away */
	char file[2 * LAYOUT_FILE]; /* in that folder */
	uint64_t offset, bytes;
	uint32_t crc;
	bool summed; /* `crc` is known */
	bool late;   /* set by parity_heal(): its disk did not answer */
};

struct parity_heal {
	unsigned wanted; /* column of the block that is to be computed */
	int64_t
	    patience; /* ns that a source may take for a piece; 0: no limit */
	/* Called now and then, to say that it goes on; NULL: nobody asks. */
	void (*alive)(void *arg);
	void *arg;
	/* How it follows from an older group, where this one does not give it;
	 * NULL: there is none. */
	struct parity_heal *older;
	unsigned rows;
	struct parity_source parity[PARITY_ROWS]; /* by row; bytes 0: none */
	unsigned members;
	struct parity_source member[]; /* by column */
};

struct parity_heal *parity_heal_make(unsigned members); /* or NULL */
void parity_heal_free(struct parity_heal *h);		/* and older ones */

/*
 * Computes the block, from its group or an older one.  *data is malloc'ed and the caller's, as long as the
 * block.  0; -ENODATA if too much of the group is away; -EBADMSG if what is left
 * contradicts the block's checksum, each of the first group; -ENOMEM.  May wait for any of the disks, for
 * each as long as the patience.
 */
int parity_heal(struct parity_heal *h, uint8_t **data);

#endif
