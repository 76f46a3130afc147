/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_LIST_ENTRY_H
#define SPATE_STORE_LIST_ENTRY_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "contract/format.h"
#include "store/disk/disk.h"
#include "store/disk/layout.h"

/*
 * An entry is the line that a list has of a recording.
 *
 * Of one that is complete it is cheap to make: the end record of each disk's
 * index says how many records there are in all, the last line of the metadata
 * what they add up to, and the length of each index how many of them are here.
 * Where that does not add up (a disk is not there, say), or there is no end,
 * every record is read, as recording_open does.
 */
enum entry_state {
	ENTRY_UNREAD, /* there is a folder; nothing else is known yet */
	ENTRY_COMPLETE,
	ENTRY_LIVE,
	ENTRY_INTERRUPTED,
	ENTRY_UNREADABLE,
	ENTRY_REMOVING, /* its removal was begun, and not ended */
	ENTRY_FAILED,	/* as complete, but it ended before it was to */
	ENTRY_STATES,
};

enum { ENTRY_DISKS = 256, ENTRY_TEXT = 80, ENTRY_WHY = 160 };

struct entry {
	char name[LAYOUT_FILE];
	enum entry_state state;
	char stream[ENTRY_TEXT], format[ENTRY_TEXT], layout[ENTRY_TEXT];
	char what[ENTRY_WHY];
	char why[ENTRY_WHY]; /* of UNREADABLE and FAILED */
	bool counted;	     /* what is below is known */
	int64_t start_ns, end_ns;
	uint64_t bytes; /* of its file or files, as `spate info` says */
	uint64_t packets, missing;
	uint64_t absent; /* blocks whose record is on no disk */
	unsigned subs;
	bool protected;
	uint64_t disk[ENTRY_DISKS / 64]; /* has it, a bit for each */
	uint64_t stamp;	    /* differs when a folder of it was changed */
	uint64_t first;	    /* of its first folder alone */
	int64_t changed_ns; /* when that last was */

	/* Of no row, and not told to who asks the daemon: */
	int64_t begun_ns; /* as its head says: another of the name began at
			     another time */
	bool foreign;	  /* another program's */
	char extension[LAYOUT_EXTENSION]; /* empty: unknown */
	uint32_t payload;
	enum heap_store store;
};

/* Is all the same of two? */
bool entry_same(const struct entry *a, const struct entry *b);

/* Was it ended by its recorder, well or not?  Nothing more will come. */
static inline bool
entry_ended(const struct entry *e)
{
	return e->state == ENTRY_COMPLETE || e->state == ENTRY_FAILED;
}

/* What it took; for who wants to know. */
struct entry_work {
	uint64_t entries; /* that were read */
	uint64_t whole;	  /* of them, with every record */
};

static inline bool
entry_has(const struct entry *e, unsigned disk)
{
	return disk < ENTRY_DISKS && e->disk[disk / 64] >> disk % 64 & 1;
}

/* Of one that is being recorded: */
enum entry_live {
	ENTRY_COUNT, /* what there is of it is counted */
	ENTRY_TOLD,  /* somebody keeps count of it, and says so: do not */
	ENTRY_SKIP,  /* nor, where somebody writes to it: who wants to know
			opens it */
};

/* Reads one.  0; -ENOENT where no disk has a folder of it; -ENOMEM. */
int entry_read(struct entry *e, const struct disks *disks, const char *name,
	       enum entry_live live, struct entry_work *work);

/* The stamp as it would be now; 0 where no disk has it. */
uint64_t entry_stamp(const struct disks *disks, const char *name);

/* One object, with the keys that `spate ls --json` prints; NULL without
 * memory.  Of the disks only paths are looked at. */
json_t *entry_json(const struct entry *e, const struct disks *disks);

/*
 * The same as an array, in which 10 000 of them go through a socket:
 *
 *   [name, state, start_ns, end_ns, bytes or null, packets, missing, absent,
 *    subs, protected, disks, stream, format, layout, what, why]
 *
 * with state and protected as numbers, disks as the bits of a number in hex,
 * and empty texts at the end left out.
 */
json_t *entry_row(const struct entry *e);
/* 0; -EINVAL where it is no such array. */
int entry_from_row(struct entry *e, const json_t *row);

/* "complete", "recording", ... */
const char *entry_state_show(enum entry_state state);

/* When it began, of the first line of its metadata; 0: that does not tell. */
int64_t entry_begun(const json_t *head);

#endif
