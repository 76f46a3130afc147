/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_RECORD_NOTES_H
#define SPATE_STORE_RECORD_NOTES_H

#include <stdbool.h>
#include <stdint.h>

#include "contract/block.h"
#include "contract/format.h"

/*
 * Notes are what the receiver leaves for the writer at the end of a block's
 * memory: how the heaps in it lie, and what of them came.
 *
 *   row    | room, heap | room, heap | ... ->   free   <- ... note, note | head
 *          0                       front       floor                    end
 *
 *   cube   | slot | slot | ... | slot | to a page | side | card, card .. | head
 *
 * block::notes counts the bytes from the lowest note to the end.  A writer
 * seals such a block (notes_seal) where it would fill another.  Notes stay as
 * they are while the block is held, so that what is in them can be told
 * (notes_holes, notes_tell) after the data is written.
 */
struct range {
	uint32_t from, to; /* bytes of a heap */
};

enum {
	NOTES_RANGES = 1024, /* of one heap */
	NOTES_ITEMS = 8192,  /* of one heap */
	NOTES_PAGE = 4096,   /* kept free before the notes of a row: the last
				page of data is written as a whole */
};

/* The last bytes of the memory. */
struct notes_head {
	uint64_t first, last; /* notes of a row, by their offset in memory;
				 0: none */
	uint32_t skipped;     /* pieces of heaps of which nothing came */
	uint64_t cards;	      /* of a cube: where they begin, */
	uint32_t card_bytes;  /* and the bytes of each */
	uint64_t side, sides; /* where the side records begin, and end */
};

/* One heap of a row; its ranges stand behind it, its first items_room items
 * in its room, just before its data, the others where `more` says. */
struct note {
	uint64_t next, prev; /* in the order of their heaps; 0: none */
	uint64_t at;	     /* of byte 0 of the heap */
	uint64_t sealed;     /* the same, as far as its first range goes, once
				the block is sealed */
	uint64_t heap, length;
	uint64_t more; /* of the last struct note_items; 0: none */
	uint32_t room; /* bytes for the header, before `at` */
	uint32_t items, items_room;
	uint32_t pieces;  /* that came; 0: the heap is void */
	uint32_t missing; /* that did not, as far as can be told */
	uint32_t ranges, ranges_room;
	uint16_t flavour, control;
	struct range range[];
};

struct note_items {
	uint64_t next; /* those that came before; 0: in the room */
	uint64_t n;
	uint64_t item[];
};

/* One slot of a cube. */
struct card {
	uint32_t missing; /* pieces of its heap */
	uint32_t ranges;  /* bytes of the slot that came; where its bit of
			     `present` is set, all of them */
	struct range range[];
};

/* What is told beside the data: behind each lies its data. */
struct side {
	uint64_t heap;
	uint32_t bytes; /* a nested packet; 0: a control heap */
	uint16_t flavour, control;
};

/* Bytes that blocks of a cube need beside their slots. */
uint32_t notes_cube_bytes(uint32_t slots, uint32_t slot_bytes);

/* Where a block's memory ends. */
uint64_t notes_end(const struct block *b);

static inline struct notes_head *
notes_head(const struct block *b)
{
	return (struct notes_head *)(b->data + notes_end(b)) - 1;
}

static inline struct note *
notes_at(const struct block *b, uint64_t at)
{
	return at ? (struct note *)(b->data + at) : NULL;
}

static inline struct card *
notes_card(const struct block *b, uint32_t slot)
{
	const struct notes_head *h = notes_head(b);

	return (struct card *)(b->data + h->cards +
			       (uint64_t)slot * h->card_bytes);
}

/* Begins the notes of an open block; b->notes is then not 0.  Of a row they
 * are a head; of a cube all there is room for, and every card empty. */
void notes_begin(struct block *b, enum heap_store store);

/* Adds to the side records of a cube's block; false when they are full. */
bool notes_side(struct block *b, const struct side *side, const void *data);

/* All items of a heap, those that came first before the others; at most
 * NOTES_ITEMS. */
void notes_items(const struct block *b, const struct note *note,
		 uint64_t *item);

/*
 * Makes the data of a CLOSED block what is stored: a row becomes packets back
 * to back, in a cube all that did not come becomes zero.  Sets bytes and
 * missing.  Its owner.
 */
void notes_seal(struct block *b, const struct format_ops *format);

/* How far the last heap in it is from the first: of a row by their counts. */
uint64_t notes_span(const struct block *b);

/* Of a sealed block: what did not come, as bytes from the beginning of the
 * block.  Only cubes have holes; where they touch, they are told as one. */
void notes_holes(const struct block *b,
		 void (*hole)(void *arg, uint64_t at, uint64_t bytes),
		 void *arg);

/* Something of a heap that is worth a line. */
struct notes_event {
	uint64_t heap;	  /* its count */
	uint16_t control; /* PIECE_DATA: a descriptor */
	uint32_t id;	  /* of the item that it describes */
	const uint8_t *descriptor;
	uint32_t bytes;
};

/* Of a sealed block: its control heaps, and the descriptors that came whole;
 * repetitions too. */
void notes_tell(const struct block *b, const struct format_ops *format,
		void (*event)(void *arg, const struct notes_event *e),
		void *arg);

#endif
