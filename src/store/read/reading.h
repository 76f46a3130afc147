/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_READ_READING_H
#define SPATE_STORE_READ_READING_H

#include <stdint.h>
#include <sys/uio.h>

#include "store/read/reader.h"
#include "store/view/view.h"

struct opened;

/*
 * A reading is a view of a recording that somebody has open as a file: any
 * number of threads read any bytes of it, at the same time.
 *
 * Those who read on, also if their requests come a little out of order, or
 * from several places at once, have what follows read ahead; those who jump
 * get what they ask for, and no more.
 */
struct reading;

/* What of the choice is not for a recording of its kind is left out, as
 * view_settle() does.  0; as view_make(), or -ETIMEDOUT: a disk does not answer; with a fault.
 * `op` must not be put before it is closed. */
int reading_open(struct reading **rd, struct opened *op,
		 const struct view_choice *choice, struct fault *fault);
void reading_close(struct reading *rd); /* NULL: nothing */

/* To the visible end, as last seen; see opened_refresh(). */
uint64_t reading_bytes(struct reading *rd);

/* What was read, as pieces one after the other: in buffers of the cache, which
 * nobody else gets meanwhile, or in memory of its own.  Nothing is held but
 * these: send it, and be done with it soon. */
enum { READING_PARTS = 32 };

struct reading_answer {
	struct iovec iov[READING_PARTS];
	unsigned parts;
	size_t bytes;
	bool passing; /* some of it is fill for what an index has */

	/* The reading's. */
	struct reader_view view[READING_PARTS];
	unsigned views;
	uint8_t *own;
};

/*
 * All bytes that there are from an offset on, `bytes` at most; none at the
 * visible end, for which one that grows is looked at again first.  0, and it
 * must be given to reading_done(); else there is nothing to be done:
 *
 * -EIO   some of it cannot be read: a disk refuses it, does not answer within
 *        the patience, or (verify) has something else than was recorded
 * -ENOMEM
 *
 * What is gone for good is filled, as `spate export` does; with VIEW_INVALID
 * or VIEW_ZERO chosen what a disk refuses is, too.
 */
int reading_read(struct reading *rd, uint64_t offset, size_t bytes,
		 struct reading_answer *a);
void reading_done(struct reading *rd, struct reading_answer *a);

#endif
