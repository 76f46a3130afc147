/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CONTRACT_FORMAT_H
#define SPATE_CONTRACT_FORMAT_H

#include <stdbool.h>
#include <stdint.h>

#include "contract/bytes.h"
#include "contract/plugin.h"

/*
 * A format plugin knows the headers of one kind of packet: it reads from them
 * where a packet belongs, and writes them for the generator and for fill (the
 * frames that stand in for lost packets).
 *
 * A datagram is `prefix` bytes of network header, which are not stored, and
 * `payload` bytes, which are stored in one slot.  A frame may be cut into
 * `parts` datagrams; part 0 begins with `header` bytes of frame header.
 *
 * Formats are pure functions: no memory, no input or output, no state, no clock
 * other than the shape's; the same bytes give the same answer on any thread.
 */

/* Says where the sequence number of a packet is found; base/shape.c has the
 * names. */
enum sequence_kind {
	SEQUENCE_DEFAULT, /* shape() chooses another of these */
	SEQUENCE_ARRIVAL, /* nowhere: packets are numbered as they arrive */
	SEQUENCE_LE32,	  /* a counter at byte `sequence_at` of the datagram */
	SEQUENCE_LE64,
	SEQUENCE_BE32,
	SEQUENCE_BE64,
	SEQUENCE_EDV2, /* a little-endian u64 in words 6 and 7 of the VDIF
			* header */
	SEQUENCE_TIME, /* computed from second, frame and thread */
	SEQUENCE_KINDS
};

/*
 * The kinds that are counters: kind, name, bits, and the kind of the same
 * counter in the other byte order.  contract/bytes.h has read_NAME and
 * write_NAME.
 */
#define SEQUENCE_COUNTERS(X)                                                   \
	X(LE32, le32, 32, BE32)                                                \
	X(LE64, le64, 64, BE64)                                                \
	X(BE32, be32, 32, LE32)                                                \
	X(BE64, be64, 64, LE64)

/* Says how heaps are stored. */
enum heap_store {
	HEAP_NONE, /* the format has no heaps */
	HEAP_ROW,  /* each heap as one packet with all its items, one behind
		    * the other */
	HEAP_CUBE, /* one item of each heap, in time order: a slot holds the
		    * item of one heap, `payload` bytes */
};

/* Properties that all packets of a session share; constant while it runs. */
struct format_shape {
	uint32_t prefix;  /* bytes */
	uint32_t payload; /* bytes */
	enum sequence_kind sequence;
	uint32_t sequence_at;	 /* byte of the datagram, prefix included */
	uint32_t sequence_bits;	 /* 32 or 64: the counter wraps there */
	uint32_t parts;		 /* datagrams per frame */
	uint32_t header;	 /* bytes of frame header in part 0 */
	uint32_t fps;		 /* frames per second of one thread; 0:
				  * unknown */
	uint32_t threads_n;	 /* number of threads in the stream; 0:
				  * unknown */
	const uint32_t *threads; /* their numbers, in the order they are sent */
	uint64_t rate;		 /* bits of payload per second; 0: unknown */
	int64_t around;		 /* UTC second close to the data's time:
				  * resolves dates that a header abbreviates */
	const void *options;	 /* the plugin's own options, filled by its
				  * table */

	/*
	 * Members for heaps, which shape() sets if packets are pieces of heaps.
	 */
	enum heap_store store;
	uint32_t item;	    /* HEAP_CUBE: ID of the item that is stored */
	uint32_t time_item; /* HEAP_CUBE: ID of the immediate item that
			     * counts time; 0: the heap's number does */
	uint64_t time_step; /* HEAP_CUBE: how far the time grows from heap to
			     * heap; 0: learned from the data */
	uint32_t time_swap; /* HEAP_CUBE: bytes of the time item's number (2
			     * or 4) if they are in the wrong order within
			     * its value; 0: they are in the right order. See
			     * format_heap_time() */
};

/*
 * A heap format has piece() and the other heap callbacks instead of parse().  A
 * heap (SPEAD) is a run of bytes with items (8 bytes each: an ID with a value,
 * or with an offset into those bytes), cut into pieces, one per datagram, each
 * with a header of varying length.  An item is passed between functions as its
 * 8 bytes on the wire.
 *
 * Heaps come from untrusted senders: a piece guarantees its lengths only (see
 * piece()).  The heap length may be any number, items may point anywhere, there
 * may be more than 65535 of them in all, the same item may come repeatedly, and
 * nothing need agree with the other pieces of the heap.
 */
struct format_piece {
	uint64_t heap;	  /* number of the heap that the piece belongs to */
	uint64_t length;  /* bytes of the whole heap; 0: the sender does not
			   * say, or it is empty */
	uint64_t offset;  /* byte of the heap at which the piece begins */
	uint32_t header;  /* bytes of header before the piece in the datagram */
	uint32_t bytes;	  /* bytes of the piece; may be 0 */
	uint32_t items;	  /* heap items in the header, without those that
			   * describe only the packet */
	uint16_t flavour; /* private to the format; the same for all of a
			   * heap */
	uint16_t control; /* stream control, one of PIECE_ */
};

enum { PIECE_DATA, PIECE_START, PIECE_REISSUE, PIECE_STOP, PIECE_UPDATE };

/* The most items that wrap() can put in one header. */
enum { FORMAT_ITEMS = 65531 };

/* One item of a heap, decoded. */
struct format_item {
	uint32_t id; /* UINT32_MAX: that or larger */
	bool immediate;
	uint64_t value; /* value of an immediate item; else its offset in the
			 * heap, which may be beyond the end */
	uint64_t bytes; /* length of an item that is not immediate; 0 if it
			 * is empty, beyond the heap, or the last one of a
			 * heap without a length.  If bytes is not 0 and the
			 * heap has a length, value + bytes <= length */
};

enum {
	FORMAT_SEQUENCE = 1, /* `sequence` is valid */
	FORMAT_READABLE = 2, /* the frame header made sense; without this bit
			      * the fields below are undefined */
	FORMAT_TIME = 4,     /* `second` and `frame` are valid */
	FORMAT_VALID = 8,    /* the sender does not mark the data as invalid */
	FORMAT_PART = 16,    /* `part` was read from the packet, not counted */
};

struct format_packet {
	uint32_t has;	   /* FORMAT_ bits */
	uint64_t sequence; /* counts packets, not frames */
	int64_t second;	   /* seconds since 1970, UTC, of the frame's first
			    * sample */
	uint32_t frame;	   /* number of the frame in its second, counted per
			    * thread */
	uint32_t part;	   /* number of the datagram in its frame, from 0 */
	uint32_t thread;
	uint32_t station; /* station ID, as in the header */
	uint32_t bytes;	  /* bytes of the frame, according to its header */
};

/* Says which number on the wire stands for which level. */
enum sample_coding {
	SAMPLE_OFFSET_BINARY, /* 0 is the lowest level, all ones the highest */
	SAMPLE_MARK5B, /* 1 bit: 1 is negative; 2 bits: sign in the low bit, 1
			* is positive, magnitude in the high bit, which is 1
			* for the outer level above zero and for the inner one
			* below */
};

/*
 * Layout of the samples of a frame.  They lie behind its header without gaps,
 * the lowest bits of a byte first: all channels of one time, then all of the
 * next; of a complex sample the real part, then the imaginary one.
 */
struct format_samples {
	uint32_t header;   /* bytes of the frame before the samples */
	uint32_t bits;	   /* of a sample, or of either part of a complex one;
			    * 0: the header does not say */
	uint32_t channels; /* 0: the header does not say */
	bool complex;
	enum sample_coding coding;

	/*
	 * Facts in the header about the sampler.  `rate` is samples per second;
	 * 0: the header does not say.  For real samples some senders write half
	 * of it, the bandwidth.
	 *
	 * The channels are valid_bits equal parts, and bit i of `valid` is set
	 * unless part i is no data; valid_bits 0: all of them are data.
	 *
	 * has_pps: the sampler measured its own pulse per second against one
	 * from outside, which is pps_ns later.
	 */
	uint64_t rate;
	uint64_t valid;
	unsigned valid_bits; /* up to 64 */
	bool has_pps;
	double pps_ns;
};

struct format_ops {
	struct plugin head;
	const char *extension; /* extension of files with such data: "vdif" */

	/*
	 * Completes a shape: sequence, sequence_bits, parts, header, and fps if
	 * rate and threads determine it.  Returns 0, or -EINVAL for an
	 * impossible shape, with a sentence in `why` that says what would work.
	 * Mandatory.
	 */
	int (*shape)(struct format_shape *shape, char *why, uint32_t why_bytes);

	/*
	 * Reads one packet of exactly prefix and payload bytes.  Sets `has`,
	 * and every field whose bit is set in it.  `prefix` may be NULL for a
	 * packet read from disk: a counter in the prefix is then unknown.
	 * Mandatory, except for heap formats.
	 */
	void (*parse)(const struct format_shape *shape, const void *prefix,
		      const void *payload, struct format_packet *packet);

	/*
	 * Writes the frame header of an ideal stream into a payload, with time
	 * and number zero; stamp() turns it into the header of a certain
	 * packet.  Called for part 0 only.  NULL if payloads have no header, or
	 * are heaps.
	 */
	void (*model)(const struct format_shape *shape, void *payload);

	/*
	 * Turns the header of another packet of the stream into the header of
	 * `packet`: sets the sequence if FORMAT_SEQUENCE is set, second and
	 * frame if FORMAT_TIME is, the thread if either FORMAT_TIME or
	 * FORMAT_READABLE is, and marks the data invalid if FORMAT_VALID is
	 * not.  `part` says which part of the frame it is.  Other fields, and
	 * all bytes of data, stay as they are.  `prefix` may be NULL, as in
	 * fill.  Mandatory, except for heap formats.
	 */
	void (*stamp)(const struct format_shape *shape,
		      const struct format_packet *packet, void *prefix,
		      void *payload);

	/* ---- heap formats have all of these, others none ---------------- */

	/*
	 * Reads the header of a datagram of `bytes` bytes, the first head_bytes
	 * of which are at `head` (any alignment).  Returns 0; n > 0 if the
	 * first n bytes (n <= bytes) are needed to decide; -EBADMSG if it is no
	 * such header or contradicts itself.  After 0, offset + bytes <= length
	 * if there is a length, and header + bytes is the length of the
	 * datagram.  `bytes` 0 means a packet in a file, where no datagram
	 * length is known and the header alone decides; so never ask about an
	 * empty datagram.
	 */
	int (*piece)(const void *head, uint32_t head_bytes, uint32_t bytes,
		     struct format_piece *piece);

	/*
	 * Copies the heap items of a header that piece() accepted, in their
	 * order, `most` at most; returns how many.  Padding items are left out.
	 */
	uint32_t (*items)(const void *head, const struct format_piece *piece,
			  uint64_t *item, uint32_t most);

	/*
	 * Writes the header of a packet that holds bytes offset to offset +
	 * bytes of a heap, with these items, FORMAT_ITEMS at most; returns the
	 * header's length.  Reads heap, length, offset, bytes and flavour of
	 * the piece; bytes may be more than fit in a datagram.
	 */
	uint32_t (*wrap)(const struct format_piece *piece, const uint64_t *item,
			 uint32_t items, void *head);
	/* Returns the length that wrap() would write, and writes nothing. */
	uint32_t (*wrap_bytes)(const struct format_piece *piece,
			       uint32_t items);

	/*
	 * Decodes item i of a heap's items.  Reads length and flavour of the
	 * piece, and looks at all items to find where item i ends.
	 */
	void (*item)(const struct format_piece *piece, const uint64_t *item,
		     uint32_t items, uint32_t i, struct format_item *out);

	/* ---- ops that were added later: NULL in older plugins ------------ */

	/*
	 * Tells how the samples of a frame lie.  `payload` is that of part 0, of
	 * which parse() said FORMAT_READABLE.  NULL if the format knows of no
	 * samples.
	 */
	void (*samples)(const struct format_shape *shape, const void *payload,
			struct format_samples *samples);
};

/*
 * Returns the address of a plain counter, which stands in the prefix or in the
 * payload behind it.
 */
static inline const uint8_t *
format_counter_at(const struct format_shape *s, const void *prefix,
		  const void *payload)
{
	if (s->sequence_at < s->prefix)
		return (const uint8_t *)prefix + s->sequence_at;
	return (const uint8_t *)payload + (s->sequence_at - s->prefix);
}

/*
 * Reads a plain counter; false if the format has none, or if it stands in a
 * prefix that is NULL.
 */
static inline bool
format_counter_read(const struct format_shape *s, const void *prefix,
		    const void *payload, uint64_t *sequence)
{
	const uint8_t *at;

	if (!prefix && s->sequence_at < s->prefix)
		return false;
	at = format_counter_at(s, prefix, payload);
	switch (s->sequence) {
#define X(kind, name, bits, other)                                             \
	case SEQUENCE_##kind: *sequence = read_##name(at); return true;
		SEQUENCE_COUNTERS(X)
#undef X
	default: return false;
	}
}

/*
 * Writes a plain counter; does nothing if it stands in a prefix that is NULL.
 */
static inline void
format_counter_write(const struct format_shape *s, uint64_t sequence,
		     void *prefix, void *payload)
{
	uint8_t *at;

	if (!prefix && s->sequence_at < s->prefix)
		return;
	at = (uint8_t *)format_counter_at(s, prefix, payload);
	switch (s->sequence) {
#define X(kind, name, bits, other)                                             \
	case SEQUENCE_##kind: write_##name(at, (uint##bits##_t)sequence); break;
		SEQUENCE_COUNTERS(X)
#undef X
	default: break;
	}
}

/*
 * Returns the time count that the value of a cube's time item stands for, with
 * its bytes in the right order.
 */
static inline uint64_t
format_heap_time(const struct format_shape *s, uint64_t value)
{
	switch (s->time_swap) {
	case 2: return __builtin_bswap16((uint16_t)value);
	case 4: return __builtin_bswap32((uint32_t)value);
	default: return value;
	}
}

/*
 * Returns UTC nanoseconds of a packet with FORMAT_TIME; whole seconds if fps is
 * unknown, which the shape may get only after the first packets.
 */
static inline int64_t
format_time_ns(const struct format_shape *s, const struct format_packet *p)
{
	int64_t ns = p->second * NS_SECOND;

	if (s->fps)
		ns += (int64_t)p->frame * NS_SECOND / s->fps;
	return ns;
}

#endif
