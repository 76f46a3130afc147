/* SPDX-License-Identifier: MIT */
/*
 * The form of packets is sought at the beginning of several blocks, because the
 * first block may begin with fill or be damaged.  The packet length that a file
 * gives is used if the bytes agree with it, or if nothing better is known.
 *
 * If no form is found, the data is treated as plain bytes: a length that
 * divides all chunks is taken for a packet, so that all of it is read.
 *
 * Sequences that are computed from times need the frames per second and the
 * threads.
 *
 * The threads are those of the first packets; more and more packets are looked
 * at, until each thread came four times on average.  The frames per second show
 * at the end of a second: that place is found by bisection, and the highest
 * frame number around it is the last one of its second.  Two such places are
 * looked at, because the last frame may be missing at one of them.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/module.h"
#include "contract/defaults.h"
#include "store/disk/file.h"
#include "store/foreign/foreign_piece.h"
#include "store/record/geometry.h"

enum { PAGE = 4096, MEGA = 1 << 20 };

void
packet_cursor_close(struct packet_cursor *g)
{
	if (g->fd >= 0)
		file_close(g->fd);
	g->fd = -1;
}

bool
packet_read(struct packet_cursor *g, size_t piece, uint64_t slot,
	    struct format_packet *p)
{
	enum { HEADER = 64 };
	uint8_t raw[PACKET_PREFIX + HEADER] = { 0 };
	const struct foreign *f = g->f;
	const struct foreign_piece *at = &f->piece[piece];
	uint32_t prefix = f->form.prefix, bytes = f->form.packet;

	if (!f->format || slot >= at->stored / bytes)
		return false;
	if (g->fd >= 0 && g->piece != piece)
		packet_cursor_close(g);
	if (g->fd < 0)
		g->fd = foreign_piece_open(f, at);
	g->piece = piece;
	if (bytes > sizeof raw)
		bytes = sizeof raw;
	if (g->fd < 0 ||
	    file_read(g->fd, raw, bytes,
		      (off_t)(at->offset + slot * f->form.packet)) != bytes)
		return false;
	f->format->parse(&f->shape, prefix ? raw : NULL, raw + prefix, p);
	return true;
}

/* ---- form -------------------------------------------------------------- */

static bool
look(struct foreign *f, size_t piece, uint32_t packet, uint8_t *data)
{
	const struct foreign_piece *p = &f->piece[piece];
	int fd = foreign_piece_open(f, p);
	struct packet_form form;
	ssize_t got;
	bool found;

	if (fd < 0)
		return false;
	got = read_whole(fd, data, p->stored < MEGA ? p->stored : MEGA,
			 p->offset);
	found = got > 0 && packet_form_find(&form, data, (size_t)got, packet);
	file_close(fd);
	if (found)
		f->form = form;
	return found;
}

static bool
look_all(struct foreign *f, uint32_t packet)
{
	enum { LOOKS = 8 };
	size_t step = (f->pieces + LOOKS - 1) / LOOKS;
	uint8_t *data = malloc(MEGA);
	bool found = false;

	for (size_t i = 0; data && i < f->pieces && !found; i += step) {
		found = look(f, i, packet, data);
		/* A single packet may look like a frame by chance. */
		if (found && f->pieces > 1 &&
		    f->form.packet > f->piece[i].stored / 2)
			found =
			    look(f, (i + 1) % f->pieces, f->form.packet, data);
	}
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
	f->form = (struct packet_form){ "raw", packet, 0 };
}

static void
find_form(struct foreign *f)
{
	uint32_t packet = f->cfg.packet ? f->cfg.packet : f->form.packet;

	if (look_all(f, packet))
		return;
	if (!packet || !look_all(f, 0))
		take_bytes(f, packet);
	else
		foreign_note(f,
			     "the files say that packets have %" PRIu32
			     " bytes, but they have %" PRIu32,
			     packet, f->form.packet);
}

/* ---- lengths ----------------------------------------------------------- */

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

/* ---- chunks whose end was never written -------------------------------- */

/* True if a packet begins with zeros only. */
static bool
is_blank(int fd, const struct foreign *f, const struct foreign_piece *p,
	 uint64_t slot)
{
	enum { HEADER = 32 };
	static const uint8_t blank[PACKET_PREFIX + HEADER];
	uint8_t raw[sizeof blank];
	size_t bytes = f->form.prefix + HEADER;

	return read_whole(fd, raw, bytes, p->offset + slot * f->form.packet) ==
		   (ssize_t)bytes &&
	       !memcmp(raw, blank, bytes);
}

static void
cut_blank(struct foreign *f, struct foreign_piece *p)
{
	uint64_t low = 0, high = p->stored / f->form.packet;
	int fd = foreign_piece_open(f, p);

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
	file_close(fd);
	if (p->stored == low * f->form.packet)
		return;
	foreign_note(f,
		     "block %" PRIu64 " ends in %" PRIu64
		     " packets of zeros, as a power failure leaves them, which "
		     "are left out",
		     p->number, p->stored / f->form.packet - low);
	p->stored = low * f->form.packet;
	p->bytes = low * foreign_payload(f);
}

/* Cuts zeros from the ends of the last chunks.  The page cache is written in
 * any order, so after a power failure a chunk may have its length but end in
 * zeros. */
static void
cut_blanks(struct foreign *f)
{
	enum { LAST = 256 };
	size_t kept = f->pieces > LAST ? f->pieces - LAST : 0;

	if (f->kind != FOREIGN_CHUNKS || !f->shape.header)
		return;
	for (size_t i = kept; i < f->pieces; i++) {
		cut_blank(f, &f->piece[i]);
		if (f->piece[i].stored)
			f->piece[kept++] = f->piece[i];
	}
	f->pieces = kept;
}

/* ---- shape ------------------------------------------------------------- */

/* True if the counters of the first packets count: at least half of their steps
 * must be positive and small. */
static bool
is_counting(struct packet_cursor *g)
{
	enum { PACKETS = 17, STEP_MOST = 64 };
	struct format_packet p;
	uint64_t last = 0;
	unsigned seen = 0, small = 0;

	for (uint64_t i = 0; i < PACKETS; i++) {
		if (!packet_read(g, 0, i, &p) || !(p.has & FORMAT_SEQUENCE))
			break;
		small +=
		    seen && p.sequence > last && p.sequence - last <= STEP_MOST;
		last = p.sequence;
		seen++;
	}
	return seen > 1 && 2 * small >= seen - 1;
}

static bool
try_shape(struct packet_cursor *g, enum sequence_kind sequence, uint32_t at)
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
find_counter(struct packet_cursor *g)
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
find_shape(struct packet_cursor *g)
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

/* ---- threads ----------------------------------------------------------- */

/* True if the packet begins a frame with a time, and is not fill. */
static bool
is_timed(const struct format_packet *p)
{
	const uint32_t all = FORMAT_TIME | FORMAT_VALID;

	return (p->has & all) == all;
}

/* The first such packet of a piece among the LOOKS from `slot` on. */
static bool
timed_near(struct packet_cursor *g, size_t piece, uint64_t slot,
	   struct format_packet *p)
{
	enum { LOOKS = 64 };

	for (unsigned i = 0; i < LOOKS; i++) {
		if (!packet_read(g, piece, slot + i, p))
			return false;
		if (is_timed(p))
			return true;
	}
	return false;
}

static void
add_thread(struct foreign *f, uint32_t thread)
{
	for (uint32_t i = 0; i < f->shape.threads_n; i++) {
		if (f->thread[i] == thread)
			return;
	}
	if (f->shape.threads_n < FOREIGN_THREADS)
		f->thread[f->shape.threads_n++] = thread;
}

static void
find_threads(struct packet_cursor *g)
{
	enum { FIRST = 32, MOST = 4 * FOREIGN_THREADS, TIMES = 4 };
	struct foreign *f = g->f;
	struct format_packet p;

	f->shape.threads = f->thread;
	for (uint64_t i = 0, n = FIRST; i < n && n <= MOST; i++) {
		if (!packet_read(g, 0, i, &p))
			break;
		if (is_timed(&p))
			add_thread(f, p.thread);
		if (i + 1 == n && TIMES * f->shape.threads_n > n)
			n *= 2;
	}
}

/* ---- frames per second ------------------------------------------------- */

static bool
is_after(struct packet_cursor *g, size_t piece, uint64_t slot, int64_t second)
{
	struct format_packet p;

	return timed_near(g, piece, slot, &p) && p.second > second;
}

/* The first piece, from index 1 on, that begins after a second; or the number
 * of pieces. */
static size_t
piece_after(struct packet_cursor *g, int64_t second)
{
	size_t low = 1, high = g->f->pieces;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (is_after(g, middle, 0, second))
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/* The first packet of a piece that is after a second. */
static uint64_t
slot_after(struct packet_cursor *g, size_t piece, int64_t second)
{
	uint64_t low = 0;
	uint64_t high = g->f->piece[piece].stored / g->f->form.packet;

	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		if (is_after(g, piece, middle, second))
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/* The highest frame number among the packets of a piece around a slot. */
static uint32_t
highest_near(struct packet_cursor *g, size_t piece, uint64_t slot)
{
	uint64_t around = 4ull * g->f->shape.threads_n * g->f->parts + 16;
	uint64_t from = slot > around ? slot - around : 0;
	struct format_packet p;
	uint32_t highest = 0;

	for (uint64_t i = from; i < slot + around; i++) {
		if (!packet_read(g, piece, i, &p))
			break;
		if (is_timed(&p) && p.frame > highest)
			highest = p.frame;
	}
	return highest;
}

/* The frames per second, from the highest frame number at the end of a second;
 * 0 if the recording ends within that second. */
static uint32_t
rate_at_end(struct packet_cursor *g, int64_t second)
{
	size_t piece = piece_after(g, second);
	uint64_t slot = slot_after(g, piece - 1, second), slots;
	uint32_t highest;

	slots = g->f->piece[piece - 1].stored / g->f->form.packet;
	if (slot == slots && piece == g->f->pieces)
		return 0;
	highest = highest_near(g, piece - 1, slot);
	if (slot == slots) {
		uint32_t next = highest_near(g, piece, 0);

		highest = next > highest ? next : highest;
	}
	return highest + 1;
}

/* Finds the threads and the frames per second, as far as the packets say. */
static void
find_rate(struct packet_cursor *g)
{
	struct foreign *f = g->f;
	struct format_packet p;
	uint32_t first, second;
	size_t piece = 0;

	while (piece < f->pieces && !timed_near(g, piece, 0, &p))
		piece++;
	if (piece == f->pieces)
		return;
	find_threads(g);
	if (!f->shape.threads_n)
		return;
	first = rate_at_end(g, p.second);
	second = first ? rate_at_end(g, p.second + 1) : 0;
	f->shape.fps = first > second ? first : second;
}

/* ---- sequences --------------------------------------------------------- */

static bool
thread_place(const struct foreign *f, uint32_t thread, uint32_t *place)
{
	for (*place = 0; *place < f->shape.threads_n; (*place)++) {
		if (f->thread[*place] == thread)
			return true;
	}
	return false;
}

bool
foreign_sequence(const struct foreign *f, const struct format_packet *p,
		 uint64_t slot, uint64_t *sequence)
{
	uint64_t frames;
	uint32_t place;

	if (f->counted) {
		*sequence = p->sequence - slot;
		return p->has & FORMAT_SEQUENCE;
	}
	if (!is_timed(p) || !f->shape.fps || p->frame >= f->shape.fps ||
	    !thread_place(f, p->thread, &place))
		return false;
	/* The same arithmetic as in the format plugins. */
	frames = (uint64_t)(p->second - FORMAT_Y2000) * f->shape.fps + p->frame;
	*sequence =
	    (frames * f->shape.threads_n + place) * f->parts + p->part - slot;
	return true;
}

/* ---- all --------------------------------------------------------------- */

int
foreign_learn(struct foreign *f)
{
	struct packet_cursor g = { .f = f, .fd = -1 };

	find_form(f);
	measure(f);
	if (!f->pieces)
		return -EBADMSG;
	if (find_shape(&g))
		shape_bytes(f);
	f->parts = f->shape.parts;
	cut_blanks(f);
	if (!f->pieces)
		return -EBADMSG;
	/* Without a .cfg, packets stored with their header show that it was
	 * VLBI-streamer. */
	if (f->kind == FOREIGN_CHUNKS && f->form.prefix)
		f->made_by = "VLBI-streamer";
	if (f->shape.header)
		find_rate(&g);
	packet_cursor_close(&g);
	return 0;
}
