/* SPDX-License-Identifier: MIT */
#ifndef SPATE_TESTS_MADE_OPEN_H
#define SPATE_TESTS_MADE_OPEN_H

#include "store/read/open_recordings.h"
#include "store/read/cursor.h"
#include "lib/made.h"

/* A made recording, opened as many threads read it. */

static const struct view_choice whole = { .thread = -1 };

static inline void
set_opens(struct made *m, struct open_recordings **set,
	  struct open_recording **op, const struct open_recordings_args *a)
{
	struct fault fault;
	struct open_recordings_args args = *a;

	args.disks = &m->disks;
	ck_assert_int_eq(open_recordings_make(set, &args), 0);
	ck_assert_int_eq(open_recording_get(*set, MADE_NAME, op, &fault), 0);
}

static inline void
set_done(struct made *m, struct open_recordings *set, struct open_recording *op)
{
	open_recording_put(op);
	open_recordings_free(set);
	made_finish(m);
}

static inline struct cursor *
reading(struct open_recording *op, const struct view_choice *choice)
{
	struct fault fault;
	struct cursor *rd;

	ck_assert_int_eq(cursor_open(&rd, op, choice, &fault), 0);
	return rd;
}

/* The bytes of the file from an offset on, as they were sent. */
static inline void
made_bytes(struct made *m, uint64_t offset, uint8_t *to, size_t bytes)
{
	uint8_t frame[MADE_PAYLOAD];

	while (bytes) {
		size_t in = offset % MADE_PAYLOAD;
		size_t n =
		    MADE_PAYLOAD - in < bytes ? MADE_PAYLOAD - in : bytes;

		made_frame(m, offset / MADE_PAYLOAD, frame);
		memcpy(to, frame + in, n);
		to += n;
		offset += n;
		bytes -= n;
	}
}

/* Reads it whole into memory: how many bytes, or -errno. */
static inline ssize_t
read_bytes(struct cursor *rd, uint64_t offset, uint8_t *to, size_t bytes)
{
	struct cursor_answer a;
	size_t at = 0;
	int err = cursor_read(rd, offset, bytes, &a);

	if (err)
		return err;
	for (unsigned i = 0; i < a.parts; i++) {
		memcpy(to + at, a.iov[i].iov_base, a.iov[i].iov_len);
		at += a.iov[i].iov_len;
	}
	if (at != a.bytes)
		return -EPROTO;
	cursor_done(rd, &a);
	return (ssize_t)at;
}

/* Is what is read what was sent? */
static inline bool
is_sent(struct made *m, struct cursor *rd, uint64_t offset, size_t bytes)
{
	uint8_t *is = malloc(bytes), *sent = malloc(bytes);
	ssize_t got = read_bytes(rd, offset, is, bytes);
	bool same = got == (ssize_t)bytes;

	made_bytes(m, offset, sent, bytes);
	same = same && !memcmp(is, sent, bytes);
	free(is);
	free(sent);
	return same;
}

#endif
