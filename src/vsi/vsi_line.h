/* SPDX-License-Identifier: MIT */
#ifndef SPATE_VSI_VSI_LINE_H
#define SPATE_VSI_VSI_LINE_H

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
 * space is ignored, even within a word.  Keywords may be written in capitals.
 * Pure: bytes in, commands and reply texts out.
 */
enum {
	VSI_COMMAND = 4096, /* bytes of the longest command */
	VSI_FIELDS = 128,
	VSI_KEYWORD = 32,
	VSI_REPLY = 32768, /* bytes of the longest reply */
};

/* Codes of a reply. */
enum vsi_code {
	VSI_DONE = 0,
	VSI_BEGUN = 1,
	VSI_NEVER = 2, /* command is not implemented, or not for this
			* recorder */
	VSI_SYNTAX = 3,
	VSI_FAILED = 4,
	VSI_BUSY = 5,
	VSI_CONFLICT = 6,
	VSI_UNKNOWN = 7, /* no such keyword */
	VSI_PARAMETER = 8,
};

struct vsi_command {
	char keyword[VSI_KEYWORD + 1]; /* keyword in lower case */
	bool query;
	const char *field[VSI_FIELDS];
	unsigned fields;
	unsigned tries;	   /* how often it was put off */
	uint32_t client;   /* number of the client that sent it */
	uint32_t *runtime; /* number of the client's runtime; 0: the default
			    * one */
};

/* ---- splitting bytes into commands ----------------------------------- */

/* Results of vsi_lines_next(). */
enum vsi_end {
	VSI_END_NONE, /* no whole command is left; read more */
	VSI_END_COMMAND,
	VSI_END_LONG, /* a command that was too long was skipped */
	VSI_END_LINE, /* a line ended that had a command in it */
};

struct vsi_lines {
	char data[VSI_COMMAND];
	size_t used, start;
	bool skip;  /* skipping the rest of a command that is too long */
	bool asked; /* this line had a command */
	bool ended; /* this line has ended, with a newline */
	bool crlf;  /* the last line ended with "\r\n" */
	char text[VSI_COMMAND];
};

/*
 * Returns where to read to, and how much room there is: always some after
 * VSI_END_NONE.
 */
char *vsi_lines_room(struct vsi_lines *l, size_t *bytes);
void vsi_lines_add(struct vsi_lines *l, size_t bytes);

/* Finds the next command and puts it into l->text, without white space. */
enum vsi_end vsi_lines_next(struct vsi_lines *l);

/*
 * Splits the text in place.  Returns 0; or a reply code, with a sentence in
 * `why`; the keyword is then empty if it could not be read.
 */
int vsi_command_parse(struct vsi_command *c, char *text, const char **why);

/* Returns a field, or "" if it is missing. */
const char *vsi_field(const struct vsi_command *c, unsigned i);

/* ---- replies --------------------------------------------------------- */

/* A reply being written; what does not fit is cut off. */
struct vsi_reply {
	char text[VSI_REPLY];
	size_t used;
};

/* Begins a reply: "!keyword= ". */
void vsi_reply_begin(struct vsi_reply *r, const struct vsi_command *c);
/* Writes the code, and the first field unless `format` is NULL. */
void vsi_say(struct vsi_reply *r, enum vsi_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Adds a field. */
void vsi_more(struct vsi_reply *r, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Adds to the last field. */
void vsi_text(struct vsi_reply *r, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void vsi_reply_end(struct vsi_reply *r);

#endif
