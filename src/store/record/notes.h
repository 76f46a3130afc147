/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_RECORD_NOTES_H
#define SPATE_STORE_RECORD_NOTES_H

#include <stdbool.h>
#include <stdint.h>

#include "store/record/block.h"
#include "contract/format.h"

/*
 * Notes are what the receiver leaves for the writer at the end of a block's
 * memory: where the heaps in it lie, and which of their bytes came.
 *
 *   row    | room, heap | room, heap | ... ->   free   <- ... note, note | head
 *          0                       front       floor                    end
 *
 *   cube   | slot | slot | ... | slot | to a page | aux | note, note .. | head
 *
 * A row is heaps as packets, one behind the other; the room before each heap is
 * for its header.  Heaps are added at the front and notes at the floor, until
 * the two meet.  A cube is one item of each heap, in slots of equal size, with
 * one note (the slot's note) for each, and aux items for what the slots do
 * not store.
 *
 * block::notes is the number of bytes from the lowest note to the end.  A
 * writer seals such a block with notes_seal() where it would fill another one.
 * Notes stay unchanged while the block is held, so notes_holes() and
 * notes_events() can be called after the data was written.
 */
struct range {
	uint32_t from, to; /* bytes of a heap, `to` excluded */
};

enum {
	NOTES_RANGES = 1024, /* most ranges of a heap */
	NOTES_ITEMS = 8192,  /* most items of a heap */
	/* bytes kept free before the notes of a row, because the last page of
	 * data is written whole */
	NOTES_PAGE = 4096,
};

/* The last bytes of the block's memory. */
struct notes_head {
	/* row: first and last note, by offset in memory; 0: none */
	uint64_t first, last;
	/* missing packets of heaps of which nothing came */
	uint32_t skipped;
	uint64_t slot_notes;   /* cube: offset of the slot notes */
	uint32_t note_bytes;   /* cube: bytes of a note */
	uint64_t aux, aux_end; /* offsets where the aux items begin and end */
};

/* Note of one heap of a row.  Its ranges stand behind it.  Its first items_room
 * items are in the room just before its data, further ones in the list at
 * `more`. */
struct note {
	/* neighbours in the order of their heaps; 0: none */
	uint64_t next, prev;
	uint64_t at; /* offset in memory of byte 0 of the heap */
	/* the same once the block is sealed; valid for the first range only */
	uint64_t sealed;
	uint64_t heap, length;
	uint64_t more; /* the last struct note_items; 0: none */
	uint32_t room; /* bytes reserved for the header, before `at` */
	uint32_t items, items_room;
	uint32_t pieces;  /* packets that came; 0: the heap is to be ignored */
	uint32_t missing; /* packets that did not come, as far as can be told */
	uint32_t ranges, ranges_room;
	uint16_t flavour, control;
	struct range range[];
};

/* Items of a heap that did not fit into its room. */
struct note_items {
	/* the list before it; 0: the items before are in the room */
	uint64_t next;
	uint64_t n;
	uint64_t item[];
};

/* Note of one slot of a cube. */
struct slot_note {
	uint32_t missing; /* packets of its heap that did not come */
	/* how many stretches of the slot's bytes came; not used if the slot's
	 * bit of `present` is set: then all came */
	uint32_t ranges;
	struct range range[];
};

/* Header of a aux item of a cube: a descriptor, whose bytes follow, or a
 * control heap. */
struct aux_item {
	uint64_t heap;
	/* length of the descriptor's packet; 0: a control heap */
	uint32_t bytes;
	uint16_t flavour, control;
};

/* Bytes that blocks of a cube need beside their slots. */
uint32_t notes_cube_bytes(uint32_t slots, uint32_t slot_bytes);

/* Offset at which a block's memory ends. */
uint64_t notes_end(const struct block *b);

/* The head of a block's notes. */
static inline struct notes_head *
notes_head(const struct block *b)
{
	return (struct notes_head *)(b->data + notes_end(b)) - 1;
}

/* The note at an offset in the block's memory; NULL for 0. */
static inline struct note *
notes_at(const struct block *b, uint64_t at)
{
	return at ? (struct note *)(b->data + at) : NULL;
}

/* The note of a slot in a cube's block. */
static inline struct slot_note *
notes_slot(const struct block *b, uint32_t slot)
{
	const struct notes_head *h = notes_head(b);

	return (struct slot_note *)(b->data + h->slot_notes +
				    (uint64_t)slot * h->note_bytes);
}

/* Begins the notes of an open block; b->notes is not 0 from then on.  For a
 * row only the head is written; for a cube all of the notes, with every note
 * empty. */
void notes_begin(struct block *b, enum heap_store store);

/* Adds a aux item to a cube's block; false if there is no room. */
bool notes_aux(struct block *b, const struct aux_item *aux, const void *data);

/* Collects all items of a heap, in the order in which they came, into `item`
 * (room for NOTES_ITEMS). */
void notes_items(const struct block *b, const struct note *note,
		 uint64_t *item);

/*
 * Makes the data of a CLOSED block what is stored: a row becomes packets back
 * to back; in a cube all bytes that did not come become zero.  Sets `bytes` and
 * `missing`.  Called by the block's owner.
 */
void notes_seal(struct block *b, const struct format_ops *format);

/* Distance from the first heap in the block to the last: of a row by their
 * counts, of a cube by their slots. */
uint64_t notes_span(const struct block *b);

/* Calls back for each hole of a sealed block: missing bytes, as an offset in
 * the block and a length.  Only cubes have holes.  Adjacent holes are reported
 * as one. */
void notes_holes(const struct block *b,
		 void (*hole)(void *arg, uint64_t at, uint64_t bytes),
		 void *arg);

/* A control heap or a descriptor, as it gets a line in the metadata. */
struct notes_event {
	uint64_t heap;	  /* number of the heap in its stream */
	uint16_t control; /* PIECE_DATA: it is a descriptor */
	uint32_t id;	  /* id of the item that the descriptor describes */
	const uint8_t *descriptor;
	uint32_t bytes;
};

/* Calls back for the control heaps of a sealed block and the descriptors that
 * came whole; also for repeated ones. */
void notes_events(const struct block *b, const struct format_ops *format,
		  void (*event)(void *arg, const struct notes_event *e),
		  void *arg);

#endif
