/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_READ_CURSOR_H
#define SPATE_STORE_READ_CURSOR_H

#include <stdint.h>
#include <sys/uio.h>

#include "store/read/pool.h"
#include "store/view/view.h"

struct open_recording;

/*
 * A cursor gives the bytes of a recording as a file: of a substream, of a
 * thread or a range of it, with the fill that was asked for (view.h).  Any
 * number of threads read it at any offset at the same time.  Sequential readers
 * get read-ahead, also if their requests arrive a little out of order, or in
 * several sequences at once.  Random readers get what they ask for, and no
 * more.
 */
struct cursor;

/*
 * Opens a cursor.  Parts of `choice` that do not apply to recordings of this
 * kind are ignored, as by view_settle().  Returns 0; as view_make(); or
 * -ETIMEDOUT if a disk does not answer; with a fault.  The caller puts `op`
 * after cursor_close().
 */
int cursor_open(struct cursor **c, struct open_recording *op,
		const struct view_choice *choice, struct fault *fault);
void cursor_close(struct cursor *c); /* NULL is allowed */

/*
 * Returns the length up to the visible end, as last seen; see
 * open_recording_refresh().
 */
uint64_t cursor_bytes(struct cursor *c);

/*
 * The bytes of an answer, in pieces one after the other: in cache buffers,
 * which are reserved until cursor_done(), or in memory of its own.  Send
 * them soon.
 */
enum { CURSOR_PARTS = 32 };

struct cursor_answer {
	struct iovec iov[CURSOR_PARTS];
	unsigned parts;
	size_t bytes;
	bool passing;  /* some of it is fill for a chunk that the index names */
	size_t filled; /* bytes of it that are fill of any kind */
	int err;       /* after -EIO: why */
	bool lost;     /* after -EIO: its disk does not give it for now */

	/* Private to the cursor. */
	struct pool_stretch view[CURSOR_PARTS];
	unsigned views;
	uint8_t *own;
};

/*
 * Reads up to `bytes` bytes at an offset; none at the visible end or behind it;
 * fewer only there, or with open_recordings_args::once.  A growing recording is
 * refreshed before its end is believed.
 * Returns 0, and the caller passes the answer to cursor_done(); or an error,
 * and it need not:
 *
 * -EIO      some of it cannot be read: a disk refuses it, does not answer
 *           within the patience, or (verify) its checksum is wrong
 * -ENOMEM
 *
 * Data that is gone for good is filled, as `spate export` does; with
 * VIEW_INVALID or VIEW_ZERO, data that a disk refuses is filled, too.
 */
int cursor_read(struct cursor *c, uint64_t offset, size_t bytes,
		struct cursor_answer *a);

/* Frees an answer: its bytes must not be used any more. */
void cursor_done(struct cursor *c, struct cursor_answer *a);

#endif
