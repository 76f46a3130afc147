/* SPDX-License-Identifier: MIT */
/*
 * Checks what was read, in the thread that read it.  The checksums of quanta
 * (parts of a chunk, in the .sums file) are used if the index has the same
 * checksum of the whole block, or none.  Without them only the checksum of the
 * whole block is left: the whole chunk is read once before any of it is given.
 * That is rare: the .sums file was lost.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "store/read/reader_priv.h"

/* Reads the .sums file if it has changed size: it grows while recording. */
static void
load(struct reader *r, struct reader_part *part)
{
	char file[LAYOUT_FILE];
	struct sums_list list;
	struct stat st;
	int fd;

	fd = disk_open_at(part->dir, layout_sums(file, r->name), O_RDONLY,
			  DISK_NO_LINKS);
	if (fd < 0)
		return;
	if (!fstat(fd, &st) && st.st_size != part->sums_bytes &&
	    !sums_read(fd, &list)) {
		sums_clear(&part->sums);
		part->sums = list;
		part->sums_bytes = st.st_size;
	}
	close(fd);
}

static void
copy(struct reader_chunk *c, const struct sums *s)
{
	uint32_t *sum = malloc(s->count * sizeof *sum + 1);

	if (!sum)
		return;
	for (uint32_t i = 0; i < s->count; i++)
		sum[i] = sums_at(s, i);
	c->sum = sum;
	c->quanta = s->count;
	c->quantum = s->quantum;
}

static bool
is_usable(const struct reader *r, const struct reader_chunk *c,
	  const struct sums *s)
{
	const struct index_record *k = &c->record;

	if (s->bytes != k->bytes || r->pool->piece_bytes % s->quantum)
		return false;
	return !(k->flags & INDEX_SUMMED) || s->crc == k->crc;
}

/* True if the checksum of the whole chunk is wrong.  A chunk that cannot be
 * read is not damaged; that error shows when the data is read. */
static bool
is_damaged(const struct reader_chunk *c)
{
	struct stride stride = { c->offset, c->prefix, c->payload };
	uint8_t *buffer = malloc(READER_REQUEST);
	uint32_t crc = 0;
	uint64_t at = 0;
	ssize_t got = 1;

	while (buffer && at < c->record.bytes) {
		uint64_t left = c->record.bytes - at;

		got = stride_read(c->fd, &stride, buffer,
				  left < READER_REQUEST ? left : READER_REQUEST,
				  at);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		crc = crc32c(crc, buffer, (uint64_t)got);
		at += (uint64_t)got;
	}
	free(buffer);
	return at == c->record.bytes && crc != c->record.crc;
}

void
reader_sums_find(struct reader *r, struct reader_chunk *c)
{
	struct reader_part *part = &r->part[c->disk];
	const struct sums *s;

	pthread_mutex_lock(&part->sums_lock);
	s = sums_find(&part->sums, c->record.number);
	if (!s) {
		load(r, part);
		s = sums_find(&part->sums, c->record.number);
	}
	if (s && is_usable(r, c, s))
		copy(c, s);
	pthread_mutex_unlock(&part->sums_lock);
	if (!c->sum && c->record.flags & INDEX_SUMMED)
		c->damaged = is_damaged(c);
}

/*
 * ---- quanta ----------------------------------------------------------------
 */

/* True if all these bytes of the piece were read. */
static bool
is_whole(const struct reader_piece *p, uint64_t at, uint64_t bytes)
{
	uint64_t end;

	return !reader_piece_stretch(p, at, &end) && end >= at + bytes;
}

void
reader_sums_check(struct reader_piece *p)
{
	const struct reader_chunk *c = p->chunk;
	struct reader_pool *pool = p->lane->pool;
	uint64_t at;

	if (!c->sum)
		return;
	at = reader_up(p->at, c->quantum);
	for (; at < p->at + p->bytes; at += c->quantum) {
		uint64_t left = c->record.bytes - at;
		uint64_t bytes = left < c->quantum ? left : c->quantum;

		if (at + bytes > p->at + p->bytes || !is_whole(p, at, bytes) ||
		    crc32c(0, p->data + (at - p->at), bytes) ==
			c->sum[at / c->quantum])
			continue;
		pthread_mutex_lock(&pool->lock);
		reader_piece_bad(p, at, bytes, -EBADMSG);
		pthread_mutex_unlock(&pool->lock);
	}
}
