/* SPDX-License-Identifier: MIT */
/*
 * One pass over all sources gives the block: each source has a weight
 * (parity_solve), and its bytes are added to the sum as they are read.  A source
 * turns out to be damaged only when all of it was read; then the sum is worth
 * nothing, and the next attempt counts that source as lost.
 */
#include "store/parity/heal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "store/disk/disk.h"
#include "store/disk/file.h"

enum { PIECE = 1 << 20 };

/* What is known in the course of the attempts. */
struct attempt {
	const struct parity_heal *h;
	bool bad[PARITY_MEMBERS]; /* members that cannot be used */
	bool bad_row[PARITY_ROWS];
	unsigned lost[PARITY_ROWS], row[PARITY_ROWS], n;
	uint8_t weight[PARITY_ROWS];
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

/* Adds weight * all bytes of a source to the sum.  0 or -errno. */
static int
add_source(struct attempt *a, const struct parity_source *s, uint8_t weight)
{
	uint32_t crc = 0;
	int err = 0, fd;

	if (s->dir < 0)
		return -ENOENT;
	if (s->bytes > a->bytes)
		return -EBADMSG;
	fd = disk_open_at(s->dir, s->file, O_RDONLY, DISK_NO_LINKS);
	if (fd < 0)
		return fd;
	for (uint64_t at = 0; at < s->bytes && !err; at += PIECE) {
		size_t part = s->bytes - at < PIECE ? s->bytes - at : PIECE;
		ssize_t got = read_whole(fd, a->piece, part, s->offset + at);

		if (got != (ssize_t)part) {
			err = got < 0 ? (int)got : -ENODATA;
		} else {
			crc = s->summed ? crc32c(crc, a->piece, part) : 0;
			parity_mix(a->sum + at, weight, a->piece, part);
		}
	}
	close(fd);
	return !err && s->summed && crc != s->crc ? -EBADMSG : err;
}

/* Chooses as many rows as members are lost, and their weights.  0 or
 * -ENODATA. */
static int
choose(struct attempt *a)
{
	const struct parity_heal *h = a->h;
	unsigned rows = 0;

	a->lost[0] = h->wanted;
	a->n = 1;
	for (unsigned i = 0; i < h->members; i++) {
		if (i == h->wanted || !a->bad[i])
			continue;
		if (a->n == PARITY_ROWS)
			return -ENODATA;
		a->lost[a->n++] = i;
	}
	for (unsigned i = 0; i < h->rows && rows < a->n; i++) {
		if (!a->bad_row[i])
			a->row[rows++] = i;
	}
	if (rows < a->n)
		return -ENODATA;
	parity_solve(a->row, a->lost, a->n, a->weight);
	return 0;
}

/* Adds all sources.  0; or -EAGAIN: one of them is lost, too, and is marked. */
static int
sum_up(struct attempt *a)
{
	const struct parity_heal *h = a->h;

	memset(a->sum, 0, a->bytes);
	for (unsigned i = 0; i < a->n; i++) {
		unsigned row = a->row[i];

		if (!add_source(a, &h->parity[row], a->weight[i]))
			continue;
		a->bad_row[row] = true;
		return -EAGAIN;
	}
	for (unsigned i = 0; i < h->members; i++) {
		uint8_t weight = parity_rest(a->row, a->weight, a->n, i);

		if (i == h->wanted || a->bad[i] ||
		    !add_source(a, &h->member[i], weight))
			continue;
		a->bad[i] = true;
		return -EAGAIN;
	}
	return 0;
}

int
parity_heal(const struct parity_heal *h, uint8_t **data)
{
	const struct parity_source *wanted = &h->member[h->wanted];
	struct attempt a = { .h = h };
	int err = 0;

	for (unsigned i = 0; i < h->rows; i++) {
		if (h->parity[i].bytes > a.bytes)
			a.bytes = h->parity[i].bytes;
		a.bad_row[i] = h->parity[i].bytes == 0;
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
