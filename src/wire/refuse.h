/* SPDX-License-Identifier: MIT */
#ifndef SPATE_WIRE_REFUSE_H
#define SPATE_WIRE_REFUSE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/*
 * A REFUSE (wire.h) has one JSON object of strings as its payload:
 *
 *   {"code":"busy","what":"another sender is connected","why":""}
 *
 * `code` is a word for programs: "secret", "busy", "size", "exists", "full",
 * "bad", ...; `what` and `why` are for people.  The reader skips keys it does
 * not know, cuts text that is too long, and uses the rest as text only.
 */
enum { REFUSE_MOST = 1024 }; /* bytes that refuse_pack() makes at most */

struct refuse {
	char code[16];
	char what[224];
	char why[224];
};

/* Writes "name":"text"; control characters become blanks.  Returns the end. */
static inline char *
refuse_text(char *to, const char *name, const char *text)
{
	to += sprintf(to, "\"%s\":\"", name);
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			*to++ = '\\';
		*to++ = (unsigned char)*text < ' ' ? ' ' : *text;
	}
	*to++ = '"';
	return to;
}

/* Writes the payload; returns its length. */
static inline uint32_t
refuse_pack(const struct refuse *r, uint8_t to[REFUSE_MOST])
{
	char *at = (char *)to;

	*at++ = '{';
	at = refuse_text(at, "code", r->code);
	*at++ = ',';
	at = refuse_text(at, "what", r->what);
	*at++ = ',';
	at = refuse_text(at, "why", r->why);
	*at++ = '}';
	return (uint32_t)(at - (char *)to);
}

/*
 * Returns the end of a string whose first byte is at `at`: its closing quote,
 * or `end`.  Copies as much of the string as fits to `to`, which may be NULL.
 */
static inline const uint8_t *
refuse_scan(const uint8_t *at, const uint8_t *end, char *to, size_t bytes)
{
	size_t n = 0;

	for (; at < end && *at != '"'; at++) {
		if (*at == '\\' && end - at > 1)
			at++;
		if (to && n + 1 < bytes)
			to[n++] = *at < ' ' || *at == 127 ? ' ' : (char)*at;
	}
	if (to)
		to[n] = '\0';
	return at;
}

/* Returns the field for the value of that name, or NULL for an unknown name. */
static inline char *
refuse_field(struct refuse *r, const char *name, size_t *bytes)
{
	*bytes = strcmp(name, "code") ? sizeof r->what : sizeof r->code;
	return !strcmp(name, "code")   ? r->code
	       : !strcmp(name, "what") ? r->what
	       : !strcmp(name, "why")  ? r->why
				       : NULL;
}

/*
 * Reads a payload from the network.  Any bytes are safe: each field ends up as
 * terminated text, empty if it is missing.
 */
static inline void
refuse_unpack(struct refuse *r, const uint8_t *at, uint32_t bytes)
{
	const uint8_t *end = at + bytes;
	char name[8] = "", *to;
	bool value = false;
	size_t room;

	memset(r, 0, sizeof *r);
	for (; at < end; at++) {
		if (*at == ':') {
			value = true;
		} else if (*at == ',' || *at == '{') {
			value = false;
		} else if (*at == '"') {
			to = value ? refuse_field(r, name, &room) : name;
			if (!value)
				room = sizeof name;
			at = refuse_scan(at + 1, end, to, room);
		}
	}
}

#endif
