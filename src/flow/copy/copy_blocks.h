/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_COPY_COPY_BLOCKS_H
#define SPATE_FLOW_COPY_COPY_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/record/block.h"
#include "wire/copy.h"
#include "store/record/index.h"

/*
 * The list of copy blocks is what the receiver of a copy knows of each block:
 * what the sender told about it, and where it is.
 *
 *               lend       last piece       sync
 *   WANTED ------------> COMING ----> WRITING ----> DURABLE
 *     ^                                  |             ^
 *     +---- no disk has it (settled) ----+             |
 *     +---- yields its memory (from COMING)            |
 *   LEFT: the sender cannot read it     there already -+
 *
 * Nothing that the sender tells is believed: numbers, lengths and checksums are
 * checked, and each piece is taken once.  This code touches no sockets and no
 * disks; any thread may call it.
 */
struct copy_blocks;

struct copy_blocks_args {
	unsigned subs;	     /* substreams of the recording */
	uint64_t block_most; /* most bytes of a block */
};

/* Makes the list, empty, with one reference.  0 or -ENOMEM. */
int copy_blocks_make(struct copy_blocks **blocks,
		     const struct copy_blocks_args *args);
void copy_blocks_hold(struct copy_blocks *l);
void copy_blocks_drop(struct copy_blocks *l);

/* Adds a block that is on the disks here, and was read and found good; in
 * ascending order of numbers, before the sender tells anything.  0 or
 * -ENOMEM. */
int copy_blocks_there(struct copy_blocks *l, const struct index_record *r);

/* Adds a block as the sender told it; the same block may be told again.  0;
 * -EBADMSG with a sentence that says what is wrong with it; or -ENOMEM. */
int copy_blocks_tell(struct copy_blocks *l, const struct copy_told *told,
		     const char **why);

/* Lists stretches of wanted pieces, at most `most`, from place *at on; moves
 * the place on and returns how many.  Start with *at 0; a return of 0 is the
 * end. */
unsigned copy_blocks_wants(struct copy_blocks *l, size_t *at,
			   struct copy_want *want, unsigned most);

/* A piece that is about to be received. */
struct copy_piece {
	uint64_t number;
	uint32_t piece, bytes;
	/* Set by copy_blocks_piece: memory for its bytes. */
	uint8_t *to;
};

/* Asks where a piece goes.  0, and then copy_blocks_landed() has to follow; or 0
 * with `to` NULL: the piece is to be dropped, as its block has yielded its
 * memory; -EAGAIN: its block has no memory yet (copy_blocks_lend); -EBADMSG with
 * a sentence: the piece is not wanted, or wrong. */
int copy_blocks_piece(struct copy_blocks *l, struct copy_piece *p,
		      const char **why);

/* Gives memory to a wanted block.  0; -EALREADY: it needs none any more; or
 * -ENOMEM; on failure the caller keeps `b`. */
int copy_blocks_lend(struct copy_blocks *l, uint64_t number, struct block *b);

/*
 * Ends a piece: it came with this checksum, or (crc NULL) did not.  *whole: the
 * block, if this was its last piece; CLOSED, owned by the caller, to be put
 * into the output.  -EBADMSG: the pieces do not make the block that was told;
 * -ENOMEM.  The block is wanted again then.
 */
int copy_blocks_landed(struct copy_blocks *l, const struct copy_piece *p,
		       const uint32_t *crc, struct block **whole);

/*
 * Takes the memory of the last block that is COMING behind this number, if
 * nothing has moved for a while: no piece comes, and no block is being written.
 * Then all memory belongs to blocks whose other pieces lie behind those of
 * earlier blocks, in connections that wait for memory; no disk will ever free
 * any.  If there is none, and nothing moves for longer, the last block before
 * this number yields: the sender could not read it to its end, and says so
 * behind the pieces that wait.  Pieces of the block that still come are dropped,
 * and it is listed as wanted the next time.  True if memory was freed.
 */
bool copy_blocks_yield(struct copy_blocks *l, uint64_t number);

/* Frees the memory of all blocks that are COMING; they are WANTED again. */
void copy_blocks_forget(struct copy_blocks *l);

/* Marks a block that the sender cannot read.  Pieces of it may still be coming;
 * copy_blocks_left() makes it LEFT when none is.  NULL, or what is wrong. */
const char *copy_blocks_leave(struct copy_blocks *l, uint64_t number);
void copy_blocks_left(struct copy_blocks *l);

/* Takes what became of a block that was put into the output; see
 * output_args::fate.  `arg` is the list. */
void copy_blocks_settled(void *arg, const struct index_record *r, int err);

/* Computes the digest of all durable blocks. */
void copy_blocks_digest(struct copy_blocks *l, struct copy_digest *digest);

struct copy_blocks_facts {
	uint64_t told, left, durable; /* numbers of blocks */
	uint64_t writing;	      /* blocks on their way to a disk */
	uint64_t there;		      /* blocks that were here before */
	/* Times that a block was on no disk after all. */
	uint64_t lost;
	uint64_t bytes, durable_bytes;
	uint64_t there_bytes, came_bytes;
	uint64_t packets; /* in durable blocks */
};

void copy_blocks_facts(struct copy_blocks *l, struct copy_blocks_facts *facts);

#endif
