/* SPDX-License-Identifier: MIT */
/*
 * The parts that differ from packet to packet are few, and lie together:
 *
 *   head    header | descriptors, in first packets | mark, 8 bytes
 *   noise   ... the rest of the packet, out of half a MiB for all of them
 *
 * A train therefore costs a few words for each packet, and the kernel's copy.
 * The mark, the first 8 bytes of noise in each packet, makes the packet unique;
 * it is shorter if the packet ends earlier.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/gen/gen_heaps.h"
#include "cli/gen/gen_source.h"
#include "contract/bytes.h"

/*
 * Writes SPEAD packets without the format plugin on purpose: an error in one of
 * the two shows in the other.
 */
enum {
	/* bytes of a packet header without heap items */
	SPEAD_HEADER = 8 + 4 * 8,
	/* bytes: longer than any descriptor made here */
	SPEAD_DESCRIPTOR = 512,
	SPEAD_DESCRIBE = 5, /* item id of a descriptor */
	/* item id of stream control; start: 0, stop: 2 */
	SPEAD_CONTROL = 6,
};

/* ---- SPEAD on the wire --------------------------------------------- */

struct spead_packet {
	unsigned bits; /* bits of an address: 40 or 48 */
	uint64_t heap, length, offset, bytes;
};

/* Return an item as on the wire, but in the machine's byte order. */
static inline uint64_t
spead_value(unsigned bits, uint32_t id, uint64_t value)
{
	return UINT64_C(1) << 63 | (uint64_t)id << bits |
	       (value & ((UINT64_C(1) << bits) - 1));
}

static inline uint64_t
spead_address(unsigned bits, uint32_t id, uint64_t address)
{
	return (uint64_t)id << bits | address;
}

/* Writes again the fields of a header in which packets of a heap differ. */
static inline void
spead_header_move(uint8_t *header, const struct spead_packet *p)
{
	write_be64(header + 8, spead_value(p->bits, 1, p->heap));
	write_be64(header + 24, spead_value(p->bits, 3, p->offset));
	write_be64(header + 32, spead_value(p->bits, 4, p->bytes));
}

/*
 * A SPEAD descriptor has name, text, shape and type of an item.  Each
 * dimension of the shape is a byte (0: fixed) and an address; each field of the
 * type is a letter and a number of bits, in 9 bytes minus those of an address.
 * Items of bytes have the description of numpy, too, as spead2 does; their type
 * is empty.
 */
struct spead_descriptor {
	uint32_t id;
	const char *name, *text;
	uint64_t length; /* bytes of the item; 0: one number of `bits` */
};

enum { ID_NAME = 0x10, ID_TEXT, ID_SHAPE, ID_TYPE, ID_ID, ID_NUMPY };

/* Writes a header with n items; returns its length, SPEAD_HEADER + 8 n. */
static uint32_t
spead_header(uint8_t *to, const struct spead_packet *p, const uint64_t *item,
	     unsigned n)
{
	uint64_t widths = (uint64_t)(8 - p->bits / 8) << 8 | p->bits / 8;

	write_be64(to, UINT64_C(0x5304) << 48 | widths << 32 | (4 + n));
	write_be64(to + 16, spead_value(p->bits, 2, p->length));
	spead_header_move(to, p);
	for (unsigned i = 0; i < n; i++)
		write_be64(to + SPEAD_HEADER + 8ul * i, item[i]);
	return SPEAD_HEADER + 8 * n;
}

/* A descriptor that is being made. */
struct draft {
	unsigned bits;
	uint8_t data[SPEAD_DESCRIPTOR];
	uint32_t bytes;
	uint64_t item[8];
	unsigned items;
};

static void
add(struct draft *d, uint32_t id, const void *data, size_t bytes)
{
	d->item[d->items++] = spead_address(d->bits, id, d->bytes);
	memcpy(d->data + d->bytes, data, bytes);
	d->bytes += (uint32_t)bytes;
}

/*
 * Writes one byte and the last `width` bytes of a number; returns the length.
 */
static uint32_t
element(uint8_t *to, uint8_t first, uint64_t value, unsigned width)
{
	uint8_t all[8];

	write_be64(all, value);
	*to = first;
	memcpy(to + 1, all + 8 - width, width);
	return 1 + width;
}

static void
add_bytes(struct draft *d, uint64_t length)
{
	uint8_t shape[9];
	char numpy[96];
	int n;

	add(d, ID_TYPE, "", 0);
	add(d, ID_SHAPE, shape, element(shape, 0, length, d->bits / 8));
	n = snprintf(numpy, sizeof numpy,
		     "{'descr': '|u1', 'fortran_order': False, "
		     "'shape': (%" PRIu64 ",)}",
		     length);
	add(d, ID_NUMPY, numpy, (size_t)n);
}

static void
add_number(struct draft *d)
{
	uint8_t type[9];

	add(d, ID_TYPE, type, element(type, 'u', d->bits, 8 - d->bits / 8));
	add(d, ID_SHAPE, "", 0);
}

/* Writes a descriptor, which is a whole packet; returns its length. */
static uint32_t
spead_descriptor(uint8_t *to, unsigned bits, const struct spead_descriptor *o)
{
	struct draft d = { .bits = bits };
	struct spead_packet packet = { .bits = bits, .heap = 1 };
	uint32_t header;

	d.item[d.items++] = spead_value(bits, ID_ID, o->id);
	add(&d, ID_NAME, o->name, strlen(o->name));
	add(&d, ID_TEXT, o->text, strlen(o->text));
	if (o->length)
		add_bytes(&d, o->length);
	else
		add_number(&d);
	packet.length = packet.bytes = d.bytes;
	header = spead_header(to, &packet, d.item, d.items);
	memcpy(to + header, d.data, d.bytes);
	return header + d.bytes;
}

enum {
	READY = 64,
	MARK = 8,
	NOISE = 512 << 10,
	NOISE_STEP = 8192,
	LONGEST = 65536,
};

/* ---- the kinds of heaps ------------------------------------------------ */

static int
kind_cut(const struct gen_heaps *h, struct gen_heap *k)
{
	uint32_t header = SPEAD_HEADER + 8 * k->items;
	uint64_t rest;

	if (h->packet < header + MARK || h->packet > LONGEST)
		return -EMSGSIZE;
	k->first = h->packet - header;
	if (k->first > k->length)
		k->first = (uint32_t)k->length;
	rest = k->length - k->first;
	k->packets = 1 + (rest + h->packet - SPEAD_HEADER - 1) /
			     (h->packet - SPEAD_HEADER);
	return 0;
}

/*
 * Makes the control heap as spead2 does: one byte of padding, at which a NULL
 * item begins.
 */
static int
control_make(struct gen_heaps *h)
{
	struct gen_heap *k = &h->control;

	k->front_bytes = 1;
	k->length = 1;
	k->items = k->time = 2;
	k->item[1] = spead_address(h->bits, 0, 0);
	return kind_cut(h, k);
}

static void
describe(const struct gen_heaps *h, struct gen_heap *k,
	 const struct spead_descriptor *d)
{
	k->item[k->items++] =
	    spead_address(h->bits, SPEAD_DESCRIBE, k->front_bytes);
	k->front_bytes +=
	    spead_descriptor(k->front + k->front_bytes, h->bits, d);
}

static int
data_make(const struct gen_heaps *h, struct gen_heap *k, bool described)
{
	const struct spead_descriptor of_time = {
		.id = GEN_TIME_ITEM,
		.name = "timestamp",
		.text = "Counts what the stream's heaps are apart",
	};
	struct spead_descriptor of_data = {
		.id = GEN_DATA_ITEM,
		.name = "data",
		.text = "Noise, whose every packet is different",
		.length = h->bytes,
	};
	uint32_t before;

	if (described)
		describe(h, k, &of_time);
	k->time = k->items++;
	before = k->front_bytes;
	if (described)
		describe(h, k, &of_data);
	if (described && k->front_bytes % 2 == 0) {
		/*
		 * puts data at an odd address: receivers must not rely on an
		 * even one
		 */
		of_data.text = "Noise whose every packet is different";
		k->front_bytes = before;
		k->items--;
		describe(h, k, &of_data);
	}
	k->item[k->items++] =
	    spead_address(h->bits, GEN_DATA_ITEM, k->front_bytes);
	k->length = k->front_bytes + h->bytes;
	return kind_cut(h, k);
}

/* ---- packets and heaps ------------------------------------------------- */

static void
locate(const struct gen_heaps *h, unsigned port, uint64_t packet,
       struct gen_piece *p)
{
	uint64_t rest = packet - h->start;

	p->data = false;
	p->kind = &h->control;
	p->heap = p->packet = 0;
	if (h->start && packet == 0)
		return;
	p->data = true;
	p->kind = &h->described;
	p->heap = h->start;
	p->packet = rest;
	if (rest >= h->described.packets) {
		rest -= h->described.packets;
		p->kind = &h->plain;
		p->heap += 1 + rest / h->plain.packets;
		p->packet = rest % h->plain.packets;
	}
	if (h->stop && packet + 1 == h->total[port]) {
		p->data = false;
		p->kind = &h->control;
	}
}

void
gen_heaps_find(const struct gen_heaps *h, unsigned port, uint64_t packet,
	       struct gen_piece *p)
{
	uint32_t room = h->packet - SPEAD_HEADER;
	const struct gen_heap *k;
	uint64_t left;

	locate(h, port, packet, p);
	k = p->kind;
	p->header = SPEAD_HEADER + (p->packet ? 0 : 8 * k->items);
	p->offset = p->packet ? k->first + (p->packet - 1) * room : 0;
	left = k->length - p->offset;
	if (!p->packet)
		room = k->first;
	p->bytes = left < room ? (uint32_t)left : room;
}

static uint64_t
heap(const struct gen_source *s, unsigned port, uint64_t packet)
{
	struct gen_piece p;

	locate((const struct gen_heaps *)s, port, packet, &p);
	return p.heap;
}

uint64_t
gen_heaps_packets(const struct gen_heaps *h, uint64_t heaps)
{
	uint64_t ends = h->described.packets + h->start + h->stop;

	if (heaps == 0)
		return h->start + h->stop;
	if (heaps - 1 > (UINT64_MAX - ends) / h->plain.packets)
		return UINT64_MAX;
	return ends + (heaps - 1) * h->plain.packets;
}

void
gen_heaps_plan(struct gen_heaps *h, unsigned port, uint64_t packets)
{
	h->total[port] = packets;
}

/*
 * Ends a port's stream behind the heap that packet least - 1 belongs to, and
 * the stop heap.
 */
static uint64_t
end(struct gen_source *s, unsigned port, uint64_t least)
{
	struct gen_heaps *h = (struct gen_heaps *)s;
	uint64_t whole, last = least ? least - 1 : 0;

	if (least < h->total[port]) {
		whole = heap(s, port, last) + 1 - h->start;
		whole = gen_heaps_packets(h, whole);
		if (whole < h->total[port])
			h->total[port] = whole;
	}
	return h->total[port];
}

/* ---- packets ----------------------------------------------------------- */

static uint32_t
header_write(const struct gen_heaps *h, const struct gen_piece *p,
	     struct spead_packet *packet, uint8_t *to)
{
	uint64_t item[sizeof p->kind->item / sizeof *p->kind->item];
	uint64_t time = p->heap - h->start;

	packet->bits = h->bits;
	packet->heap = h->count + p->heap * h->count_step;
	packet->length = p->kind->length;
	if (p->packet)
		return spead_header(to, packet, NULL, 0);
	memcpy(item, p->kind->item, sizeof item);
	if (p->data)
		item[p->kind->time] = spead_value(
		    h->bits, GEN_TIME_ITEM, h->time + time * h->time_step);
	else
		item[0] = spead_value(h->bits, SPEAD_CONTROL,
				      p->heap || !h->start ? 2 : 0);
	return spead_header(to, packet, item, p->kind->items);
}

uint32_t
gen_heaps_header(const struct gen_heaps *h, const struct gen_piece *piece,
		 uint8_t *to)
{
	struct spead_packet packet = { .bytes = piece->kind->length };

	return header_write(h, piece, &packet, to);
}

static uint64_t
mark_of(const struct gen_heaps *h, unsigned port, uint64_t packet)
{
	return mix64(mix64(h->seed) ^ (uint64_t)port << 48 ^ packet);
}

/*
 * Copies the bytes of the heap before the noise that fall into this packet;
 * returns how many.
 */
static uint32_t
front_copy(const struct gen_piece *p, uint8_t *to)
{
	uint64_t front = p->kind->front_bytes;
	uint32_t bytes = p->bytes;

	if (p->offset >= front)
		return 0;
	if (front - p->offset < bytes)
		bytes = (uint32_t)(front - p->offset);
	memcpy(to, p->kind->front + p->offset, bytes);
	return bytes;
}

static unsigned
make(struct gen_source *s, unsigned port, uint64_t packet, struct iovec *piece)
{
	struct gen_heaps *h = (struct gen_heaps *)s;
	uint8_t *head = h->head + packet % READY * (GEN_HEAD + MARK);
	struct spead_packet header = { 0 };
	struct gen_piece p;
	uint32_t front, mark;
	uint8_t bytes[MARK];

	gen_heaps_find(h, port, packet, &p);
	header.offset = p.offset;
	header.bytes = p.bytes;
	header_write(h, &p, &header, head);
	front = front_copy(&p, head + p.header);
	mark = p.bytes - front < MARK ? p.bytes - front : MARK;
	write_le64(bytes, mark_of(h, port, packet));
	memcpy(head + p.header + front, bytes, mark);
	piece[0].iov_base = head;
	piece[0].iov_len = p.header + front + mark;
	piece[1].iov_base = h->noise + packet * NOISE_STEP % NOISE;
	piece[1].iov_len = p.bytes - front - mark;
	return piece[1].iov_len ? 2 : 1;
}

static const struct gen_source_ops ops = { make, heap, end };

/* ---- opening and closing ----------------------------------------------- */

static void
noise_make(struct gen_heaps *h)
{
	uint64_t word = mix64(h->seed);

	for (size_t at = 0; at < NOISE + LONGEST; at += 8) {
		word = mix64(word);
		write_le64(h->noise + at, word);
	}
}

/*
 * Returns the mean bytes of a datagram of plain heaps; control heaps and
 * descriptors matter little.
 */
static double
mean_bytes(const struct gen_heaps *h)
{
	const struct gen_heap *k = &h->plain;
	double headers =
	    (double)k->packets * SPEAD_HEADER + 8.0 * (double)k->items;

	return ((double)k->length + headers) / (double)k->packets;
}

int
gen_heaps_init(struct gen_heaps *h)
{
	int err = control_make(h);

	if (!err)
		err = data_make(h, &h->described, h->describe != DESCRIBE_NONE);
	if (!err)
		err = data_make(h, &h->plain, h->describe == DESCRIBE_ALL);
	if (err)
		return err;
	h->total = calloc(h->ports, sizeof *h->total);
	h->noise = malloc(NOISE + LONGEST);
	h->head = malloc((size_t)READY * (GEN_HEAD + MARK));
	if (!h->total || !h->noise || !h->head) {
		gen_heaps_finish(h);
		return -ENOMEM;
	}
	for (unsigned i = 0; i < h->ports; i++)
		h->total[i] = UINT64_MAX;
	noise_make(h);
	h->source = (struct gen_source){
		.ops = &ops,
		.most = h->packet,
		.mean = mean_bytes(h),
		.ready = READY,
	};
	return 0;
}

void
gen_heaps_finish(struct gen_heaps *h)
{
	free(h->head);
	free(h->noise);
	free(h->total);
	h->head = h->noise = NULL;
	h->total = NULL;
}
