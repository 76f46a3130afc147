/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_REPAIR_VERIFY_H
#define SPATE_STORE_REPAIR_VERIFY_H

#include "store/recording/recording.h"

/*
 * Verify holds a recording against what it says of itself: every block has
 * its chunk, of the length that the index says, once; no chunk is without a
 * record; numbers are whole; no block begins before the one before it in its
 * substream ends; indexes and checksums have no torn tail.  In rows it walks
 * the packets of every heap; of cubes it checks that they are items, and that
 * their holes are on record.
 *
 * Where checksums were taken it reads all data back, every disk by a thread
 * of its own, and finds which bytes are not what was written.  Index and
 * checksums are not believed either: of three that should agree, the one that
 * two others contradict is what is wrong.
 *
 * Of a live recording it looks at what is durable.
 */
enum verify_kind {
	VERIFY_DAMAGED,	   /* data is not what was written */
	VERIFY_UNREADABLE, /* the disk does not give it */
	VERIFY_MISSING,	   /* a chunk that an index names is not there */
	VERIFY_LENGTH,	   /* a chunk is longer or shorter than it should be */
	VERIFY_MISPLACED,  /* a chunk holds the data of another block */
	VERIFY_DUPLICATE,  /* a block is on two disks */
	VERIFY_UNINDEXED,  /* a chunk that no index names */
	VERIFY_ABSENT,	   /* blocks that no disk knows of */
	VERIFY_INDEX,	   /* what an index says is wrong, or its end is */
	VERIFY_SUMS,	   /* the same of checksums */
	VERIFY_UNSUMMED,   /* checksums of pieces are not there */
	VERIFY_CONTENTS,   /* what is in a chunk makes no sense */
	VERIFY_END,	   /* the recording has none */
};

/* Something wrong, or several of a kind next to each other. */
struct verify_finding {
	enum verify_kind kind;
	const char *sentence;	      /* all of it, for people */
	const char *disk;	      /* its path; NULL: of none */
	unsigned chunks;	      /* 0: what follows is not set */
	uint64_t number, last_number; /* the first and the last of them */
	uint64_t at;		      /* in the first chunk; and */
	uint64_t bytes;		      /* how many, of data */
	bool filed;		      /* they are in the recording's file: */
	uint16_t sub;
	uint64_t offset, end; /* from, and up to before this */
	bool packets;	      /* they are such, or items: */
	uint32_t run;
	uint64_t first, last;
	int64_t first_ns, last_ns;
	bool data_time; /* else of arrival */
};

/* A word for it, the same for ever. */
const char *verify_word(enum verify_kind kind);

struct verify_hooks {
	void (*found)(void *arg, const struct verify_finding *f);
	/* Bytes; now and then. */
	void (*progress)(void *arg, uint64_t done, uint64_t of);
	void *arg;
};

struct verify_report {
	uint64_t heaps, incomplete; /* in rows */
	uint64_t bytes;		    /* that were read back */
	unsigned summed, unsummed;  /* chunks with and without checksums */
};

/* Returns how many findings there were, or -errno.  Hooks may be NULL, and are
 * called on this thread. */
int verify(struct recording *rec, const struct disks *disks,
	   const struct verify_hooks *hooks, struct verify_report *report);

#endif
