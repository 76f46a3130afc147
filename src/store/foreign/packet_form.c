/* SPDX-License-Identifier: MIT */
/*
 * A form is accepted if the header of every packet at the beginning of the data
 * stands where the form says, and the headers are not all identical: bytes that
 * repeat throughout are fill, or no data at all.
 *
 * VDIF headers say the length of their frame.  Mark5B frames begin with a sync
 * word and are stored whole, or as the two halves in which they were sent.
 */
#include "contract/bytes.h"
#include "store/record/fill.h"
#include "store/foreign/packet_form.h"

enum {
	HEADERS = 16, /* packets that are looked at */
	LOOK = 16,    /* bytes of each header that are compared */
	PAGE = 4096,
	STEP = 4, /* prefixes are multiples of this */
	VDIF_HEADER = 32,
	VDIF_UNIT = 8,
	VDIF_LONGEST = 1 << 24,
	MARK5B = 10016,
	HALF = MARK5B / 2,
};

#define MARK5B_SYNC 0xabaddeedu
#define LOW24	    0xffffffu

/* Data that is walked in steps of `packet` bytes. */
struct form_look {
	const uint8_t *data;
	size_t bytes;
	uint32_t packet;
};

/* Number of whole packets to look at, at most HEADERS.  A single packet counts
 * only if what follows it is no more than padding to a page; else 0. */
static unsigned
packets(const struct form_look *l)
{
	size_t n = l->bytes / l->packet;

	if (n == 1)
		return l->bytes - l->packet < PAGE;
	return n < HEADERS ? (unsigned)n : HEADERS;
}

static uint32_t
vdif_bytes(const uint8_t *header)
{
	return (read_le32(header + 8) & LOW24) * VDIF_UNIT;
}

static bool
is_vdif(const struct form_look *l, uint32_t prefix)
{
	const uint8_t *header = l->data + prefix, *first = header;
	unsigned n = packets(l);
	bool differ = n == 1;

	for (unsigned i = 0; i < n; i++, header += l->packet) {
		if (vdif_bytes(header) != l->packet - prefix)
			return false;
		differ |= memcmp(header, first, LOOK) != 0;
	}
	return n && differ;
}

static bool
find_vdif(struct packet_form *form, struct form_look *l, uint32_t packet)
{
	for (uint32_t k = 0; k <= PACKET_PREFIX; k += STEP) {
		uint32_t frame = vdif_bytes(l->data + k);

		l->packet = frame + k;
		if (frame <= VDIF_HEADER || frame > VDIF_LONGEST ||
		    (packet && l->packet != packet) || !is_vdif(l, k))
			continue;
		*form = (struct packet_form){ "vdif", l->packet, k };
		return true;
	}
	return false;
}

/* jive5ab writes this pattern where a frame did not come. */
static bool
is_filler(const uint8_t *at)
{
	for (unsigned i = 0; i < LOOK; i += 4) {
		if (read_le32(at + i) != FILL_PATTERN)
			return false;
	}
	return true;
}

/* True if Mark5B frames begin at `from` and then every `step` bytes, with
 * `part` bytes of the frame stored at each place.  Fill is passed over. */
static bool
is_mark5b(const struct form_look *l, uint32_t from, uint32_t step,
	  uint32_t part)
{
	unsigned n = 0;

	for (size_t at = from; at + part <= l->bytes && n < HEADERS;
	     at += step) {
		if (is_filler(l->data + at))
			continue;
		if (read_le32(l->data + at) != MARK5B_SYNC)
			return false;
		n++;
	}
	return n > 1 || (n == 1 && l->bytes < step + PAGE);
}

static bool
find_mark5b(struct packet_form *form, const struct form_look *l,
	    uint32_t packet)
{
	for (uint32_t k = 0; k <= PACKET_PREFIX; k += STEP) {
		uint32_t half = HALF + k, whole = MARK5B + k;

		*form = (struct packet_form){ "mark5b", whole, k };
		if ((!packet || packet == whole) &&
		    is_mark5b(l, k, whole, MARK5B))
			return true;
		form->packet = half;
		if ((!packet || packet == half) &&
		    (is_mark5b(l, k, 2 * half, HALF) ||
		     is_mark5b(l, k + half, 2 * half, HALF)))
			return true;
	}
	return false;
}

bool
packet_form_find(struct packet_form *form, const uint8_t *data, size_t bytes,
		 uint32_t packet)
{
	struct form_look l = { data, bytes, 0 };

	if (bytes < PACKET_PREFIX + VDIF_HEADER)
		return false;
	return find_vdif(form, &l, packet) || find_mark5b(form, &l, packet);
}
