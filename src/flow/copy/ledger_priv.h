/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_COPY_LEDGER_PRIV_H
#define SPATE_FLOW_COPY_LEDGER_PRIV_H

#include <pthread.h>
#include <stdatomic.h>

#include "flow/copy/ledger.h"

/* Shared by ledger.c, which has the list, and ledger_piece.c, which takes
 * pieces. */
enum entry_is { IS_WANTED, IS_COMING, IS_WRITING, IS_DURABLE, IS_LEFT };
enum piece_is { PIECE_NONE, PIECE_COMES, PIECE_CAME };

struct ledger_entry {
	struct index_record record;
	uint64_t base;
	int64_t arrival_ns;
	uint32_t gap;
	enum entry_is is;
	bool leaves; /* the sender cannot read the block */
	uint32_t lines_bytes;
	char *lines;	 /* NULL: none, or the block is durable */
	struct block *b; /* memory of the block, in state COMING */
	uint8_t *piece;	 /* piece_is of each piece, in state COMING */
};

struct ledger {
	struct ledger_args a;
	atomic_uint holders;
	pthread_mutex_t lock;	    /* protects the fields below */
	struct ledger_entry *entry; /* ascending by number */
	size_t n, room;
	/* Ascending by number: blocks that were here before. */
	struct index_record *there;
	size_t theres, there_room;
	struct ledger_facts facts;
};

/* Returns the entry of a block; NULL: the block was not told.  Caller holds the
 * lock. */
struct ledger_entry *ledger_find(struct ledger *l, uint64_t number);

static inline uint32_t
ledger_pieces(const struct ledger_entry *e)
{
	return (uint32_t)((e->record.bytes + COPY_PIECE - 1) / COPY_PIECE);
}

/* Frees the memory of a block and of its pieces' states; the caller sets the
 * state. */
void ledger_unlend(struct ledger_entry *e);

#endif
