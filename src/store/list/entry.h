/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_LIST_ENTRY_H
#define SPATE_STORE_LIST_ENTRY_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/keys.h"
#include "contract/format.h"
#include "store/disk/disk.h"
#include "store/disk/layout.h"

/*
 * An entry is a recording's line in a list.
 *
 * The entry of a complete recording is cheap to make: the end record of each
 * index says how many records there are on all disks, the last line of the
 * metadata has the totals, and the lengths of the indexes say how many records
 * are here.  If that does not add up (say, a disk is missing), or there is no
 * end, every record is read, by recording_open().
 */
enum entry_state {
	ENTRY_UNREAD, /* only its folder is known so far */
	ENTRY_COMPLETE,
	ENTRY_LIVE,
	ENTRY_INTERRUPTED,
	ENTRY_UNREADABLE,
	ENTRY_REMOVING, /* removal was begun and not finished */
	ENTRY_FAILED,	/* like COMPLETE, but it ended before its time */
	ENTRY_STATES,
};

enum { ENTRY_DISKS = 256, ENTRY_TEXT = 80, ENTRY_WHY = 160 };

struct entry {
	char name[LAYOUT_FILE];
	enum entry_state state;
	char stream[ENTRY_TEXT], format[ENTRY_TEXT], layout[ENTRY_TEXT];
	char what[ENTRY_WHY];
	char why[ENTRY_WHY]; /* reason of UNREADABLE and FAILED */
	bool counted;	     /* the fields below are known */
	int64_t start_ns, end_ns;
	uint64_t bytes; /* length of all its files, as in `spate info` */
	uint64_t packets, missing;
	uint64_t absent; /* blocks whose record is on no disk */
	unsigned subs;
	bool protected;
	unsigned parity; /* disks that may die now without a loss */
	/* a bit for each disk that has the recording */
	uint64_t disk[ENTRY_DISKS / 64];
	uint64_t stamp;	    /* changes when one of its folders changes */
	uint64_t first;	    /* the stamp of its first folder alone */
	int64_t changed_ns; /* when its folders last changed */
	/* bytes of its indexes: they grow, and its folders need not change,
	 * when a recorder goes on with it or recover ends it */
	uint64_t noted;

	/* Not part of entry_row(), so unknown to clients of the daemon: */
	/* start in its head; differs if it was recorded anew under the same
	 * name */
	int64_t begun_ns;
	bool foreign;			  /* another program's */
	char extension[LAYOUT_EXTENSION]; /* "": unknown */
	uint32_t payload;
	enum heap_store store;
};

/* Keys of an entry as `spate ls --json` prints them, all in group 1. */
#define ENTRY_KEYS(X)                                                          \
	X(TEXT, name, 1 | KEY_COLUMN, "of the recording", "name")              \
	X(TIME, start, 1 | KEY_COLUMN, "begin", "start")                       \
	X(TIME, end, 1 | KEY_COLUMN | KEY_OTHER_SIDE,                          \
	  "end, or last block so far", "length")                               \
	X(BYTES, bytes, 1 | KEY_COLUMN, "of its files", "size")                \
	X(COUNT, packets_lost, 1 | KEY_COLUMN, "lost before they came",        \
	  "loss")                                                              \
	X(TEXT, state, 1 | KEY_COLUMN,                                         \
	  "unread, complete, recording, interrupted, unreadable, removing or " \
	  "failed",                                                            \
	  "state")                                                             \
	X(BOOL, protected, 1 | KEY_COLUMN, "it cannot be removed")             \
	X(TEXT, stream, 1 | KEY_COLUMN_MORE | KEY_OPTIONAL,                    \
	  "stream that was recorded", "stream")                                \
	X(TEXT, format, 1 | KEY_COLUMN_MORE | KEY_OPTIONAL, "format plugin",   \
	  "format")                                                            \
	X(TEXT, layout, 1 | KEY_COLUMN_MORE | KEY_OPTIONAL,                    \
	  "how it lies on the disks", "layout")                                \
	X(COUNT, packets, 1 | KEY_COLUMN_MORE, "stored", "packets")            \
	X(JSON, disks, 1 | KEY_COLUMN_MORE | KEY_OTHER_SIDE,                   \
	  "list of the folders that have it", "disks")                         \
	X(COUNT, substreams, 1 | KEY_COLUMN_MORE, "number of these",           \
	  "substreams")                                                        \
	X(COUNT, parity, 1 | KEY_COLUMN_MORE,                                  \
	  "disks that may die now and nothing is lost: as configured, fewer "  \
	  "where disks or parity are away",                                    \
	  "parity")                                                            \
	X(COUNT, absent, 1, "blocks whose record or data no disk gives")       \
	X(TEXT, what, 1 | KEY_OPTIONAL, "what cannot be read")                 \
	X(TEXT, why, 1 | KEY_OPTIONAL, "why it is unreadable or failed")

struct entry_report {
	ENTRY_KEYS(KEY_MEMBER)
};

extern const struct key entry_keys[];

/* True if all fields are equal. */
bool entry_same(const struct entry *a, const struct entry *b);

/* True if its recorder ended it, well or not: nothing more will come. */
static inline bool
entry_ended(const struct entry *e)
{
	return e->state == ENTRY_COMPLETE || e->state == ENTRY_FAILED;
}

/* Counts how much was read, for statistics. */
struct entry_work {
	uint64_t entries; /* entries that were read */
	uint64_t whole;	  /* entries for which every record was read */
};

static inline bool
entry_has(const struct entry *e, unsigned disk)
{
	return disk < ENTRY_DISKS && e->disk[disk / 64] >> disk % 64 & 1;
}

/* Treatment of a live recording by entry_read(). */
enum entry_live {
	ENTRY_COUNT,	  /* count what is there */
	ENTRY_BY_SESSION, /* mark it live, count nothing: its session does */
	/* count nothing if a writer holds its lock; for callers that open live
	 * recordings themselves */
	ENTRY_SKIP,
};

/* Reads the entry of one recording.  0; -ENOENT if no disk has it.  `work` may
 * be NULL. */
int entry_read(struct entry *e, const struct disks *disks, const char *name,
	       enum entry_live live, struct entry_work *work);

/* The stamp as it is now; 0 if no disk has the recording. */
uint64_t entry_stamp(const struct disks *disks, const char *name);
/* entry::noted as it is now. */
uint64_t entry_noted(const struct disks *disks, const char *name);

/* An entry as an object with the keys of `spate ls --json`; a new reference,
 * NULL without memory.  Only the paths of `disks` are used. */
json_t *entry_json(const struct entry *e, const struct disks *disks);

/*
 * An entry as an array, the form in which 10 000 of them go through a socket:
 *
 *   [name, state, start_ns, end_ns, bytes or null, packets, missing, absent,
 *    subs, protected, parity, disks, stream, format, layout, what, why]
 *
 * State and protected are numbers, disks is a bit mask in hex, and empty texts
 * at the end are left out.
 */
json_t *entry_row(const struct entry *e);
/* Reads such an array.  0; -EINVAL if it is none. */
int entry_from_row(struct entry *e, const json_t *row);

/* The state as text: "complete", "recording", ... */
const char *entry_state_show(enum entry_state state);

/* Parses the first line of an open metadata file.  A new reference; NULL if the
 * line is missing or torn. */
json_t *entry_head(int fd);

/* When a recording began, from the first line of its metadata; 0: not said. */
int64_t entry_begun(const json_t *head);

#endif
