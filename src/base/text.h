/* SPDX-License-Identifier: MIT */
#ifndef SPATE_BASE_TEXT_H
#define SPATE_BASE_TEXT_H

#include <jansson.h>

/*
 * Makes a JSON string of bytes, such as a file name: bytes that are not UTF-8
 * become U+FFFD.  NULL without memory.
 */
json_t *text_json(const char *bytes);

/*
 * Replaces control characters with blanks, so that a text is one line and
 * contains no terminal control sequences.  Returns the text.
 */
char *text_clean(char *text);

/*
 * Writes `bytes` bytes with each control character except '\n' and '\t' as
 * \u001b, and each byte that is not UTF-8 as U+FFFD.  `to` has room for
 * TEXT_ESCAPED times `bytes`.  If the input ends within a character, *left is
 * how many bytes of it there are: pass them again with the following ones.
 * Returns the bytes written.
 */
enum { TEXT_CHARACTER = 4, TEXT_ESCAPED = 6 };
size_t text_escape(char *to, const char *from, size_t bytes, size_t *left);

#endif
