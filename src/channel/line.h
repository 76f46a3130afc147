/* SPDX-License-Identifier: MIT */
#ifndef SPATE_SEND_TCP_LINE_H
#define SPATE_SEND_TCP_LINE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include "contract/send.h"
#include "net/url.h"

struct pollfd;

/*
 * A line is one TCP connection to a peer, which is opened again when it breaks.
 * No function waits.
 *
 *   LINE_DOWN --call--> LINE_CALLING --call--> LINE_UP --drop--> LINE_DOWN
 *
 * It sends pieces of memory from where they lie; the caller keeps them in place
 * until they are sent.
 */
enum {
	LINE_PIECES = 260,
};

enum line_state { LINE_DOWN, LINE_CALLING, LINE_UP };

struct line_args {
	struct resolved to;
	char device[IF_NAMESIZE]; /* "": any */
	/* ns after which a peer that answers nothing counts as gone */
	int64_t vanish;
	/* bytes of the socket's buffer; 0: the kernel chooses */
	uint64_t buffer;
	/* closing it, or the end of the process, discards what the peer has
	 * not read, so that a peer that reads nothing notices at once */
	bool abrupt;
};

struct line {
	const struct line_args *a;
	int fd;
	enum line_state state;
	unsigned next; /* index of the address to try next */
	int64_t retry; /* steady ns: no attempt before; 0: at once */
	int64_t wait;  /* ns between attempts */
	/* steady ns: when it began to connect, or was last checked */
	int64_t since;
	uint64_t calls; /* system calls that sent something */
	uint64_t bytes; /* bytes that the kernel took since it is up */
	struct iovec piece[LINE_PIECES];
	/* pieces first to pieces - 1 are still to be sent */
	unsigned first, pieces;
	char peer[ENDPOINT_TEXT];
	int err; /* why it is down; 0: it never was up */
};

int64_t line_now(void); /* Returns the steady time (CLOCK_MONOTONIC) in ns. */

/*
 * Reads the URL of a->to, looks its host up (which may wait for a name server)
 * and notes both in `to`.  0, or -errno with a sentence in a->why.
 */
int line_find(struct line_args *to, const struct send_args *a);

/* Prepares an unconnected line; `args` must outlive it. */
void line_make(struct line *l, const struct line_args *args);

/*
 * Connects, or goes on connecting.  Returns 0: it is up; -EAGAIN: not yet, or
 * too soon for another attempt; else -errno: the attempt failed, and a later
 * call tries again.
 */
int line_call(struct line *l, int64_t now);

/* Tells whether pieces are left to be sent. */
static inline bool
line_is_busy(const struct line *l)
{
	return l->first < l->pieces;
}

/*
 * Appends memory to be sent, of which the caller has checked that it finds room
 * in `piece`.  Adjacent pieces become one.
 */
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

/*
 * Sends pieces.  Returns 0: all are sent; -EAGAIN: some are left; else -errno.
 */
int line_flush(struct line *l, int flags);

/*
 * Reads once.  Returns the bytes that came; 0: none; -ENODATA: the peer has
 * closed; else -errno.
 */
int line_read(struct line *l, void *to, uint32_t bytes);

/*
 * Tells whether the peer has been silent for `vanish` ns although it had data
 * to acknowledge.
 */
bool line_is_dead(struct line *l, int64_t now);

/*
 * Closes the connection.  The next attempt has to wait, longer each time.
 * `reset`: bytes that the kernel still has are thrown away.
 */
void line_drop(struct line *l, int err, bool reset);

/* The connection worked: the next wait is short again. */
void line_was_good(struct line *l);

/*
 * Adds the descriptor to `fd`; returns how many were added, 0 or 1.  Brings
 * *until (steady ns) forward to when it must be called again.
 */
unsigned line_poll(const struct line *l, struct pollfd *fd, int64_t *until);

#endif
