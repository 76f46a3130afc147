/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_COPY_LEDGER_H
#define SPATE_FLOW_COPY_LEDGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "contract/block.h"
#include "wire/wire_copy.h"
#include "store/record/index.h"

/*
 * A ledger is what the receiver of a copy knows of each block: what the sender
 * told of it, and where it is.
 *
 *              ledger_piece     the last       output       its round
 *   WANTED ----------------> COMING -----> WRITING -----> DURABLE
 *     ^                                       |              ^
 *     +---- no disk has it (ledger_settled) --+              |
 *   LEFT: the sender cannot read it        there already ----+
 *
 * Nothing that is told is believed: numbers, lengths and checksums are looked
 * at, and each piece is taken once.  No sockets and no disks; any thread.
 */
struct ledger;

struct ledger_args {
	unsigned subs;	     /* substreams of the recording */
	uint64_t block_most; /* bytes of a block */
};

/* Held once.  0 or -ENOMEM. */
int ledger_make(struct ledger **ledger, const struct ledger_args *args);
void ledger_hold(struct ledger *l);
void ledger_drop(struct ledger *l);

/* A block that is on the disks here, and was read and found good; before
 * anything is told.  0 or -ENOMEM. */
int ledger_there(struct ledger *l, const struct index_record *r);

/* What the sender tells of a block; again, the same.  NULL, or a sentence that
 * says what is wrong with it. */
const char *ledger_tell(struct ledger *l, const struct copy_told *told);

/* What is wanted, from the place *at on, at most so many; returns how many,
 * and moves the place on.  Begin with *at 0; 0 is the end. */
unsigned ledger_wants(struct ledger *l, size_t *at, struct copy_want *want,
		      unsigned most);

/* A piece that is about to come. */
struct ledger_piece {
	uint64_t number;
	uint32_t piece, bytes;
	uint8_t *to; /* where it belongs */
};

/*
 * May it come?  0, and then ledger_landed() has to follow; -EAGAIN: its block
 * has no memory yet (ledger_lend); -EBADMSG and a sentence: a lie.
 */
int ledger_piece(struct ledger *l, struct ledger_piece *p, const char **why);

/* Memory for a block that is wanted; false: it has some by now. */
bool ledger_lend(struct ledger *l, uint64_t number, struct block *b);

/*
 * It came, with this checksum; or not.  The block, when that was its last
 * piece: CLOSED and the caller's, to be put into the output.  -EBADMSG: its
 * pieces do not make the block that was told; it is wanted again.
 */
int ledger_landed(struct ledger *l, const struct ledger_piece *p,
		  const uint32_t *crc, struct block **whole);

/* Blocks that have begun to come go home; their pieces are wanted again. */
void ledger_forget(struct ledger *l);

/* The sender cannot read it: what of it is on its way may still come, and
 * ledger_left() makes it LEFT when that is over.  NULL or what is wrong. */
const char *ledger_leave(struct ledger *l, uint64_t number);
void ledger_left(struct ledger *l);

/* What became of a block, as output_args::fate has it: `arg` is the
 * ledger. */
void ledger_settled(void *arg, const struct index_record *r, int err);

/* Of all that is durable. */
void ledger_digest(struct ledger *l, struct copy_digest *digest);

struct ledger_facts {
	uint64_t told, left, durable; /* blocks */
	uint64_t writing;	      /* on their way to a disk */
	uint64_t there;		      /* were here before */
	uint64_t lost;		      /* times that no disk took one */
	uint64_t bytes, durable_bytes;
	uint64_t there_bytes, came_bytes;
	uint64_t packets; /* of those that are durable */
};

void ledger_facts(struct ledger *l, struct ledger_facts *facts);

#endif
