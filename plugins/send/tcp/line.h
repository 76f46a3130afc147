/* SPDX-License-Identifier: MIT */
#ifndef SPATE_SEND_TCP_LINE_H
#define SPATE_SEND_TCP_LINE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include "net/resolve.h"

struct pollfd;

/*
 * A line is one TCP connection to a peer, and comes back when it breaks.  It
 * never waits.
 *
 *   LINE_DOWN --call--> LINE_CALLING --call--> LINE_UP --drop--> LINE_DOWN
 *
 * What it sends are pieces of memory that stay where they are until they are
 * gone: whoever gives them sees to that.
 */
enum {
	LINE_PIECES = 260,
};

enum line_state { LINE_DOWN, LINE_CALLING, LINE_UP };

struct line_args {
	struct resolved to;
	char device[IF_NAMESIZE]; /* "": any */
	int64_t vanish; /* ns after which a peer that answers nothing is gone */
	uint64_t buffer; /* of the socket; 0: as the kernel thinks best */
};

struct line {
	const struct line_args *a;
	int fd;
	enum line_state state;
	unsigned next;	/* address that is tried next */
	int64_t retry;	/* steady ns: not before that; 0: at once */
	int64_t wait;	/* ns, between attempts */
	int64_t since;	/* when it began to call, or was looked after */
	uint64_t calls; /* of the kernel, that sent something */
	uint64_t bytes; /* that it took, since it is up */
	struct iovec piece[LINE_PIECES];
	unsigned first, pieces; /* of those, what is left */
	char peer[ENDPOINT_TEXT];
	int err; /* why it is down; 0: it never was up */
};

int64_t line_now(void); /* steady ns */

void line_make(struct line *l, const struct line_args *args);

/* Calls, or looks whether it was heard.  0: it is up; -EAGAIN: not yet, or
 * not again yet; else -errno: nobody answers, and it will be tried again. */
int line_call(struct line *l, int64_t now);

/* Is anything left that it was given? */
static inline bool
line_is_busy(const struct line *l)
{
	return l->first < l->pieces;
}

static inline void
line_give(struct line *l, const void *bytes, size_t n)
{
	struct iovec *last = &l->piece[l->pieces ? l->pieces - 1 : 0];

	if (l->pieces > l->first + 1 &&
	    (const uint8_t *)last->iov_base + last->iov_len == bytes) {
		last->iov_len += n;
		return;
	}
	l->piece[l->pieces++] = (struct iovec){ (void *)bytes, n };
}

/* 0: all is gone; -EAGAIN: some is left; else -errno. */
int line_flush(struct line *l, int flags);

/* Bytes that came; 0: none; -ENODATA: it has ended; -errno. */
int line_read(struct line *l, void *to, uint32_t bytes);

/* Has the peer been silent for too long, though it was asked? */
bool line_is_dead(struct line *l, int64_t now);

/* Ends it; the next call is not before some time has passed, which grows.
 * `reset`: what the kernel still has is thrown away. */
void line_drop(struct line *l, int err, bool reset);

/* It was good for something: the next wait is short again. */
void line_was_good(struct line *l);

/* Adds it to what is polled; returns how many were added. */
unsigned line_poll(const struct line *l, struct pollfd *fd, int64_t *until);

#endif
