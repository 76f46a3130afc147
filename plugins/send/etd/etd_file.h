/* SPDX-License-Identifier: MIT */
#ifndef SPATE_SEND_ETD_ETD_FILE_H
#define SPATE_SEND_ETD_ETD_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "contract/send.h"
#include "channel/line.h"

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

/*
 * A file on an etransfer server, over its text protocol on port 4004.  The
 * client opens the file by its path; the server says how much of it exists,
 * gives it a UUID, and says where its bytes may be sent to.
 *
 *   DOWN -> CALLS -> NAMES -> ASKS -> OPEN -> CLOSES -> SHUT -> NAMES ...
 *   (any of them, where the connection breaks: DOWN)
 */
enum etd_state {
	ETD_DOWN,
	ETD_CALLS,
	ETD_NAMES,  /* write-file was sent */
	ETD_ASKS,   /* data-channel-addr was sent */
	ETD_OPEN,   /* bytes can be sent */
	ETD_CLOSES, /* remove-uuid was sent */
	ETD_SHUT,
};

enum { ETD_UUID = 128 };

struct etd_file {
	struct talk talk;
	enum etd_state state;
	const char *path;
	/* first open: "New", "Resume" or "OverWrite" */
	const char *mode;
	uint16_t data_port; /* port for bytes, if the server names none */
	/* opened before by this client: resume from now on */
	bool existed;
	uint64_t have; /* bytes that the server has */
	bool said;     /* the server has said `have` */
	char uuid[ETD_UUID];
	union endpoint data; /* address that bytes go to */
	int64_t asked;	     /* steady ns of the last question */
	char *why;
	uint32_t why_bytes;
};

/*
 * Prepares an unconnected file; the caller then sets path, mode, data_port and
 * why.  `to` must outlive it.
 */
void etd_file_make(struct etd_file *f, const struct line_args *to);

/*
 * Opens the file, or closes it with `shut`.  Returns 0: it is OPEN, or SHUT;
 * -EAGAIN: not yet; -EACCES: the server refuses it for good; else -errno: the
 * connection broke, and the state is DOWN.
 */
int etd_file_step(struct etd_file *f, bool shut, int64_t now);

/* Closes the connection. */
void etd_file_drop(struct etd_file *f);

#endif
