/* SPDX-License-Identifier: MIT */
/*
 * spead: heaps of items, sent as several packets each. spead_packet.c reads and
 * writes the packets; this file decides how a stream of heaps is stored.
 *
 *   store = "heap"   whole heaps, one behind the other (HEAP_ROW)
 *   store = "cube"   one item of each heap, in order of time (HEAP_CUBE)
 *
 * A row measures its blocks in pages and needs no further option.  A cube has
 * slots as large as the item, so its options name that item and the item that
 * counts time (the heap's own count by default).
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "contract/defaults.h"
#include "spead_packet.h"

enum {
	ROW = 4096, /* bytes of memory: the unit of blocks of whole heaps */
	/* largest id that all flavours can have: 15 bits (64-48) */
	ITEM_MOST = 0x7fff,
};

struct spead_options {
	const char *store;
	uint32_t item;
	const char *time;
	uint64_t time_step;
};

#define OF(member) offsetof(struct spead_options, member)

static const struct option_key options[] = {
	{ "store", OPTION_CHOICE, OF(store), "heap", "heap|cube",
	  .help = "whole heaps in a row, or one item of each as a cube" },
	{ "item", OPTION_COUNT, OF(item), .max = ITEM_MOST,
	  .help = "of a cube: the id of the item that is stored, as 0x600A" },
	{ "time", OPTION_TEXT, OF(time), "count",
	  .help = "of a cube: what counts time, \"count\" of the heaps or an "
		  "immediate item, as \"0x1600\" or \"le32@0x6000\"" },
	{ "time_step", OPTION_BYTES, OF(time_step),
	  .help = "of a cube: by how much that grows from heap to heap; "
		  "none: learned" },
	{ .name = NULL },
};

/* Reads an item id, "0x600A" or "24586", from 1 to ITEM_MOST. */
static bool
id_read(const char *text, uint32_t *id)
{
	bool hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
	const char *digits = hex ? text + 2 : text;
	const char *good = hex ? "0123456789abcdefABCDEF" : "0123456789";
	unsigned long value = strtoul(digits, NULL, hex ? 16 : 10);

	*id = (uint32_t)value;
	return *digits && !digits[strspn(digits, good)] && value &&
	       value <= ITEM_MOST;
}

/*
 * Reads the option `time` into time_item and time_swap: "count", an id, or
 * le16@id and le32@id for a number that a little-endian sender did not swap to
 * network order.
 */
static bool
time_read(const char *text, struct format_shape *s)
{
	s->time_item = 0;
	s->time_swap = 0;
	if (strcmp(text, "count") == 0)
		return true;
	if (strncmp(text, "le16@", 5) == 0)
		s->time_swap = 2;
	else if (strncmp(text, "le32@", 5) == 0)
		s->time_swap = 4;
	return id_read(s->time_swap ? text + 5 : text, &s->time_item);
}

static int
row_settle(struct format_shape *s, const struct spead_options *o, char *why,
	   uint32_t why_bytes)
{
	bool timed = o && (o->time_step || strcmp(o->time, "count") != 0);

	if (o && (o->item || timed))
		return format_refuse(
		    why, why_bytes,
		    "%s says what a cube is made of, and whole heaps are "
		    "stored; it goes with store = \"cube\"",
		    o->item	   ? "item"
		    : o->time_step ? "time_step"
				   : "time");
	s->store = HEAP_ROW;
	s->payload = ROW;
	s->item = s->time_item = s->time_swap = 0;
	s->time_step = 0;
	return 0;
}

static int
cube_check(const struct format_shape *s, char *why, uint32_t why_bytes)
{
	if (!s->item)
		return format_refuse(
		    why, why_bytes,
		    "store = \"cube\" stores one item of each heap: say which, "
		    "as item = 0x600A");
	if (!s->payload)
		return format_refuse(
		    why, why_bytes,
		    "store = \"cube\" needs payload = the bytes of item 0x%X "
		    "in each heap, as payload = 4465152L",
		    s->item);
	if (s->item == s->time_item)
		return format_refuse(
		    why, why_bytes,
		    "item 0x%X cannot be both what is stored and what counts "
		    "time",
		    s->item);
	return 0;
}

static int
cube_settle(struct format_shape *s, const struct spead_options *o, char *why,
	    uint32_t why_bytes)
{
	s->store = HEAP_CUBE;
	if (o) {
		s->item = o->item;
		s->time_step = o->time_step;
	}
	if (o && !time_read(o->time, s))
		return format_refuse(
		    why, why_bytes,
		    "time = \"%s\" is neither \"count\" nor an immediate item, "
		    "as \"0x1600\", or \"le32@0x6000\" where a little-endian "
		    "sender did not swap its bytes",
		    o->time);
	return cube_check(s, why, why_bytes);
}

/*
 * Completes the shape.  Without options, as for a recording that is read back,
 * a cube's item and time fields stay as they are.
 */
static int
shape(struct format_shape *s, char *why, uint32_t why_bytes)
{
	const struct spead_options *o = s->options;
	bool cube = o ? strcmp(o->store, "cube") == 0 : s->store == HEAP_CUBE;

	if (s->prefix)
		return format_refuse(
		    why, why_bytes,
		    "prefix = %u: a SPEAD packet begins its datagram; leave "
		    "prefix out",
		    s->prefix);
	if (s->sequence != SEQUENCE_DEFAULT && s->sequence != SEQUENCE_ARRIVAL)
		return format_refuse(
		    why, why_bytes,
		    "SPEAD packets say themselves which heap they are of; "
		    "leave sequence out");
	s->sequence = SEQUENCE_ARRIVAL;
	s->sequence_at = 0;
	s->sequence_bits = 64;
	s->parts = 1;
	s->header = 0;
	return cube ? cube_settle(s, o, why, why_bytes)
		    : row_settle(s, o, why, why_bytes);
}

SPATE_PLUGIN const struct format_ops spate_format = {
	.head = { .abi = SPATE_ABI,
		  .bytes = sizeof(struct format_ops),
		  .name = "spead",
		  .help = "SPEAD heaps, 64-40, 64-48 and their kin",
		  .options = options,
		  .options_bytes = sizeof(struct spead_options) },
	.extension = "spead",
	.shape = shape,
	.piece = spead_piece,
	.items = spead_items,
	.wrap = spead_wrap,
	.wrap_bytes = spead_wrap_bytes,
	.item = spead_item,
};
