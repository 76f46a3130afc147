/* SPDX-License-Identifier: MIT */
/*
 * jive5ab writes a frame of its own where a packet did not come.  Such a frame
 * can be told from data by its first bytes alone:
 *
 *   VDIF    00000080 00000000 <length / 8> 00000000 44332211 44332211 ...
 *   Mark5B  44332211 44332211 ...; if a frame came in two packets, one half of
 *           it may be so
 *
 * No file says how many there are, so the first 64 bytes of packets are read.
 * That costs a page per packet, and for a recording that is not in the page
 * cache it is as slow as reading all of it.  So the search ends after LOOK_NS,
 * and the part that was seen is taken as typical for the whole: stretches are
 * visited in an order that is spread over the whole recording however early the
 * search ends.  80,000 packets in the cache take 0.15 s.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "contract/bytes.h"
#include "store/record/fill.h"
#include "store/foreign/foreign_piece.h"
#include "store/record/geometry.h"
#include "store/disk/file.h"

#define LOOK_NS NS_SECOND

enum {
	HEAD = 64,	/* bytes of a packet that are looked at */
	STRETCH = 64,	/* packets in a row that are looked at */
	HALF = 5008,	/* half of a Mark5B frame, in bytes */
	VDIF_MARK = 16, /* bytes of a VDIF header before the pattern */
};

static bool
is_pattern(const uint8_t *at, size_t bytes)
{
	for (size_t i = 0; i + 4 <= bytes; i += 4) {
		if (read_le32(at + i) != FILL_PATTERN)
			return false;
	}
	return bytes;
}

static bool
is_vdif_filler(const struct foreign *f, const uint8_t *head, size_t bytes)
{
	return bytes > VDIF_MARK && read_le32(head) == UINT32_C(1) << 31 &&
	       !read_le32(head + 4) &&
	       read_le32(head + 8) == foreign_payload(f) / 8 &&
	       !read_le32(head + 12) &&
	       is_pattern(head + VDIF_MARK, bytes - VDIF_MARK);
}

/* True if the bytes at an offset are fill; `begins` if a packet begins
 * there. */
static bool
is_filler_at(const struct foreign *f, int fd, uint64_t at, bool begins)
{
	uint32_t packet = f->form.packet;
	size_t bytes = packet < HEAD ? packet : HEAD;
	uint8_t head[HEAD];

	if (file_read(fd, head, bytes, (off_t)at) != (ssize_t)bytes)
		return false;
	return is_pattern(head, bytes) ||
	       (begins && is_vdif_filler(f, head, bytes));
}

static bool
is_filler(const struct foreign *f, int fd, const struct foreign_piece *p,
	  uint64_t slot)
{
	uint64_t at = p->offset + slot * f->form.packet;

	return is_filler_at(f, fd, at, true) ||
	       (f->form.packet == 2 * HALF &&
		is_filler_at(f, fd, at + HALF, false));
}

/* State of the search. */
struct fill_search {
	struct foreign *f;
	int fd; /* descriptor of the file of `piece`; -1: no file is open */
	size_t piece;
	uint64_t looked, found;
};

/* The piece that has packet number n of the whole recording. */
static size_t
piece_of(const struct foreign *f, uint64_t n)
{
	size_t low = 0, high = f->pieces;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (f->piece[middle].before <= n)
			low = middle;
		else
			high = middle;
	}
	return low;
}

static void
look_at(struct fill_search *s, uint64_t n)
{
	struct foreign *f = s->f;
	size_t i = piece_of(f, n);
	struct foreign_piece *p = &f->piece[i];

	if (s->fd < 0 || i != s->piece) {
		if (s->fd >= 0)
			file_close(s->fd);
		s->fd = foreign_piece_open(f, p);
		s->piece = i;
	}
	s->looked++;
	if (s->fd < 0 || !is_filler(f, s->fd, p, n - p->before))
		return;
	s->found++;
	p->filled++;
	f->filler[n / 64] |= UINT64_C(1) << n % 64;
}

/* Asks the kernel to read a whole stretch at once. */
static void
stretch_fetch(const struct fill_search *s, uint64_t from)
{
	const struct foreign *f = s->f;
	const struct foreign_piece *p = &f->piece[s->piece];
	uint64_t slot = from - p->before;

	if (s->fd >= 0 && from >= p->before && slot < foreign_slots(f, p))
		file_advise(s->fd, (off_t)(p->offset + slot * f->form.packet),
			    (off_t)STRETCH * f->form.packet,
			    POSIX_FADV_WILLNEED);
}

/* Visits every stretch once, each far from the one before it, until the time is
 * over.  The step is the golden ratio of the number of stretches, made coprime
 * to it. */
static void
look_all(struct fill_search *s, uint64_t packets)
{
	uint64_t n = (packets + STRETCH - 1) / STRETCH, at = 0;
	uint64_t step = (uint64_t)((double)n * 0.618) + 1;
	int64_t until = clock_steady() + LOOK_NS;

	while (geometry_gcd(step, n) != 1)
		step++;
	for (uint64_t i = 0; i < n && clock_steady() < until; i++) {
		uint64_t from = at * STRETCH, end = from + STRETCH;

		for (uint64_t k = from; k < end && k < packets; k++) {
			look_at(s, k);
			if (k == from)
				stretch_fetch(s, k);
		}
		at = (at + step) % n;
	}
	if (s->fd >= 0)
		file_close(s->fd);
}

/* Estimates the fill of each piece where not all packets were looked at: the
 * same fraction in each. */
static void
guess(struct foreign *f, const struct fill_search *s)
{
	double part = s->looked ? (double)s->found / (double)s->looked : 0;
	uint64_t all = 0;

	free(f->filler);
	f->filler = NULL;
	for (size_t i = 0; i < f->pieces; i++) {
		struct foreign_piece *p = &f->piece[i];

		p->filled =
		    (uint64_t)(part * (double)foreign_slots(f, p) + 0.5);
		all += p->filled;
	}
	f->estimated = all > 0;
}

int
foreign_fill(struct foreign *f)
{
	struct fill_search s = { .f = f, .fd = -1 };
	uint64_t packets = 0;

	if (f->form.prefix || !f->format || !f->shape.header)
		return 0;
	for (size_t i = 0; i < f->pieces; i++) {
		f->piece[i].before = packets;
		packets += foreign_slots(f, &f->piece[i]);
	}
	f->filler = calloc(packets / 64 + 1, sizeof *f->filler);
	if (!f->filler)
		return -ENOMEM;
	look_all(&s, packets);
	if (s.looked < packets)
		guess(f, &s);
	return 0;
}

static bool
is_known(const struct foreign *f, const struct foreign_piece *p)
{
	return !p->filled || (f->filler && !p->lost);
}

bool
foreign_knows_holes(const struct foreign *f, uint64_t number)
{
	const struct foreign_piece *p = foreign_piece_find(f, number);

	return p && is_known(f, p);
}

bool
foreign_estimates(const struct foreign *f)
{
	return f->estimated;
}

int
foreign_holes(const struct foreign *f, uint64_t number,
	      void (*hole)(void *arg, uint64_t at, uint64_t count), void *arg)
{
	const struct foreign_piece *p = foreign_piece_find(f, number);
	uint64_t slots, count = 0;

	if (!p)
		return -ENOENT;
	if (p->lost || !is_known(f, p))
		return -ENODATA;
	if (!p->filled)
		return 0;
	slots = foreign_slots(f, p);
	for (uint64_t i = 0; i <= slots; i++) {
		uint64_t n = p->before + i;

		if (i < slots && f->filler[n / 64] >> n % 64 & 1) {
			count++;
			continue;
		}
		if (count)
			hole(arg, i - count, count);
		count = 0;
	}
	return 0;
}
