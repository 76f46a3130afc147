/* SPDX-License-Identifier: MIT */
/*
 * The form of packets is sought at the beginning of several blocks, because the
 * first block may begin with fill or be damaged.  The packet length that a file
 * gives is used if the bytes agree with it, or if nothing better is known.
 *
 * If no form is found, the data is treated as plain bytes: a length that
 * divides all chunks is taken for a packet, so that all of it is read.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/module.h"
#include "store/recording/foreign_priv.h"
#include "store/record/geometry.h"
#include "store/disk/file.h"

enum { PAGE = 4096, MEGA = 1 << 20 };

/* ---- form --------------------------------------------------------------- */

static bool
look(const struct recording *rec, struct foreign *f, size_t piece,
     uint32_t packet, uint8_t *data)
{
	const struct foreign_piece *p = &f->piece[piece];
	int fd = foreign_piece_open(rec, f, p);
	struct foreign_form form;
	ssize_t got;
	bool found;

	if (fd < 0)
		return false;
	got = read_whole(fd, data, p->stored < MEGA ? p->stored : MEGA,
			 p->offset);
	found = got > 0 && foreign_form_find(&form, data, (size_t)got, packet);
	close(fd);
	if (found)
		f->form = form;
	return found;
}

static bool
look_all(const struct recording *rec, struct foreign *f, uint32_t packet)
{
	enum { LOOKS = 8 };
	size_t step = (f->pieces + LOOKS - 1) / LOOKS;
	uint8_t *data = malloc(MEGA);
	bool found = false;

	for (size_t i = 0; data && i < f->pieces && !found; i += step)
		found = look(rec, f, i, packet, data);
	free(data);
	return found;
}

static void
take_bytes(struct foreign *f, uint32_t packet)
{
	uint64_t unit = 0;

	for (size_t i = 0; i < f->pieces && !packet; i++)
		unit = geometry_gcd(unit, f->piece[i].stored);
	while (unit > MEGA && unit % 2 == 0)
		unit /= 2;
	if (!packet)
		packet = unit && unit <= MEGA ? (uint32_t)unit : 1;
	f->form = (struct foreign_form){ "raw", packet, 0 };
}

static void
find_form(const struct recording *rec, struct foreign *f)
{
	uint32_t packet = f->cfg.packet ? f->cfg.packet : f->form.packet;

	if (look_all(rec, f, packet))
		return;
	if (!packet || !look_all(rec, f, 0))
		take_bytes(f, packet);
	else
		foreign_note(f,
			     "packets are said to be of %" PRIu32
			     " bytes, and are of %" PRIu32,
			     packet, f->form.packet);
}

/* ---- lengths ------------------------------------------------------------ */

/*
 * Number of packets in a chunk without its padding.  VLBI-streamer pads a chunk
 * to whole pages with what follows in its buffer: further packets, where those
 * are shorter than a page.  As many packets as fit in whole megabytes were
 * meant to be in a chunk, and the remaining ones in the last chunk.
 */
static uint64_t
unpadded(const struct foreign *f, const struct foreign_piece *p)
{
	uint64_t packet = f->form.packet, n = p->stored / packet;
	uint64_t full = f->full_bytes / packet, left;

	if (!f->cfg.there || packet >= PAGE)
		return n;
	if (p->file + 1 != f->cfg.files)
		return n < full ? n : full;
	if (f->cfg.packets < full * p->file)
		return n;
	left = f->cfg.packets - full * p->file;
	return left < n && n - left <= PAGE / packet + 1 ? left : n;
}

/* Bytes of packets that a full chunk was meant to have, from the longest
 * chunk. */
static uint64_t
full_chunk(const struct foreign *f)
{
	uint64_t packet = f->form.packet, most = 0, meant;

	for (size_t i = 0; i < f->pieces; i++) {
		if (f->piece[i].stored > most)
			most = f->piece[i].stored;
	}
	meant = (most + MEGA - 1) / MEGA * MEGA / packet * packet;
	if (f->cfg.there && (meant + PAGE - 1) / PAGE * PAGE == most)
		return meant;
	return most / packet * packet;
}

/* True if the chunk is padded to whole pages, as VLBI-streamer does; it mostly
 * stores packets with the header before them. */
static bool
is_padded(const struct foreign *f, const struct foreign_piece *p)
{
	return f->kind == FOREIGN_CHUNKS && p->stored % PAGE == 0 &&
	       (f->cfg.there || f->form.prefix);
}

/* Notes bytes behind the last whole packet, unless they are padding. */
static void
note_rest(struct foreign *f, const struct foreign_piece *p, uint64_t packets)
{
	uint64_t rest = p->stored - packets * f->form.packet;

	if (!rest || (is_padded(f, p) && rest < PAGE))
		return;
	foreign_note(f,
		     "block %" PRIu64 " has %" PRIu64 " bytes behind its last "
		     "whole packet, which are left out",
		     p->number, rest);
}

static void
measure(struct foreign *f)
{
	size_t kept = 0;

	if (!f->full_bytes)
		f->full_bytes = full_chunk(f);
	for (size_t i = 0; i < f->pieces; i++) {
		struct foreign_piece *p = &f->piece[i];
		uint64_t packets = unpadded(f, p);

		note_rest(f, p, packets);
		p->stored = packets * f->form.packet;
		p->bytes = packets * foreign_payload(f);
		if (packets)
			f->piece[kept++] = *p;
	}
	f->pieces = kept;
}

/* ---- chunks whose end was never written
 * ----------------------------------- */

/* True if a packet begins with zeros only. */
static bool
is_blank(int fd, const struct foreign *f, const struct foreign_piece *p,
	 uint64_t slot)
{
	enum { HEADER = 32 };
	static const uint8_t blank[FOREIGN_PREFIX + HEADER];
	uint8_t raw[sizeof blank];
	size_t bytes = f->form.prefix + HEADER;

	return read_whole(fd, raw, bytes, p->offset + slot * f->form.packet) ==
		   (ssize_t)bytes &&
	       !memcmp(raw, blank, bytes);
}

static void
cut_blank(const struct recording *rec, struct foreign *f,
	  struct foreign_piece *p)
{
	uint64_t low = 0, high = p->stored / f->form.packet;
	int fd = foreign_piece_open(rec, f, p);

	if (fd < 0)
		return;
	if (!is_blank(fd, f, p, high - 1))
		low = high;
	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		if (is_blank(fd, f, p, middle))
			high = middle;
		else
			low = middle + 1;
	}
	close(fd);
	if (p->stored == low * f->form.packet)
		return;
	foreign_note(f,
		     "block %" PRIu64 " ends in %" PRIu64 " packets that are "
		     "zeros, as a power failure leaves them",
		     p->number, p->stored / f->form.packet - low);
	p->stored = low * f->form.packet;
	p->bytes = low * foreign_payload(f);
}

/* Cuts zeros from the ends of the last chunks.  The page cache is written in
 * any order, so after a power failure a chunk may have its length but end in
 * zeros. */
static void
cut_blanks(const struct recording *rec, struct foreign *f)
{
	enum { LAST = 256 };
	size_t kept = f->pieces > LAST ? f->pieces - LAST : 0;

	if (f->kind != FOREIGN_CHUNKS || !f->shape.header)
		return;
	for (size_t i = kept; i < f->pieces; i++) {
		cut_blank(rec, f, &f->piece[i]);
		if (f->piece[i].stored)
			f->piece[kept++] = f->piece[i];
	}
	f->pieces = kept;
}

/* ---- shape -------------------------------------------------------------- */

/* True if the counters of the first packets count: at least half of their steps
 * must be positive and small. */
static bool
is_counting(struct glance *g)
{
	enum { PACKETS = 17, STEP_MOST = 64 };
	struct format_packet p;
	uint64_t last = 0;
	unsigned seen = 0, small = 0;

	for (uint64_t i = 0; i < PACKETS; i++) {
		if (!foreign_glance(g, 0, i, &p) || !(p.has & FORMAT_SEQUENCE))
			break;
		small +=
		    seen && p.sequence > last && p.sequence - last <= STEP_MOST;
		last = p.sequence;
		seen++;
	}
	return seen > 1 && 2 * small >= seen - 1;
}

static bool
try_shape(struct glance *g, enum sequence_kind sequence, uint32_t at)
{
	struct foreign *f = g->f;
	uint32_t prefix = f->form.prefix;
	char why[256];

	/* Halves of Mark5B frames were sent behind an 8-byte counter, even
	 * where the counter is not stored. */
	if (!prefix && foreign_payload(f) == 5008)
		prefix = 8;
	f->shape = (struct format_shape){
		.prefix = prefix,
		.payload = foreign_payload(f),
		.sequence = sequence,
		.sequence_at = at,
		.around = f->piece[0].changed_ns / 1000000000,
	};
	return !f->format->shape(&f->shape, why, sizeof why);
}

static bool
find_counter(struct glance *g)
{
	static const struct {
		enum sequence_kind kind;
		uint32_t at;
	} usual[] = {
		{ SEQUENCE_DEFAULT, 0 }, { SEQUENCE_LE64, 0 },
		{ SEQUENCE_LE32, 4 },	 { SEQUENCE_LE32, 0 },
		{ SEQUENCE_BE64, 0 },	 { SEQUENCE_BE32, 4 },
	};

	for (size_t i = 0; i < sizeof usual / sizeof *usual; i++) {
		if (try_shape(g, usual[i].kind, usual[i].at) && is_counting(g))
			return true;
	}
	return false;
}

/* Finds format and shape.  0; -ENOENT if the format's module is not installed
 * or accepts no shape: packets are then plain bytes. */
static int
find_shape(struct glance *g)
{
	struct foreign *f = g->f;
	struct fault fault;

	if (module_format(f->form.format, &f->format, &fault))
		return -ENOENT;
	f->counted = f->form.prefix && f->form.packet > f->form.prefix &&
		     find_counter(g);
	if (f->counted)
		return 0;
	if (try_shape(g, f->form.prefix ? SEQUENCE_ARRIVAL : SEQUENCE_DEFAULT,
		      0) ||
	    try_shape(g, SEQUENCE_LE32, 4))
		return 0;
	return -ENOENT;
}

static void
shape_bytes(struct foreign *f)
{
	f->format = NULL;
	f->form.format = "raw";
	f->shape = (struct format_shape){
		.prefix = f->form.prefix,
		.payload = foreign_payload(f),
		.sequence = SEQUENCE_ARRIVAL,
		.sequence_bits = 64,
		.parts = 1,
	};
}

int
foreign_learn(const struct recording *rec, struct foreign *f)
{
	struct glance g = { .rec = rec, .f = f, .fd = -1 };

	find_form(rec, f);
	measure(f);
	if (!f->pieces)
		return -EBADMSG;
	if (find_shape(&g))
		shape_bytes(f);
	f->parts = f->shape.parts;
	cut_blanks(rec, f);
	if (!f->pieces)
		return -EBADMSG;
	/* Without a .cfg, packets stored with their header show that it was
	 * VLBI-streamer. */
	if (f->kind == FOREIGN_CHUNKS && f->form.prefix)
		f->made_by = "VLBI-streamer";
	if (f->shape.header)
		foreign_rate(&g);
	foreign_glance_end(&g);
	return 0;
}
