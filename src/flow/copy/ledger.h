/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_COPY_LEDGER_H
#define SPATE_FLOW_COPY_LEDGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "contract/block.h"
#include "wire/copy.h"
#include "store/record/index.h"

/*
 * A ledger is what the receiver of a copy knows of each block: what the sender
 * told about it, and where it is.
 *
 *             ledger_lend       last piece       sync
 *   WANTED ----------------> COMING -----> WRITING -----> DURABLE
 *     ^                                       |              ^
 *     +---- no disk has it (ledger_settled) --+              |
 *   LEFT: the sender cannot read it        there already ----+
 *
 * Nothing that the sender tells is believed: numbers, lengths and checksums are
 * checked, and each piece is taken once.  The ledger touches no sockets and no
 * disks; any thread may call it.
 */
struct ledger;

struct ledger_args {
	unsigned subs;	     /* substreams of the recording */
	uint64_t block_most; /* most bytes of a block */
};

/* Makes a ledger with one reference.  0 or -ENOMEM. */
int ledger_make(struct ledger **ledger, const struct ledger_args *args);
void ledger_hold(struct ledger *l);
void ledger_drop(struct ledger *l);

/* Adds a block that is on the disks here, and was read and found good; in
 * ascending order of numbers, before the sender tells anything.  0 or
 * -ENOMEM. */
int ledger_there(struct ledger *l, const struct index_record *r);

/* Adds a block as the sender told it; the same block may be told again.  NULL,
 * or a sentence that says what is wrong with it. */
const char *ledger_tell(struct ledger *l, const struct copy_told *told);

/* Lists stretches of wanted pieces, at most `most`, from place *at on; moves
 * the place on and returns how many.  Start with *at 0; a return of 0 is the
 * end. */
unsigned ledger_wants(struct ledger *l, size_t *at, struct copy_want *want,
		      unsigned most);

/* A piece that is about to be received. */
struct ledger_piece {
	uint64_t number;
	uint32_t piece, bytes;
	uint8_t *to; /* set by ledger_piece: memory for its bytes */
};

/* Asks where a piece goes.  0, and then ledger_landed() has to follow; -EAGAIN:
 * its block has no memory yet (ledger_lend); -EBADMSG with a sentence: the
 * piece is not wanted, or wrong. */
int ledger_piece(struct ledger *l, struct ledger_piece *p, const char **why);

/* Gives memory to a wanted block; false: it needs none any more, and the caller
 * keeps `b`. */
bool ledger_lend(struct ledger *l, uint64_t number, struct block *b);

/*
 * Ends a piece: it came with this checksum, or (crc NULL) did not.  *whole: the
 * block, if this was its last piece; CLOSED, owned by the caller, to be put
 * into the output.  -EBADMSG: the pieces do not make the block that was told;
 * -ENOMEM.  The block is wanted again then.
 */
int ledger_landed(struct ledger *l, const struct ledger_piece *p,
		  const uint32_t *crc, struct block **whole);

/* Frees the memory of all blocks that are COMING; they are WANTED again. */
void ledger_forget(struct ledger *l);

/* Marks a block that the sender cannot read.  Pieces of it may still be coming;
 * ledger_left() makes it LEFT when none is.  NULL, or what is wrong. */
const char *ledger_leave(struct ledger *l, uint64_t number);
void ledger_left(struct ledger *l);

/* Takes what became of a block that was put into the output; see
 * output_args::fate.  `arg` is the ledger. */
void ledger_settled(void *arg, const struct index_record *r, int err);

/* Computes the digest of all durable blocks. */
void ledger_digest(struct ledger *l, struct copy_digest *digest);

struct ledger_facts {
	uint64_t told, left, durable; /* numbers of blocks */
	uint64_t writing;	      /* blocks on their way to a disk */
	uint64_t there;		      /* blocks that were here before */
	/* Times that a block was on no disk after all. */
	uint64_t lost;
	uint64_t bytes, durable_bytes;
	uint64_t there_bytes, came_bytes;
	uint64_t packets; /* in durable blocks */
};

void ledger_facts(struct ledger *l, struct ledger_facts *facts);

#endif
