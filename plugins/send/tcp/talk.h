/* SPDX-License-Identifier: MIT */
#ifndef SPATE_SEND_TCP_TALK_H
#define SPATE_SEND_TCP_TALK_H

#include "line.h"

/*
 * A talk is lines of text over a connection: what is asked, and what is
 * answered.
 */
enum { TALK_LINE = 2048 };

struct talk {
	struct line line;
	char out[TALK_LINE];
	char in[TALK_LINE];
	uint32_t got, used; /* used: of the line that was told last */
};

void talk_make(struct talk *t, const struct line_args *args);

/* Of a line that is up: sends one line, with its end.  0 or -errno. */
int talk_ask(struct talk *t, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The next line that came, without its end and blanks around, good until the
 * next call; NULL: none yet.  *err: 0, -ENODATA where the peer has closed, or
 * -errno. */
char *talk_line(struct talk *t, int *err);

#endif
