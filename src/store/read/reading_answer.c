/* SPDX-License-Identifier: MIT */
/*
 * The answer to a request: bytes in the reader's buffers, and bytes in memory
 * of its own.  The latter has room for the whole answer, with each byte in its
 * place, so what is in buffers can be copied there at any time.  That is done
 * before the request waits for a disk or for another buffer: a waiting request
 * holds no buffer, or else several that wait for one more might hold them all.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "store/read/reading_priv.h"

void
reading_add(struct reading_request *q, const uint8_t *data, size_t bytes)
{
	struct reading_answer *a = q->a;
	struct iovec *last = a->parts ? &a->iov[a->parts - 1] : NULL;

	if (last && (uint8_t *)last->iov_base + last->iov_len == data)
		last->iov_len += bytes;
	else
		a->iov[a->parts++] =
		    (struct iovec){ (void *)(uintptr_t)data, bytes };
	a->bytes += bytes;
	q->offset += bytes;
	q->left -= bytes;
}

uint8_t *
reading_own(struct reading_request *q)
{
	if (!q->a->own)
		q->a->own = malloc(q->most);
	return q->a->own ? q->a->own + q->a->bytes : NULL;
}

int
reading_let_go(struct reading_request *q)
{
	struct reading_answer *a = q->a;
	size_t at = 0;

	if (!a->views)
		return 0;
	if (!reading_own(q))
		return -ENOMEM;
	for (unsigned i = 0; i < a->parts; i++) {
		if (a->iov[i].iov_base != a->own + at)
			memcpy(a->own + at, a->iov[i].iov_base,
			       a->iov[i].iov_len);
		at += a->iov[i].iov_len;
	}
	for (unsigned i = 0; i < a->views; i++)
		reader_put(q->rd->op->reader, &a->view[i]);
	a->iov[0] = (struct iovec){ a->own, at };
	a->parts = 1;
	a->views = 0;
	return 0;
}

int
reading_get(struct reading_request *q, uint64_t number, uint64_t at,
	    uint64_t bytes, struct reader_view *v)
{
	int64_t until = clock_steady() + q->rd->op->set->patience + NS_SECOND;
	int err =
	    reader_get(q->way, number, at, bytes, v, q->a->views ? 0 : until);

	if (err == -ETIMEDOUT && q->a->views) {
		err = reading_let_go(q);
		if (!err)
			err = reader_get(q->way, number, at, bytes, v, until);
	}
	if (err != -ENODATA && err != -ETIMEDOUT)
		return err;
	/* The chunk ends before this, or is missing, or its disk hangs. */
	*v = (struct reader_view){ .at = at, .bytes = bytes, .err = err };
	return 0;
}

void
reading_done(struct reading *rd, struct reading_answer *a)
{
	for (unsigned i = 0; i < a->views; i++)
		reader_put(rd->op->reader, &a->view[i]);
	free(a->own);
	a->own = NULL;
	a->parts = a->views = 0;
	a->bytes = 0;
}
