/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_LIST_GLANCE_PRIV_H
#define SPATE_STORE_LIST_GLANCE_PRIV_H

#include "store/list/glance.h"
#include "store/recording/recording_priv.h"

/* Shared by the files of a glance. */

/* Slots of one block that lie in a second; for heaps the whole block. */
struct glance_part {
	const struct recording_block *b;
	uint64_t from, to;
};

enum {
	GLANCE_PARTS = 4096, /* most parts of a second */
	GLANCE_SLOTS = 4096, /* most slots that are looked at in one place */
};

/* A packet whose position and time are known. */
struct glance_mark {
	bool there;
	uint32_t run;
	uint16_t sub;
	uint64_t sequence; /* relative to the run */
	int64_t second;
	uint32_t frame;
};

/* State of a glance. */
struct look {
	struct recording *rec;
	const struct glance_hooks *hooks;
	struct glance *out;
	const struct format_ops *format; /* NULL: not installed */
	uint8_t *data;			 /* `room` bytes */
	/* bits of GLANCE_SLOTS slots: the slot holds fill */
	uint64_t *holes;
	uint64_t hole_from; /* the slot of the block that bit 0 stands for */
	size_t room;	    /* bytes of data */
	struct glance_part *part;
	size_t parts;
	struct glance_mark mark[GLANCE_SECONDS];
};

__attribute__((format(printf, 2, 3))) void
glance_wrong(struct look *l, const char *format, ...);
__attribute__((format(printf, 2, 3))) void
glance_remark(struct look *l, const char *format, ...);

/* Name of a second: "first", "middle" or "last". */
const char *glance_name(unsigned second);

/* Finds second i around a block: its parts, its packets, and what it lost. */
void glance_find(struct look *l, unsigned i, size_t around);

/* Reads packets of second i, whose parts were found. */
void glance_read(struct look *l, unsigned i);

/* Check the threads and the times of the three seconds against each other. */
void glance_threads(struct look *l);
void glance_times(struct look *l);

#endif
