/* SPDX-License-Identifier: MIT */
/*
 * A command ends at ';' or at the end of its line, so only one has to be kept.
 * The newline of a reply is due when the line of its commands ends, or when
 * nothing more is there to be read: some clients send no newline at all, and
 * wait.
 *
 * A command that is too long is skipped up to its end, so that the next one is
 * understood.
 */
#include "vsi/vsi_line.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- splitting bytes into commands ----------------------------------- */

char *
vsi_lines_room(struct vsi_lines *l, size_t *bytes)
{
	l->used -= l->start;
	memmove(l->data, l->data + l->start, l->used);
	l->start = 0;
	*bytes = sizeof l->data - l->used;
	return l->data + l->used;
}

void
vsi_lines_add(struct vsi_lines *l, size_t bytes)
{
	l->used += bytes;
}

static bool
is_white(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* Returns the end of the command; NULL if it is not in these bytes. */
static const char *
end_find(const char *from, size_t bytes)
{
	for (; bytes--; from++) {
		if (*from == ';' || *from == '\n')
			return from;
	}
	return NULL;
}

static bool
text_take(struct vsi_lines *l, size_t bytes)
{
	size_t n = 0;

	for (size_t i = 0; i < bytes; i++) {
		char c = l->data[l->start + i];

		/*
		 * A NUL would hide the rest of the text: make it unprintable
		 * instead.
		 */
		if (!is_white(c))
			l->text[n++] = c ? c : '\1';
	}
	l->text[n] = '\0';
	return n;
}

static enum vsi_end
line_end(struct vsi_lines *l)
{
	l->asked = l->ended = false;
	return VSI_END_LINE;
}

/*
 * Handles bytes without a whole command: drops what can be dropped, and notices
 * the end of a line and a command that is too long.
 */
static enum vsi_end
rest_look(struct vsi_lines *l)
{
	size_t bytes = l->used - l->start;
	bool white = true;

	for (size_t i = 0; i < bytes; i++)
		white &= is_white(l->data[l->start + i]);
	if (white && bytes)
		l->crlf = l->data[l->used - 1] == '\r';
	if (l->skip || (white && bytes > 1))
		l->start = l->used;
	if (white && l->asked && !l->skip)
		return line_end(l);
	if (l->used - l->start < sizeof l->data)
		return VSI_END_NONE;
	l->start = l->used;
	l->skip = l->asked = true;
	return VSI_END_LONG;
}

enum vsi_end
vsi_lines_next(struct vsi_lines *l)
{
	while (!l->ended) {
		const char *from = l->data + l->start;
		const char *end = end_find(from, l->used - l->start);
		size_t bytes = end ? (size_t)(end - from) : 0;
		bool take;

		if (!end)
			return rest_look(l);
		take = text_take(l, bytes) && !l->skip;
		l->skip = false;
		l->asked |= take;
		l->start += bytes + 1;
		if (*end == '\n') {
			l->crlf = bytes && end[-1] == '\r';
			l->ended = l->asked;
		}
		if (take)
			return VSI_END_COMMAND;
	}
	return line_end(l);
}

/* ---- one command ----------------------------------------------------- */

static bool
is_printable(const char *text)
{
	for (; *text; text++) {
		if (*text < ' ' || *text > '~')
			return false;
	}
	return true;
}

static bool
keyword_take(struct vsi_command *c, const char *text, size_t length)
{
	if (!length || length > VSI_KEYWORD)
		return false;
	for (size_t i = 0; i < length; i++) {
		unsigned char letter = (unsigned char)text[i];

		if (!isalnum(letter) && letter != '_')
			return false;
		c->keyword[i] = (char)tolower(letter);
	}
	c->keyword[length] = '\0';
	return true;
}

int
vsi_command_parse(struct vsi_command *c, char *text, const char **why)
{
	size_t length = strcspn(text, "?=");
	char *rest = text + length;

	c->keyword[0] = '\0';
	c->fields = c->tries = 0;
	c->query = *rest == '?';
	*why = "not a command or query";
	if (!*rest)
		return VSI_UNKNOWN;
	*rest++ = '\0';
	*why = length ? "no such keyword" : "no keyword given";
	if (!keyword_take(c, text, length)) {
		c->keyword[0] = '\0';
		return VSI_UNKNOWN;
	}
	*why = "characters that cannot be printed";
	if (!is_printable(rest))
		return VSI_SYNTAX;
	*why = "too many fields";
	while (rest && *rest) {
		if (c->fields == VSI_FIELDS)
			return VSI_SYNTAX;
		c->field[c->fields++] = strsep(&rest, ":");
	}
	return 0;
}

const char *
vsi_field(const struct vsi_command *c, unsigned i)
{
	return i < c->fields ? c->field[i] : "";
}

/* ---- replies --------------------------------------------------------- */

enum { TAIL = sizeof " ;" };

static void
print(struct vsi_reply *r, const char *format, va_list args)
{
	size_t room = sizeof r->text - r->used - TAIL;
	int n = vsnprintf(r->text + r->used, room, format, args);

	if (n > 0)
		r->used += (size_t)n < room ? (size_t)n : room - 1;
}

void
vsi_text(struct vsi_reply *r, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print(r, format, args);
	va_end(args);
}

void
vsi_reply_begin(struct vsi_reply *r, const struct vsi_command *c)
{
	r->used = 0;
	if (c->keyword[0])
		vsi_text(r, "!%s%c ", c->keyword, c->query ? '?' : '=');
	else
		vsi_text(r, "!syntax= ");
}

void
vsi_say(struct vsi_reply *r, enum vsi_code code, const char *format, ...)
{
	va_list args;

	vsi_text(r, "%d", (int)code);
	if (!format)
		return;
	vsi_text(r, " : ");
	va_start(args, format);
	print(r, format, args);
	va_end(args);
}

void
vsi_more(struct vsi_reply *r, const char *format, ...)
{
	va_list args;

	vsi_text(r, " : ");
	va_start(args, format);
	print(r, format, args);
	va_end(args);
}

void
vsi_reply_end(struct vsi_reply *r)
{
	memcpy(r->text + r->used, " ;", TAIL);
	r->used += TAIL - 1;
}
