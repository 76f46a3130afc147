/* SPDX-License-Identifier: MIT */
#ifndef SPATE_SEND_TCP_TALK_H
#define SPATE_SEND_TCP_TALK_H

#include "line.h"

/*
 * A talk is a dialogue of text lines over a connection: one line asks, lines
 * answer.
 */
enum { TALK_LINE = 2048 };

struct talk {
	struct line line;
	char out[TALK_LINE];
	char in[TALK_LINE];
	/* used: bytes of the line that talk_line() returned last */
	uint32_t got, used;
};

/* Prepares an unconnected talk; `args` must outlive it. */
void talk_make(struct talk *t, const struct line_args *args);

/*
 * Sends one line, and adds its newline; the connection must be up.  Returns 0
 * or -errno.
 */
int talk_ask(struct talk *t, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/*
 * Returns the next line that came, without its newline and surrounding blanks;
 * valid until the next call.  NULL: none yet.  *err: 0, -ENODATA if the peer
 * has closed, or -errno.
 */
char *talk_line(struct talk *t, int *err);

#endif
