/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_REPAIR_VERIFY_H
#define SPATE_STORE_REPAIR_VERIFY_H

#include "store/recording/recording.h"

/*
 * Verify checks a recording against its own records.  Every block has exactly
 * one chunk, as long as the index says; no chunk lacks a record; no number is
 * missing; no block begins before the previous one of its substream ends;
 * indexes and checksums have no torn tail.  In rows it walks the packets of
 * every heap; of cubes it checks that they are whole items and that their holes
 * are on record.
 *
 * If checksums were taken, it reads all data back, with one thread per disk,
 * and finds which bytes differ from what was written.  Index and checksums are
 * not trusted either: of three that should agree, the one that the two others
 * contradict is reported.
 *
 * A recording that is being written is checked as far as it is durable.
 */
enum verify_kind {
	VERIFY_DAMAGED,	   /* data differs from what was written */
	VERIFY_UNREADABLE, /* the disk fails to read it */
	VERIFY_MISSING,	   /* a chunk that an index names is missing */
	VERIFY_LENGTH,	   /* a chunk is longer or shorter than its record
			      says */
	VERIFY_MISPLACED,  /* a chunk holds the data of another block */
	VERIFY_DUPLICATE,  /* a block is on two disks */
	VERIFY_UNINDEXED,  /* a chunk that no index names */
	VERIFY_ABSENT,	   /* blocks that no disk has */
	VERIFY_COMPUTED,   /* blocks whose disk is away, which parity gives */
	VERIFY_PARITY,	   /* parity that is damaged, or away */
	VERIFY_INDEX,	   /* an index contradicts the data, or has no good
			      end */
	VERIFY_SUMS,	   /* the .sums file is wrong, or has no good end */
	VERIFY_UNSUMMED,   /* the block has no checksums of quanta */
	VERIFY_CONTENTS,   /* the contents of a chunk make no sense */
	VERIFY_END,	   /* the recording has no end */
};

/* The command that mends a finding by parity, if any does. */
enum verify_mend { VERIFY_NOT_MENDED, VERIFY_SCRUBS, VERIFY_REBUILDS };

/* One thing wrong, or several of the same kind next to each other. */
struct verify_finding {
	enum verify_kind kind;
	enum verify_mend mend;
	const char *sentence;	      /* describes all of it, for people */
	const char *disk;	      /* path; NULL: not about one disk */
	unsigned chunks;	      /* 0: the members below are not set */
	uint64_t number, last_number; /* number of the first and of the last
					 chunk */
	uint64_t at;		      /* byte in the first chunk's data */
	uint64_t bytes;		      /* bytes of data, in all chunks */
	bool filed;		      /* the bytes are in the substream's
					 file: */
	uint16_t sub;
	uint64_t offset, end; /* bytes [offset, end) of that file */
	bool packets;	      /* the range in packets (items, of cubes) is
				 known: */
	uint32_t run;
	uint64_t first, last;
	int64_t first_ns, last_ns;
	bool data_time; /* true: times of the data; false: of arrival */
};

/* Returns a word for a kind.  Words never change: programs rely on them. */
const char *verify_word(enum verify_kind kind);

struct verify_hooks {
	void (*found)(void *arg, const struct verify_finding *f);
	/* Bytes; called about five times a second. */
	void (*progress)(void *arg, uint64_t done, uint64_t of);
	void *arg;
};

struct verify_report {
	uint64_t heaps, incomplete; /* heaps in rows */
	uint64_t bytes;		    /* bytes read back */
	unsigned summed, unsummed;  /* chunks with and without checksums */
};

/* Verifies a recording.  Returns how many findings there were, or -errno.
 * Hooks may be NULL, and are called on the caller's thread. */
int verify(struct recording *rec, const struct disks *disks,
	   const struct verify_hooks *hooks, struct verify_report *report);

#endif
