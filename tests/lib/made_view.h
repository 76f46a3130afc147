/* SPDX-License-Identifier: MIT */
#ifndef SPATE_TESTS_MADE_VIEW_H
#define SPATE_TESTS_MADE_VIEW_H

#include <fcntl.h>

#include "contract/defaults.h"
#include "store/recording/recording.h"
#include "store/view/view.h"
#include "lib/dice.h"
#include "lib/made.h"

/*
 * Recordings at random, and beside each a list of the slots that its files
 * should have, which is made from the script of the recording and not from any
 * index: what a view shows then follows from going through that list.
 */
enum {
	PLAY_SUBS = 3,
	PLAY_EVENTS = 96,
	PLAY_SLOTS = 2 * PLAY_EVENTS * MADE_SLOTS,
	PLAY_BYTES = PLAY_SLOTS * MADE_PAYLOAD,
};

/* A number of the recording. */
struct event {
	unsigned sub, slots;
	uint32_t run;
	uint64_t first;	  /* sequence in the run */
	uint64_t frame0;  /* of the run: of all threads, from its beginning */
	uint64_t present; /* bits */
	bool gap;
	bool lost; /* on no disk */
};

/* A slot of a substream's file. */
struct slot {
	bool present; /* its packet came */
	bool stored;  /* a chunk has it */
	bool known;   /* there is data of its run */
	uint32_t run;
	uint64_t frame;
};

struct play {
	struct made m;
	struct dice dice;
	unsigned subs, threads;
	uint32_t thread[4]; /* in their turn */
	bool listed;	    /* in the metadata */
	bool timed;	    /* the sequence is counted from time */
	bool ended;
	uint32_t fps, parts;
	uint32_t lossy, gappy, anew, gone, early; /* percent */

	struct event event[PLAY_EVENTS];
	unsigned events;
	unsigned written;		      /* of them */
	int64_t noted[PLAY_SUBS][MADE_DISKS]; /* run + 1 that a disk told */
	struct event next[PLAY_SUBS];

	struct recording *rec;
	/* Of the substream that is looked at. */
	struct slot slot[PLAY_SLOTS];
	unsigned slots;
	uint8_t base[PLAY_BYTES]; /* its file */
};

/* ---- packets ---------------------------------------------------------- */

int64_t play_time(const struct play *p, uint64_t frame);

void play_frame(const struct play *p, uint64_t frame, uint32_t has,
		uint8_t *to);

/* ---- the script ------------------------------------------------------- */

/* The last number is there, or nobody would know how many there were. */
void play_script(struct play *p, unsigned events);

/* ---- written ---------------------------------------------------------- */

void play_begin(struct play *p);

struct index_record play_record(const struct play *p, const struct event *e,
				uint64_t number);

void play_write(struct play *p, const struct event *e, uint64_t number,
		unsigned disk);

/* Writes events up to `end`; a gap lies with its block. */
void play_go(struct play *p, unsigned end);

void play_open(struct play *p);

void play_end(struct play *p);

/* ---- what its file should be ------------------------------------------ */

/* Lists the slots of a substream's file, and reads it. */
void play_list(struct play *p, unsigned sub);

/* The bytes of a view: how many. */
uint64_t play_expect(const struct play *p, const struct view_choice *c,
		     uint8_t *to);

#define ALL .thread = -1

/* One substream of one thread, all of it there. */
struct play *play_plain(void);
/* Four threads, as the metadata lists them or packets tell. */
struct play *play_threads(bool listed, bool timed);
struct play *play_make(struct play *p, unsigned events);

int play_view(struct play *p, struct view **view, struct fault *fault,
	      struct view_choice c);

/*
 * Reads a view as spatefs does: what it says is in chunks comes in pieces that
 * end anywhere, as a disk's reader gives them, and is checked before it is
 * used.  Reads up to the end; -1: some of it nobody can tell.
 */
ssize_t play_read(struct play *p, struct view *view, uint8_t *to, size_t bytes,
		  uint64_t offset);
/* The view is as play_expect() has it. */
void play_shows(struct play *p, struct view *view, struct view_choice c);

#endif
