/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_COPY_LEDGER_PRIV_H
#define SPATE_FLOW_COPY_LEDGER_PRIV_H

#include <pthread.h>
#include <stdatomic.h>

#include "flow/copy/ledger.h"

/* What the halves of a ledger share: ledger.c is the list, ledger_piece.c the
 * way of a block. */
enum entry_is { IS_WANTED, IS_COMING, IS_WRITING, IS_DURABLE, IS_LEFT };
enum piece_is { PIECE_NONE, PIECE_COMES, PIECE_CAME };

struct ledger_entry {
	struct index_record record;
	uint64_t base;
	int64_t arrival_ns;
	uint32_t gap;
	enum entry_is is;
	bool leaves; /* the sender cannot read it */
	uint32_t lines_bytes;
	char *lines;	 /* NULL: none, or they are durable */
	struct block *b; /* COMING */
	uint8_t *piece;	 /* COMING: of each, piece_is */
};

struct ledger {
	struct ledger_args a;
	atomic_uint holders;
	pthread_mutex_t lock;	    /* over what is below */
	struct ledger_entry *entry; /* by number */
	size_t n, room;
	struct index_record *there; /* by number */
	size_t theres, there_room;
	struct ledger_facts facts;
};

/* NULL: it was not told.  Under the lock. */
struct ledger_entry *ledger_find(struct ledger *l, uint64_t number);

static inline uint32_t
ledger_pieces(const struct ledger_entry *e)
{
	return (uint32_t)((e->record.bytes + COPY_PIECE - 1) / COPY_PIECE);
}

/* Its memory goes home; it is wanted from the beginning. */
void ledger_unlend(struct ledger_entry *e);

#endif
