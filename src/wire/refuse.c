/* SPDX-License-Identifier: MIT */
#include <jansson.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "wire/refuse.h"

static bool
is_control(unsigned char c)
{
	return c < ' ' || c == 127;
}

/* Replaces bytes that are no ASCII, where the text is not UTF-8. */
static void
to_ascii(char *text, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		text[i] = (unsigned char)text[i] < 128 ? text[i] : '?';
}

static json_t *
text_make(const char *from)
{
	char text[sizeof((struct refuse *)0)->what];
	json_t *made;
	size_t n;

	for (n = 0; from[n] && n + 1 < sizeof text; n++)
		text[n] = is_control((unsigned char)from[n]) ? ' ' : from[n];
	text[n] = '\0';
	made = json_string(text);
	if (made)
		return made;
	to_ascii(text, n);
	return json_string(text);
}

uint32_t
refuse_pack(const struct refuse *r, uint8_t to[REFUSE_MOST])
{
	json_t *made =
	    json_pack("{s:o, s:o, s:o}", "code", text_make(r->code), "what",
		      text_make(r->what), "why", text_make(r->why));
	size_t n = json_dumpb(made, (char *)to, REFUSE_MOST, JSON_COMPACT);

	json_decref(made);
	if (!n) /* no memory: a refusal that does not say why */
		n = (size_t)(stpcpy((char *)to, "{}") - (char *)to);
	return (uint32_t)n;
}

/* Copies a string of the object, cut between two characters if it is too long.
 */
static void
text_read(char *to, size_t room, const json_t *object, const char *name)
{
	const char *text = json_string_value(json_object_get(object, name));
	size_t n = text ? strlen(text) : 0;

	if (n >= room)
		for (n = room - 1; n && (text[n] & 0xc0) == 0x80;)
			n--;
	for (size_t i = 0; i < n; i++)
		to[i] = is_control((unsigned char)text[i]) ? ' ' : text[i];
	to[n] = '\0';
}

/*
 * Parses the payload.  Older versions of spate cut texts within a character: if
 * the payload is not UTF-8, it is read as ASCII.
 */
static json_t *
parse(const uint8_t *at, uint32_t bytes)
{
	json_t *object = json_loadb((const char *)at, bytes, 0, NULL);
	char *copy;

	if (object)
		return object;
	copy = malloc(bytes);
	if (!copy)
		return NULL;
	memcpy(copy, at, bytes);
	to_ascii(copy, bytes);
	object = json_loadb(copy, bytes, 0, NULL);
	free(copy);
	return object;
}

void
refuse_unpack(struct refuse *r, const uint8_t *at, uint32_t bytes)
{
	json_t *object = parse(at, bytes);

	text_read(r->code, sizeof r->code, object, "code");
	text_read(r->what, sizeof r->what, object, "what");
	text_read(r->why, sizeof r->why, object, "why");
	json_decref(object);
}
