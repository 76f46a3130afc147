/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CONTRACT_FORMAT_H
#define SPATE_CONTRACT_FORMAT_H

#include <stdbool.h>
#include <stdint.h>

#include "contract/bytes.h"
#include "contract/plugin.h"

/*
 * A format knows the headers of one kind of packet: it reads from them where
 * a packet belongs, and writes them for the generator and for fill.
 *
 * A datagram is `prefix` bytes of network header, which are not stored, and
 * `payload` bytes, which are: one slot.  A frame may be cut in `parts`
 * datagrams; part 0 begins with `header` bytes of frame header.
 *
 * Formats are pure: no memory, no input or output, no state, no clock but
 * what the shape says; the same bytes give the same answer, on any thread.
 */

/* Where the sequence number of a packet is. */
enum sequence_kind {
	SEQUENCE_DEFAULT, /* the format chooses, in shape() */
	SEQUENCE_ARRIVAL, /* nowhere: packets count as they arrive */
	SEQUENCE_LE32,	  /* at `sequence_at` of the datagram */
	SEQUENCE_LE64,
	SEQUENCE_BE32,
	SEQUENCE_BE64,
	SEQUENCE_EDV2, /* VDIF words 6 and 7, a little-endian u64 */
	SEQUENCE_TIME, /* counted from second, frame and thread */
};

/* How heaps are stored. */
enum heap_store {
	HEAP_NONE, /* the format has no heaps */
	HEAP_ROW,  /* each as one packet with all its items, in a row */
	HEAP_CUBE, /* one item of each, in the order of time: a slot is the
		      item of one heap, `payload` bytes */
};

/* The same for all packets of a session; constant while it runs. */
struct format_shape {
	uint32_t prefix;  /* bytes */
	uint32_t payload; /* bytes */
	enum sequence_kind sequence;
	uint32_t sequence_at;	 /* byte in the datagram, prefix included */
	uint32_t sequence_bits;	 /* 32 or 64: where the counter wraps */
	uint32_t parts;		 /* packets per frame */
	uint32_t header;	 /* bytes of frame header in part 0 */
	uint32_t fps;		 /* frames per second per thread; 0: unknown */
	uint32_t threads_n;	 /* 0: unknown */
	const uint32_t *threads; /* in the order they are sent */
	uint64_t rate;		 /* bits of payload per second; 0: unknown */
	int64_t around;		 /* UTC second near the data: settles what a
				   header's short date leaves open */
	const void *options;	 /* the plugin's own */

	/* Formats whose packets are pieces of heaps; set by shape(). */
	enum heap_store store;
	uint32_t item;	    /* HEAP_CUBE: the item that is stored */
	uint32_t time_item; /* HEAP_CUBE: immediate item that counts time;
				 0: the heap's count does */
	uint64_t time_step; /* HEAP_CUBE: of that from heap to heap; 0: it
				 is learned */
	uint32_t time_swap; /* HEAP_CUBE: time_item is a number of so many
				 bytes that lie in the wrong order in its
				 value; 0: in the right one.  See
				 format_heap_time() */
};

/*
 * A heap format has piece() and its companions instead of parse(): a heap is
 * some bytes with items (8 bytes each: an id with a value, or with an offset
 * into those bytes), cut in pieces, one a datagram, each with a header of
 * varying length.  An item is handed about as the 8 bytes that the wire has.
 *
 * Heaps come from anywhere: of all that a piece says only the lengths are
 * sure (see piece()).  Its heap's length may be any number, items may point
 * anywhere, there may be more than 65535 of them in all, the same one again
 * and again, and none of it need agree with the heap's other pieces.
 */
struct format_piece {
	uint64_t heap;	  /* its count: which heap it is a piece of */
	uint64_t length;  /* of the whole heap; 0: the sender does not say,
			     or it is empty */
	uint64_t offset;  /* of this piece in the heap */
	uint32_t header;  /* bytes before it in the datagram */
	uint32_t bytes;	  /* of the piece; may be 0 */
	uint32_t items;	  /* in the header, of the heap (not of the packet) */
	uint16_t flavour; /* the format's own; one for all of a heap */
	uint16_t control; /* PIECE_ */
};

enum { PIECE_DATA, PIECE_START, PIECE_REISSUE, PIECE_STOP, PIECE_UPDATE };

/* As many items can wrap() put in one header. */
enum { FORMAT_ITEMS = 65531 };

/* One item of a heap. */
struct format_item {
	uint32_t id; /* UINT32_MAX: or larger */
	bool immediate;
	uint64_t value; /* immediate: the value; else its offset, which may
			    be beyond the heap */
	uint64_t bytes; /* not immediate: its length; 0 where it is empty,
			    beyond the heap, or the last one of a heap without
			    length.  value + bytes <= length where there is
			    one and bytes are not 0 */
};

enum {
	FORMAT_SEQUENCE = 1, /* `sequence` is known */
	FORMAT_READABLE = 2, /* the frame header made sense; without it
				   the fields below mean nothing */
	FORMAT_TIME = 4,     /* `second` and `frame` are known */
	FORMAT_VALID = 8,    /* the sender does not call the data invalid */
	FORMAT_PART = 16,    /* `part` was seen, not counted */
};

struct format_packet {
	uint32_t has;	   /* FORMAT_ bits */
	uint64_t sequence; /* counts packets */
	int64_t second;	   /* of the frame's first sample, UTC, 1970 */
	uint32_t frame;	   /* in that second, of its thread */
	uint32_t part;	   /* of its frame, from 0 */
	uint32_t thread;
	uint32_t station; /* as in the header */
	uint32_t bytes;	  /* of the frame, by its header */
};

struct format_ops {
	struct plugin head;
	const char *extension; /* of a file with such data: "vdif" */

	/*
	 * Completes a shape (sequence, bits, parts, header, fps where rate
	 * and threads give it) and refuses one that cannot be: -EINVAL, with
	 * a sentence in `why` that says what would do.  Mandatory.
	 */
	int (*shape)(struct format_shape *shape, char *why, uint32_t why_bytes);

	/*
	 * Reads a packet of exactly prefix and payload bytes.  It sets every
	 * field that it sets a bit for, and `has`.  `prefix` may be NULL, as
	 * of a packet that was stored: a counter in it is then not known.
	 * Mandatory, but for heap formats.
	 */
	void (*parse)(const struct format_shape *shape, const void *prefix,
		      const void *payload, struct format_packet *packet);

	/*
	 * Writes the frame header of an ideal stream into a payload, with
	 * time and number zero; stamp() makes it a certain packet's.  For
	 * part 0 only.  NULL where payloads have no header, or are heaps.
	 */
	void (*model)(const struct format_shape *shape, void *payload);

	/*
	 * Makes the header of another packet of the stream into this one's:
	 * the sequence with FORMAT_SEQUENCE, second and frame with
	 * FORMAT_TIME, the thread with that or FORMAT_READABLE, invalid
	 * without FORMAT_VALID; `part` says which part of its frame it is.
	 * The rest it leaves.  `prefix` may be NULL, as in fill.  Writes no
	 * byte of the data.  Mandatory, but for heap formats.
	 */
	void (*stamp)(const struct format_shape *shape,
		      const struct format_packet *packet, void *prefix,
		      void *payload);

	/* ---- heap formats: all of these or none ----------------------- */

	/*
	 * Reads the header of a datagram of `bytes`, whose first head_bytes
	 * are at `head` (any alignment).  0; n > 0: it takes the first n bytes
	 * to say (n <= bytes); -EBADMSG: it is none, or contradicts itself.
	 * On 0: offset + bytes <= length where there is one, header + bytes
	 * is the datagram.  `bytes` 0 is a packet in a file, where no
	 * datagram's length is known: the header alone says then.  (So an
	 * empty datagram, which is none, is not to be asked about.)
	 */
	int (*piece)(const void *head, uint32_t head_bytes, uint32_t bytes,
		     struct format_piece *piece);

	/* Copies the heap's items of a header that piece() accepted, in their
	 * order, at most `most`; returns how many.  What only pads the header
	 * is not among them. */
	uint32_t (*items)(const void *head, const struct format_piece *piece,
			  uint64_t *item, uint32_t most);

	/*
	 * Writes the header of a packet that holds bytes offset to offset +
	 * bytes of a heap, with these items, at most FORMAT_ITEMS; returns its
	 * length.  Of the piece it takes heap, length, offset, bytes and
	 * flavour; bytes may be more than fit in a datagram.
	 */
	uint32_t (*wrap)(const struct format_piece *piece, const uint64_t *item,
			 uint32_t items, void *head);
	/* The same without writing it. */
	uint32_t (*wrap_bytes)(const struct format_piece *piece,
			       uint32_t items);

	/* Item i of those of a heap; of the piece it takes length and
	 * flavour.  It looks at all of them to find the item's end. */
	void (*item)(const struct format_piece *piece, const uint64_t *item,
		     uint32_t items, uint32_t i, struct format_item *out);
};

/* A counter may stand in the prefix or in the payload behind it. */
static inline const uint8_t *
format_counter_at(const struct format_shape *s, const void *prefix,
		  const void *payload)
{
	if (s->sequence_at < s->prefix)
		return (const uint8_t *)prefix + s->sequence_at;
	return (const uint8_t *)payload + (s->sequence_at - s->prefix);
}

/* Reads a plain counter; false where there is none, or not here. */
static inline bool
format_counter_read(const struct format_shape *s, const void *prefix,
		    const void *payload, uint64_t *sequence)
{
	const uint8_t *at;

	if (!prefix && s->sequence_at < s->prefix)
		return false;
	at = format_counter_at(s, prefix, payload);
	switch (s->sequence) {
	case SEQUENCE_LE32: *sequence = read_le32(at); return true;
	case SEQUENCE_LE64: *sequence = read_le64(at); return true;
	case SEQUENCE_BE32: *sequence = read_be32(at); return true;
	case SEQUENCE_BE64: *sequence = read_be64(at); return true;
	default: return false;
	}
}

/* Writes it; a counter in a prefix that is not there is left out. */
static inline void
format_counter_write(const struct format_shape *s, uint64_t sequence,
		     void *prefix, void *payload)
{
	uint8_t *at;

	if (!prefix && s->sequence_at < s->prefix)
		return;
	at = (uint8_t *)format_counter_at(s, prefix, payload);
	switch (s->sequence) {
	case SEQUENCE_LE32: write_le32(at, (uint32_t)sequence); break;
	case SEQUENCE_LE64: write_le64(at, sequence); break;
	case SEQUENCE_BE32: write_be32(at, (uint32_t)sequence); break;
	case SEQUENCE_BE64: write_be64(at, sequence); break;
	default: break;
	}
}

/* What the value of a cube's time_item counts. */
static inline uint64_t
format_heap_time(const struct format_shape *s, uint64_t value)
{
	switch (s->time_swap) {
	case 2: return __builtin_bswap16((uint16_t)value);
	case 4: return __builtin_bswap32((uint32_t)value);
	default: return value;
	}
}

/* UTC nanoseconds of a packet with FORMAT_TIME; whole seconds without fps,
 * which the shape may get only after it was learned. */
static inline int64_t
format_time_ns(const struct format_shape *s, const struct format_packet *p)
{
	int64_t ns = p->second * 1000000000;

	if (s->fps)
		ns += (int64_t)p->frame * 1000000000 / s->fps;
	return ns;
}

#endif
