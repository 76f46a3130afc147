/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_VSI_VSI_LINE_H
#define SPATE_DAEMON_VSI_VSI_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The grammar of VSI-S, as a Field System writes it and jive5ab reads it:
 *
 *   keyword = field : field ... ;      ->  !keyword= code : field ... ;
 *   keyword ? field : field ... ;      ->  !keyword? code : field ... ;
 *
 * Several commands may stand in one line; the last one needs no ';'.  White
 * space means nothing, not even within a word.  A keyword may be written in
 * capitals.  Pure: bytes in, commands out, and text.
 */
enum {
	VSI_COMMAND = 4096, /* bytes of the longest command */
	VSI_FIELDS = 128,
	VSI_KEYWORD = 32,
	VSI_REPLY = 32768, /* bytes of the longest reply */
};

/* The codes of a reply. */
enum vsi_code {
	VSI_DONE = 0,
	VSI_BEGUN = 1,
	VSI_NEVER = 2, /* not implemented, or not of this recorder */
	VSI_SYNTAX = 3,
	VSI_FAILED = 4,
	VSI_BUSY = 5,
	VSI_CONFLICT = 6,
	VSI_UNKNOWN = 7, /* no such keyword */
	VSI_PARAMETER = 8,
};

struct vsi_command {
	char keyword[VSI_KEYWORD + 1]; /* in small letters */
	bool query;
	const char *field[VSI_FIELDS];
	unsigned fields;
	unsigned tries;	   /* how often it was put off */
	uint32_t client;   /* who sent it */
	uint32_t *runtime; /* the client's: its number, 0 the one that is
			      always there */
};

/* ---- commands out of bytes ------------------------------------------- */

/* Why vsi_lines_next() came back. */
enum vsi_end {
	VSI_END_NONE, /* there is no whole command; read more */
	VSI_END_COMMAND,
	VSI_END_LONG, /* one that was too long was passed over */
	VSI_END_LINE, /* of a line in which something was asked */
};

struct vsi_lines {
	char data[VSI_COMMAND];
	size_t used, start;
	bool skip;  /* to the end of a command that is too long */
	bool asked; /* in this line */
	bool ended; /* it did, with a newline */
	bool crlf;  /* so ended the last line */
	char text[VSI_COMMAND];
};

/* Where to read to, and how much: never nothing after VSI_END_NONE. */
char *vsi_lines_room(struct vsi_lines *l, size_t *bytes);
void vsi_lines_add(struct vsi_lines *l, size_t bytes);

/* The next command is in l->text, without white space. */
enum vsi_end vsi_lines_next(struct vsi_lines *l);

/*
 * Cuts it up, in place.  0; or the code of a fault, with a sentence in `why`:
 * the keyword is then empty where nothing can be said about it.
 */
int vsi_command_parse(struct vsi_command *c, char *text, const char **why);

/* A field, or "" where it was left out. */
const char *vsi_field(const struct vsi_command *c, unsigned i);

/* ---- replies --------------------------------------------------------- */

/* A text that ends where it is full. */
struct vsi_reply {
	char text[VSI_REPLY];
	size_t used;
};

/* "!keyword= " */
void vsi_reply_begin(struct vsi_reply *r, const struct vsi_command *c);
/* "code", and the first field unless `format` is NULL. */
void vsi_say(struct vsi_reply *r, enum vsi_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* One more field. */
void vsi_more(struct vsi_reply *r, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* More of the same field. */
void vsi_text(struct vsi_reply *r, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void vsi_reply_end(struct vsi_reply *r);

#endif
