/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_SEND_CUT_H
#define SPATE_FLOW_SEND_CUT_H

#include <stdbool.h>
#include <stdint.h>

#include "contract/format.h"
#include "contract/send.h"
#include "flow/send/sender.h"
#include "flow/source/source.h"

/*
 * A cut makes packets of parcels: it chooses among them, leaves bytes out at
 * their beginning, makes their prefixes, and lays them out as runs for a send
 * plugin.  The sender's thread makes all calls.
 *
 *   { cut_begin -> { cut_look -> cut_took }* }*
 *
 * Packets that are missing are not sent; plain bytes have fill in their place,
 * because a hole would shift all bytes behind it.  A choice of threads numbers
 * packets anew, so that those left out are no holes.
 *
 * A block may come twice, if its memory was wanted back in the middle.  Packets
 * that were taken the first time are then skipped.
 */
struct cut;

struct cut_args {
	const struct format_ops *format;
	const struct format_shape *shape;
	unsigned subs;
	const struct send_choice *choice;
	/* Bytes of the recording's file, with fill and without prefix. */
	bool plain;
	bool bare;	/* packets without prefix */
	bool zero_fill; /* see source_about */
	char *why;	/* buffer for a sentence that explains -EINVAL */
	uint32_t why_bytes;
};

struct cut_counts {
	uint64_t missing; /* packets that were never received */
	/* Packets that cannot be read: damaged, or their disk is away. */
	uint64_t unreadable;
	uint64_t dropped; /* packets dropped for lack of memory */
};

/* Makes a cut.  0; -EINVAL: these data do not allow such a choice; -ENOMEM.
 * All that args points to outlives the cut, except `why`. */
int cut_make(struct cut **cut, const struct cut_args *args);
void cut_free(struct cut *c);

/* Returns the sizes that most packets have; *data_bytes 0: they differ. */
void cut_sizes(const struct cut *c, uint32_t *head_bytes, uint32_t *data_bytes);

/* Starts on a parcel, which stays valid until its last packet was taken or
 * cut_begin is called again.  Block numbers never decrease, except after
 * cut_back. */
void cut_begin(struct cut *c, const struct parcel *p);

/*
 * Returns the next packets of the parcel, as *n runs; *n 0: none is left.  Runs
 * stay valid until they are taken.  `released`: how many packets, of all that
 * were taken, need their memory no more.  0; -EAGAIN: the memory for fill is
 * still in use by packets that are not released; -ENOMEM.
 */
int cut_look(struct cut *c, uint64_t released, const struct send_run **run,
	     unsigned *n);

/* Takes the first `packets` packets of the runs that cut_look returned. */
void cut_took(struct cut *c, uint64_t packets);

/* True if every further packet lies beyond the chosen range. */
bool cut_ended(const struct cut *c);

/* Starts again from packet `first` of `run`: returns where the source has to
 * seek to, and skips the packets before that one.  A block of rows is sent
 * again from its first packet on. */
void cut_back(struct cut *c, uint32_t run, uint64_t first, uint32_t *seek_run,
	      uint64_t *seek_first);

void cut_counts(const struct cut *c, struct cut_counts *counts);

#endif
