/* SPDX-License-Identifier: MIT */
/*
 * Chunks are read as they are, and the metadata says which slots have a packet.
 * Where it does not, as in recordings of other programs, all are taken, and the
 * frames' own marks have to do.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "store/list/frames.h"
#include "store/recording/recording_priv.h"

enum {
	PIECE = 256 << 10,    /* least bytes of a piece */
	PIECE_ROUNDS = 8,     /* frames of each thread that are in it, but */
	PIECE_MOST = 8 << 20, /* bytes at most */
	PIECE_SLOTS = 4096,
};

/* Slots of one block; the first one begins a frame. */
struct frames_piece {
	const struct recording_block *b;
	uint64_t first;
	uint32_t slots;
};

int
frames_of(const struct recording *rec, struct frames_reader *r,
	  struct fault *fault)
{
	r->shape = &rec->shape;
	if (rec->shape.store == HEAP_NONE)
		return recording_format(rec, &r->format, fault);
	fault_set(fault, -ENOTSUP, "usage", "%s has no frames", rec->name);
	fault_why(fault, "it consists of heaps");
	return -ENOTSUP;
}

/* Returns how many slots of whole frames a piece has. */
static uint32_t
piece_slots(const struct format_shape *s)
{
	uint64_t frame = (uint64_t)s->payload * s->parts;
	uint64_t bytes =
	    PIECE_ROUNDS * (uint64_t)(s->threads_n ? s->threads_n : 1) * frame;
	uint64_t frames;

	if (bytes < PIECE)
		bytes = PIECE;
	if (bytes > PIECE_MOST)
		bytes = PIECE_MOST;
	frames = bytes / frame ? bytes / frame : 1;
	if (frames > PIECE_SLOTS / s->parts)
		frames = PIECE_SLOTS / s->parts;
	return (uint32_t)frames * s->parts;
}

static bool
is_of(const struct recording_block *b, unsigned sub)
{
	return b->record.kind == INDEX_BLOCK && b->record.sub == sub &&
	       b->disk >= 0;
}

static uint64_t
slots_all(const struct recording *rec, unsigned sub)
{
	uint64_t slots = 0;

	for (size_t i = 0; i < rec->blocks; i++)
		if (is_of(&rec->block[i], sub))
			slots +=
			    rec->block[i].record.bytes / rec->shape.payload;
	return slots;
}

/*
 * Finds the piece at a slot of the substream, at most as long as p->slots, in or
 * behind block *i, whose first slot is *start.  False: there is none.
 */
static bool
piece_find(const struct recording *rec, unsigned sub, uint64_t at, size_t *i,
	   uint64_t *start, struct frames_piece *p)
{
	const struct format_shape *s = &rec->shape;

	for (; *i < rec->blocks; ++*i) {
		const struct recording_block *b = &rec->block[*i];
		uint64_t slots = b->record.bytes / s->payload, rest;

		if (!is_of(b, sub))
			continue;
		if (at - *start >= slots) {
			*start += slots;
			continue;
		}
		p->b = b;
		p->first = at - *start;
		rest = (b->record.first + p->first) % s->parts;
		if (rest)
			p->first += s->parts - rest;
		if (p->first >= slots)
			p->slots = 0;
		else if (p->slots > slots - p->first)
			p->slots = (uint32_t)(slots - p->first);
		return true;
	}
	return false;
}

static bool
is_there(const uint64_t *present, uint32_t slot, uint32_t parts)
{
	for (uint32_t i = slot; i < slot + parts; i++)
		if (!(present[i / 64] >> i % 64 & 1))
			return false;
	return true;
}

static int
piece_read(struct recording *rec, const struct frames_reader *r,
	   const struct frames_piece *p, uint8_t *data, struct frames_counts *c)
{
	const struct format_shape *s = &rec->shape;
	size_t bytes = (size_t)p->slots * s->payload;
	uint64_t present[PIECE_SLOTS / 64];
	ssize_t got =
	    recording_chunk_read(rec, p->b, data, bytes, p->first * s->payload);
	uint32_t slots = got < 0 ? 0 : (uint32_t)((size_t)got / s->payload);
	int err = 0;

	c->unreadable += bytes - (size_t)slots * s->payload;
	memset(present, 0xff, sizeof present);
	if (recording_present(rec, p->b->record.number, p->first, slots,
			      present))
		memset(present, 0xff, sizeof present);
	for (uint32_t k = 0; k + s->parts <= slots && !err; k += s->parts) {
		if (is_there(present, k, s->parts)) {
			c->read++;
			err = r->frame(r->arg, data + (size_t)k * s->payload);
		} else {
			c->missing++;
		}
	}
	return err;
}

int
frames_read(struct recording *rec, const struct frames_reader *r,
	    struct frames_counts *counts)
{
	const struct format_shape *s = &rec->shape;
	uint64_t all = slots_all(rec, r->sub), want = r->most / s->payload;
	uint64_t at = 0, start = 0, step = 0;
	uint32_t slots = piece_slots(s);
	uint8_t *data;
	size_t i = 0;
	int err;

	*counts = (struct frames_counts){ .read = 0 };
	if (!slots)
		return 0; /* no format has frames of so many packets */
	data = malloc((size_t)slots * s->payload);
	err = data ? 0 : -ENOMEM;
	if (want < all)
		step = (uint64_t)((double)all * slots /
				  (double)(want > slots ? want : slots));
	while (!err && at < all) {
		struct frames_piece p = { .slots = slots };
		uint64_t taken;

		if (!piece_find(rec, r->sub, at, &i, &start, &p))
			break;
		if (p.slots)
			err = piece_read(rec, r, &p, data, counts);
		taken = start + p.first + p.slots - at;
		at += step > taken ? step : taken;
	}
	free(data);
	return err;
}
