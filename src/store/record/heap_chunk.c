/* SPDX-License-Identifier: MIT */
/*
 * A header is read into a buffer that is large enough for most.  Headers with
 * hundreds of items say how much longer they are, and the buffer grows.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "store/disk/file.h"
#include "base/ease.h"
#include "store/record/heap_chunk.h"

enum { HEAD = 512, HEAD_MOST = 1 << 20 };

struct walk {
	const struct format_ops *format;
	int fd;
	uint64_t bytes;
	struct format_piece piece;
	uint8_t *head;
	uint32_t room;
};

static ssize_t
read_head(const struct walk *w, uint64_t at)
{
	uint64_t left = w->bytes - at;

	return read_whole(w->fd, w->head, left < w->room ? left : w->room, at);
}

static int
grow(struct walk *w, uint32_t room)
{
	uint8_t *grown = realloc(w->head, room);

	if (!grown)
		return -ENOMEM;
	w->head = grown;
	w->room = room;
	return 0;
}

/* Reads the packet at an offset.  0; -EBADMSG if there is none, or not a whole
 * one. */
static int
look(struct walk *w, uint64_t at)
{
	ssize_t got;
	int need;

	for (;;) {
		got = read_head(w, at);
		if (got <= 0)
			return got ? (int)got : -EBADMSG;
		need = w->format->piece(w->head, (uint32_t)got, 0, &w->piece);
		if (need <= 0)
			break;
		if ((uint32_t)need <= (uint32_t)got || need > HEAD_MOST ||
		    (uint32_t)got < w->room)
			return -EBADMSG;
		if (grow(w, (uint32_t)need))
			return -ENOMEM;
	}
	if (need)
		return need;
	if (w->piece.header + (uint64_t)w->piece.bytes > w->bytes - at)
		return -EBADMSG;
	return w->piece.header + w->piece.bytes ? 0 : -EBADMSG;
}

/* True if the packet is a whole heap, as far as it says itself: a heap without
 * a length may go on. */
static bool
is_whole(const struct format_piece *p)
{
	return !p->offset && (!p->length || p->bytes == p->length);
}

/* True if packet p continues the heap of the one before. */
static bool
goes_on(const struct format_piece *last, const struct format_piece *p)
{
	return p->heap == last->heap && p->offset > last->offset &&
	       (!last->length || !is_whole(last));
}

static void
begin_heap(struct heap_chunk *row, const struct format_piece *p)
{
	if (!row->heaps)
		row->first = p->heap;
	row->heaps++;
	row->incomplete += !is_whole(p);
}

static void
count(struct heap_chunk *row, const struct format_piece *last,
      const struct format_piece *p)
{
	if (!row->packets++ || !goes_on(last, p)) {
		begin_heap(row, p);
		return;
	}
	row->incomplete += is_whole(last);
	row->contradicted +=
	    p->length != last->length || p->offset < last->offset + last->bytes;
}

int
heap_chunk_read_some(const struct format_ops *format, int fd, uint64_t bytes,
		     uint64_t most, struct heap_chunk *row)
{
	struct walk w = { .format = format, .fd = fd, .bytes = bytes };
	struct format_piece last = { 0 };
	int err = grow(&w, HEAD);

	ease_file(fd);
	*row = (struct heap_chunk){ 0 };
	while (!err && row->bytes < bytes && row->packets < most) {
		err = look(&w, row->bytes);
		if (err)
			break;
		count(row, &last, &w.piece);
		last = w.piece;
		row->bytes += w.piece.header + (uint64_t)w.piece.bytes;
	}
	free(w.head);
	return err == -EBADMSG ? 0 : err;
}

int
heap_chunk_read(const struct format_ops *format, int fd, uint64_t bytes,
		struct heap_chunk *row)
{
	return heap_chunk_read_some(format, fd, bytes, UINT64_MAX, row);
}
