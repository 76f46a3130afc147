/* SPDX-License-Identifier: MIT */
/*
 * Makes foreign text valid UTF-8 and free of control characters: file names may
 * be older than UTF-8.
 */
#include "base/text.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char unknown[] = "\xef\xbf\xbd";

/*
 * Returns the length of the character that begins here, at most 4; 0 if these
 * bytes are not UTF-8.
 */
static size_t
length_of(const unsigned char *c)
{
	unsigned char least = 0x80, most = 0xbf;
	size_t n;

	if (c[0] < 0x80)
		return 1;
	if (c[0] < 0xc2 || c[0] > 0xf4)
		return 0;
	n = c[0] < 0xe0 ? 2 : c[0] < 0xf0 ? 3 : 4;
	switch (c[0]) {
	case 0xe0: least = 0xa0; break; /* overlong encodings */
	case 0xed: most = 0x9f; break;	/* surrogates */
	case 0xf0: least = 0x90; break;
	case 0xf4: most = 0x8f; break; /* above U+10FFFF */
	default: break;
	}
	if (c[1] < least || c[1] > most)
		return 0;
	for (size_t i = 2; i < n; i++) {
		if (c[i] < 0x80 || c[i] > 0xbf)
			return 0;
	}
	return n;
}

/*
 * Returns the length of the control character that begins here; 0 if none does.
 * U+0080 to U+009F, which a terminal obeys as well, have two bytes.
 */
static size_t
control_of(const unsigned char *c)
{
	if (c[0] == 0xc2 && c[1] >= 0x80 && c[1] < 0xa0)
		return 2;
	return c[0] < ' ' || c[0] == 0x7f;
}

char *
text_clean(char *text)
{
	for (char *c = text; *c;) {
		size_t n = control_of((unsigned char *)c);

		memset(c, ' ', n);
		c += n ? n : 1;
	}
	return text;
}

/* Tells whether the bytes are the beginning of a longer character. */
static bool
is_begun(const unsigned char *c, size_t bytes)
{
	size_t want = c[0] < 0xc2 ? 1 : c[0] < 0xe0 ? 2 : c[0] < 0xf0 ? 3 : 4;

	if (c[0] > 0xf4 || bytes >= want)
		return false;
	for (size_t i = 1; i < bytes; i++) {
		if (c[i] < 0x80 || c[i] > 0xbf)
			return false;
	}
	return true;
}

size_t
text_escape(char *to, const char *from, size_t bytes, size_t *left)
{
	char *at = to;

	*left = 0;
	while (bytes) {
		unsigned char c[TEXT_CHARACTER + 1] = { 0 };
		size_t n, control;

		memcpy(c, from,
		       bytes < TEXT_CHARACTER ? bytes : TEXT_CHARACTER);
		if (is_begun(c, bytes)) {
			*left = bytes;
			break;
		}
		n = length_of(c);
		control = *c == '\n' || *c == '\t' ? 0 : control_of(c);
		if (control)
			at += sprintf(at, "\\u%04x", c[control - 1]);
		else
			at = mempcpy(at, n ? from : unknown,
				     n ? n : sizeof unknown - 1);
		n = n ? n : 1;
		from += n;
		bytes -= n;
	}
	return (size_t)(at - to);
}

json_t *
text_json(const char *bytes)
{
	json_t *json = json_string(bytes);
	char *text = NULL, *to;

	if (!json)
		text = malloc(3 * strlen(bytes) + 1);
	if (!text)
		return json;
	for (to = text; *bytes;) {
		size_t n = length_of((const unsigned char *)bytes);

		memcpy(to, n ? bytes : unknown, n ? n : sizeof unknown - 1);
		to += n ? n : sizeof unknown - 1;
		bytes += n ? n : 1;
	}
	json = json_stringn(text, (size_t)(to - text));
	free(text);
	return json;
}
