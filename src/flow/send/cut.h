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
 * A cut makes packets of parcels: it chooses among them, strips them, makes
 * their prefixes, and lays them out as runs for a send plugin.
 *
 *   { cut_begin -> { cut_look -> cut_took }* }*
 *
 * Packets that are not there are not sent; plain bytes have fill in their
 * place, because a hole would shift all that is behind it.  A choice of
 * threads numbers packets anew, so that those left out are no holes.
 *
 * What was taken once is passed over when its block comes again, as one does
 * whose memory was wanted back in the middle.
 */
struct cut;

struct cut_args {
	const struct format_ops *format;
	const struct format_shape *shape;
	unsigned subs;
	const struct send_choice *choice;
	bool plain;	/* bytes of the file, fill included; no prefix */
	bool bare;	/* packets, but no prefix */
	bool zero_fill; /* as source_about has it */
	char *why;	/* where -EINVAL is explained */
	uint32_t why_bytes;
};

struct cut_counts {
	uint64_t missing;    /* packets that are not there */
	uint64_t unreadable; /* that cannot be had: damaged, disk away */
	uint64_t dropped;    /* that nobody kept */
};

/* 0; -EINVAL: this cannot be chosen of such data; -ENOMEM.  What args points
 * to outlives it, but `why`. */
int cut_make(struct cut **cut, const struct cut_args *args);
void cut_free(struct cut *c);

/* Of most packets; data 0: they differ. */
void cut_sizes(const struct cut *c, uint32_t *head_bytes, uint32_t *data_bytes);

/* Goes on with this parcel, which stays until its last packet was taken or
 * the next cut_begin.  Its number is not below that of the one before. */
void cut_begin(struct cut *c, const struct parcel *p);

/*
 * The next packets of it; *n 0: there are no more.  0; -EAGAIN: the memory
 * for fill is still in use: `released` packets of all that were taken need
 * theirs no more; -ENOMEM.
 */
int cut_look(struct cut *c, uint64_t released, const struct send_run **run,
	     unsigned *n);

/* The first so many of those were taken. */
void cut_took(struct cut *c, uint64_t packets);

/* Everything that comes now is beyond the range that was chosen. */
bool cut_ended(const struct cut *c);

/* Packets are wanted again from this one on: says where the source is to
 * seek to, and passes over what is before it. */
void cut_back(struct cut *c, uint32_t run, uint64_t first, uint32_t *seek_run,
	      uint64_t *seek_first);

void cut_counts(const struct cut *c, struct cut_counts *counts);

#endif
