/* SPDX-License-Identifier: MIT */
/*
 * All sources are read piece by piece, side by side, and the kernel is told of the
 * next piece of each, so that all disks are busy.  Each has a weight
 * (parity_solve), with which its bytes are added to the sum.  A source turns out
 * to be damaged only when all of it was read; then the sum is worth nothing, and
 * the next attempt counts that source as lost.
 */
#include "store/parity/heal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "store/parity/parity.h"
#include "store/disk/disk.h"
#include "store/disk/file.h"

enum { PIECE = 1 << 20, AHEAD = 4 * PIECE, STEP = 128 << 10 };

/* A source in an attempt. */
struct heal_source {
	const struct parity_source *is;
	bool bad; /* it cannot be used, in this attempt and all others */
	uint8_t weight;
	int fd;
	uint32_t crc; /* of what was read so far */
};

/* What is known in the course of the attempts. */
struct attempt {
	const struct parity_heal *h;
	struct heal_source member[PARITY_MEMBERS], parity[PARITY_ROWS];
	unsigned lost[PARITY_ROWS], row[PARITY_ROWS], n;
	uint8_t *sum, *piece;
	uint64_t bytes; /* of the sum */
};

struct parity_heal *
parity_heal_make(unsigned members)
{
	struct parity_heal *h;

	h = calloc(1, sizeof *h + members * sizeof *h->member);
	if (h)
		h->members = members;
	return h;
}

/* Chooses as many rows as members are lost, and the weights of all sources.  0 or
 * -ENODATA. */
static int
choose(struct attempt *a)
{
	const struct parity_heal *h = a->h;
	uint8_t weight[PARITY_ROWS];
	unsigned rows = 0;

	a->lost[0] = h->wanted;
	a->n = 1;
	for (unsigned i = 0; i < h->members; i++) {
		if (i == h->wanted || !a->member[i].bad)
			continue;
		if (a->n == PARITY_ROWS)
			return -ENODATA;
		a->lost[a->n++] = i;
	}
	for (unsigned i = 0; i < h->rows && rows < a->n; i++) {
		if (!a->parity[i].bad)
			a->row[rows++] = i;
	}
	if (rows < a->n)
		return -ENODATA;
	parity_solve(a->row, a->lost, a->n, weight);
	for (unsigned i = 0; i < h->rows; i++)
		a->parity[i].weight = 0;
	for (unsigned i = 0; i < a->n; i++)
		a->parity[a->row[i]].weight = weight[i];
	for (unsigned i = 0; i < h->members; i++)
		a->member[i].weight =
		    i == h->wanted || a->member[i].bad
			? 0
			: parity_rest(a->row, weight, a->n, i);
	return 0;
}

/* Asks the kernel to read on.  It reads no more for a call than `read_ahead_kb` of
 * the device, mostly 128 KiB. */
static void
advise(const struct heal_source *s, uint64_t at, uint64_t bytes)
{
	uint64_t end = at + bytes < s->is->bytes ? at + bytes : s->is->bytes;

	for (; at < end; at += STEP)
		posix_fadvise(s->fd, (off_t)(s->is->offset + at), STEP,
			      POSIX_FADV_WILLNEED);
}

/* Opens a source.  Without a weight it is not needed. */
static int
part_open(const struct attempt *a, struct heal_source *s)
{
	s->fd = -1;
	s->crc = 0;
	if (!s->weight)
		return 0;
	if (s->is->dir < 0)
		return -ENOENT;
	if (s->is->bytes > a->bytes)
		return -EBADMSG;
	s->fd = disk_open_at(s->is->dir, s->is->file, O_RDONLY, DISK_NO_LINKS);
	if (s->fd < 0)
		return s->fd;
	for (uint64_t at = 0; at < AHEAD; at += PIECE)
		advise(s, at, PIECE);
	return 0;
}

/* Adds a piece of a source, if it is that long, and asks for the next. */
static int
part_add(const struct attempt *a, struct heal_source *s, uint64_t at)
{
	uint64_t left = at < s->is->bytes ? s->is->bytes - at : 0;
	size_t part = left < PIECE ? (size_t)left : PIECE;
	ssize_t got;

	if (s->fd < 0 || !part)
		return 0;
	advise(s, at + AHEAD, PIECE);
	got = read_whole(s->fd, a->piece, part, s->is->offset + at);
	if (got != (ssize_t)part)
		return got < 0 ? (int)got : -ENODATA;
	if (s->is->summed)
		s->crc = crc32c(s->crc, a->piece, part);
	parity_mix(a->sum + at, s->weight, a->piece, part);
	return 0;
}

/* Closes a source; true if its checksum is right. */
static bool
part_close(struct heal_source *s)
{
	if (s->fd < 0)
		return true;
	posix_fadvise(s->fd, (off_t)s->is->offset, (off_t)s->is->bytes,
		      POSIX_FADV_DONTNEED);
	close(s->fd);
	s->fd = -1;
	return !s->is->summed || s->crc == s->is->crc;
}

/* The source of this number: members first, then parity. */
static struct heal_source *
part_at(struct attempt *a, unsigned i)
{
	return i < a->h->members ? &a->member[i]
				 : &a->parity[i - a->h->members];
}

/* Adds all sources.  0; or -EAGAIN: one of them is lost, too, and is marked. */
static int
sum_up(struct attempt *a)
{
	unsigned n = a->h->members + a->h->rows;
	int err = 0;

	memset(a->sum, 0, a->bytes);
	for (unsigned i = 0; i < n; i++)
		part_at(a, i)->fd = -1;
	for (unsigned i = 0; i < n; i++) {
		part_at(a, i)->bad |= part_open(a, part_at(a, i)) != 0;
		if (part_at(a, i)->bad && part_at(a, i)->weight)
			err = -EAGAIN;
	}
	for (uint64_t at = 0; at < a->bytes && !err; at += PIECE) {
		for (unsigned i = 0; i < n && !err; i++) {
			if (!part_add(a, part_at(a, i), at))
				continue;
			part_at(a, i)->bad = true;
			err = -EAGAIN;
		}
		if (a->h->alive)
			a->h->alive(a->h->arg);
	}
	for (unsigned i = 0; i < n; i++) {
		if (part_close(part_at(a, i)) || err)
			continue;
		part_at(a, i)->bad = true;
		err = -EAGAIN;
	}
	return err;
}

int
parity_heal(const struct parity_heal *h, uint8_t **data)
{
	const struct parity_source *wanted = &h->member[h->wanted];
	struct attempt a = { .h = h };
	int err = 0;

	for (unsigned i = 0; i < h->members; i++)
		a.member[i].is = &h->member[i];
	for (unsigned i = 0; i < h->rows; i++) {
		uint64_t bytes = h->parity[i].bytes;

		a.parity[i].is = &h->parity[i];
		a.parity[i].bad = !bytes || bytes > PARITY_BYTES;
		if (!a.parity[i].bad && bytes > a.bytes)
			a.bytes = bytes;
	}
	if (wanted->bytes > a.bytes)
		return -ENODATA;
	a.sum = malloc(a.bytes + 1);
	a.piece = malloc(PIECE);
	if (!a.sum || !a.piece)
		err = -ENOMEM;
	/* Each attempt that fails marks one more source. */
	while (!err && !(err = choose(&a))) {
		err = sum_up(&a);
		if (err != -EAGAIN)
			break;
		err = 0;
	}
	if (!err && wanted->summed &&
	    crc32c(0, a.sum, wanted->bytes) != wanted->crc)
		err = -EBADMSG;
	free(a.piece);
	if (err) {
		free(a.sum);
		return err;
	}
	*data = a.sum;
	return 0;
}
